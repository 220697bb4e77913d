// A cron text as it arrives from a caller.
#pragma once

#include <string_view>

#include "core/cron.hpp"

namespace x_jobs::tasks {

// "or" and "and"; raises X_INVARIANT for anything else.
core::cron::DayRule day_rule_named(std::optional<std::string_view> name);

// Reads a schedule; the periods of an @every count from `anchor`. Raises X_CRON_INVALID, naming the
// field and what it may hold; answers nothing for one that no day of the calendar matches.
std::optional<core::cron::Schedule> read_schedule(std::optional<std::string_view> text,
                                                  core::cron::DayRule day_rule,
                                                  core::Timestamp anchor);

// The same, but one that can never fire is refused too.
core::cron::Schedule require_schedule(std::optional<std::string_view> text,
                                      core::cron::DayRule day_rule, core::Timestamp anchor);

}  // namespace x_jobs::tasks
