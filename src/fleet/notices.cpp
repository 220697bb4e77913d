// See notices.hpp.
#include "fleet/notices.hpp"

#include <algorithm>

namespace x_jobs::fleet {

namespace {

bool stands_for(const shmem::QueueNotice &notice, std::string_view queue) {
    return notice.database == MyDatabaseId && queue == notice.queue.data();
}

// Whether the queue is on the board already.
bool is_noticed(const shmem::Fleet &fleet, std::string_view queue) {
    const DatabaseSlot *slot = slot_of(MyDatabaseId);
    return (slot != nullptr && slot->notify_any) ||
           std::any_of(fleet.notices.begin(), fleet.notices.end(),
                       [&](const auto &notice) { return stands_for(notice, queue); });
}

}  // namespace

void leave_notice(std::string_view queue) {
    if (locked(LW_SHARED, [&](const shmem::Fleet &fleet) { return is_noticed(fleet, queue); })) {
        return;
    }
    locked(LW_EXCLUSIVE, [&](shmem::Fleet &fleet) {
        DatabaseSlot *slot = slot_of(MyDatabaseId);
        if (slot == nullptr || is_noticed(fleet, queue)) {
            return;
        }
        auto *free = std::find_if(fleet.notices.begin(), fleet.notices.end(),
                                  [](const auto &notice) { return notice.database == InvalidOid; });
        if (free == fleet.notices.end() || queue.empty() || queue.size() >= free->queue.size()) {
            slot->notify_any = true;
        } else {
            free->database = MyDatabaseId;
            *std::copy(queue.begin(), queue.end(), free->queue.begin()) = '\0';
        }
        set_latch(slot->pid, slot->process);
    });
}

bool take_notice(std::array<char, core::kMaxNameBytes + 1> &queue) {
    return locked(LW_EXCLUSIVE, [&](shmem::Fleet &fleet) {
        DatabaseSlot *slot = slot_of(MyDatabaseId);
        if (slot != nullptr && slot->notify_any) {
            slot->notify_any = false;
            queue[0] = '\0';
            return true;
        }
        auto *found =
            std::find_if(fleet.notices.begin(), fleet.notices.end(),
                         [](const auto &notice) { return notice.database == MyDatabaseId; });
        if (found == fleet.notices.end()) {
            return false;
        }
        queue = found->queue;
        found->database = InvalidOid;
        return true;
    });
}

}  // namespace x_jobs::fleet
