// How long a failed attempt waits before the next one. Owns the retry policy and its arithmetic;
// overflow never shows: the ceiling is applied in capped space and a delay is never negative.
#pragma once

#include <optional>

#include "core/values.hpp"

namespace x_jobs::core {

enum class Backoff { fixed, linear, exponential };

struct RetryPolicy {
    Backoff backoff = Backoff::exponential;
    Duration base = std::chrono::seconds{1};
    Duration ceiling = std::chrono::hours{1};
    bool jitter = true;
    bool dead_letter = true;
};

// The delay after failed attempt `attempt` (1-based) before jitter, capped by the ceiling.
Duration capped_delay(const RetryPolicy &policy, int attempt);

// Equal jitter: half, plus half times `random` in [0, 1).
Duration jittered(const RetryPolicy &policy, Duration capped, double random);

struct RetryDecision {
    bool retry = false;
    Duration delay{0};
};

// Decides after a failed attempt. A wait that the failure itself states replaces the computed
// delay: it is cut to the ceiling, and jitter is added on top so that those who were told the same
// do not come back together.
RetryDecision decide_retry(const RetryPolicy &policy, int attempt, int max_attempts,
                           std::optional<Duration> stated, double random);

}  // namespace x_jobs::core
