// See cron_calendar.hpp.
#include "core/cron_calendar.hpp"

#include <bit>
#include <chrono>

namespace x_jobs::core::cron {

namespace {

using std::chrono::sys_days;
using std::chrono::year_month;

constexpr sys_days kEpoch = std::chrono::year{2000} / 1 / 1;
constexpr std::chrono::year kLastYear{9999};
constexpr std::chrono::year kEndOfCycle{2399};

constexpr int kWeek = 7;
constexpr int kSunday = 0;
constexpr int kSaturday = 6;
// Every seventh day, from day 0 on.
constexpr Bits kWeekly = 0x10204081;
// What countr_zero answers when no bit is left.
constexpr int kNoBit = 64;

constexpr Bits bit(int n) {
    return Bits{1} << n;
}

// The least value of the set that is not below `from`; kNoBit if there is none.
int first_of(Bits set, int from) {
    return std::countr_zero(set >> from << from);
}

struct Month {
    int days;
    int first_weekday;
    // Bits 1 to `days`.
    Bits all;
};

Month month_of(year_month month) {
    const int days = static_cast<int>(static_cast<unsigned>((month / std::chrono::last).day()));
    const std::chrono::weekday first{sys_days{month / 1}};
    return {days, static_cast<int>(first.c_encoding()), bit(days + 1) - bit(1)};
}

int first_day_of(const Month &month, int weekday) {
    return 1 + (weekday - month.first_weekday + kWeek) % kWeek;
}

int nearest_working_day(const Month &month, int day) {
    const int weekday = (month.first_weekday + day - 1) % kWeek;
    if (weekday == kSaturday) {
        return day == 1 ? day + 2 : day - 1;
    }
    if (weekday == kSunday) {
        return day == month.days ? day - 2 : day + 1;
    }
    return day;
}

Bits days_by_number(const Schedule &schedule, const Month &month) {
    Bits found = schedule.days & month.all;
    if (schedule.last_day) {
        found |= bit(month.days);
    }
    if (schedule.last_working_day) {
        found |= bit(nearest_working_day(month, month.days));
    }
    for (Bits left = schedule.nearest_working_days & month.all; left != 0; left &= left - 1) {
        found |= bit(nearest_working_day(month, std::countr_zero(left)));
    }
    return found;
}

Bits days_by_weekday(const Schedule &schedule, const Month &month) {
    Bits found = 0;
    for (int weekday = kSunday; weekday <= kSaturday; ++weekday) {
        int day = first_day_of(month, weekday);
        const Bits days = kWeekly << day & month.all;
        if ((schedule.weekdays & bit(weekday)) != 0) {
            found |= days;
        }
        if ((schedule.last_weekdays & bit(weekday)) != 0) {
            found |= std::bit_floor(days);
        }
        for (const Bits nth : schedule.nth_weekdays) {
            found |= (nth & bit(weekday)) != 0 ? days & bit(day) : 0;
            day += kWeek;
        }
    }
    return found;
}

Bits matching_days(const Schedule &schedule, const Month &month) {
    if (!schedule.days_restricted && !schedule.weekdays_restricted) {
        return month.all;
    }
    if (!schedule.weekdays_restricted) {
        return days_by_number(schedule, month);
    }
    const Bits by_weekday = days_by_weekday(schedule, month);
    if (!schedule.days_restricted) {
        return by_weekday;
    }
    const Bits by_number = days_by_number(schedule, month);
    return schedule.day_rule == DayRule::both ? by_number & by_weekday : by_number | by_weekday;
}

// In days since 2000-01-01.
std::optional<std::int64_t> first_day(const Schedule &schedule, std::int64_t from,
                                      std::chrono::year last_year) {
    const std::chrono::year_month_day date{kEpoch + std::chrono::days{from}};
    Bits left = ~Bits{0} << static_cast<unsigned>(date.day());
    for (year_month month = date.year() / date.month(); month.year() <= last_year;
         month += std::chrono::months{1}) {
        if ((schedule.months >> static_cast<unsigned>(month.month()) & 1) != 0) {
            const Bits days = matching_days(schedule, month_of(month)) & left;
            if (days != 0) {
                return (sys_days{month / 1} - kEpoch).count() + std::countr_zero(days) - 1;
            }
        }
        left = ~Bits{0};
    }
    return std::nullopt;
}

// The first matching second of a day at or after `from`.
std::optional<int> first_time(const Schedule &schedule, int from) {
    const int from_hour = from / 3600;
    const int from_minute = from / 60 % 60;
    const int first_minute = first_of(schedule.minutes, 0);
    const int first_second = first_of(schedule.seconds, 0);
    if (first_minute == kNoBit || first_second == kNoBit) {
        return std::nullopt;
    }
    int hour = first_of(schedule.hours, from_hour);
    if (hour == from_hour) {
        int minute = first_of(schedule.minutes, from_minute);
        int second = minute == from_minute ? first_of(schedule.seconds, from % 60) : first_second;
        if (second == kNoBit) {
            minute = first_of(schedule.minutes, from_minute + 1);
            second = first_second;
        }
        if (minute != kNoBit) {
            return (hour * 60 + minute) * 60 + second;
        }
        hour = first_of(schedule.hours, from_hour + 1);
    }
    if (hour == kNoBit) {
        return std::nullopt;
    }
    return (hour * 60 + first_minute) * 60 + first_second;
}

}  // namespace

bool has_days(const Schedule &schedule) {
    return first_day(schedule, 0, kEndOfCycle).has_value();
}

std::optional<std::int64_t> first_match(const Schedule &schedule, std::int64_t from) {
    const std::int64_t today = floor_divide(from, kDaySeconds);
    const std::optional<int> rest_of_day =
        first_time(schedule, static_cast<int>(from - today * kDaySeconds));
    const std::optional<int> whole_day = first_time(schedule, 0);
    if (!whole_day) {
        return std::nullopt;
    }
    const std::optional<std::int64_t> day =
        first_day(schedule, rest_of_day ? today : today + 1, kLastYear);
    if (!day) {
        return std::nullopt;
    }
    return *day * kDaySeconds + (rest_of_day && *day == today ? *rest_of_day : *whole_day);
}

}  // namespace x_jobs::core::cron
