// _x_jobs.background_workers(): the registry as rows, for health() and for people.
#include <algorithm>

#include "fleet/bars.hpp"
#include "fleet/registry.hpp"
#include "pg/array.hpp"
#include "pg/rows.hpp"

namespace x_jobs::workers {

namespace {

using fleet::SchedulerState;

std::string_view name_of(SchedulerState state) {
    switch (state) {
        case SchedulerState::unknown:
            return "waiting for the launcher";
        case SchedulerState::starting:
            return "starting";
        case SchedulerState::running:
            return "running";
        case SchedulerState::absent:
            return "no extension";
        case SchedulerState::switched_off:
            return "switched off";
        case SchedulerState::restoring:
            return "waiting for a restore";
        case SchedulerState::no_worker:
            return "no background worker left";
        case SchedulerState::failed:
            return "cannot connect";
    }
    return "";
}

struct Line {
    std::string_view worker;
    Oid database;
    int pid;
    std::string_view state;
    std::int64_t since;
    std::int64_t starts;
    std::int64_t rounds;
};

// worker, database, pid, state, since, starts, rounds
void write(pg::RowWriter &rows, const Line &line) {
    const char *name = OidIsValid(line.database) ? get_database_name(line.database) : nullptr;
    rows.write(std::array{
        pg::to_nullable(std::optional{line.worker}),
        pg::to_nullable(name == nullptr ? std::nullopt : std::optional{std::string_view{name}}),
        pg::to_nullable(line.pid == 0 ? std::nullopt : std::optional{line.pid}),
        pg::to_nullable(std::optional{line.state}),
        pg::to_nullable(line.since == 0 ? std::nullopt
                                        : std::optional{core::Timestamp{line.since}}),
        pg::to_nullable(std::optional{line.starts}),
        line.rounds == 0 ? pg::NullableValue{} : pg::to_nullable(std::optional{line.rounds})});
}

Datum background_workers(pg::Call call) {
    pg::RowWriter rows(call);
    if (shmem::fleet() == nullptr) {
        return Datum{0};
    }
    // Room first: nothing is allocated under the lock.
    auto *lines = static_cast<Line *>(
        palloc(sizeof(Line) * static_cast<Size>(shmem::fleet()->slot_count + 1)));
    const int count = fleet::locked(LW_SHARED, [&](const shmem::Fleet &fleet) {
        int n = 0;
        lines[n++] = {"launcher",
                      InvalidOid,
                      fleet.launcher_pid,
                      fleet.launcher_pid == 0 ? "not running" : "running",
                      fleet.launcher_since,
                      fleet.launcher_starts,
                      0};
        for (int i = 0; i < fleet.slot_count; ++i) {
            const shmem::DatabaseSlot &slot = fleet.slots[i];
            if (OidIsValid(slot.database)) {
                lines[n++] = {"scheduler",
                              slot.database,
                              slot.pid,
                              slot.bars > 0 ? "barred by a statement" : name_of(slot.state),
                              slot.since,
                              slot.starts,
                              static_cast<std::int64_t>(slot.rounds)};
            }
        }
        return n;
    });
    for (int i = 0; i < count; ++i) {
        write(rows, lines[i]);
    }
    return Datum{0};
}

// After the commit of a change that the scheduler should see soon.
void wake_scheduler() {
    fleet::poke_at_commit();
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_background_workers, background_workers)
X_JOBS_SQL_FUNCTION(x_jobs_wake_scheduler, wake_scheduler)

}  // namespace x_jobs::workers
