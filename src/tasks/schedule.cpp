// See schedule.hpp.
#include "tasks/schedule.hpp"

#include "arguments/arguments.hpp"
#include "errors/errors.hpp"
#include "pg/postgres.hpp"
#include "pg/text.hpp"

namespace x_jobs::tasks {

namespace {

namespace cron = core::cron;
using cron::Problem;

// As much of an offending text as a message shows.
constexpr std::size_t kShownBytes = 60;
constexpr core::Duration kLongestPeriod = std::chrono::hours{24} * 3'660;

const char *quoted(std::string_view text) {
    return psprintf("\"%s\"", pg::to_c_string(pg::storable(text, kShownBytes)));
}

const char *sentence(const cron::Fault &fault) {
    const cron::Range range = cron::range_of(fault.field);
    const char *field = pg::to_c_string(cron::name_of(fault.field));
    const char *text = quoted(fault.text);
    switch (fault.problem) {
        case Problem::empty:
            return "The expression is empty";
        case Problem::too_long:
            return psprintf("The expression has more than %zu bytes", cron::kMaxText);
        case Problem::field_count:
            return "The expression has neither five fields (minute hour day month weekday) nor six "
                   "(second first)";
        case Problem::unknown_macro:
            return psprintf(
                "%s is not one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, "
                "@hourly and @every",
                text);
        case Problem::empty_item:
            if (!fault.text.empty() && fault.text.front() == '@') {
                return "An interval is missing after @every";
            }
            return psprintf("The %s field has an item without a value: %s; values are %d to %d",
                            field, text, range.least, range.most);
        case Problem::no_number:
            return psprintf("The %s field has %s, which is no value of %d to %d", field, text,
                            range.least, range.most);
        case Problem::out_of_range:
            if (fault.text.find('#') != std::string_view::npos) {
                return psprintf("The %s field has %s; what follows # is 1 to 5", field, text);
            }
            return psprintf("The %s field has %s, outside %d to %d", field, text, range.least,
                            range.most);
        case Problem::bad_step:
            return psprintf("The %s field has the step of %s, which is no whole number of 1 to %d",
                            field, text, range.most);
        case Problem::double_step:
            return psprintf("The %s field has more than one step in %s", field, text);
        case Problem::misplaced:
            return psprintf("The %s field has %s, where L, W and # cannot stand", field, text);
        case Problem::never:
            return "No day of the calendar matches day, month and weekday: it can never fire";
        case Problem::none:
            break;
    }
    return "The expression is wrong";
}

[[noreturn]] void refuse(const char *what) {
    errors::raise(errors::Code::cron_invalid, {what});
}

// What the server's own input of intervals reads, without its error.
bool decode_interval(char *text, Interval *interval) {
    char work[256];
    char *fields[MAXDATEFIELDS];
    int types[MAXDATEFIELDS];
    int count = 0;
    int type = 0;
    struct pg_itm_in parts {};
    int failed = ParseDateTime(text, work, sizeof work, fields, types, MAXDATEFIELDS, &count);
    if (failed == 0) {
        failed = DecodeInterval(fields, types, count, INTERVAL_FULL_RANGE, &type, &parts);
    }
    if (failed == DTERR_BAD_FORMAT) {
        failed = DecodeISO8601Interval(text, &type, &parts);
    }
    return failed == 0 && type == DTK_DELTA && itmin2interval(&parts, interval) == 0;
}

core::Duration period_of(std::string_view text) {
    Interval interval{};
    if (!decode_interval(pg::to_c_string(text), &interval)) {
        refuse(psprintf("%s after @every is not an interval", quoted(text)));
    }
    if (interval.month != 0) {
        refuse("The interval after @every has months or years, which differ in length");
    }
    const core::Duration period =
        std::chrono::hours{24} * interval.day + core::Duration{interval.time};
    if (period < std::chrono::seconds{1} || period > kLongestPeriod ||
        period % std::chrono::seconds{1} != core::Duration::zero()) {
        refuse(
            "The interval after @every is not a whole number of seconds from 1 second to 3660 "
            "days");
    }
    return period;
}

}  // namespace

cron::DayRule day_rule_named(std::optional<std::string_view> name) {
    const std::string_view given = arguments::required(name, "day_rule");
    if (given != "or" && given != "and") {
        errors::invariant("day_rule", "must be or, or and");
    }
    return given == "or" ? cron::DayRule::either : cron::DayRule::both;
}

std::optional<cron::Schedule> read_schedule(std::optional<std::string_view> text,
                                            cron::DayRule day_rule, core::Timestamp anchor) {
    cron::Parsed parsed = cron::parse(arguments::required(text, "cron"), day_rule);
    if (parsed.fault.problem == Problem::never) {
        return std::nullopt;
    }
    if (parsed.fault.problem != Problem::none) {
        refuse(sentence(parsed.fault));
    }
    if (parsed.schedule.is_interval) {
        parsed.schedule.period = period_of(parsed.interval);
        parsed.schedule.anchor = anchor;
    }
    return parsed.schedule;
}

cron::Schedule require_schedule(std::optional<std::string_view> text, cron::DayRule day_rule,
                                core::Timestamp anchor) {
    const auto schedule = read_schedule(text, day_rule, anchor);
    if (!schedule) {
        refuse(sentence({.problem = Problem::never}));
    }
    return *schedule;
}

}  // namespace x_jobs::tasks
