// x_jobs.cron_explain: a schedule in words, with the rules that apply to it and the next instants.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>

#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "pg/function.hpp"
#include "pg/text.hpp"
#include "tasks/schedule.hpp"
#include "tasks/zone.hpp"

namespace x_jobs::tasks {

namespace {

namespace cron = core::cron;
using cron::Bits;

constexpr std::array<const char *, 12> kMonths{"January",   "February", "March",    "April",
                                               "May",       "June",     "July",     "August",
                                               "September", "October",  "November", "December"};
constexpr std::array<const char *, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                "Thursday", "Friday", "Saturday"};
constexpr std::array<const char *, 5> kOrdinals{"first", "second", "third", "fourth", "fifth"};
// More times of day than this are told as hours and minutes.
constexpr int kMostTimes = 12;

// Words put together into a list: "a", "a and b", "a, b and c".
class List {
   public:
    List(StringInfo out, int count, const char *last) : out_(out), left_(count), last_(last) {}

    void add(const char *word) {
        if (!first_) {
            appendStringInfoString(out_, left_ == 1 ? last_ : ", ");
        }
        first_ = false;
        --left_;
        appendStringInfoString(out_, word);
    }

   private:
    StringInfo out_;
    int left_;
    const char *last_;
    bool first_ = true;
};

// The values of a field as words; three and more in a row become "a to c".
template <typename Word>
void add_runs(List &list, Bits bits, Word word) {
    while (bits != 0) {
        const int first = std::countr_zero(bits);
        const int length = std::countr_one(bits >> first);
        const int told = length >= 3 ? length : 1;
        list.add(told == 1 ? word(first)
                           : psprintf("%s to %s", word(first), word(first + told - 1)));
        bits &= ~(((Bits{1} << told) - 1) << first);
    }
}

int runs_in(Bits bits) {
    int runs = 0;
    while (bits != 0) {
        const int first = std::countr_zero(bits);
        const int length = std::countr_one(bits >> first);
        bits &= ~(((Bits{1} << (length >= 3 ? length : 1)) - 1) << first);
        ++runs;
    }
    return runs;
}

template <typename Word>
void append_bits(StringInfo out, Bits bits, const char *last, Word word) {
    List list(out, runs_in(bits), last);
    add_runs(list, bits, word);
}

const char *number(int value) {
    return psprintf("%d", value);
}

Bits all_of(cron::Field field) {
    const cron::Range range = cron::range_of(field);
    const int most = field == cron::Field::weekday ? 6 : range.most;
    return ((Bits{2} << most) - 1) & ~((Bits{1} << range.least) - 1);
}

// Every n-th value from the least on, all round: five past 55 is 0 again, seven past 56 is not. 0
// for another pattern.
int step_of(Bits bits, cron::Field field) {
    const int least = cron::range_of(field).least;
    const int most = cron::range_of(field).most;
    const int values = most - least + 1;
    for (int step = 2; step <= values / 2; ++step) {
        if (values % step != 0) {
            continue;
        }
        Bits pattern = 0;
        for (int value = least; value <= most; value += step) {
            pattern |= Bits{1} << value;
        }
        if (pattern == bits) {
            return step;
        }
    }
    return 0;
}

// "every minute", "every 15 minutes", "minutes 0 and 30". Behind an "of" a step is told as its
// values: "every minute of every 6 hours" could mean all of them.
void append_values(StringInfo out, Bits bits, cron::Field field) {
    const char *name = pg::to_c_string(cron::name_of(field));
    if (bits == all_of(field)) {
        appendStringInfo(out, "every %s", name);
    } else if (const int step = out->len == 0 ? step_of(bits, field) : 0; step != 0) {
        appendStringInfo(out, "every %d %ss", step, name);
    } else {
        appendStringInfo(out, "%s%s ", name, std::popcount(bits) > 1 ? "s" : "");
        append_bits(out, bits, " and ", number);
    }
}

bool has_few_times(const cron::Schedule &schedule) {
    return !schedule.follows_real_time && std::popcount(schedule.seconds) == 1 &&
           std::popcount(schedule.hours) * std::popcount(schedule.minutes) <= kMostTimes;
}

void append_times(StringInfo out, const cron::Schedule &schedule) {
    const int second = std::countr_zero(schedule.seconds);
    List list(out, std::popcount(schedule.hours) * std::popcount(schedule.minutes), " and ");
    for (Bits hours = schedule.hours; hours != 0; hours &= hours - 1) {
        for (Bits minutes = schedule.minutes; minutes != 0; minutes &= minutes - 1) {
            const int hour = std::countr_zero(hours);
            const int minute = std::countr_zero(minutes);
            list.add(second == 0 ? psprintf("%02d:%02d", hour, minute)
                                 : psprintf("%02d:%02d:%02d", hour, minute, second));
        }
    }
}

void append_time_of_day(StringInfo out, const cron::Schedule &schedule) {
    if (has_few_times(schedule)) {
        appendStringInfoString(out, "At ");
        append_times(out, schedule);
        return;
    }
    StringInfoData words;
    initStringInfo(&words);
    if (schedule.seconds != 1) {
        append_values(&words, schedule.seconds, cron::Field::second);
        appendStringInfoString(&words, " of ");
    }
    append_values(&words, schedule.minutes, cron::Field::minute);
    appendStringInfoString(&words, " of ");
    append_values(&words, schedule.hours, cron::Field::hour);
    if (words.data[0] == 'e') {
        // "every …" begins the sentence by itself.
        words.data[0] = 'E';
    } else {
        appendStringInfoString(out, "At ");
    }
    appendStringInfoString(out, words.data);
}

const char *weekday(int n) {
    return kWeekdays[static_cast<std::size_t>(n)];
}

// The parts of the day field, each with "or" before the next one.
void append_days(StringInfo out, const cron::Schedule &schedule) {
    List list(out,
              (schedule.days != 0) + schedule.last_day + schedule.last_working_day +
                  (schedule.nearest_working_days != 0),
              " or ");
    StringInfoData words;
    initStringInfo(&words);
    if (schedule.days != 0) {
        appendStringInfo(&words, "day%s ", std::popcount(schedule.days) > 1 ? "s" : "");
        append_bits(&words, schedule.days, " and ", number);
        list.add(pstrdup(words.data));
    }
    if (schedule.last_day) {
        list.add("the last day");
    }
    if (schedule.last_working_day) {
        list.add("the last working day");
    }
    if (schedule.nearest_working_days != 0) {
        resetStringInfo(&words);
        appendStringInfoString(&words, "the working day nearest to day ");
        append_bits(&words, schedule.nearest_working_days, " and to day ", number);
        list.add(words.data);
    }
    appendStringInfoString(out, " of the month");
}

int nth_count(const cron::Schedule &schedule) {
    int count = 0;
    for (const Bits bits : schedule.nth_weekdays) {
        count += std::popcount(bits);
    }
    return count;
}

void append_weekdays(StringInfo out, const cron::Schedule &schedule) {
    List list(
        out,
        runs_in(schedule.weekdays) + std::popcount(schedule.last_weekdays) + nth_count(schedule),
        " or ");
    add_runs(list, schedule.weekdays, weekday);
    for (std::size_t k = 0; k < schedule.nth_weekdays.size(); ++k) {
        for (Bits left = schedule.nth_weekdays[k]; left != 0; left &= left - 1) {
            list.add(
                psprintf("the %s %s of the month", kOrdinals[k], weekday(std::countr_zero(left))));
        }
    }
    for (Bits left = schedule.last_weekdays; left != 0; left &= left - 1) {
        list.add(psprintf("the last %s of the month", weekday(std::countr_zero(left))));
    }
}

void append_date(StringInfo out, const cron::Schedule &schedule) {
    if (schedule.days_restricted && schedule.weekdays_restricted) {
        const bool both = schedule.day_rule == cron::DayRule::both;
        appendStringInfoString(out, both ? ", on days that are " : ", on ");
        append_days(out, schedule);
        appendStringInfoString(out, both ? " and also " : ", and besides on ");
        append_weekdays(out, schedule);
    } else if (schedule.days_restricted) {
        appendStringInfoString(out, ", on ");
        append_days(out, schedule);
    } else if (schedule.weekdays_restricted) {
        appendStringInfoString(out, ", on ");
        append_weekdays(out, schedule);
    } else {
        appendStringInfoString(out, ", every day");
    }
    if (schedule.months != all_of(cron::Field::month)) {
        appendStringInfoString(out, ", in ");
        append_bits(out, schedule.months, " and ",
                    [](int n) { return kMonths[static_cast<std::size_t>(n - 1)]; });
    }
}

// Not the server's own output, whose style is the session's.
void append_next(StringInfo out, const cron::Schedule &schedule, const NamedZone &named) {
    const auto found = cron::next(schedule, named.zone, clock::now());
    if (!found) {
        appendStringInfoString(out, " It does not fire any more.");
        return;
    }
    const std::int64_t seconds = found->at.micros / USECS_PER_SEC;
    const std::int32_t offset = named.zone.stretch_at(named.zone.data, seconds).offset;
    struct pg_tm local {};
    fsec_t fraction = 0;
    timestamp2tm((found->at + std::chrono::seconds{offset}).micros, nullptr, &local, &fraction,
                 nullptr, nullptr);
    appendStringInfo(out, " Next at %04d-%02d-%02d %02d:%02d:%02d, UTC%c%02d:%02d.", local.tm_year,
                     local.tm_mon, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec,
                     offset < 0 ? '-' : '+', std::abs(offset) / 3600, std::abs(offset) / 60 % 60);
}

void add_unit(List &list, std::int64_t count, const char *unit) {
    if (count != 0) {
        list.add(psprintf("%lld %s%s", static_cast<long long>(count), unit, count == 1 ? "" : "s"));
    }
}

void append_interval(StringInfo out, const cron::Schedule &schedule) {
    const std::int64_t seconds = schedule.period / std::chrono::seconds{1};
    const std::array<std::int64_t, 4> parts{seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60,
                                            seconds % 60};
    appendStringInfoString(out, "Every ");
    List list(out, 4 - static_cast<int>(std::count(parts.begin(), parts.end(), 0)), " and ");
    add_unit(list, parts[0], "day");
    add_unit(list, parts[1], "hour");
    add_unit(list, parts[2], "minute");
    add_unit(list, parts[3], "second");
    appendStringInfoString(
        out,
        ", counted from when the task is made; no time zone and no change of clocks plays a part.");
}

// x_jobs.cron_explain(cron, time_zone, day_rule)
std::string_view cron_explain(std::optional<std::string_view> text,
                              std::optional<std::string_view> zone,
                              std::optional<std::string_view> day_rule) {
    const auto schedule = require_schedule(text, day_rule_named(day_rule), clock::now());
    const NamedZone named = zone_named(zone);
    StringInfoData words;
    initStringInfo(&words);
    if (schedule.is_interval) {
        append_interval(&words, schedule);
        return words.data;
    }
    append_time_of_day(&words, schedule);
    append_date(&words, schedule);
    appendStringInfo(&words, ", in the time zone %s.", pg::to_c_string(named.name));
    appendStringInfoString(
        &words,
        schedule.follows_real_time
            ? " Where clocks change it follows real time: whenever the clock shows a matching time."
            : " A time that a change of clocks leaves out is moved later by as much; one that "
              "comes twice counts the first time.");
    append_next(&words, schedule, named);
    return words.data;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_cron_explain, cron_explain)

}  // namespace x_jobs::tasks
