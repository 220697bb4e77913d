// See launcher.hpp. A database is looked at by starting a scheduler in it, which ends at once where
// there is nothing to do, and says why; one is started at a time. What became of it stands in the
// registry (fleet), so a launcher that comes back finds everything.
#include "workers/launcher.hpp"

#include <algorithm>

#include "fleet/registry.hpp"
#include "pg/array.hpp"
#include "pg/attempt.hpp"
#include "pg/function.hpp"
#include "workers/loop.hpp"

extern "C" {
PGDLLEXPORT void x_jobs_launcher_main(Datum argument);
}

namespace x_jobs::workers {

namespace {

using fleet::DatabaseSlot;
using fleet::SchedulerState;

constexpr core::Duration kSoon = std::chrono::seconds{1};
constexpr core::Duration kLook = std::chrono::seconds{60};
// A scheduler that was asked for and is not heard of.
constexpr core::Duration kStartTimeout = std::chrono::seconds{20};
constexpr core::Duration kRetryFailed = std::chrono::seconds{10};
// The lack of a worker is said once in this time.
constexpr core::Duration kSayAgain = std::chrono::minutes{10};

core::Timestamp now() {
    return core::Timestamp{GetCurrentTimestamp()};
}

struct Database {
    Oid oid;
    NameData name;
};

// The databases that may have a scheduler. Read afresh each time; forty thousand are not expected.
void read_databases(pg::Array<Database> &databases) {
    Relation catalogue = table_open(DatabaseRelationId, AccessShareLock);
    TableScanDesc scan = table_beginscan_catalog(catalogue, 0, nullptr);
    HeapTuple tuple = heap_getnext(scan, ForwardScanDirection);
    while (HeapTupleIsValid(tuple)) {
        const auto *form = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
        // A limit below -1 marks what a DROP DATABASE that was broken off has left.
        if (form->datallowconn && !form->datistemplate && form->datconnlimit >= -1) {
            databases.push({form->oid, form->datname});
        }
        tuple = heap_getnext(scan, ForwardScanDirection);
    }
    table_endscan(scan);
    table_close(catalogue, AccessShareLock);
}

bool holds(const pg::Array<Database> &databases, Oid database) {
    return std::any_of(databases.begin(), databases.end(),
                       [&](const Database &one) { return one.oid == database; });
}

// Gives every database a slot, and takes those of databases that are gone.
void keep_slots(const pg::Array<Database> &databases) {
    fleet::locked(LW_EXCLUSIVE, [&](shmem::Fleet &fleet) {
        for (int i = 0; i < fleet.slot_count; ++i) {
            DatabaseSlot &slot = fleet.slots[i];
            if (!OidIsValid(slot.database) || holds(databases, slot.database)) {
                continue;
            }
            // One that has become a template, or lets nobody in any more, still has its scheduler.
            slot.look_again = slot.pid != 0;
            fleet::set_latch(slot.pid, slot.process);
            if (slot.pid == 0 && slot.bars == 0) {
                fleet::free_slot(slot);
            }
        }
        for (const Database &database : databases) {
            static_cast<void>(fleet::slot_made_for(database.oid));
        }
    });
}

void change(Oid database, SchedulerState state, core::Timestamp retry_at) {
    fleet::locked(LW_EXCLUSIVE, [&](shmem::Fleet &) {
        if (DatabaseSlot *slot = fleet::slot_of(database); slot != nullptr && slot->pid == 0) {
            slot->state = state;
            slot->since = GetCurrentTimestamp();
            slot->retry_at = retry_at.micros;
        }
    });
}

// The one that is being started.
BackgroundWorkerHandle *starting = nullptr;

bool start_scheduler(const Database &database) {
    BackgroundWorker worker = describe_worker("x_jobs scheduler", "x_jobs_scheduler_main");
    // The launcher starts the next one: it knows whether there is still something to do.
    worker.bgw_restart_time = BGW_NEVER_RESTART;
    worker.bgw_main_arg = ObjectIdGetDatum(database.oid);
    worker.bgw_notify_pid = MyProcPid;
    snprintf(worker.bgw_name, BGW_MAXLEN, "x_jobs scheduler (%s)", NameStr(database.name));
    if (starting != nullptr) {
        pfree(starting);
        starting = nullptr;
    }
    MemoryContext round = MemoryContextSwitchTo(TopMemoryContext);
    const bool registered = RegisterDynamicBackgroundWorker(&worker, &starting);
    MemoryContextSwitchTo(round);
    return registered;
}

void say_no_worker(const Database &database) {
    static core::Timestamp said_at{};
    if (now() - said_at < kSayAgain && said_at.micros != 0) {
        return;
    }
    said_at = now();
    ereport(
        LOG,
        errmsg("x_jobs cannot start the scheduler of database \"%s\": no background worker is left",
               NameStr(database.name)),
        errdetail("max_worker_processes is %d. Tasks wait, and none is lost.",
                  max_worker_processes),
        errhint("Raise max_worker_processes by one for the launcher of x_jobs and one for each "
                "database that uses it, and restart the server."));
}

// Whether the one that was asked for has ended without having been heard of, or never will be.
bool is_lost(core::Timestamp since) {
    pid_t pid = 0;
    return now() - since >= kStartTimeout ||
           (starting != nullptr && GetBackgroundWorkerPid(starting, &pid) == BGWH_STOPPED);
}

// What is to be done about a database.
enum class Need { nothing, start, wait };

Need need_of(Oid database) {
    return fleet::locked(LW_EXCLUSIVE, [&](shmem::Fleet &) {
        DatabaseSlot *slot = fleet::slot_of(database);
        if (slot == nullptr || slot->pid != 0 || slot->bars > 0) {
            return Need::nothing;
        }
        const core::Timestamp instant = now();
        if (slot->state == SchedulerState::starting) {
            if (!is_lost(core::Timestamp{slot->since})) {
                return Need::wait;
            }
            slot->state = SchedulerState::failed;
            slot->since = instant.micros;
            slot->retry_at = (instant + kRetryFailed).micros;
        }
        if (slot->look_again) {
            slot->look_again = false;
            slot->state = SchedulerState::unknown;
            slot->retry_at = 0;
        }
        if (slot->state == SchedulerState::restoring && slot->restored_by != 0 &&
            BackendPidGetProc(slot->restored_by) != nullptr) {
            return Need::nothing;
        }
        const bool wanted =
            slot->state == SchedulerState::unknown || slot->state == SchedulerState::running ||
            slot->state == SchedulerState::restoring || slot->state == SchedulerState::no_worker ||
            slot->state == SchedulerState::failed;
        return wanted && slot->retry_at <= instant.micros ? Need::start : Need::nothing;
    });
}

// Whether it has been asked for.
bool start(const Database &database) {
    fleet::locked(LW_EXCLUSIVE, [&](shmem::Fleet &) {
        DatabaseSlot *slot = fleet::slot_of(database.oid);
        slot->state = SchedulerState::starting;
        slot->since = GetCurrentTimestamp();
    });
    if (!start_scheduler(database)) {
        change(database.oid, SchedulerState::no_worker, now() + kSoon);
        say_no_worker(database);
        return false;
    }
    return true;
}

// Those whose switch was off have it looked at again.
void look_at_switches() {
    fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &fleet) {
        for (int i = 0; i < fleet.slot_count; ++i) {
            if (fleet.slots[i].state == SchedulerState::switched_off) {
                fleet.slots[i].state = SchedulerState::unknown;
            }
        }
    });
}

// Starts at most one scheduler, and says whether something is to be looked at soon.
bool look_after(const pg::Array<Database> &databases) {
    bool soon = false;
    for (const Database &database : databases) {
        const Need need = need_of(database.oid);
        // Without a worker the others go without too, and it has to show in each of them.
        if (need == Need::wait || (need == Need::start && start(database))) {
            return true;
        }
        soon = soon || fleet::locked(LW_SHARED, [&](const shmem::Fleet &) {
                   const DatabaseSlot *slot = fleet::slot_of(database.oid);
                   return slot != nullptr && slot->pid == 0 &&
                          slot->state != SchedulerState::absent &&
                          slot->state != SchedulerState::switched_off;
               });
    }
    return soon;
}

void leave(int, Datum) {
    fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &fleet) { fleet.launcher_pid = 0; });
}

void enter() {
    fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &fleet) {
        fleet.launcher_pid = MyProcPid;
        fleet.launcher_process = pg::compat::my_proc_number();
        fleet.launcher_since = GetCurrentTimestamp();
        ++fleet.launcher_starts;
    });
    before_shmem_exit(leave, Datum{0});
}

[[noreturn]] void run() {
    MemoryContext memory =
        AllocSetContextCreate(TopMemoryContext, "x_jobs launcher", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(memory);
    core::Duration span{0};
    for (;;) {
        nap(span);
        if (is_told_to_end()) {
            // Anything but 0: the postmaster starts the launcher again, unless it is ending itself.
            proc_exit(1);
        }
        if (is_reloaded()) {
            look_at_switches();
        }
        MemoryContextReset(memory);
        pg::Array<Database> databases(memory);
        const auto failure =
            pg::attempt("looking for databases", [&] { read_databases(databases); });
        if (failure) {
            ereport(LOG, errmsg("x_jobs cannot read the list of databases: %s", failure->message));
            span = kSoon;
            continue;
        }
        keep_slots(databases);
        span = look_after(databases) ? kSoon : kLook;
    }
}

}  // namespace

void register_launcher() {
    if (IsBinaryUpgrade) {
        return;
    }
    BackgroundWorker worker = describe_worker("x_jobs launcher", "x_jobs_launcher_main");
    worker.bgw_restart_time = 1;
    RegisterBackgroundWorker(&worker);
}

}  // namespace x_jobs::workers

void x_jobs_launcher_main(Datum) {
    x_jobs::workers::begin_worker();
    x_jobs::workers::enter();
    BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
    SetConfigOption("application_name", "x_jobs launcher", PGC_USERSET, PGC_S_SESSION);
    x_jobs::workers::run();
}
