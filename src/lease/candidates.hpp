// The rows that a claim looks at, in the order in which it takes them: lowest (priority, run_at,
// id) over all its queues. Owns the walk over the claim index, which skips what is not due yet,
// priority by priority.
#pragma once

#include "core/values.hpp"
#include "pg/array.hpp"
#include "store/live.hpp"

namespace x_jobs::lease {

class Candidates {
   public:
    // Positions on the first due entry of each queue; `now` decides what is due. Close before
    // sleeping.
    static Candidates open(store::Live &live, const pg::Array<std::string_view> &queues,
                           core::Timestamp now);
    void close();

    // Reads the next candidate into `row`, in the live table's read slot; false when there is none
    // left.
    bool next(store::Row &row);

    // The earliest later instant at which an entry that was passed becomes due; kNever when there
    // is none.
    core::Timestamp next_due() const { return next_due_; }

   private:
    struct Stream {
        IndexScanDesc scan;
        Datum queue;
        std::int16_t priority;
        core::Timestamp run_at;
        core::Uuid id;
        bool exhausted;
    };

    void seek(Stream &stream, std::int16_t priority);
    void advance(Stream &stream);
    Stream *lowest();

    store::Live *live_ = nullptr;
    Relation index_ = nullptr;
    core::Timestamp now_;
    core::Timestamp next_due_ = core::kNever;
    pg::Array<Stream> streams_;
};

}  // namespace x_jobs::lease
