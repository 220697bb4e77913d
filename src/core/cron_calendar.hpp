// The calendar of a schedule: which local dates and times of day match. Knows no zone and no
// instant; a local second counts from 2000-01-01 00:00 on the wall clock.
#pragma once

#include <cstdint>
#include <optional>

#include "core/cron.hpp"

namespace x_jobs::core::cron {

constexpr std::int64_t kDaySeconds = 86'400;

// Rounds down, also below zero.
constexpr std::int64_t floor_divide(std::int64_t number, std::int64_t by) {
    return number / by - (number % by < 0 ? 1 : 0);
}

// Whether any day of the calendar matches. It repeats itself every 400 years, weekdays included.
bool has_days(const Schedule &schedule);

// The first local second at or after `from` that matches; nothing when there is none before the
// year 10000.
std::optional<std::int64_t> first_match(const Schedule &schedule, std::int64_t from);

}  // namespace x_jobs::core::cron
