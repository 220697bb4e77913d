// See registry.hpp.
#include "fleet/registry.hpp"

#include <algorithm>

namespace x_jobs::fleet {

namespace {

std::span<DatabaseSlot> slots() {
    shmem::Fleet *fleet = shmem::fleet();
    return {fleet->slots, static_cast<std::size_t>(fleet->slot_count)};
}

DatabaseSlot *find(Oid database) {
    const auto all = slots();
    const auto found = std::find_if(all.begin(), all.end(), [&](const DatabaseSlot &slot) {
        return slot.database == database;
    });
    return found == all.end() ? nullptr : &*found;
}

// That of a database without the extension, which has been looked at.
DatabaseSlot *find_unneeded() {
    const auto all = slots();
    const auto found = std::find_if(all.begin(), all.end(), [](const DatabaseSlot &slot) {
        return slot.state == SchedulerState::absent && slot.pid == 0 && slot.bars == 0;
    });
    return found == all.end() ? nullptr : &*found;
}

}  // namespace

DatabaseSlot *slot_of(Oid database) {
    return find(database);
}

DatabaseSlot *slot_made_for(Oid database) {
    DatabaseSlot *slot = find(database);
    if (slot == nullptr) {
        slot = find(InvalidOid);
        if (slot != nullptr) {
            *slot = DatabaseSlot{};
            slot->database = database;
        }
    }
    return slot;
}

void free_slot(DatabaseSlot &slot) {
    // What was left for a scheduler that will not come.
    for (shmem::QueueNotice &notice : shmem::fleet()->notices) {
        if (notice.database == slot.database) {
            notice.database = InvalidOid;
        }
    }
    slot = DatabaseSlot{};
}

void set_latch(int pid, int process) {
    if (pid != 0) {
        SetLatch(&ProcGlobal->allProcs[process].procLatch);
    }
}

void poke_launcher() {
    if (shmem::fleet() != nullptr) {
        locked(LW_SHARED, [](const shmem::Fleet &fleet) {
            set_latch(fleet.launcher_pid, fleet.launcher_process);
        });
    }
}

void look_again(Oid database) {
    if (shmem::fleet() == nullptr) {
        return;
    }
    locked(LW_EXCLUSIVE, [&](shmem::Fleet &fleet) {
        DatabaseSlot *slot = slot_made_for(database);
        if (slot == nullptr) {
            slot = find_unneeded();
            if (slot != nullptr) {
                free_slot(*slot);
                slot->database = database;
            }
        }
        if (slot == nullptr) {
            // There is no room; health() says so.
        } else if (slot->pid != 0) {
            slot->look_again = true;
            set_latch(slot->pid, slot->process);
        } else if (slot->state != SchedulerState::starting) {
            slot->state = SchedulerState::unknown;
            slot->retry_at = 0;
        } else {
            slot->look_again = true;
        }
        set_latch(fleet.launcher_pid, fleet.launcher_process);
    });
}

void poke_scheduler() {
    if (shmem::fleet() == nullptr) {
        return;
    }
    locked(LW_SHARED, [](const shmem::Fleet &) {
        if (const DatabaseSlot *slot = slot_of(MyDatabaseId)) {
            set_latch(slot->pid, slot->process);
        }
    });
}

bool scheduler_notifies() {
    if (shmem::fleet() == nullptr) {
        return false;
    }
    return locked(LW_SHARED, [](const shmem::Fleet &) {
        const DatabaseSlot *slot = slot_of(MyDatabaseId);
        return slot != nullptr && slot->pid != 0 && slot->notifies;
    });
}

}  // namespace x_jobs::fleet
