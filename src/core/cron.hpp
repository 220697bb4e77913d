// Cron schedules: what a text means, and when it next comes round on the wall clock of a time zone.
// Pure: the zone comes as a function, the instant as an argument. Owns the grammar, the day rule
// and the rule of clock changes:
//
// - A schedule with fixed hours and minutes (numbers, lists, ranges) fires once for each matching
//   local date and time of day. A local time inside a gap is moved later by the length of the gap;
//   a repeated local time counts on its first pass only; two local times that come to one instant
//   are one occurrence.
// - A schedule whose minute or hour field is a star, with or without a step, follows real time: it
//   fires whenever the wall clock reads a matching time, whatever the clock does.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/values.hpp"

namespace x_jobs::core::cron {

// Longer texts are refused.
constexpr std::size_t kMaxText = 1024;

// What to do when both the day of the month and the weekday are restricted.
enum class DayRule { either, both };

enum class Field { second, minute, hour, day, month, weekday };
constexpr int kFields = 6;

// The least and the greatest value of a field as it is written; weekday 7 is Sunday again.
struct Range {
    int least;
    int most;
};
Range range_of(Field field);
// "second", "day of month", ...
std::string_view name_of(Field field);

enum class Problem {
    none,
    empty,          // no field at all
    too_long,       // more than kMaxText bytes
    field_count,    // neither five nor six fields
    unknown_macro,  // an @word that is none of ours; @reboot is one of them
    empty_item,     // a list with nothing between two commas, a range or a step without an end
    no_number,      // not a number, a name or a word of the field; also with junk behind a number
    out_of_range,   // beyond range_of(field); also a k of n#k that is not 1 to 5
    bad_step,       // a step that is not a positive whole number within the field
    double_step,    // a third part in a step
    misplaced,      // L, W or # where it has no meaning
    never,          // no day of the calendar matches
};

struct Fault {
    Problem problem = Problem::none;
    Field field = Field::second;
    // The part of the text that is wrong; it lives as long as the text.
    std::string_view text;
};

// Bit n stands for value n.
using Bits = std::uint64_t;

struct Schedule {
    // @every: the rest of the text is an interval, which the caller reads and puts into `period`.
    bool is_interval = false;
    Duration period{0};
    // The instant that the periods of an interval count from.
    Timestamp anchor{};

    Bits seconds = 0;
    Bits minutes = 0;
    Bits hours = 0;
    Bits days = 0;
    Bits months = 0;
    Bits weekdays = 0;
    // Anything but a star or a question mark.
    bool days_restricted = false;
    bool weekdays_restricted = false;
    // A star, with or without a step, in the minute or the hour field: the schedule follows real
    // time.
    bool follows_real_time = false;
    DayRule day_rule = DayRule::either;

    bool last_day = false;          // L
    bool last_working_day = false;  // LW
    Bits nearest_working_days = 0;  // nW: the working day nearest to day n, within its month
    Bits last_weekdays = 0;         // nL: the last such weekday of the month
    // n#k: bit n of element k - 1 is the k-th such weekday of the month.
    std::array<Bits, 5> nth_weekdays{};
};

struct Parsed {
    Schedule schedule;
    Fault fault;
    // What follows @every.
    std::string_view interval;
};

// Reads a schedule. Never fails otherwise than by a fault, whatever the bytes.
Parsed parse(std::string_view text, DayRule day_rule);

// How far the wall clock of a zone is ahead of UTC in the stretch of time that holds an instant,
// and the instant from which another stretch begins. In seconds; instants count from 2000-01-01
// 00:00 UTC.
struct Stretch {
    std::int32_t offset;
    std::int64_t until;
};
constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

struct Zone {
    Stretch (*stretch_at)(const void *data, std::int64_t instant);
    const void *data;
};

struct Occurrence {
    Timestamp at;
    // By how much it was moved since its local time does not exist.
    Duration moved{0};
};

// The first occurrence strictly after an instant; nothing when there is none before the year 10000.
std::optional<Occurrence> next(const Schedule &schedule, const Zone &zone, Timestamp after);

// The last occurrence in (after, upto]. Found by bisection, in a number of steps that does not grow
// with the number of occurrences in between.
std::optional<Occurrence> last(const Schedule &schedule, const Zone &zone, Timestamp after,
                               Timestamp upto);

}  // namespace x_jobs::core::cron
