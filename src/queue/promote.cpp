// x_jobs.promote: makes a job that waits for a later time due now.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "errors/errors.hpp"
#include "rights/rights.hpp"
#include "store/history.hpp"
#include "store/live.hpp"
#include "surface/job_row.hpp"
#include "wake/announce.hpp"

namespace x_jobs::queue {

namespace {

using store::Column;
using store::Row;

[[noreturn]] void refuse(std::string_view state) {
    errors::raise(errors::Code::job_not_promotable, {state});
}

void refuse_finished(const core::Uuid &id) {
    store::HistoryRow history;
    Row row;
    if (history.find(id, row)) {
        refuse(row.get<std::string_view>(Column::state));
    }
}

Datum promote(pg::Call call) {
    rights::require_for_write(rights::Capability::operate, "x_jobs.promote()");
    const core::Uuid id = arguments::required(call.argument<core::Uuid>(0), "id");
    store::Live live = store::Live::open();
    Row row;
    bool promoted = false;
    while (!promoted) {
        CHECK_FOR_INTERRUPTS();
        if (!live.find(id, row)) {
            refuse_finished(id);
            // Looked for once more: a requeue may have brought it back between the two looks.
            if (!live.find(id, row)) {
                refuse("missing");
            }
        }
        const core::Timestamp now = clock::now();
        const auto state = row.state();
        const bool waits = state == core::State::ready || state == core::State::delayed;
        if (!waits || row.run_at() <= now) {
            refuse(row.get<std::string_view>(Column::state));
        }
        row.set_state(core::State::ready);
        row.set(Column::run_at, now);
        row.set(Column::updated_at, now);
        promoted = live.update(row, store::Wait::yes) == store::WriteResult::done;
    }
    wake::announce(row.queue());
    const Datum answer = pg::make_row(call, surface::job_columns(row, false));
    live.close();
    return answer;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_promote, promote)

}  // namespace x_jobs::queue
