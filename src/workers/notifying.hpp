// What a scheduler tells clients that listen on x_jobs_wake: queues that commits have left word of,
// and queues in which a job has fallen due.
#pragma once

#include "core/values.hpp"

namespace x_jobs::workers {

// Notifies of what there is, each queue at most once in 50 ms, and answers when there may be
// something next. By the clock of x_jobs.
core::Timestamp notify_listeners(core::Timestamp now);

// Sends what is on the board, before the scheduler goes.
void notify_the_rest();

}  // namespace x_jobs::workers
