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
        // First, so that a commit which sees no lapse is seen by every scan of what is opened here.
        pg_atomic_fetch_add_u64(&shmem::pointer()->lapses, 1);
        std::uint64_t name_hash = 0;
        const bool opened = change_heads(queue, [&](core::Heads &heads) {
            heads.lower(lapsed);
            name_hash = slot_of(queue).name_hash;
        });
        if (opened) {
            wake(lease->key.database, name_hash, 1);
        }
        hash_search(shmem::lease_table(number), &lease->key, HASH_REMOVE, nullptr);
    }
    pg_atomic_write_u64(&owner.least_expiry, stored(least));
    LWLockRelease(owner.lock);
}

void fill(Lease &entry, const HeldLease &lease) {
    entry.claim = lease.claim;
    entry.slot = lease.queue.slot;
    entry.generation = lease.queue.generation;
    entry.place = lease.place;
}

void end_at(LeasePartition &owner, Lease &entry, core::Timestamp instant) {
    entry.expires_at = instant;
    lower_least(owner, instant);
}

// Calls `change` with the job's entry and whether it is one of a queue that still has its slot;
// nothing when there is no room for one.
template <typename Change>
std::optional<core::Timestamp> with_entry(const LeaseKey &key, Change change) {
    const int number = partition_of(key);
    LeasePartition &owner = partition(number);
    std::optional<core::Timestamp> until;
    LWLockAcquire(owner.lock, LW_EXCLUSIVE);
    bool known = false;
    auto *entry = static_cast<Lease *>(
        hash_search(shmem::lease_table(number), &key, HASH_ENTER_NULL, &known));
    if (entry != nullptr) {
        change(owner, *entry, known && is_current({entry->slot, entry->generation}));
        until = entry->expires_at;
    }
    LWLockRelease(owner.lock);
    return until;
}

}  // namespace

std::optional<core::Timestamp> watch_lease(const HeldLease &lease) {
    return with_entry(lease.key, [&](LeasePartition &owner, Lease &entry, bool known) {
        const bool renewal = known && entry.claim == lease.claim;
        fill(entry, lease);
        if (!renewal || lease.expires_at < entry.expires_at) {
            end_at(owner, entry, lease.expires_at);
        }
    });
}

std::optional<core::Timestamp> watch_seen_lease(const HeldLease &lease) {
    bool elsewhere = false;
    const auto until = with_entry(lease.key, [&](LeasePartition &owner, Lease &entry, bool known) {
        // Claims of one row follow each other, so an older one than a row shows is over.
        known = known && entry.claim >= lease.claim;
        elsewhere = known && (entry.place != lease.place || entry.slot != lease.queue.slot ||
                              entry.generation != lease.queue.generation);
        if (!known) {
            fill(entry, lease);
        }
        if (!known || (!elsewhere && lease.expires_at < entry.expires_at)) {
            end_at(owner, entry, lease.expires_at);
        }
    });
    return elsewhere ? std::nullopt : until;
}

bool confirm_lease(const HeldLease &lease, core::Timestamp until) {
    return with_entry(lease.key,
                      [&](LeasePartition &owner, Lease &entry, bool known) {
                          if (known && entry.claim > lease.claim) {
                              return;
                          }
                          const bool as_it_was =
                              known && entry.claim == lease.claim && entry.expires_at == until;
                          const core::Timestamp end =
                              !known || as_it_was ? lease.expires_at
                                                  : std::min(entry.expires_at, lease.expires_at);
                          if (!known || is_current(lease.queue)) {
                              fill(entry, lease);
                          } else {
                              // The queue has another slot by now: that of the entry.
                              entry.claim = lease.claim;
                              entry.place = lease.place;
                          }
                          end_at(owner, entry, end);
                      })
        .has_value();
}

std::uint64_t lapses() {
    return pg_atomic_read_u64(&shmem::pointer()->lapses);
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
