// The registry of background workers in shared memory. Those who poke or ask may do so whether or
// not the library is preloaded; the slots and the lock are there only if it is.
#pragma once

#include "pg/postgres.hpp"
#include "shmem/layout.hpp"

namespace x_jobs::fleet {

using shmem::DatabaseSlot;
using shmem::SchedulerState;

// The slot of a database; made if asked for and there is room. The fleet's lock is held.
DatabaseSlot *slot_of(Oid database);
DatabaseSlot *slot_made_for(Oid database);

// Empties a slot, with what was left for its scheduler. The fleet's lock is held.
void free_slot(DatabaseSlot &slot);

// Runs `body` under the lock.
template <typename Body>
auto locked(LWLockMode mode, Body body) {
    shmem::Fleet *fleet = shmem::fleet();
    LWLockAcquire(fleet->lock, mode);
    if constexpr (std::is_void_v<decltype(body(*fleet))>) {
        body(*fleet);
        LWLockRelease(fleet->lock);
    } else {
        const auto answer = body(*fleet);
        LWLockRelease(fleet->lock);
        return answer;
    }
}

// Wakes a worker; the lock is held.
void set_latch(int pid, int process);

// Has the launcher look: at the list of databases, or at one of them, whose scheduler begins anew.
// Raises nothing.
void poke_launcher();
void look_again(Oid database);

// Has the scheduler of this database look at its tasks. Raises nothing.
void poke_scheduler();

// Whether this database has a scheduler that notifies.
bool scheduler_notifies();

}  // namespace x_jobs::fleet
