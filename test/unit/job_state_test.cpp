// If this failed, a job could be handed out that is finished, held, not due, expired or out of
// attempts.
#include "core/job_state.hpp"

#include <string_view>

#include "unit.hpp"

namespace {

using x_jobs::core::ClaimVerdict;
using x_jobs::core::ClaimView;
using x_jobs::core::judge;
using x_jobs::core::kNever;
using x_jobs::core::name_of;
using x_jobs::core::next_change;
using x_jobs::core::State;
using x_jobs::core::state_named;
using x_jobs::core::Timestamp;
using x_jobs::unit::check;

constexpr Timestamp kNow{1'000'000};
constexpr Timestamp kBefore{kNow.micros - 1};
constexpr Timestamp kAfter{kNow.micros + 1};
constexpr State kStates[] = {State::ready, State::delayed, State::running, State::suspended,
                             State::done,  State::failed,  State::dead,    State::cancelled};

ClaimView waiting(State state) {
    return {.state = state, .attempt = 0, .max_attempts = 3, .run_at = kBefore};
}

ClaimView held_until(Timestamp visible_at, int attempt) {
    return {.state = State::running,
            .attempt = attempt,
            .max_attempts = 3,
            .run_at = kBefore,
            .visible_at = visible_at};
}

void names() {
    for (const State state : kStates) {
        check(state_named(name_of(state)) == state, "ROW-8 each state has its name");
    }
    for (const std::string_view stranger :
         {"", "Ready", "READY", " ready", "ready ", "queued", "readyy", "read"}) {
        check(!state_named(stranger), "ROW-8 a name that is not exactly a state's is none");
    }
}

void candidates() {
    for (const State state : {State::ready, State::delayed, State::suspended}) {
        ClaimView row = waiting(state);
        check(judge(row, kNow) == ClaimVerdict::take, "CLAIM-5 a waiting row that is due is taken");
        row.run_at = kNow;
        check(judge(row, kNow) == ClaimVerdict::take, "CLAIM-5 due at this very instant is due");
        row.run_at = kAfter;
        check(judge(row, kNow) == ClaimVerdict::leave, "CLAIM-5 a row due later is left");
        check(next_change(row) == kAfter, "CLAIM-5 a row due later is looked at again then");
    }
    for (const State state : {State::done, State::failed, State::dead, State::cancelled}) {
        check(judge(waiting(state), kNow) == ClaimVerdict::leave,
              "CLAIM-11 a finished row is left");
        check(next_change(waiting(state)) == kNever,
              "CLAIM-11 a finished row is never looked at again");
    }
    check(judge(ClaimView{}, kNow) == ClaimVerdict::leave,
          "ROW-8 a row in a state of another build is left");
}

void leases() {
    check(judge(held_until(kAfter, 1), kNow) == ClaimVerdict::leave, "CLAIM-5 a held row is left");
    check(next_change(held_until(kAfter, 1)) == kAfter,
          "CLAIM-5 a held row is looked at again when its lease ends");
    check(judge(held_until(kNow, 1), kNow) == ClaimVerdict::take,
          "CLAIM-5 the boundary instant counts as lapsed");
    check(judge(held_until(kBefore, 2), kNow) == ClaimVerdict::take,
          "BURY-8 a lapse with attempts left is a redelivery");
    check(judge(held_until(kBefore, 3), kNow) == ClaimVerdict::bury,
          "BURY-1 a lapse on the final attempt is a burial");
    check(judge(held_until(kBefore, 4), kNow) == ClaimVerdict::bury,
          "BURY-1 and so is one beyond it");
    check(judge(held_until(kAfter, 3), kNow) == ClaimVerdict::leave,
          "BURY-1 a final attempt that holds its lease is left");
    ClaimView postponed = held_until(kBefore, 1);
    postponed.run_at = kAfter;
    check(judge(postponed, kNow) == ClaimVerdict::leave, "CLAIM-6 a lapsed row due later is left");
    ClaimView without = held_until(kBefore, 1);
    without.visible_at.reset();
    check(judge(without, kNow) == ClaimVerdict::leave,
          "CLAIM-5 a running row without a lease is nobody's to take");
}

void expiry() {
    ClaimView row = waiting(State::ready);
    row.expires_at = kAfter;
    check(judge(row, kNow) == ClaimVerdict::take, "X-19 a row that expires later is taken");
    row.expires_at = kNow;
    check(judge(row, kNow) == ClaimVerdict::expire, "X-19 a row that expires now is ended");
    row.claim = 1;
    check(judge(row, kNow) == ClaimVerdict::take, "X-19 a row that was started does not expire");
    ClaimView held = held_until(kBefore, 1);
    held.expires_at = kBefore;
    check(judge(held, kNow) == ClaimVerdict::take, "X-19 nor does one whose lease lapsed");
}

}  // namespace

int main() {
    names();
    candidates();
    leases();
    expiry();
    return x_jobs::unit::done();
}
