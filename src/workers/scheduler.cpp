// The scheduler of one database. Enters itself in the registry, looks whether there is anything for
// it to do, and goes round until it is told to end, the database is needed by somebody else, or the
// database is not what it was.
#include <algorithm>
#include <cstring>

#include "clock/clock.hpp"
#include "fleet/registry.hpp"
#include "pg/attempt.hpp"
#include "pg/compat.hpp"
#include "settings/settings.hpp"
#include "workers/duties.hpp"
#include "workers/loop.hpp"
#include "workers/notifying.hpp"
#include "workers/session.hpp"
#include "workers/statement.hpp"
#include "workers/turns.hpp"

extern "C" {
PGDLLEXPORT void x_jobs_scheduler_main(Datum argument);
}

namespace x_jobs::workers {

namespace {

using fleet::DatabaseSlot;
using fleet::SchedulerState;

// The longest that a round waits for something that nobody has told of.
constexpr core::Duration kLongestNap = std::chrono::seconds{1};

Oid own_database = InvalidOid;
// What the slot says when the process has gone, and how long there is none after it: one that did
// not mean to end may end in the same way again.
SchedulerState farewell = SchedulerState::failed;
constexpr core::Duration kRest = std::chrono::seconds{1};
core::Duration rest = kRest;

void leave(int, Datum) {
    if (is_abandoned()) {
        ereport(LOG, errmsg("x_jobs jobs.scheduler.drain-abandoned: the round did not end in time"),
                errdetail("The leader lease is not given back, and lapses by itself."));
    }
    fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &fleet) {
        if (DatabaseSlot *slot = fleet::slot_of(own_database);
            slot != nullptr && slot->pid == MyProcPid) {
            slot->pid = 0;
            slot->notifies = false;
            slot->state = farewell;
            slot->since = GetCurrentTimestamp();
            slot->retry_at = (core::Timestamp{slot->since} + rest).micros;
        }
        fleet::set_latch(fleet.launcher_pid, fleet.launcher_process);
    });
}

// False when the database is needed without us, or has a scheduler.
bool enter() {
    before_shmem_exit(leave, Datum{0});
    return fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &) {
        DatabaseSlot *slot = fleet::slot_of(own_database);
        if (slot == nullptr || slot->pid != 0) {
            return false;
        }
        if (slot->bars > 0) {
            slot->state = SchedulerState::unknown;
            return false;
        }
        slot->pid = MyProcPid;
        slot->process = pg::compat::my_proc_number();
        slot->look_again = false;
        slot->since = GetCurrentTimestamp();
        return true;
    });
}

void show_running() {
    fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &fleet) {
        DatabaseSlot *slot = fleet::slot_of(own_database);
        slot->state = SchedulerState::running;
        slot->since = GetCurrentTimestamp();
        slot->restored_by = 0;
        slot->notifies = settings::notify();
        ++slot->starts;
        fleet::set_latch(fleet.launcher_pid, fleet.launcher_process);
    });
}

// From here on commits notify by themselves; what they have left so far is sent.
void stop_notifying() {
    fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &) {
        if (DatabaseSlot *slot = fleet::slot_of(own_database)) {
            slot->notifies = false;
        }
    });
    notify_the_rest();
}

[[noreturn]] void end_as(SchedulerState state) {
    farewell = state;
    rest = state == SchedulerState::restoring || state == SchedulerState::failed
               ? kRest
               : core::Duration::zero();
    proc_exit(0);
}

// Counts a round; false when somebody needs the database, or what is known of it may have changed.
bool begin_round() {
    return fleet::locked(LW_EXCLUSIVE, [](shmem::Fleet &) {
        DatabaseSlot *slot = fleet::slot_of(own_database);
        if (slot == nullptr || slot->bars > 0 || slot->look_again) {
            return false;
        }
        ++slot->rounds;
        return true;
    });
}

// Whether a session of pg_restore is in the database.
bool has_restorer() {
    const int count = pgstat_fetch_stat_numbackends();
    for (int i = 1; i <= count; ++i) {
        const PgBackendStatus *backend = pg::compat::backend_status(i);
        if (backend->st_databaseid == own_database &&
            std::strcmp(backend->st_appname, "pg_restore") == 0) {
            return true;
        }
    }
    return false;
}

// A restore comes with sessions of its own, which bring the rows of every table: nothing may be
// written before they are done. Several of them come one after the other, so that nobody is there
// for a moment: it is over when two looks in a row find nobody.
bool is_being_restored() {
    constexpr int kNobodyOnce = -1;
    constexpr int kSomebodyElse = -2;
    const int restorer = fleet::locked(LW_SHARED, [](const shmem::Fleet &) {
        const DatabaseSlot *slot = fleet::slot_of(own_database);
        return slot == nullptr ? 0 : slot->restored_by;
    });
    if (restorer == 0) {
        return false;
    }
    if (BackendPidGetProc(restorer) != nullptr) {
        return true;
    }
    const bool somebody = has_restorer();
    if (!somebody && restorer == kNobodyOnce) {
        return false;
    }
    fleet::locked(LW_EXCLUSIVE, [&](shmem::Fleet &) {
        if (DatabaseSlot *slot = fleet::slot_of(own_database);
            slot != nullptr && slot->restored_by == restorer) {
            slot->restored_by = somebody ? kSomebodyElse : kNobodyOnce;
        }
    });
    return true;
}

// Ends the process unless there is something to do in this database.
void look_around() {
    SchedulerState state = SchedulerState::running;
    const auto failure = pg::attempt("looking around", [&] {
        if (!is_installed()) {
            state = SchedulerState::absent;
        } else if (!settings::scheduler()) {
            state = SchedulerState::switched_off;
        } else if (is_being_restored()) {
            state = SchedulerState::restoring;
        }
    });
    if (failure) {
        ereport(LOG, errmsg("x_jobs scheduler cannot look around: %s", failure->message));
        end_as(SchedulerState::failed);
    }
    if (state != SchedulerState::running) {
        end_as(state);
    }
}

core::Timestamp server_now() {
    return core::Timestamp{GetCurrentTimestamp()};
}

// One round; answers how long to sleep.
core::Duration round() {
    look_around();
    const core::Timestamp duty_at = do_duties(server_now());
    core::Timestamp task_at = core::kNever;
    if (leads()) {
        task_at = take_turns();
    }
    const core::Timestamp notify_at = notify_listeners(clock::now());
    const core::Duration nap =
        std::min(duty_at - server_now(), std::min(task_at, notify_at) - clock::now());
    return std::clamp(nap, core::Duration::zero(), kLongestNap);
}

[[noreturn]] void run() {
    MemoryContext memory =
        AllocSetContextCreate(TopMemoryContext, "x_jobs scheduler", ALLOCSET_DEFAULT_SIZES);
    MemoryContextSwitchTo(memory);
    core::Duration span{0};
    for (;;) {
        nap(span);
        if (is_told_to_end()) {
            step([] {
                stop_notifying();
                stop_leading();
            });
            end_as(SchedulerState::unknown);
        }
        if (is_reloaded() || !begin_round()) {
            step(stop_notifying);
            end_as(SchedulerState::unknown);
        }
        MemoryContextReset(memory);
        step([&] { span = round(); });
    }
}

}  // namespace

}  // namespace x_jobs::workers

void x_jobs_scheduler_main(Datum argument) {
    using namespace x_jobs::workers;
    own_database = DatumGetObjectId(argument);
    begin_worker();
    if (!enter()) {
        proc_exit(0);
    }
    BackgroundWorkerInitializeConnectionByOid(own_database, InvalidOid, 0);
    set_up_session();
    begin_steps();
    look_around();
    show_running();
    run();
}
