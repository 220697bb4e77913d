// See attempt_end.hpp.
#include "settle/attempt_end.hpp"

#include <algorithm>

#include "clock/clock.hpp"
#include "core/limits.hpp"
#include "ending/ending.hpp"
#include "lease/guard.hpp"
#include "pg/text.hpp"
#include "store/records.hpp"
#include "wake/announce.hpp"

namespace x_jobs::settle {

namespace {

using store::Column;
using store::Row;

bool is_final(Target target) {
    return target == Target::failed || target == Target::dead;
}

std::optional<std::string_view> storable_error(std::optional<std::string_view> error) {
    return error ? std::optional{pg::storable(*error, core::kMaxErrorBytes)} : std::nullopt;
}

std::optional<std::string_view> storable_stack(std::optional<std::string_view> stack) {
    return stack ? std::optional{pg::storable_characters(*stack, core::kMaxStackCharacters)}
                 : std::nullopt;
}

// A new failure never keeps the stack of the one before; without an error both are kept.
void note_error(Row &row, const HandBack &back) {
    if (!back.error) {
        return;
    }
    row.set_optional(Column::last_error, storable_error(back.error));
    row.set_optional(Column::last_error_code, back.code);
    row.set_optional(Column::last_error_stack, storable_stack(back.stack));
}

void record(const Row &held, const HandBack &back, core::Timestamp now) {
    const bool failed_attempt =
        is_final(back.target) || (back.target == Target::ready && back.counted);
    if (!failed_attempt) {
        return;
    }
    store::FailedAttempt attempt{};
    attempt.outcome =
        is_final(back.target)
            ? core::name_of(back.target == Target::dead ? core::State::dead : core::State::failed)
            : std::string_view{"retried"};
    attempt.error = storable_error(back.error);
    attempt.code = back.code;
    attempt.stack = back.error ? storable_stack(back.stack) : std::nullopt;
    attempt.ended_at = now;
    attempt.duration = back.duration;
    store::record_failure(held, attempt);
}

store::WriteResult stop(Desk &desk, Row &row, const HandBack &back, core::Timestamp now) {
    const bool dead = back.target == Target::dead;
    ending::Ending ending;
    ending.state = dead ? core::State::dead : core::State::failed;
    ending.at = now;
    ending.reason = back.reason;
    ending.tally = dead ? store::Tally::dead : store::Tally::failed;
    ending.outcome = outcome_of(back);
    ending.duration = back.duration;
    return ending::finish(desk.live, desk.history, row, ending, store::Wait::yes);
}

store::WriteResult put_back(Desk &desk, Row &row, const HandBack &back, core::Timestamp now) {
    row.set_state(back.target == Target::suspended ? core::State::suspended : core::State::ready);
    row.clear(Column::claimed_by);
    row.clear(Column::visible_at);
    row.set(Column::updated_at, now);
    const store::WriteResult result = desk.live.update(row, store::Wait::yes);
    if (result != store::WriteResult::done) {
        return result;
    }
    if (back.target == Target::ready && back.counted) {
        desk.history.tally().count(row, store::Tally::retried, now, back.duration);
    }
    wake::made_claimable(row.queue(), row.run_at(), wake::Channel::waiters_only);
    return result;
}

store::WriteResult apply(Desk &desk, Row &row, const HandBack &back) {
    const core::Timestamp now = clock::now();
    const Row held = row;
    if (!back.counted) {
        row.set(Column::attempt, std::max(row.attempt() - 1, 0));
    }
    row.set(Column::run_at, now + back.delay);
    note_error(row, back);
    const store::WriteResult result =
        is_final(back.target) ? stop(desk, row, back, now) : put_back(desk, row, back, now);
    if (result == store::WriteResult::done) {
        record(held, back, now);
    }
    return result;
}

}  // namespace

std::string_view outcome_of(const HandBack &back) {
    switch (back.target) {
        case Target::dead:
            return "dead-lettered";
        case Target::failed:
            return back.counted ? "dropped" : "refused";
        case Target::suspended:
            return "suspended";
        case Target::ready:
            break;
    }
    return back.counted ? "retried" : "interrupted";
}

bool complete(Desk &desk, const lease::Fence &fence, const Done &done) {
    const bool landed = lease::change_held(desk.live, fence, [&](Row &row) {
        ending::Ending ending;
        ending.state = core::State::done;
        ending.at = clock::now();
        ending.result = done.result;
        ending.tally = store::Tally::done;
        ending.outcome = "completed";
        ending.duration = done.duration;
        return ending::finish(desk.live, desk.history, row, ending, store::Wait::yes);
    });
    if (landed) {
        lease::note_settled(fence.id, fence.claim);
    }
    return landed;
}

bool hand_back(Desk &desk, const lease::Fence &fence, const HandBack &back) {
    const bool landed =
        lease::change_held(desk.live, fence, [&](Row &row) { return apply(desk, row, back); });
    if (landed) {
        lease::note_settled(fence.id, fence.claim);
    }
    return landed;
}

FailureAnswer fail(Desk &desk, const lease::Fence &fence, const Failure &failure) {
    FailureAnswer answer;
    const core::RetryPolicy policy;
    answer.landed = lease::change_held(desk.live, fence, [&](Row &row) {
        const double random = pg_prng_double(&pg_global_prng_state);
        const core::RetryDecision decision = core::decide_retry(
            policy, row.attempt(), row.max_attempts(), failure.stated_delay, random);
        HandBack back;
        back.error = failure.error;
        back.code = failure.code;
        back.stack = failure.stack;
        back.duration = failure.duration;
        back.delay = decision.delay;
        back.target = decision.retry                        ? Target::ready
                      : row.get<bool>(Column::dead_letters) ? Target::dead
                                                            : Target::failed;
        back.reason = "attempts-exhausted";
        answer.retried = decision.retry;
        answer.dead_lettered = back.target == Target::dead;
        const store::WriteResult result = apply(desk, row, back);
        answer.retry_at = row.run_at();
        return result;
    });
    if (answer.landed) {
        lease::note_settled(fence.id, fence.claim);
    }
    return answer;
}

}  // namespace x_jobs::settle
