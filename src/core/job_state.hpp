// The states of a job, their names, and what a claim may do with a row. Owns the vocabulary: every
// other place, SQL and documents included, is tested against it.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "core/values.hpp"

namespace x_jobs::core {

enum class State { ready, delayed, running, suspended, done, failed, dead, cancelled };

constexpr std::array<std::string_view, 8> kStateNames{"ready", "delayed", "running", "suspended",
                                                      "done",  "failed",  "dead",    "cancelled"};

constexpr std::string_view name_of(State state) {
    return kStateNames[static_cast<std::size_t>(state)];
}

// Matches exactly: case and white space matter, so that a row written by another build is not
// mistaken.
std::optional<State> state_named(std::string_view name);

// Waiting states hold a job that nobody works on.
constexpr bool is_waiting(State state) {
    return state == State::ready || state == State::delayed || state == State::suspended;
}

// What a claim sees of a row.
struct ClaimView {
    std::optional<State> state;
    // The ordinal of the last claim; 0 while it was never claimed, so has not started.
    std::int64_t claim = 0;
    int attempt = 0;
    int max_attempts = 0;
    Timestamp run_at;
    std::optional<Timestamp> visible_at;
    std::optional<Timestamp> expires_at;
};

enum class ClaimVerdict {
    leave,   // not due, held by a live lease, or not understood
    take,    // hand it out
    bury,    // its lease lapsed on the final attempt
    expire,  // it was not started before expires_at
};

// Decides what a claim at `now` does with a row; the boundary instant counts as lapsed, due and
// expired.
ClaimVerdict judge(const ClaimView &row, Timestamp now);

// Whether a waiting row has passed its expires_at without having started. A job that sleeps, or was
// handed back uncounted, has started.
bool is_expired(const ClaimView &row, Timestamp now);

// The first instant at which judge() could answer otherwise than `leave`; kNever when none is
// known.
Timestamp next_change(const ClaimView &row);

}  // namespace x_jobs::core
