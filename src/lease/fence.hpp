// The fence of a claim. Owns what "this claim holds the job" means, and the loop that finds the
// held row and changes it while others may be changing it too.
#pragma once

#include "store/live.hpp"

namespace x_jobs::lease {

struct Fence {
    core::Uuid id;
    std::string_view worker_id;
    std::int64_t claim;
};

// Checks the three arguments and raises X_INVARIANT for one that is missing or malformed.
Fence make_fence(std::optional<core::Uuid> id, std::optional<std::string_view> worker_id,
                 std::optional<std::int64_t> claim);

// Whether the row is running under exactly this claim, whoever asks.
bool is_held(const store::Row &row, const Fence &fence);

// Whether the row is running under exactly this claim, in a queue that the current role may work
// on. A lease that has lapsed still holds until somebody claims the job again.
bool holds(const store::Row &row, const Fence &fence);

// Finds the row while the fence holds it and calls `change(row)`, again if another session changed
// the row in the meantime. Answers whether a change landed. Waits for a session that is changing
// the row, within lock_timeout.
template <typename Change>
bool change_held(store::Live &live, const Fence &fence, Change change) {
    store::Row row;
    while (live.find(fence.id, row)) {
        if (!holds(row, fence)) {
            return false;
        }
        if (change(row) == store::WriteResult::done) {
            return true;
        }
        CHECK_FOR_INTERRUPTS();
    }
    return false;
}

}  // namespace x_jobs::lease
