// Everything that x_jobs keeps in shared memory. Made once by startup.cpp when the library is
// preloaded; without it pointer() answers nothing and every caller has a slower way that is just as
// right. Fixed size; no pointer to memory of a process.
#pragma once

#include <array>
#include <cstdint>

#include "core/heads.hpp"
#include "pg/postgres.hpp"

namespace x_jobs::shmem {

constexpr int kWaiterQueues = 16;

enum WaiterState : std::uint32_t {
    kIdle,
    kWaiting,  // sleeping, or about to look at the table once more before it sleeps
    kWoken,    // some commit has told it to look
};

// One for each process that the server can have, by its number. Written by that process alone, but
// for `state`, which whoever wakes it moves from waiting to woken. The fields beside `state` are
// stable while it is not idle.
struct Waiter {
    pg_atomic_uint32 state;
    Oid database;
    // More queues than fit: woken for every queue, besides those that a commit counts on.
    bool any_queue;
    // Does not take every job of its queues: woken besides those that a commit counts on.
    bool selective;
    int queue_count;
    std::array<std::uint64_t, kWaiterQueues> queues;
};

// What identifies a queue: compared byte by byte, so it is zeroed before it is filled.
struct QueueKey {
    Oid database;
    // The table of live jobs, by its oid: another installation is another queue.
    Oid relation;
    std::array<char, core::kMaxNameBytes + 1> name;
};

// One queue that claims look at. `lock` guards the heads; the atomics are read without it, as a
// first look that may be a moment old.
struct QueueSlot {
    // Changes whenever the slot gets another queue, so that a reference to the old one is known to
    // be stale; 0 while it has none.
    pg_atomic_uint64 generation;
    QueueKey key;
    std::uint64_t name_hash;
    LWLock *lock;
    // Heads::next_due(), in the clock's microseconds.
    pg_atomic_uint64 next_due;
    // When the places that are closed are to be looked at once more.
    pg_atomic_uint64 rescan_at;
    // The server's own time of the last claim: the slot longest unused is given away first.
    pg_atomic_uint64 used_at;
    core::Heads heads;
};

// A job that runs under a lease, watched so that its lapse is found without a search.
struct LeaseKey {
    core::Uuid id;
    Oid database;
    Oid relation;
};

struct Lease {
    LeaseKey key;
    // The ordinal of the claim that holds it.
    std::int64_t claim;
    int slot;
    std::uint64_t generation;
    core::Place place;
    core::Timestamp expires_at;
};

// Leases are spread by their id over partitions, each with a lock and a table of its own.
constexpr int kLeasePartitions = 16;

struct LeasePartition {
    LWLock *lock;
    // No lease of the partition ends earlier.
    pg_atomic_uint64 least_expiry;
};

// The least expiry of no lease, and the owner of no timer.
constexpr std::uint64_t kNoExpiry = static_cast<std::uint64_t>(core::kNever.micros);
constexpr std::uint32_t kNobody = 0xFFFFFFFF;

// Why a database has the scheduler that it has, or none.
enum class SchedulerState : std::uint32_t {
    unknown,   // the launcher has to start one, which finds out
    starting,  // asked for, and not heard of yet
    running,
    absent,        // the database does not have the extension
    switched_off,  // x_jobs.scheduler is off for the database
    restoring,     // the session that is restoring the extension comes first
    no_worker,     // the server had no background worker left
    failed,        // it could not connect
};

// One for each database that the launcher has seen. Guarded by the fleet's lock.
struct DatabaseSlot {
    Oid database;
    SchedulerState state;
    // The scheduler's process while it has one, and its number for its latch.
    int pid;
    int process;
    // Statements in progress that need the database without other sessions.
    int bars;
    // The scheduler is to end, so that another one looks at everything anew.
    bool look_again;
    // The process that made the extension as a restore does, while that goes on.
    int restored_by;
    // By the server's own clock.
    std::int64_t since;
    std::int64_t retry_at;
    std::uint32_t starts;
    // How often the scheduler has gone round, over all its lives.
    std::uint64_t rounds;
    // The scheduler sends notifications, so commits need not.
    bool notifies;
    // Notices that found no room: every queue may have work.
    bool notify_any;
};

// A queue that got work, of which the scheduler of its database is to notify. Guarded by the
// fleet's lock; free while it has no database.
struct QueueNotice {
    Oid database;
    std::array<char, core::kMaxNameBytes + 1> queue;
};
constexpr int kNotices = 256;

// The launcher and the databases it looks after. Made at the start of shared memory.
struct Fleet {
    LWLock *lock;
    // The launcher's process, its number and when it began; written by it under the lock.
    int launcher_pid;
    int launcher_process;
    std::int64_t launcher_since;
    std::uint32_t launcher_starts;
    std::array<QueueNotice, kNotices> notices;
    int slot_count;
    DatabaseSlot slots[FLEXIBLE_ARRAY_MEMBER];
};

struct Shared {
    // Guards the fields of the waiters while they go to sleep and are looked through: exclusive for
    // a waiter that writes its own, shared for those who wake.
    LWLock *lock;
    // How many waiters are not idle: lets a commit without listeners pass at the cost of one read.
    pg_atomic_uint32 waiting;
    // Sessions that have listened on x_jobs_wake and x_jobs_settled since they began.
    pg_atomic_uint32 wake_listeners;
    pg_atomic_uint32 settled_listeners;
    // Guards which slot belongs to which queue.
    LWLock *slots_lock;
    QueueSlot *slots;
    int slot_count;
    // The last generation that was given out; guarded by slots_lock.
    std::uint64_t generation;
    // No watched lease ends earlier: lets a claim pass at the cost of one read.
    pg_atomic_uint64 least_expiry;
    std::array<LeasePartition, kLeasePartitions> leases;
    // How many of the watched leases have lapsed.
    pg_atomic_uint64 lapses;
    // The process that wakes when the next lease ends; -1 for none.
    pg_atomic_uint32 timer_owner;
    int waiter_count;
    Waiter waiters[FLEXIBLE_ARRAY_MEMBER];
};

// The shared structure, or nothing when the library was not preloaded.
Shared *pointer();
Fleet *fleet();
// The table of the queues that have a slot (QueueKey to int), and those of the leases.
HTAB *slot_index();
HTAB *lease_table(int partition);

// Registers the hooks that make it; called once, from _PG_init, only while preloading.
void initialise();

}  // namespace x_jobs::shmem
