// See job_state.hpp.
#include "core/job_state.hpp"

#include <algorithm>

namespace x_jobs::core {

std::optional<State> state_named(std::string_view name) {
    const auto found = std::find(kStateNames.begin(), kStateNames.end(), name);
    if (found == kStateNames.end()) {
        return std::nullopt;
    }
    return static_cast<State>(found - kStateNames.begin());
}

ClaimVerdict judge(const ClaimView &row, Timestamp now) {
    if (!row.state || row.run_at > now) {
        return ClaimVerdict::leave;
    }
    if (is_waiting(*row.state)) {
        return is_expired(row, now) ? ClaimVerdict::expire : ClaimVerdict::take;
    }
    if (*row.state != State::running || !row.visible_at || *row.visible_at > now) {
        return ClaimVerdict::leave;
    }
    return row.attempt >= row.max_attempts ? ClaimVerdict::bury : ClaimVerdict::take;
}

bool is_expired(const ClaimView &row, Timestamp now) {
    return row.state && is_waiting(*row.state) && row.claim == 0 && row.expires_at &&
           *row.expires_at <= now;
}

Timestamp next_change(const ClaimView &row) {
    if (!row.state) {
        return kNever;
    }
    if (is_waiting(*row.state)) {
        return row.run_at;
    }
    return *row.state == State::running && row.visible_at ? *row.visible_at : kNever;
}

}  // namespace x_jobs::core
