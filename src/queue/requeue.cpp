// x_jobs.requeue: brings a finished job back, under its own id and run.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "errors/errors.hpp"
#include "queue/insert.hpp"
#include "rights/rights.hpp"
#include "store/history.hpp"
#include "store/live.hpp"
#include "store/queues.hpp"
#include "surface/job_row.hpp"
#include "wake/announce.hpp"

namespace x_jobs::queue {

namespace {

using store::Column;
using store::Row;

void refuse_live(store::Live &live, const core::Uuid &id) {
    Row row;
    if (live.find(id, row)) {
        errors::raise(errors::Code::job_not_requeueable,
                      {row.get<std::string_view>(Column::state)});
    }
}

// Everything of the job stays but its place: state, attempts, time; and a limit that it outlived by
// an operator's will no longer ends it.
void renew(Row &row, core::Timestamp now) {
    row.set_state(core::State::ready);
    row.set(Column::attempt, std::int32_t{0});
    row.set(Column::run_at, now);
    row.set(Column::updated_at, now);
    row.set(Column::blocked, false);
    row.clear(Column::blocked_by);
    row.clear(Column::claimed_by);
    row.clear(Column::visible_at);
    row.clear(Column::expires_at);
}

// Another enqueue of the key may have come in since it was looked for: it is waited for, and named.
void insert(store::Live &live, Row &row) {
    List *arbiters = live.key_and_id_arbiters();
    while (!live.insert_unless_taken(row, arbiters, nullptr, nullptr)) {
        CHECK_FOR_INTERRUPTS();
        Row holder;
        refuse_live(live, row.id());
        if (const auto key = store::key_of(row); key && live.find_fresh(*key, holder)) {
            refuse_duplicate(holder);
        }
        live.wait_for_key(row, arbiters);
    }
}

// Moves the job from history to the live table and answers it; nothing when it changed meanwhile.
std::optional<Datum> move(pg::Call call, store::Live &live, const core::Uuid &id) {
    refuse_live(live, id);
    store::HistoryRow history;
    Row row;
    if (!history.find(id, row)) {
        // It may have come to life between the two looks.
        refuse_live(live, id);
        errors::raise(errors::Code::job_not_found);
    }
    Row holder;
    if (const auto key = store::key_of(row); key && live.find(*key, holder)) {
        refuse_duplicate(holder);
    }
    std::optional<Datum> answer;
    if (history.remove() == store::WriteResult::done) {
        renew(row, clock::now());
        store::ensure_queue(row.queue());
        insert(live, row);
        wake::announce(row.queue());
        answer = pg::make_row(call, surface::job_columns(row, false));
    }
    history.close();
    return answer;
}

Datum requeue(pg::Call call) {
    rights::require_for_write(rights::Capability::operate, "x_jobs.requeue()");
    const core::Uuid id = arguments::required(call.argument<core::Uuid>(0), "id");
    store::Live live = store::Live::open();
    std::optional<Datum> answer;
    while (!answer) {
        CHECK_FOR_INTERRUPTS();
        answer = move(call, live, id);
    }
    live.close();
    return *answer;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_requeue, requeue)

}  // namespace x_jobs::queue
