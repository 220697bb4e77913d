// See layout.hpp. Requests and makes the shared structure, once for each start of the server's
// shared memory.
#include "pg/function.hpp"
#include "shmem/layout.hpp"

namespace x_jobs::shmem {

namespace {

Shared *shared = nullptr;
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

void request() {
    if (previous_request != nullptr) {
        previous_request();
    }
    RequestAddinShmemSpace(size_of_shared());
    RequestNamedLWLockTranche("x_jobs", 1);
}

void startup() {
    if (previous_startup != nullptr) {
        previous_startup();
    }
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    bool found = false;
    shared = static_cast<Shared *>(ShmemInitStruct("x_jobs", size_of_shared(), &found));
    if (!found) {
        shared->lock = &GetNamedLWLockTranche("x_jobs")->lock;
        pg_atomic_init_u32(&shared->waiting, 0);
        pg_atomic_init_u32(&shared->wake_listeners, 0);
        pg_atomic_init_u32(&shared->settled_listeners, 0);
        shared->waiter_count = process_count();
        for (int i = 0; i < shared->waiter_count; ++i) {
            shared->waiters[i] = Waiter{};
            pg_atomic_init_u32(&shared->waiters[i].state, kIdle);
        }
    }
    LWLockRelease(AddinShmemInitLock);
}

}  // namespace

Shared *pointer() {
    return shared;
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
