// See leases.hpp.
#include "heads/leases.hpp"

namespace x_jobs::heads {

namespace {

using shmem::Lease;
using shmem::LeaseKey;
using shmem::LeasePartition;

int partition_of(const LeaseKey &key) {
    // The last byte of an id of version 7 is random; of any other, as good as another.
    return key.id.bytes.back() % shmem::kLeasePartitions;
}

LeasePartition &partition(int number) {
    return shmem::pointer()->leases[static_cast<std::size_t>(number)];
}

void (*tell_earlier)() = nullptr;

// False when it was as low already.
bool lower_to(pg_atomic_uint64 *least, core::Timestamp instant) {
    std::uint64_t seen = pg_atomic_read_u64(least);
    while (static_cast<std::int64_t>(seen) > instant.micros) {
        if (pg_atomic_compare_exchange_u64(least, &seen, stored(instant))) {
            return true;
        }
    }
    return false;
}

// Whoever sleeps until the earliest end may have read the value before.
void lower_shared(core::Timestamp instant) {
    if (lower_to(&shmem::pointer()->least_expiry, instant) && tell_earlier != nullptr) {
        tell_earlier();
    }
}

void lower_least(LeasePartition &owner, core::Timestamp instant) {
    lower_to(&owner.least_expiry, instant);
    lower_shared(instant);
}

// Removes what has lapsed from the partition and opens its places.
void open_lapsed_of(int number, core::Timestamp now, Wake wake) {
    LeasePartition &owner = partition(number);
    LWLockAcquire(owner.lock, LW_EXCLUSIVE);
    core::Timestamp least = core::kNever;
    HASH_SEQ_STATUS leases;
    hash_seq_init(&leases, shmem::lease_table(number));
    while (auto *lease = static_cast<Lease *>(hash_seq_search(&leases))) {
        if (lease->expires_at > now) {
            least = std::min(least, lease->expires_at);
            continue;
        }
        const QueueRef queue{lease->slot, lease->generation};
        const core::PlaceRange lapsed = core::just(lease->place);
        if (change_heads(queue, [&](core::Heads &heads) { heads.lower(lapsed); })) {
            wake(lease->key.database, slot_of(queue).name_hash, 1);
        }
        hash_search(shmem::lease_table(number), &lease->key, HASH_REMOVE, nullptr);
    }
    pg_atomic_write_u64(&owner.least_expiry, stored(least));
    LWLockRelease(owner.lock);
}

}  // namespace

Watched watch_lease(const LeaseKey &key, std::int64_t claim, QueueRef queue,
                    const core::Place &place, core::Timestamp expires_at) {
    const int number = partition_of(key);
    LeasePartition &owner = partition(number);
    LWLockAcquire(owner.lock, LW_EXCLUSIVE);
    bool known = false;
    auto watched = Watched::no_room;
    auto *lease = static_cast<Lease *>(
        hash_search(shmem::lease_table(number), &key, HASH_ENTER_NULL, &known));
    if (lease != nullptr) {
        const bool of_this_claim =
            known && lease->claim == claim && is_current({lease->slot, lease->generation});
        lease->claim = claim;
        lease->slot = queue.slot;
        lease->generation = queue.generation;
        lease->place = place;
        if (!of_this_claim || expires_at < lease->expires_at) {
            lease->expires_at = expires_at;
            lower_least(owner, expires_at);
        }
        watched = lease->expires_at == expires_at ? Watched::until_then : Watched::until_earlier;
    }
    LWLockRelease(owner.lock);
    return watched;
}

void renew_lease(const LeaseKey &key, std::int64_t claim, core::Timestamp expires_at) {
    const int number = partition_of(key);
    LeasePartition &owner = partition(number);
    LWLockAcquire(owner.lock, LW_EXCLUSIVE);
    auto *lease =
        static_cast<Lease *>(hash_search(shmem::lease_table(number), &key, HASH_FIND, nullptr));
    if (lease != nullptr && lease->claim == claim) {
        lease->expires_at = expires_at;
        lower_least(owner, expires_at);
    }
    LWLockRelease(owner.lock);
}

void forget_lease(const LeaseKey &key, std::int64_t claim) {
    const int number = partition_of(key);
    LWLockAcquire(partition(number).lock, LW_EXCLUSIVE);
    const auto *lease =
        static_cast<Lease *>(hash_search(shmem::lease_table(number), &key, HASH_FIND, nullptr));
    if (lease != nullptr && lease->claim == claim) {
        hash_search(shmem::lease_table(number), &key, HASH_REMOVE, nullptr);
    }
    LWLockRelease(partition(number).lock);
}

void tell_of_earlier_lease(void (*tell)()) {
    tell_earlier = tell;
}

core::Timestamp least_expiry() {
    shmem::Shared *shared = shmem::pointer();
    return shared == nullptr ? core::kNever : instant(&shared->least_expiry);
}

void open_lapsed(core::Timestamp now, Wake wake) {
    shmem::Shared *shared = shmem::pointer();
    if (shared == nullptr || least_expiry() > now) {
        return;
    }
    // Raised before the partitions are read: a lease that is entered meanwhile lowers its partition
    // first and this value after it, so one of the two reads below or its own write holds it.
    pg_atomic_exchange_u64(&shared->least_expiry, shmem::kNoExpiry);
    for (int number = 0; number < shmem::kLeasePartitions; ++number) {
        if (instant(&partition(number).least_expiry) <= now) {
            open_lapsed_of(number, now, wake);
        }
        lower_shared(instant(&partition(number).least_expiry));
    }
}

}  // namespace x_jobs::heads
