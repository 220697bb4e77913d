// Running a step whose failure is not the end: the only place that catches an error of the server.
#pragma once

#include <optional>

#include "pg/postgres.hpp"

namespace x_jobs::pg {

// What an error said, with its detail, in the memory that was current before the step.
struct Failure {
    int sqlstate;
    const char *message;
};

// Runs the body in a transaction of its own, with a snapshot, and shows in pg_stat_activity what is
// being done. Answers how it failed, if it did; then everything it did is rolled back. A
// termination is not caught. For background workers, which have no transaction around it.
template <typename Body>
std::optional<Failure> attempt(const char *activity, Body body) {
    MemoryContext memory = CurrentMemoryContext;
    volatile int sqlstate = 0;
    const char *volatile message = nullptr;
    pgstat_report_activity(STATE_RUNNING, activity);
    PG_TRY();
    {
        SetCurrentStatementStartTimestamp();
        StartTransactionCommand();
        PushActiveSnapshot(GetTransactionSnapshot());
        body();
        PopActiveSnapshot();
        CommitTransactionCommand();
    }
    PG_CATCH();
    {
        HOLD_INTERRUPTS();
        // Not the worker's own timer, which lasts longer than an attempt.
        disable_timeout(STATEMENT_TIMEOUT, false);
        QueryCancelPending = false;
        MemoryContextSwitchTo(memory);
        const ErrorData *error = CopyErrorData();
        sqlstate = error->sqlerrcode;
        message = error->message == nullptr  ? ""
                  : error->detail == nullptr ? error->message
                                             : psprintf("%s: %s", error->message, error->detail);
        FlushErrorState();
        AbortCurrentTransaction();
        RESUME_INTERRUPTS();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(memory);
    // Without it what a worker writes is never counted, and its tables are never vacuumed.
    pgstat_report_stat(true);
    pgstat_report_activity(STATE_IDLE, nullptr);
    if (message == nullptr) {
        return std::nullopt;
    }
    return Failure{sqlstate, message};
}

}  // namespace x_jobs::pg
