// x_jobs.cancel: ends a live job by hand. A running worker learns of it at its next heartbeat.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "ending/ending.hpp"
#include "errors/errors.hpp"
#include "pg/text.hpp"
#include "rights/rights.hpp"
#include "surface/job_row.hpp"

namespace x_jobs::queue {

namespace {

using store::Column;
using store::Row;

store::WriteResult cancel_found(store::Live &live, store::HistoryWriter &history, Row &row,
                                std::optional<std::string_view> reason) {
    if (reason) {
        row.set(Column::last_error, *reason);
    }
    ending::Ending ending;
    ending.state = core::State::cancelled;
    ending.at = clock::now();
    ending.reason = reason;
    return ending::finish(live, history, row, ending, store::Wait::yes);
}

// Nothing is done to a finished job; an unknown id is no error, since it may have been purged.
void refuse_finished(const core::Uuid &id) {
    store::HistoryRow history;
    Row row;
    if (history.find(id, row)) {
        errors::raise(errors::Code::job_not_cancellable,
                      {row.get<std::string_view>(Column::state)});
    }
}

// Cancels the live row, or tells that there is none.
bool cancel_live(store::Live &live, store::HistoryWriter &history, const core::Uuid &id, Row &row,
                 std::optional<std::string_view> reason) {
    while (live.find(id, row)) {
        CHECK_FOR_INTERRUPTS();
        if (cancel_found(live, history, row, reason) == store::WriteResult::done) {
            return true;
        }
    }
    return false;
}

Datum cancel(pg::Call call) {
    rights::require_for_write(rights::Capability::operate, "x_jobs.cancel()");
    const core::Uuid id = arguments::required(call.argument<core::Uuid>(0), "id");
    auto reason = call.argument<std::string_view>(1);
    if (reason) {
        reason = pg::storable(*reason, core::kMaxErrorBytes);
    }
    store::Live live = store::Live::open();
    store::HistoryWriter history;
    Row row;
    bool cancelled = cancel_live(live, history, id, row, reason);
    if (!cancelled) {
        refuse_finished(id);
        // A requeue may have brought it back between the two looks.
        cancelled = cancel_live(live, history, id, row, reason);
    }
    const Datum answer =
        cancelled ? pg::make_row(call, surface::job_columns(row, true)) : pg::answer_null(call);
    history.close();
    live.close();
    return answer;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_cancel, cancel)

}  // namespace x_jobs::queue
