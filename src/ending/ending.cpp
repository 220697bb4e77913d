// See ending.hpp.
#include "ending/ending.hpp"

#include "clock/clock.hpp"
#include "pg/function.hpp"
#include "rights/rights.hpp"
#include "settings/settings.hpp"
#include "store/queues.hpp"
#include "wake/announce.hpp"

namespace x_jobs::ending {

namespace {

using store::Column;
using store::Row;

struct Epitaph {
    std::string_view sentence;
    std::string_view reason;
};

// Fixed sentences, with nothing in them that a reader would have to unquote.
constexpr Epitaph epitaph_of(Burial why) {
    if (why == Burial::claims_used_up) {
        return {"the job has used up its claims", "claims-exhausted"};
    }
    return {"the lease lapsed on the final attempt", "lease-lapsed"};
}

constexpr std::string_view kExpiredSentence = "the job expired before it was started";

// Dead letters stay until somebody removes them.
std::optional<core::Timestamp> purge_instant(core::State state, core::Timestamp finished_at) {
    if (state == core::State::dead) {
        return std::nullopt;
    }
    return finished_at + settings::retention();
}

// A retention of zero keeps no row of what was done; what went wrong is kept in any case.
bool is_kept(core::State state) {
    return state != core::State::done || settings::retention() > core::Duration::zero();
}

}  // namespace

store::WriteResult finish(store::Live &live, store::HistoryWriter &history, Row &row,
                          const Ending &ending, store::Wait wait) {
    const store::WriteResult removed = live.remove(wait);
    if (removed != store::WriteResult::done) {
        return removed;
    }
    // Missing still if the transaction that was making it has rolled back.
    store::ensure_queue(row.queue());
    row.set_state(ending.state);
    row.set(Column::updated_at, ending.at);
    row.set(Column::finished_at, ending.at);
    row.clear(Column::claimed_by);
    row.clear(Column::visible_at);
    row.set_optional(Column::result, ending.result);
    row.set_optional(Column::reason, ending.reason);
    row.set_optional(Column::purge_at, purge_instant(ending.state, ending.at));
    if (is_kept(ending.state)) {
        history.append(row);
    }
    if (ending.tally) {
        history.tally().count(row, *ending.tally, ending.at, ending.duration);
    }
    if (!ending.outcome.empty()) {
        wake::settled(row.id(), row.get<std::string_view>(Column::name), row.queue(),
                      ending.outcome);
    }
    return removed;
}

store::WriteResult bury(store::Live &live, store::HistoryWriter &history, Row &row, Burial why,
                        core::Timestamp now, store::Wait wait) {
    const Epitaph epitaph = epitaph_of(why);
    const bool dead_letters = row.get<bool>(Column::dead_letters);
    const Row held = row;
    row.set(Column::last_error, epitaph.sentence);
    row.clear(Column::last_error_code);
    row.clear(Column::last_error_stack);
    Ending ending;
    ending.state = dead_letters ? core::State::dead : core::State::failed;
    ending.at = now;
    ending.reason = epitaph.reason;
    ending.tally = dead_letters ? store::Tally::dead : store::Tally::failed;
    ending.outcome = dead_letters ? "dead-lettered" : "dropped";
    const store::WriteResult result = finish(live, history, row, ending, wait);
    if (result == store::WriteResult::done) {
        store::FailedAttempt attempt{};
        attempt.outcome = core::name_of(ending.state);
        attempt.error = epitaph.sentence;
        attempt.ended_at = now;
        store::record_failure(held, attempt);
    }
    return result;
}

store::WriteResult expire(store::Live &live, store::HistoryWriter &history, Row &row,
                          core::Timestamp now, store::Wait wait) {
    row.set(Column::last_error, kExpiredSentence);
    Ending ending;
    ending.state = core::State::cancelled;
    ending.at = now;
    ending.reason = "expired";
    return finish(live, history, row, ending, wait);
}

namespace {

// For upkeep, which finds the rows: one at a time, and only what is still so. What others hold is
// left to them.
template <typename Applies, typename End>
bool end_one(const core::Uuid &id, Applies applies, End end) {
    rights::require_for_write(rights::Capability::operate, "upkeep of x_jobs");
    store::Live live = store::Live::open();
    store::HistoryWriter history;
    Row row;
    const core::Timestamp now = clock::now();
    const bool ended = live.find(id, row) && applies(row.claim_view(), now) &&
                       end(live, history, row, now) == store::WriteResult::done;
    history.close();
    live.close();
    return ended;
}

bool expire_for_sql(std::optional<core::Uuid> id) {
    return end_one(*id, core::is_expired, [](auto &live, auto &history, Row &row, auto now) {
        return expire(live, history, row, now, store::Wait::no);
    });
}

bool bury_for_sql(std::optional<core::Uuid> id) {
    const auto is_used_up = [](const core::ClaimView &row, core::Timestamp now) {
        return core::judge(row, now) == core::ClaimVerdict::bury;
    };
    return end_one(*id, is_used_up, [](auto &live, auto &history, Row &row, auto now) {
        return bury(live, history, row, Burial::lapsed, now, store::Wait::no);
    });
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_expire, expire_for_sql)
X_JOBS_SQL_FUNCTION(x_jobs_bury, bury_for_sql)

}  // namespace x_jobs::ending
