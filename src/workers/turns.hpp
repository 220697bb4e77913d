// What a scheduler does for tasks: a turn deals with one occurrence of one task, in a transaction
// of its own.
#pragma once

#include "core/values.hpp"

namespace x_jobs::workers {

// Gives each task that is due its turns, and answers when the next one is due, by the clock of
// x_jobs; at once if some have more to catch up with.
core::Timestamp take_turns();

}  // namespace x_jobs::workers
