// x_jobs.remove: deletes a job that is not running, with what was recorded of its attempts.
#include "arguments/arguments.hpp"
#include "errors/errors.hpp"
#include "rights/rights.hpp"
#include "store/history.hpp"
#include "store/live.hpp"
#include "store/records.hpp"
#include "surface/job_row.hpp"

namespace x_jobs::queue {

namespace {

using store::Row;

enum class Removal { done, missing, changed };

Removal remove_live(store::Live &live, const core::Uuid &id, Row &row) {
    if (!live.find(id, row)) {
        return Removal::missing;
    }
    if (row.state() == core::State::running) {
        errors::raise(errors::Code::job_not_removable);
    }
    return live.remove(store::Wait::yes) == store::WriteResult::done ? Removal::done
                                                                     : Removal::changed;
}

Datum remove(pg::Call call) {
    rights::require_for_write(rights::Capability::operate, "x_jobs.remove()");
    const core::Uuid id = arguments::required(call.argument<core::Uuid>(0), "id");
    store::Live live = store::Live::open();
    Row row;
    Datum answer = Datum{0};
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        const Removal from_live = remove_live(live, id, row);
        if (from_live == Removal::done) {
            answer = pg::make_row(call, surface::job_columns(row, false));
            break;
        }
        if (from_live == Removal::changed) {
            continue;
        }
        store::HistoryRow history;
        if (!history.find(id, row)) {
            // Looked for once more in the live table: a requeue may have moved it between the two
            // looks.
            if (live.find(id, row)) {
                continue;
            }
            live.close();
            return pg::answer_null(call);
        }
        const bool removed = history.remove() == store::WriteResult::done;
        if (removed) {
            answer = pg::make_row(call, surface::job_columns(row, true));
        }
        history.close();
        if (removed) {
            break;
        }
    }
    store::erase_attempts(id);
    live.close();
    return answer;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_remove, remove)

}  // namespace x_jobs::queue
