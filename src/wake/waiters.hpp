// Sleeping until there may be work, and waking those who sleep. Owns the protocol between the two:
// a waiter says that it waits BEFORE it looks at the table, so a commit that its look missed finds
// it waiting.
#pragma once

#include <span>
#include <string_view>

#include "core/values.hpp"
#include "pg/postgres.hpp"

namespace x_jobs::wake {

enum class Appetite { every_job, some_jobs };

// Says that this process waits for the queues of the table `relation`. Their names must last as
// long as the wait.
void begin_wait(Oid relation, std::span<const std::string_view> queues, Appetite appetite);

// Ends the wait after a look at the table. A wake that came during it goes to another waiter, and
// so does the alarm for the next job that is due and the next lease that ends.
void end_wait();

// Ends the wait after an error, before the look that a wake asked for was complete.
void abandon_wait();

// Sleeps until woken, until `latest`, or until the poll interval has passed. Interrupts are served.
// Returns with this process waiting again, so the caller looks at the table next.
void sleep_until(core::Timestamp latest);

// Wakes up to `jobs` waiters of the queue, by its hash; 0 stands for any queue. Takes an LWLock,
// raises nothing.
void wake_waiters(Oid database, std::uint64_t queue, int jobs);

// Called once, from _PG_init.
void initialise();

}  // namespace x_jobs::wake
