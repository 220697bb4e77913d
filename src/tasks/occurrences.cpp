// cron_next, and what the functions of tasks ask about their schedules.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "errors/errors.hpp"
#include "pg/rows.hpp"
#include "tasks/schedule.hpp"
#include "tasks/zone.hpp"

namespace x_jobs::tasks {

namespace {

namespace cron = core::cron;

constexpr int kMostAnswers = 10'000;

// x_jobs.cron_next(cron, time_zone, after, n, day_rule)
Datum cron_next(pg::Call call) {
    const auto after = arguments::optional_instant(call.argument<core::Timestamp>(2), "after");
    const int count = arguments::count(call.argument<std::int32_t>(3), "n", 0, kMostAnswers);
    const auto day_rule = day_rule_named(call.argument<std::string_view>(4));
    core::Timestamp from = after.value_or(clock::now());
    // As for a task that is made at that moment.
    const core::Timestamp second{from.micros -
                                 (from.micros % USECS_PER_SEC + USECS_PER_SEC) % USECS_PER_SEC};
    const auto schedule = read_schedule(call.argument<std::string_view>(0), day_rule, second);
    const NamedZone named = zone_named(call.argument<std::string_view>(1));
    pg::RowWriter rows(call, pg::RowShape::single_value);
    for (int i = 0; schedule && i < count; ++i) {
        CHECK_FOR_INTERRUPTS();
        const auto found = cron::next(*schedule, named.zone, from);
        if (!found) {
            break;
        }
        rows.write(std::array{pg::to_nullable(std::optional{found->at})});
        from = found->at;
    }
    return Datum{0};
}

// A schedule of a stored task, which was checked when it was stored.
struct Stored {
    cron::Schedule schedule;
    NamedZone named;
};

// cron, time_zone, day_rule, anchor
Stored stored(pg::Call call) {
    const auto anchor = arguments::required(call.argument<core::Timestamp>(3), "anchor");
    const auto day_rule = day_rule_named(call.argument<std::string_view>(2));
    return {require_schedule(call.argument<std::string_view>(0), day_rule, anchor),
            zone_named(call.argument<std::string_view>(1))};
}

pg::NullableValue interval_of(core::Duration span) {
    auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
    interval->time = span.count();
    return {IntervalPGetDatum(interval), false};
}

// _x_jobs.occurrences(cron, time_zone, day_rule, anchor, after, upto, max)
Datum occurrences(pg::Call call) {
    const Stored task = stored(call);
    core::Timestamp from = arguments::required(call.argument<core::Timestamp>(4), "after");
    const auto upto = call.argument<core::Timestamp>(5).value_or(core::kNever);
    const auto most = arguments::required(call.argument<std::int32_t>(6), "max");
    pg::RowWriter rows(call);
    for (int i = 0; i < most; ++i) {
        CHECK_FOR_INTERRUPTS();
        const auto found = cron::next(task.schedule, task.named.zone, from);
        if (!found || found->at > upto) {
            break;
        }
        rows.write(
            std::array{pg::to_nullable(std::optional{found->at}), interval_of(found->moved)});
        from = found->at;
    }
    return Datum{0};
}

// _x_jobs.latest_occurrence(cron, time_zone, day_rule, anchor, after, upto)
Datum latest_occurrence(pg::Call call) {
    const Stored task = stored(call);
    const auto after = arguments::required(call.argument<core::Timestamp>(4), "after");
    const auto upto = arguments::required(call.argument<core::Timestamp>(5), "upto");
    const auto found = cron::last(task.schedule, task.named.zone, after, upto);
    if (!found) {
        return pg::answer_null(call);
    }
    return pg::make_row(
        call, std::array{pg::to_nullable(std::optional{found->at}), interval_of(found->moved)});
}

// Checks what a task is made of, and answers the zone as the catalogue spells it.
std::string_view check_schedule(std::optional<std::string_view> text,
                                std::optional<std::string_view> zone,
                                std::optional<std::string_view> day_rule) {
    static_cast<void>(require_schedule(text, day_rule_named(day_rule), clock::now()));
    return zone_named(zone).name;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_cron_next, cron_next)
X_JOBS_SQL_FUNCTION(x_jobs_occurrences, occurrences)
X_JOBS_SQL_FUNCTION(x_jobs_latest_occurrence, latest_occurrence)
X_JOBS_SQL_FUNCTION(x_jobs_check_schedule, check_schedule)

}  // namespace x_jobs::tasks
