// Everything that x_jobs keeps in shared memory. Made once by startup.cpp when the library is
// preloaded; without it pointer() answers nothing and every caller has a slower way that is just as
// right. Fixed size; no pointer to memory of a process.
#pragma once

#include <array>
#include <cstdint>

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

struct Shared {
    // Guards the fields of the waiters while they go to sleep and are looked through: exclusive for
    // a waiter that writes its own, shared for those who wake.
    LWLock *lock;
    // How many waiters are not idle: lets a commit without listeners pass at the cost of one read.
    pg_atomic_uint32 waiting;
    // Sessions that have listened on x_jobs_wake and x_jobs_settled since they began.
    pg_atomic_uint32 wake_listeners;
    pg_atomic_uint32 settled_listeners;
    int waiter_count;
    Waiter waiters[FLEXIBLE_ARRAY_MEMBER];
};

// The shared structure, or nothing when the library was not preloaded.
Shared *pointer();

// Registers the hooks that make it; called once, from _PG_init, only while preloading.
void initialise();

}  // namespace x_jobs::shmem
