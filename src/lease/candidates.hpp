// The rows that a claim looks at, in the order in which it takes them: lowest (priority, run_at,
// id) over all its queues. Owns the walk over the claim index, in the places that the heads say may
// hold something, and tells the heads what it went through.
#pragma once

#include "core/values.hpp"
#include "heads/look.hpp"
#include "pg/array.hpp"
#include "store/live.hpp"

namespace x_jobs::lease {

class Candidates {
   public:
    // Begins a look at each queue; `now` decides what is due. The table is opened only if there is
    // anything to read.
    static Candidates open(store::Live &live, const pg::Array<std::string_view> &queues,
                           core::Timestamp now);
    // Ends the looks. Call it before sleeping, and after the last row has been dealt with.
    void close();
    // Whether there is nothing to read, so that the live table was not opened.
    bool empty() const { return streams_.empty(); }

    // Reads the next candidate into `row`, in the live table's read slot; false when there is none
    // left.
    bool next(store::Row &row);

    // Before the candidate read last is written. False when somebody else is about to: then it is
    // dealt with.
    bool take();
    // Says that the candidate read last may still be claimed, by others or later.
    void leave_open();
    // Says that the candidate read last runs under a lease until then.
    void leave_running(const store::Row &row, core::Timestamp expires_at);

    // The earliest later instant at which a place that was passed becomes due; kNever when there is
    // none.
    core::Timestamp next_due() const { return next_due_; }

   private:
    struct Stream {
        heads::QueueLook look;
        heads::Trail trail;
        Datum queue;
        IndexScanDesc scan;
        // The range that is being read, and its number among the look's places.
        core::PlaceRange range;
        std::size_t number;
        // The entry that is read next, while not exhausted.
        core::Place place;
        // Nothing before it is worth a try.
        core::Place worth_from = core::kEveryPlace.begin;
        // Entries read since the heads were told.
        int untold;
        bool exhausted;
    };

    void open_index();
    void enter(Stream &stream);
    void seek(Stream &stream);
    void advance(Stream &stream);
    void cover(Stream &stream, const core::Place &end);
    void cover_what_was_read(Stream &stream);
    void tell(Stream &stream);
    void note_seen();
    Stream *lowest();

    store::Live *live_ = nullptr;
    Relation index_ = nullptr;
    core::Timestamp now_;
    core::Timestamp next_due_ = core::kNever;
    pg::Array<Stream> streams_;
    Stream *last_ = nullptr;
    core::Place last_place_;
    heads::Taking last_taking_;
};

}  // namespace x_jobs::lease
