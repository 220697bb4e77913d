// See layout.hpp. Requests and makes the shared structure, once for each start of the server's
// shared memory.
#include <algorithm>
#include <cstring>

#include "pg/function.hpp"
#include "settings/settings.hpp"
#include "shmem/layout.hpp"

namespace x_jobs::shmem {

namespace {

constexpr const char *kWaitersTranche = "x_jobs";
constexpr const char *kQueuesTranche = "x_jobs_queues";
constexpr const char *kLeasesTranche = "x_jobs_leases";
constexpr const char *kFleetTranche = "x_jobs_fleet";

Shared *shared = nullptr;
Fleet *workers = nullptr;
HTAB *queue_index = nullptr;
std::array<HTAB *, kLeasePartitions> lease_tables{};
shmem_request_hook_type previous_request = nullptr;
shmem_startup_hook_type previous_startup = nullptr;

// Every process with a latch of its own: sessions, workers, walsenders, auxiliary processes.
int process_count() {
    return MaxBackends + NUM_AUXILIARY_PROCS;
}

Size size_of_shared() {
    return add_size(offsetof(Shared, waiters),
                    mul_size(sizeof(Waiter), static_cast<Size>(process_count())));
}

Size size_of_slots() {
    return mul_size(sizeof(QueueSlot), static_cast<Size>(settings::max_queues()));
}

Size size_of_fleet() {
    return add_size(offsetof(Fleet, slots),
                    mul_size(sizeof(DatabaseSlot), static_cast<Size>(settings::max_databases())));
}

// What an entry of the index of queues holds.
struct IndexEntry {
    QueueKey key;
    int slot;
};

long leases_of_partition() {
    return std::max(1, settings::max_leases() / kLeasePartitions);
}

void request() {
    if (previous_request != nullptr) {
        previous_request();
    }
    RequestAddinShmemSpace(size_of_shared());
    RequestAddinShmemSpace(size_of_slots());
    RequestAddinShmemSpace(size_of_fleet());
    RequestAddinShmemSpace(hash_estimate_size(settings::max_queues(), sizeof(IndexEntry)));
    for (int i = 0; i < kLeasePartitions; ++i) {
        RequestAddinShmemSpace(hash_estimate_size(leases_of_partition(), sizeof(Lease)));
    }
    RequestNamedLWLockTranche(kWaitersTranche, 1);
    RequestNamedLWLockTranche(kQueuesTranche, settings::max_queues() + 1);
    RequestNamedLWLockTranche(kLeasesTranche, kLeasePartitions);
    RequestNamedLWLockTranche(kFleetTranche, 1);
}

// A table of fixed size: entering into a full one answers nothing instead of raising.
HTAB *make_table(const char *name, long size, Size key_size, Size entry_size) {
    HASHCTL control{};
    control.keysize = key_size;
    control.entrysize = entry_size;
    return ShmemInitHash(name, size, size, &control, HASH_ELEM | HASH_BLOBS | HASH_FIXED_SIZE);
}

void make_slots() {
    bool found = false;
    auto *slots =
        static_cast<QueueSlot *>(ShmemInitStruct("x_jobs queues", size_of_slots(), &found));
    queue_index =
        make_table("x_jobs index", settings::max_queues(), sizeof(QueueKey), sizeof(IndexEntry));
    if (found) {
        return;
    }
    LWLockPadded *locks = GetNamedLWLockTranche(kQueuesTranche);
    shared->slots_lock = &locks[0].lock;
    shared->slots = slots;
    shared->slot_count = settings::max_queues();
    shared->generation = 0;
    for (int i = 0; i < shared->slot_count; ++i) {
        slots[i].lock = &locks[i + 1].lock;
        pg_atomic_init_u64(&slots[i].generation, 0);
        pg_atomic_init_u64(&slots[i].next_due, 0);
        pg_atomic_init_u64(&slots[i].rescan_at, 0);
        pg_atomic_init_u64(&slots[i].used_at, 0);
    }
}

void make_leases(bool first) {
    for (int i = 0; i < kLeasePartitions; ++i) {
        char name[32];
        snprintf(name, sizeof name, "x_jobs leases %d", i);
        const auto n = static_cast<std::size_t>(i);
        lease_tables[n] = make_table(name, leases_of_partition(), sizeof(LeaseKey), sizeof(Lease));
        if (first) {
            shared->leases[n].lock = &GetNamedLWLockTranche(kLeasesTranche)[i].lock;
            pg_atomic_init_u64(&shared->leases[n].least_expiry, kNoExpiry);
        }
    }
}

void make_fleet() {
    bool found = false;
    const Size size = size_of_fleet();
    workers = static_cast<Fleet *>(ShmemInitStruct("x_jobs fleet", size, &found));
    if (!found) {
        std::memset(static_cast<void *>(workers), 0, size);
        workers->lock = &GetNamedLWLockTranche(kFleetTranche)->lock;
        workers->slot_count = settings::max_databases();
    }
}

void startup() {
    if (previous_startup != nullptr) {
        previous_startup();
    }
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    shared = static_cast<Shared *>(ShmemInitStruct("x_jobs", size_of_shared(), &found));
    if (!found) {
        shared->lock = &GetNamedLWLockTranche(kWaitersTranche)->lock;
        pg_atomic_init_u32(&shared->waiting, 0);
        pg_atomic_init_u32(&shared->wake_listeners, 0);
        pg_atomic_init_u32(&shared->settled_listeners, 0);
        pg_atomic_init_u64(&shared->least_expiry, kNoExpiry);
        pg_atomic_init_u64(&shared->lapses, 0);
        pg_atomic_init_u32(&shared->timer_owner, kNobody);
        shared->waiter_count = process_count();
        for (int i = 0; i < shared->waiter_count; ++i) {
            shared->waiters[i] = Waiter{};
            pg_atomic_init_u32(&shared->waiters[i].state, kIdle);
        }
    }
    make_slots();
    make_leases(!found);
    make_fleet();
    LWLockRelease(AddinShmemInitLock);
}

}  // namespace

Shared *pointer() {
    return shared;
}

Fleet *fleet() {
    return workers;
}

HTAB *slot_index() {
    return queue_index;
}

HTAB *lease_table(int partition) {
    return lease_tables[static_cast<std::size_t>(partition)];
}

void initialise() {
    previous_request = shmem_request_hook;
    shmem_request_hook = request;
    previous_startup = shmem_startup_hook;
    shmem_startup_hook = startup;
}

namespace {

bool preloaded() {
    return shared != nullptr;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_preloaded, preloaded)

}  // namespace x_jobs::shmem
