// See turns.hpp. The rules are SQL (_x_jobs.task_turn); this decides the order, and that one task's
// failure is its own.
#include "workers/turns.hpp"

#include <algorithm>
#include <array>

#include "clock/clock.hpp"
#include "pg/array.hpp"
#include "pg/attempt.hpp"
#include "pg/text.hpp"
#include "settings/settings.hpp"
#include "workers/loop.hpp"
#include "workers/session.hpp"
#include "workers/statement.hpp"

namespace x_jobs::workers {

namespace {

// How long a task is left alone whose lock somebody else holds.
constexpr core::Duration kHeld = std::chrono::milliseconds{250};

struct DueTask {
    const char *name;
    int max_catch_up;
    // What somebody's function makes of an occurrence takes as long as they please.
    bool runs_function;
};

// Left in the memory of the round.
const char *kept(MemoryContext memory, std::string_view value) {
    MemoryContext caller = MemoryContextSwitchTo(memory);
    const char *copy = pg::to_c_string(value);
    MemoryContextSwitchTo(caller);
    return copy;
}

void read_due(pg::Array<DueTask> &due, MemoryContext memory) {
    run_statement("SELECT task, max_catch_up, runs_function FROM _x_jobs.due_tasks()", {},
                  [&](HeapTuple tuple, TupleDesc descriptor) {
                      due.push({kept(memory, *column<std::string_view>(tuple, descriptor, 1)),
                                *column<std::int32_t>(tuple, descriptor, 2),
                                *column<bool>(tuple, descriptor, 3)});
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
    begin_turn(settings::task_timeout());
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
    end_turn();
    reset_session();
    if (failure) {
        record_failure(task, *failure);
        return false;
    }
    return more;
}

// One slow function must not take the time of all tasks: a call that took long is followed by a
// rest, and a round ends when its functions have had their share of time. Those without a function
// have had their turns by then.
constexpr core::Duration kLong = std::chrono::milliseconds{100};
// Where those that wait have no function, and so come up with the delay.
constexpr core::Duration kTooLong = std::chrono::seconds{1};
constexpr int kRestPerWork = 20;
constexpr core::Duration kLongestRest = std::chrono::minutes{10};
constexpr core::Duration kShare = std::chrono::milliseconds{250};
// However much a task has to catch up with, others come in between.
constexpr core::Duration kLongestTurns = std::chrono::seconds{1};

void let_rest(const DueTask &task, core::Duration took) {
    const auto millis = std::min(took * kRestPerWork, kLongestRest) / std::chrono::milliseconds{1};
    const auto failure = pg::attempt("putting off a slow task", [&] {
        const std::array arguments{text_argument(task.name),
                                   number_argument(static_cast<std::int32_t>(millis))};
        run_statement("SELECT _x_jobs.rest_task($1, $2)", arguments, [](HeapTuple, TupleDesc) {});
    });
    if (failure) {
        log_failure("cannot put a slow task off", *failure);
    }
}

// A function that takes the whole process with it is not tried again at once by the next one: that
// it is tried is written down before, and the turn that ends well takes it back.
bool announce_try(const DueTask &task) {
    const auto failure = pg::attempt("announcing a try", [&] {
        const std::array arguments{text_argument(task.name)};
        run_statement("SELECT _x_jobs.task_tries($1)", arguments, [](HeapTuple, TupleDesc) {});
    });
    if (failure) {
        log_failure("cannot announce that a task is tried", *failure);
    }
    return !failure;
}

core::Timestamp server_now() {
    return core::Timestamp{GetCurrentTimestamp()};
}

// As many turns as the task may have in a round; whether any of them dealt with something.
bool take_turns_of(const DueTask &task, bool others_wait) {
    const core::Timestamp begun = server_now();
    bool progressed = false;
    for (int turn = 0; turn < task.max_catch_up && !is_told_to_end(); ++turn) {
        if (task.runs_function && !announce_try(task)) {
            break;
        }
        const core::Timestamp turned = server_now();
        const bool more = take_turn(task);
        const core::Timestamp now = server_now();
        progressed = progressed || more;
        if (task.runs_function && now - turned >= (others_wait ? kLong : kTooLong)) {
            let_rest(task, now - turned);
            break;
        }
        if (!more || now - begun >= kLongestTurns) {
            break;
        }
    }
    return progressed;
}

// Once for each process: what its predecessor was trying when it ended.
void note_what_was_cut_off(MemoryContext memory) {
    static bool noted = false;
    if (noted) {
        return;
    }
    pg::Array<const char *> tasks(memory);
    const auto failure = pg::attempt("looking for tasks that were cut off", [&] {
        run_statement("SELECT t FROM _x_jobs.tries_cut_off() AS t", {},
                      [&](HeapTuple tuple, TupleDesc descriptor) {
                          tasks.push(kept(memory, *column<std::string_view>(tuple, descriptor, 1)));
                      });
    });
    if (failure) {
        log_failure("cannot look for tasks that were cut off", *failure);
        return;
    }
    noted = true;
    for (const char *task : tasks) {
        ereport(LOG,
                errmsg("x_jobs jobs.task.round_failed for task \"%s\": the scheduler ended while "
                       "it ran the function of this task",
                       task));
    }
}

}  // namespace

core::Timestamp take_turns() {
    MemoryContext memory = CurrentMemoryContext;
    pg::Array<DueTask> due(memory);
    core::Timestamp next = core::kNever;
    note_what_was_cut_off(memory);
    auto failure = pg::attempt("looking for tasks that are due", [&] { read_due(due, memory); });
    if (failure) {
        log_failure("cannot look for tasks that are due", *failure);
        return next;
    }
    const core::Timestamp started = server_now();
    bool progressed = false;
    core::Duration functions{0};
    const auto function_count = std::count_if(
        due.begin(), due.end(), [](const DueTask &task) { return task.runs_function; });
    for (const DueTask &task : due) {
        const core::Timestamp begun = server_now();
        progressed = take_turns_of(task, function_count > 1) || progressed;
        functions += task.runs_function ? server_now() - begun : core::Duration::zero();
        // So that a short task that falls due meanwhile does not wait for thousands of others.
        if (functions >= kShare || server_now() - started >= kLongestTurns || is_told_to_end()) {
            break;
        }
    }
    failure = pg::attempt("looking for the next task", [&] {
        run_statement(
            "SELECT _x_jobs.next_task_at()", {}, [&](HeapTuple tuple, TupleDesc descriptor) {
                next = column<core::Timestamp>(tuple, descriptor, 1).value_or(core::kNever);
            });
    });
    // What is due but held by somebody else is not asked for without pause.
    return std::max(next, clock::now() + (progressed ? core::Duration::zero() : kHeld));
}

}  // namespace x_jobs::workers
