// A look at one queue: which places to read, and what it closes behind itself. Begun before the
// table is read and ended after it, always in pairs; a look that an error cut short is abandoned by
// the rollback and closes nothing.
#pragma once

#include "heads/queues.hpp"
#include "pg/array.hpp"

namespace x_jobs::heads {

struct QueueLook {
    // Sorted and disjoint; empty when nothing can be claimed at present.
    pg::Array<core::PlaceRange> places;
    // When a look may find something that this one does not.
    core::Timestamp next = core::kNever;

    QueueRef queue;
    int scan = core::kNoScan;
    std::size_t number = 0;
};

// What a look went through, gathered while it reads.
struct Trail {
    pg::Array<core::PlaceRange> covered;
    // The last index entry seen in each priority.
    pg::Array<core::Place> seen;
    core::Heads::Left left;
    // Rows running under leases that nobody else watches, and when the first of them ends.
    core::PlaceSet<1> unwatched;
    core::Timestamp unwatched_until = core::kNever;
};

QueueLook begin_look(Oid relation, std::string_view queue, core::Timestamp now);
void end_look(const QueueLook &look, const Trail &trail);

// After an error. Never raises.
void abandon_looks();

}  // namespace x_jobs::heads
