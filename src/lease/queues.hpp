// The queues that a claim or a wait names: read, checked, and without those that are paused.
#pragma once

#include "pg/array.hpp"

namespace x_jobs::lease {

// The distinct queues of the list; an empty name means the default queue. Raises
// X_JOB_CLAIM_QUEUES_EMPTY for an empty list, X_INVARIANT, and 42501 for a queue that the current
// role may not work on.
pg::Array<std::string_view> read_queues(std::optional<pg::ArrayRef> list);

// Those that are not paused now.
pg::Array<std::string_view> open_queues(const pg::Array<std::string_view> &queues);

}  // namespace x_jobs::lease
