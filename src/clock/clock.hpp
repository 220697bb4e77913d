// The only place that reads the clock. x_jobs.test_clock_offset shifts every answer.
#pragma once

#include "core/values.hpp"
#include "pg/datum.hpp"

namespace x_jobs::clock {

// The wall clock, for leases and for what is due.
core::Timestamp now();

// The start of the transaction: the default run_at of what it enqueues.
core::Timestamp transaction_start();

// The time since 1970, for ids.
std::uint64_t unix_micros();

// The span that `interval` covers after `base`, in calendar arithmetic of the session's time zone.
// Nothing when it is infinite, or further than `bound` away in either direction.
std::optional<core::Duration> span_after(core::Timestamp base, pg::IntervalRef interval,
                                         core::Duration bound);

}  // namespace x_jobs::clock
