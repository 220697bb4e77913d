// If this failed, a failed job would come back at once, never, or together with all the others.
#include "core/backoff.hpp"

#include <chrono>
#include <limits>

#include "unit.hpp"

namespace {

using namespace std::chrono_literals;
using x_jobs::core::Backoff;
using x_jobs::core::capped_delay;
using x_jobs::core::decide_retry;
using x_jobs::core::Duration;
using x_jobs::core::jittered;
using x_jobs::core::RetryPolicy;
using x_jobs::unit::check;
using x_jobs::unit::equal;

constexpr double kAlmostOne = 0.9999999999;

long long millis(Duration duration) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

RetryPolicy policy(Backoff backoff, Duration base, Duration ceiling, bool jitter = false) {
    return {.backoff = backoff, .base = base, .ceiling = ceiling, .jitter = jitter};
}

void defaults() {
    const RetryPolicy plain;
    check(plain.backoff == Backoff::exponential && plain.jitter, "RETRY-1 exponential with jitter");
    equal(millis(plain.base), 1000, "RETRY-1 the first delay is a second");
    equal(millis(plain.ceiling), 3'600'000, "RETRY-1 no delay is above an hour");
}

void kinds() {
    const auto exponential = policy(Backoff::exponential, 1s, 1h);
    equal(millis(capped_delay(exponential, 1)), 1000, "exponential: the base first");
    equal(millis(capped_delay(exponential, 2)), 2000, "exponential: then twice as long");
    equal(millis(capped_delay(exponential, 12)), 2'048'000, "exponential: the last below the hour");
    equal(millis(capped_delay(exponential, 13)), 3'600'000, "exponential: then the ceiling");
    const auto linear = policy(Backoff::linear, 2s, 1min);
    equal(millis(capped_delay(linear, 1)), 2000, "linear: the base first");
    equal(millis(capped_delay(linear, 29)), 58'000, "linear: a base for each attempt");
    equal(millis(capped_delay(linear, 31)), 60'000, "linear: then the ceiling");
    const auto fixed = policy(Backoff::fixed, 5s, 1min);
    equal(millis(capped_delay(fixed, 1)), 5000, "fixed: the base");
    equal(millis(capped_delay(fixed, 1000)), 5000, "fixed: and the base again");
}

void extremes() {
    constexpr int kLast = std::numeric_limits<int>::max();
    for (const auto backoff : {Backoff::fixed, Backoff::linear, Backoff::exponential}) {
        for (const int attempt :
             {std::numeric_limits<int>::min(), -1, 0, 1, 31, 32, 63, 64, 65, 1000, kLast}) {
            for (const Duration base : {Duration::min(), Duration{-1}, Duration{0}, Duration{1},
                                        Duration{1s}, Duration::max()}) {
                for (const Duration ceiling :
                     {Duration::min(), Duration{0}, Duration{1h}, Duration::max()}) {
                    const Duration delay = capped_delay(policy(backoff, base, ceiling), attempt);
                    if (delay < Duration::zero() || delay > std::max(ceiling, Duration::zero())) {
                        check(false, "C-092 a delay is never negative and never above the ceiling");
                        return;
                    }
                }
            }
        }
    }
    check(true, "C-092 a delay is never negative and never above the ceiling");
    check(capped_delay(policy(Backoff::exponential, 0s, 1h), kLast) == 0s,
          "C-092 nothing doubled is nothing, at once");
}

void jitter() {
    const auto with = policy(Backoff::exponential, 1s, 1h, true);
    equal(millis(jittered(with, 8s, 0.0)), 4000, "C-092 jitter gives at least half");
    equal(millis(jittered(with, 8s, 0.5)), 6000, "C-092 jitter spreads evenly");
    equal(millis(jittered(with, 8s, kAlmostOne)), 8000, "C-092 jitter gives at most the whole");
    equal(millis(jittered(policy(Backoff::fixed, 1s, 1h), 8s, 0.5)), 8000,
          "without jitter the whole");
}

void decisions() {
    const auto plain = policy(Backoff::exponential, 1s, 1h);
    check(decide_retry(plain, 2, 3, {}, 0).retry, "an attempt is left: again");
    check(!decide_retry(plain, 3, 3, {}, 0).retry, "the final attempt failed: no more");
    check(!decide_retry(plain, 4, 3, {}, 0).retry, "more attempts than allowed: no more");
    check(!decide_retry(plain, 1, 1, {}, 0).retry, "C-096 one attempt allows no retry");
    check(!decide_retry(plain, 0, 0, {}, 0).retry, "C-096 no attempt allows no retry");
    equal(millis(decide_retry(plain, 2, 3, {}, 0).delay), 2000, "the delay follows the attempt");
    equal(millis(decide_retry(plain, 1, 3, Duration{30s}, 0).delay), 30'000,
          "a stated wait replaces it");
    equal(millis(decide_retry(plain, 1, 3, Duration{48h}, 0).delay), 3'600'000,
          "a stated wait is cut to the ceiling");
    equal(millis(decide_retry(plain, 1, 3, Duration{-5s}, 0).delay), 0,
          "a stated wait in the past is none");
    const auto with = policy(Backoff::exponential, 1s, 1h, true);
    equal(millis(decide_retry(with, 1, 3, Duration{30s}, 0.0).delay), 30'000,
          "nobody comes before the stated wait");
    equal(millis(decide_retry(with, 1, 3, Duration{30s}, kAlmostOne).delay), 45'000,
          "jitter on a stated wait adds up to its half");
}

}  // namespace

int main() {
    defaults();
    kinds();
    extremes();
    jitter();
    decisions();
    return x_jobs::unit::done();
}
