// Which slot of shared memory belongs to a queue. A reference is an index with a generation: a slot
// that has been given to another queue meanwhile is known by it, and nothing happens then.
#pragma once

#include <string_view>

#include "shmem/layout.hpp"

namespace x_jobs::heads {

struct QueueRef {
    int slot = -1;
    std::uint64_t generation = 0;
    bool known() const { return slot >= 0; }
};

// Wakes those who wait for a queue, by its hash, whose jobs have become free. Must not raise.
using Wake = void (*)(Oid database, std::uint64_t queue, int jobs);

// The hash by which queues are compared where they wait; never 0. Equal hashes of different queues
// cost a wake.
std::uint64_t queue_hash(std::string_view queue);

// The queue's slot; nothing when it has none, or without shared memory. Never raises.
QueueRef find(Oid relation, std::string_view queue);
// Makes one where it is missing; nothing when every slot is in use.
QueueRef find_or_make(Oid relation, std::string_view queue);

// The least instant at which a claim of the queue may find something; kNever for nothing, and for a
// queue without a slot.
core::Timestamp next_due(QueueRef queue);

// Whether a claim at `now` would read the table: something may be due, a rescan is, or nobody
// knows.
bool may_find_something(QueueRef queue, core::Timestamp now);

shmem::QueueSlot &slot_of(QueueRef queue);
bool is_current(QueueRef queue);

inline core::Timestamp instant(pg_atomic_uint64 *value) {
    return core::Timestamp{static_cast<std::int64_t>(pg_atomic_read_u64(value))};
}
inline std::uint64_t stored(core::Timestamp instant) {
    return static_cast<std::uint64_t>(instant.micros);
}

// Calls `change` with the queue's heads under their lock; `change` must not raise. False when the
// slot has another owner by now.
template <typename Change>
bool change_heads(QueueRef queue, Change change) {
    if (!queue.known()) {
        return false;
    }
    shmem::QueueSlot &slot = slot_of(queue);
    LWLockAcquire(slot.lock, LW_EXCLUSIVE);
    const bool current = is_current(queue);
    if (current) {
        change(slot.heads);
        pg_atomic_write_u64(&slot.next_due, stored(slot.heads.next_due()));
    }
    LWLockRelease(slot.lock);
    return current;
}

// Opens every place of every queue of this database; of one table only, unless it is InvalidOid.
void open_everything(Oid relation);

}  // namespace x_jobs::heads
