// The entry of the library: one line per room, in the order in which they depend on each other.
#include "pg/function.hpp"
#include "settings/settings.hpp"
#include "shmem/layout.hpp"
#include "store/mirror.hpp"
#include "store/relations.hpp"
#include "transaction/events.hpp"
#include "wake/waiters.hpp"
#include "workers/launcher.hpp"

extern "C" {
PG_MODULE_MAGIC;

void _PG_init(void);
}

void _PG_init(void) {
    // Settings first: the size of shared memory may depend on them.
    x_jobs::settings::define();
    // Only the postmaster can still ask for shared memory.
    if (process_shared_preload_libraries_in_progress) {
        x_jobs::shmem::initialise();
        x_jobs::workers::register_launcher();
    }
    // The mirrors before the events, whose callbacks read them.
    x_jobs::store::initialise();
    x_jobs::store::mirror::initialise();
    x_jobs::wake::initialise();
    x_jobs::transaction::initialise();
}

namespace {

std::string_view version() {
    return X_JOBS_VERSION;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_version, version)
