// What a scheduler does by the clock: it renews the leader lease, and does the upkeep that
// maintain() does, one thing at a time. Each duty is tried and never waited for; what fails is
// logged and comes round again.
#pragma once

#include "core/values.hpp"

namespace x_jobs::workers {

// Does what is due, and answers when the next duty is. By the server's own clock.
core::Timestamp do_duties(core::Timestamp now);

// Whether this scheduler holds the leader lease.
bool leads();

// Gives the lease back, for another to take at once.
void stop_leading();

}  // namespace x_jobs::workers
