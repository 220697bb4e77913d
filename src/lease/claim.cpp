// See claim.hpp.
#include "lease/claim.hpp"

#include <algorithm>
#include <limits>

#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "core/limits.hpp"
#include "ending/ending.hpp"
#include "errors/errors.hpp"
#include "heads/leases.hpp"
#include "lease/candidates.hpp"
#include "lease/durability.hpp"
#include "lease/queues.hpp"
#include "rights/rights.hpp"
#include "settings/settings.hpp"
#include "store/relations.hpp"
#include "surface/job_row.hpp"
#include "wake/waiters.hpp"

namespace x_jobs::lease {

namespace {

using store::Column;
using store::Row;

// What one look at the table brought.
struct Look {
    int taken = 0;
    // Rows ended instead of handed out.
    int buried = 0;
    int expired = 0;
    // When the next look may find more.
    core::Timestamp next = core::kNever;
};

class Claimer {
   public:
    Claimer(const ClaimRequest &request, pg::RowWriter &rows,
            std::optional<std::string_view> status)
        : request_(request), rows_(rows), status_(status) {}

    Look look();

   private:
    bool wanted(const Row &row) const;
    bool taken_by_this_look(const Row &row) const;
    bool treat(Row &row);
    bool take(Row &row);
    void record_lapse(const Row &lapsed) const;
    bool bury(Row &row, ending::Burial why);
    bool expire(Row &row);
    void answer(const Row &row);
    bool is_full() const {
        return look_.taken + look_.buried >= request_.max_jobs ||
               look_.expired >= request_.max_jobs + core::kMaxExpiredPerClaim;
    }

    const ClaimRequest &request_;
    pg::RowWriter &rows_;
    std::optional<std::string_view> status_;
    store::Live live_;
    Candidates candidates_;
    store::HistoryWriter history_;
    core::Timestamp now_;
    Look look_;
};

bool Claimer::wanted(const Row &row) const {
    if (!request_.filtered) {
        return true;
    }
    const auto name = row.get<std::string_view>(Column::name);
    return std::find(request_.names.begin(), request_.names.end(), name) != request_.names.end();
}

// With a visibility timeout of zero a row has lapsed as soon as it is taken, and one that did not
// fit its page any more is met again further on.
bool Claimer::taken_by_this_look(const Row &row) const {
    return row.state() == core::State::running &&
           row.optional<core::Timestamp>(Column::claimed_at) == now_ &&
           row.optional<std::string_view>(Column::claimed_by) == request_.worker_id;
}

void Claimer::answer(const Row &row) {
    const auto claimed = surface::claimed_columns(row);
    if (!status_) {
        rows_.write(claimed);
        return;
    }
    std::array<pg::NullableValue, surface::kClaimedColumns + 1> columns;
    columns[0] = pg::to_nullable(status_);
    std::copy(claimed.begin(), claimed.end(), columns.begin() + 1);
    rows_.write(columns);
}

// A worker that died leaves no word of its own: the claim that takes its job over says so.
void Claimer::record_lapse(const Row &lapsed) const {
    store::FailedAttempt attempt{};
    attempt.outcome = "lapsed";
    attempt.error = "the lease lapsed";
    attempt.ended_at = now_;
    store::record_failure(lapsed, attempt);
}

bool Claimer::take(Row &row) {
    const Row before = row;
    const core::Durability durability = begin_claim(request_.durable);
    row.set_state(core::State::running);
    row.set(Column::attempt, row.attempt() == INT_MAX ? INT_MAX : row.attempt() + 1);
    row.set(Column::claim, core::next_ordinal(row.claim(), timeline(), durability, now_));
    row.set(Column::claimed_by, request_.worker_id);
    row.set(Column::claimed_at, now_);
    row.set(Column::visible_at, now_ + request_.visibility);
    row.set(Column::updated_at, now_);
    const store::WriteResult result = live_.update(row, store::Wait::no);
    end_claim();
    if (result != store::WriteResult::done) {
        return false;
    }
    ++look_.taken;
    answer(row);
    if (before.state() == core::State::running) {
        record_lapse(before);
    }
    return true;
}

bool Claimer::bury(Row &row, ending::Burial why) {
    if (ending::bury(live_, history_, row, why, now_, store::Wait::no) !=
        store::WriteResult::done) {
        return false;
    }
    ++look_.buried;
    return true;
}

bool Claimer::expire(Row &row) {
    if (ending::expire(live_, history_, row, now_, store::Wait::no) != store::WriteResult::done) {
        return false;
    }
    ++look_.expired;
    return true;
}

// False when somebody else holds the row at this moment, so that it may be claimable yet.
bool Claimer::treat(Row &row) {
    if (taken_by_this_look(row)) {
        return true;
    }
    const core::ClaimVerdict verdict = core::judge(row.claim_view(), now_);
    if (verdict != core::ClaimVerdict::leave && !candidates_.take()) {
        return true;
    }
    switch (verdict) {
        case core::ClaimVerdict::take:
            return row.claim() == std::numeric_limits<std::int64_t>::max()
                       ? bury(row, ending::Burial::claims_used_up)
                       : take(row);
        case core::ClaimVerdict::bury:
            return bury(row, ending::Burial::lapsed);
        case core::ClaimVerdict::expire:
            return expire(row);
        case core::ClaimVerdict::leave:
            break;
    }
    const core::Timestamp change = core::next_change(row.claim_view());
    look_.next = std::min(look_.next, change);
    if (row.state() == core::State::running && change != core::kNever) {
        candidates_.leave_running(row, change);
    }
    return true;
}

Look Claimer::look() {
    look_ = Look{};
    const pg::Array<std::string_view> queues = open_queues(request_.queues);
    if (queues.empty() || request_.max_jobs == 0) {
        return look_;
    }
    now_ = clock::now();
    heads::open_lapsed(now_, wake::wake_waiters);
    candidates_ = Candidates::open(live_, queues, now_);
    Row row;
    while (!is_full() && candidates_.next(row)) {
        if (!wanted(row) || !treat(row)) {
            candidates_.leave_open();
        }
    }
    look_.next = std::min(look_.next, candidates_.next_due());
    candidates_.close();
    if (candidates_.empty()) {
        return look_;
    }
    history_.close();
    // A look that wrote nothing leaves no lock behind, so that a waiting claim stands in nobody's
    // way.
    const bool wrote = look_.taken + look_.buried + look_.expired > 0;
    if (wrote) {
        live_.close();
    } else {
        live_.release();
    }
    return look_;
}

// Looks, and sleeps between looks, until something was found or the time is up.
void claim_waiting(const ClaimRequest &request, Claimer &claimer) {
    const core::Timestamp deadline =
        clock::now() + std::min(request.wait, settings::max_claim_wait());
    const std::span<const std::string_view> queues{request.queues.begin(), request.queues.size()};
    wake::begin_wait(store::relation_named("jobs"), queues,
                     request.filtered ? wake::Appetite::some_jobs : wake::Appetite::every_job);
    // What a look leaves behind is gone before the next one, however often it is woken in vain.
    MemoryContext memory =
        AllocSetContextCreate(CurrentMemoryContext, "x_jobs look", ALLOCSET_DEFAULT_SIZES);
    for (;;) {
        store::mirror::refresh();
        MemoryContext caller = MemoryContextSwitchTo(memory);
        const Look look = claimer.look();
        MemoryContextSwitchTo(caller);
        // A look that ended rows has written: its transaction must not be kept open by a sleep.
        if (look.taken + look.buried + look.expired > 0 || clock::now() >= deadline) {
            break;
        }
        MemoryContextReset(memory);
        wake::sleep_until(std::min(deadline, look.next));
    }
    MemoryContextDelete(memory);
    wake::end_wait();
}

}  // namespace

ClaimRequest read_claim(pg::Call call, int first) {
    ClaimRequest request;
    request.queues = read_queues(call.argument<pg::ArrayRef>(first));
    const core::Timestamp now = clock::now();
    request.worker_id = arguments::text(call.argument<std::string_view>(first + 1), "worker_id");
    request.max_jobs =
        arguments::count(call.argument<std::int32_t>(first + 2), "max_jobs", 0, core::kMaxClaim);
    request.visibility = arguments::duration(call.argument<pg::IntervalRef>(first + 3),
                                             "visibility_timeout", core::kMaxVisibility, now);
    request.wait =
        arguments::duration(call.argument<pg::IntervalRef>(first + 4), "wait", core::kMaxWait, now);
    if (const auto names = call.argument<pg::ArrayRef>(first + 5)) {
        request.filtered = true;
        request.names = arguments::names(*names, "names");
    }
    request.durable = arguments::required(call.argument<bool>(first + 6), "durable");
    return request;
}

void claim(const ClaimRequest &request, pg::RowWriter &rows,
           std::optional<std::string_view> status) {
    Claimer claimer(request, rows, status);
    if (request.wait == core::Duration::zero() || request.max_jobs == 0) {
        claimer.look();
    } else {
        claim_waiting(request, claimer);
    }
}

namespace {

Datum claim_for_sql(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.claim()");
    const ClaimRequest request = read_claim(call, 0);
    pg::RowWriter rows(call);
    claim(request, rows, std::nullopt);
    return Datum{0};
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_claim, claim_for_sql)

}  // namespace x_jobs::lease
