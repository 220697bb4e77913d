// See backoff.hpp.
#include "core/backoff.hpp"

#include <algorithm>
#include <cmath>

namespace x_jobs::core {

namespace {

// base · 2^(attempt − 1), or the ceiling as soon as it is reached.
Duration doubled(Duration base, Duration ceiling, int attempt) {
    Duration delay = base;
    for (int n = 1; n < attempt && delay < ceiling; ++n) {
        if (delay > ceiling / 2) {
            return ceiling;
        }
        delay *= 2;
        if (delay == Duration::zero()) {
            return delay;
        }
    }
    return delay;
}

Duration multiplied(Duration base, Duration ceiling, int attempt) {
    return base > ceiling / attempt ? ceiling : base * attempt;
}

Duration rounded_to_millis(double micros) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(std::llround(micros / 1000.0))};
}

}  // namespace

Duration capped_delay(const RetryPolicy &policy, int attempt) {
    const Duration ceiling = std::max(policy.ceiling, Duration::zero());
    const Duration base = std::max(policy.base, Duration::zero());
    const int n = std::max(attempt, 1);
    switch (policy.backoff) {
        case Backoff::fixed:
            return std::min(base, ceiling);
        case Backoff::linear:
            return std::min(multiplied(base, ceiling, n), ceiling);
        case Backoff::exponential:
            break;
    }
    return std::min(doubled(base, ceiling, n), ceiling);
}

Duration jittered(const RetryPolicy &policy, Duration capped, double random) {
    const auto whole = static_cast<double>(capped.count());
    return rounded_to_millis(policy.jitter ? whole / 2 + whole / 2 * random : whole);
}

RetryDecision decide_retry(const RetryPolicy &policy, int attempt, int max_attempts,
                           std::optional<Duration> stated, double random) {
    if (attempt >= max_attempts) {
        return {};
    }
    const Duration capped = capped_delay(policy, attempt);
    if (!stated) {
        return {true, jittered(policy, capped, random)};
    }
    const Duration floor =
        std::clamp(*stated, Duration::zero(), std::max(policy.ceiling, Duration::zero()));
    const double spread = policy.jitter ? static_cast<double>(floor.count()) / 2 * random : 0;
    return {true, floor + rounded_to_millis(spread)};
}

}  // namespace x_jobs::core
