// Many settlements in one call: an array of x_jobs.settlement under one worker, any mix of verbs.
#pragma once

#include "pg/array.hpp"
#include "pg/function.hpp"
#include "settle/attempt_end.hpp"

namespace x_jobs::settle {

struct Settled {
    core::Uuid id;
    bool landed;
    // What became of the job, when it landed.
    std::string_view outcome;
};

// Checks every settlement before the first is applied, applies them in id order, so that two such
// calls cannot wait for each other, and answers in the order in which they were given. Raises
// X_INVARIANT.
pg::Array<Settled> settle_all(std::optional<pg::ArrayRef> settlements,
                              std::optional<std::string_view> worker_id);

}  // namespace x_jobs::settle
