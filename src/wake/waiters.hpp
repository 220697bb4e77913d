// Sleeping until there may be work, and waking those who sleep. Owns the protocol between the two:
// a waiter says that it waits BEFORE it looks at the table, so a commit that its look missed finds
// it waiting.
#pragma once

#include <span>
#include <string_view>

#include "core/values.hpp"

namespace x_jobs::wake {

enum class Appetite { every_job, some_jobs };

// Says that this process waits for the queues. Without shared memory it does nothing.
void begin_wait(std::span<const std::string_view> queues, Appetite appetite);

// Ends the wait. A wake that has not been answered by a look at the table goes to another waiter.
void end_wait();

// Sleeps until woken, until `latest`, or until the poll interval has passed. Interrupts are served.
// Returns with this process waiting again, so the caller looks at the table next.
void sleep_until(core::Timestamp latest);

// Wakes up to `jobs` waiters of the queue, by its hash; 0 stands for any queue. Takes an LWLock,
// raises nothing.
void wake_waiters(std::uint64_t queue, int jobs);

}  // namespace x_jobs::wake
