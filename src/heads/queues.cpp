// See queues.hpp. Each backend remembers the slots it has found; the shared index is asked for the
// others.
#include "heads/queues.hpp"

#include <algorithm>
#include <cstring>

#include "settings/settings.hpp"

namespace x_jobs::heads {

namespace {

using shmem::QueueKey;
using shmem::QueueSlot;

// A slot that was used more recently than this is not taken from its queue.
constexpr std::int64_t kIdleMicros = 10'000'000;

constexpr std::int64_t kFullMicros = 1'000'000;

struct IndexEntry {
    QueueKey key;
    int slot;
};

// What this backend has found, by the hash of the queue's name; a newer one takes the place of an
// older.
struct Remembered {
    std::uint64_t hash;
    Oid relation;
    QueueRef queue;
};

std::array<Remembered, 256> remembered;

Remembered &place_for(std::uint64_t hash) {
    return remembered[hash % remembered.size()];
}

QueueKey key_for(Oid relation, std::string_view queue) {
    QueueKey key;
    std::memset(&key, 0, sizeof key);
    key.database = MyDatabaseId;
    key.relation = relation;
    std::copy(queue.begin(), queue.begin() + std::min(queue.size(), key.name.size() - 1),
              key.name.begin());
    return key;
}

bool is_of(const QueueKey &key, Oid relation, std::string_view queue) {
    return key.database == MyDatabaseId && key.relation == relation && queue == key.name.data();
}

QueueRef recall(std::uint64_t hash, Oid relation, std::string_view queue) {
    const Remembered &entry = place_for(hash);
    if (entry.hash != hash || entry.relation != relation || !is_current(entry.queue) ||
        !is_of(slot_of(entry.queue).key, relation, queue)) {
        return {};
    }
    // The slot may have been given away while its key was read.
    return is_current(entry.queue) ? entry.queue : QueueRef{};
}

QueueRef reference_to(int slot) {
    return {slot, pg_atomic_read_u64(&shmem::pointer()->slots[slot].generation)};
}

// With slots_lock held.
QueueRef look_up(const QueueKey &key) {
    const auto *entry =
        static_cast<IndexEntry *>(hash_search(shmem::slot_index(), &key, HASH_FIND, nullptr));
    return entry == nullptr ? QueueRef{} : reference_to(entry->slot);
}

// A free slot, or the one unused for longest; -1 when all are in use. With slots_lock held.
int choose_slot() {
    shmem::Shared *shared = shmem::pointer();
    int chosen = -1;
    std::uint64_t longest_unused = static_cast<std::uint64_t>(GetCurrentTimestamp() - kIdleMicros);
    for (int i = 0; i < shared->slot_count; ++i) {
        QueueSlot &slot = shared->slots[i];
        if (pg_atomic_read_u64(&slot.generation) == 0) {
            return i;
        }
        const std::uint64_t used_at = pg_atomic_read_u64(&slot.used_at);
        if (used_at < longest_unused) {
            longest_unused = used_at;
            chosen = i;
        }
    }
    return chosen;
}

// With slots_lock held exclusively.
QueueRef make(const QueueKey &key) {
    const int chosen = choose_slot();
    if (chosen < 0) {
        return {};
    }
    shmem::Shared *shared = shmem::pointer();
    QueueSlot &slot = shared->slots[chosen];
    LWLockAcquire(slot.lock, LW_EXCLUSIVE);
    if (pg_atomic_read_u64(&slot.generation) != 0) {
        hash_search(shmem::slot_index(), &slot.key, HASH_REMOVE, nullptr);
    }
    slot.key = key;
    slot.name_hash = queue_hash({key.name.data(), std::strlen(key.name.data())});
    slot.heads = core::Heads{};
    pg_atomic_write_u64(&slot.next_due, stored(core::kEver));
    pg_atomic_write_u64(&slot.rescan_at, 0);
    pg_atomic_write_u64(&slot.used_at, static_cast<std::uint64_t>(GetCurrentTimestamp()));
    pg_atomic_write_u64(&slot.generation, ++shared->generation);
    LWLockRelease(slot.lock);
    auto *entry =
        static_cast<IndexEntry *>(hash_search(shmem::slot_index(), &key, HASH_ENTER_NULL, nullptr));
    if (entry == nullptr) {
        pg_atomic_write_u64(&slot.generation, 0);
        return {};
    }
    entry->slot = chosen;
    return reference_to(chosen);
}

}  // namespace

std::uint64_t queue_hash(std::string_view queue) {
    const auto *bytes = reinterpret_cast<const unsigned char *>(queue.data());
    return std::max<std::uint64_t>(hash_bytes_extended(bytes, static_cast<int>(queue.size()), 0),
                                   1);
}

shmem::QueueSlot &slot_of(QueueRef queue) {
    return shmem::pointer()->slots[queue.slot];
}

bool is_current(QueueRef queue) {
    return queue.known() && pg_atomic_read_u64(&slot_of(queue).generation) == queue.generation;
}

namespace {

QueueRef find_shared(Oid relation, std::string_view queue) {
    shmem::Shared *shared = shmem::pointer();
    const QueueKey key = key_for(relation, queue);
    LWLockAcquire(shared->slots_lock, LW_SHARED);
    const QueueRef found = look_up(key);
    LWLockRelease(shared->slots_lock);
    return found;
}

QueueRef make_shared(Oid relation, std::string_view queue) {
    shmem::Shared *shared = shmem::pointer();
    const QueueKey key = key_for(relation, queue);
    LWLockAcquire(shared->slots_lock, LW_EXCLUSIVE);
    QueueRef found = look_up(key);
    if (!found.known()) {
        found = make(key);
    }
    LWLockRelease(shared->slots_lock);
    return found;
}

}  // namespace

QueueRef find(Oid relation, std::string_view queue) {
    if (shmem::pointer() == nullptr) {
        return {};
    }
    const std::uint64_t hash = queue_hash(queue);
    QueueRef found = recall(hash, relation, queue);
    if (!found.known()) {
        found = find_shared(relation, queue);
        place_for(hash) = {hash, relation, found};
    }
    return found;
}

QueueRef find_or_make(Oid relation, std::string_view queue) {
    // While every slot is in use, the search for one that is not costs more than it brings.
    static TimestampTz full_until = 0;
    QueueRef found = find(relation, queue);
    if (found.known() || shmem::pointer() == nullptr) {
        return found;
    }
    const TimestampTz now = GetCurrentTimestamp();
    if (now < full_until && full_until - now <= kFullMicros) {
        return found;
    }
    found = make_shared(relation, queue);
    if (!found.known()) {
        full_until = now + kFullMicros;
    }
    const std::uint64_t hash = queue_hash(queue);
    place_for(hash) = {hash, relation, found};
    return found;
}

core::Timestamp next_due(QueueRef queue) {
    return is_current(queue) ? instant(&slot_of(queue).next_due) : core::kNever;
}

bool may_find_something(QueueRef queue, core::Timestamp now) {
    if (!is_current(queue)) {
        return true;
    }
    return instant(&slot_of(queue).next_due) <= now ||
           (settings::rescan_interval() != core::Duration::zero() &&
            instant(&slot_of(queue).rescan_at) <= now);
}

void open_everything(Oid relation) {
    shmem::Shared *shared = shmem::pointer();
    if (shared == nullptr) {
        return;
    }
    for (int i = 0; i < shared->slot_count; ++i) {
        QueueSlot &slot = shared->slots[i];
        LWLockAcquire(slot.lock, LW_EXCLUSIVE);
        if (pg_atomic_read_u64(&slot.generation) != 0 && slot.key.database == MyDatabaseId &&
            (relation == InvalidOid || slot.key.relation == relation)) {
            slot.heads.reset();
            pg_atomic_write_u64(&slot.next_due, stored(core::kEver));
        }
        LWLockRelease(slot.lock);
    }
}

}  // namespace x_jobs::heads
