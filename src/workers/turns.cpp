// See turns.hpp. The rules are SQL (_x_jobs.task_turn); this decides the order, and that one task's
// failure is its own.
#include "workers/turns.hpp"

#include "pg/array.hpp"
#include "pg/attempt.hpp"
#include "pg/text.hpp"
#include "settings/settings.hpp"
#include "workers/loop.hpp"
#include "workers/statement.hpp"

namespace x_jobs::workers {

namespace {

struct DueTask {
    const char *name;
    int max_catch_up;
};

// Left in the memory of the round.
const char *kept(MemoryContext memory, std::string_view value) {
    MemoryContext caller = MemoryContextSwitchTo(memory);
    const char *copy = pg::to_c_string(value);
    MemoryContextSwitchTo(caller);
    return copy;
}

void read_due(pg::Array<DueTask> &due, MemoryContext memory) {
    run_statement("SELECT task, max_catch_up FROM _x_jobs.due_tasks()", {},
                  [&](HeapTuple tuple, TupleDesc descriptor) {
                      due.push({kept(memory, *column<std::string_view>(tuple, descriptor, 1)),
                                *column<std::int32_t>(tuple, descriptor, 2)});
                  });
}

void log_failure(const char *what, const pg::Failure &failure) {
    if (is_installed_still()) {
        ereport(LOG, errmsg("x_jobs %s: %s", what, failure.message),
                errdetail("SQLSTATE %s.", unpack_sql_state(failure.sqlstate)));
    }
}

void record_failure(const DueTask &task, const pg::Failure &failure) {
    log_failure(psprintf("jobs.task.round_failed for task \"%s\"", task.name), failure);
    const auto again = pg::attempt("recording a failed task", [&] {
        const std::array arguments{text_argument(task.name), text_argument(failure.message)};
        run_statement("SELECT _x_jobs.task_failed($1, $2)", arguments, [](HeapTuple, TupleDesc) {});
    });
    if (again) {
        log_failure("cannot record the failure of a task", *again);
    }
}

// Whether there may be more for the task at once.
bool take_turn(const DueTask &task) {
    bool more = false;
    const auto failure = pg::attempt(psprintf("task %s", task.name), [&] {
        enable_timeout_after(STATEMENT_TIMEOUT, static_cast<int>(settings::task_timeout() /
                                                                 std::chrono::milliseconds{1}));
        const std::array arguments{text_argument(task.name)};
        run_statement("SELECT _x_jobs.task_turn($1)", arguments,
                      [&](HeapTuple tuple, TupleDesc descriptor) {
                          more = column<bool>(tuple, descriptor, 1).value_or(false);
                      });
        disable_timeout(STATEMENT_TIMEOUT, false);
    });
    if (failure) {
        record_failure(task, *failure);
        return false;
    }
    return more;
}

}  // namespace

core::Timestamp take_turns() {
    MemoryContext memory = CurrentMemoryContext;
    pg::Array<DueTask> due(memory);
    core::Timestamp next = core::kNever;
    auto failure = pg::attempt("looking for tasks that are due", [&] { read_due(due, memory); });
    if (failure) {
        log_failure("cannot look for tasks that are due", *failure);
        return next;
    }
    for (const DueTask &task : due) {
        for (int turn = 0; turn < task.max_catch_up && !is_told_to_end(); ++turn) {
            if (!take_turn(task)) {
                break;
            }
        }
    }
    failure = pg::attempt("looking for the next task", [&] {
        run_statement(
            "SELECT _x_jobs.next_task_at()", {}, [&](HeapTuple tuple, TupleDesc descriptor) {
                next = column<core::Timestamp>(tuple, descriptor, 1).value_or(core::kNever);
            });
    });
    return next;
}

}  // namespace x_jobs::workers
