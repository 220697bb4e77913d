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

    // Every place is read, whatever the heads say.
    bool everything = false;
    // Places of rows that only this transaction sees, so that nobody can take them away.
    pg::Array<core::PlaceRange> own;

    QueueRef queue;
    bool registered = false;
    int scan = core::kNoScan;
    std::size_t number = 0;
};

// What a look went through, gathered while it reads.
struct Trail {
    pg::Array<core::PlaceRange> covered;
    // The last index entry seen in each priority.
    pg::Array<core::Place> seen;
    // Rows that may still be claimed, by others or later.
    core::Heads::Left left;
    // Rows running under leases that nobody else watches, and when the first of them ends.
    core::PlaceSet<1> unwatched;
    core::Timestamp unwatched_until = core::kNever;
};

QueueLook begin_look(Oid relation, std::string_view queue, core::Timestamp now);
void end_look(const QueueLook &look, Trail &trail);

enum class Taking {
    ours,        // nobody else tries this row; give it back unless it is written
    unreserved,  // whoever writes it first has it
    gone,        // somebody else has it
};

// Closes what the look has gone through so far. Answers the first place from `from` on that is
// worth reading.
core::Place close_so_far(const QueueLook &look, Trail &trail, const core::Place &from);

// Takes the place of a row that the look is about to write, and closes what lies behind on the
// trail. With `gone` comes the next place that is worth a try.
Taking take_place(const QueueLook &look, Trail &trail, const core::Place &place, core::Place &next);
// Opens a place again that was taken and whose row was not written.
void give_back(const QueueLook &look, const core::Place &place);

// After an error: those that were begun in the subtransaction, or in one of its own. Never raises.
void abandon_looks(unsigned subtransaction);

}  // namespace x_jobs::heads
