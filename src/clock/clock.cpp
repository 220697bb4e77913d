// See clock.hpp.
#include "clock/clock.hpp"

#include "pg/function.hpp"
#include "settings/settings.hpp"

namespace x_jobs::clock {

core::Timestamp now() {
    return core::Timestamp{GetCurrentTimestamp()} + settings::test_clock_offset();
}

core::Timestamp transaction_start() {
    return core::Timestamp{GetCurrentTransactionStartTimestamp()} + settings::test_clock_offset();
}

std::uint64_t unix_micros() {
    constexpr std::int64_t kEpochDays = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
    return static_cast<std::uint64_t>(now().micros + kEpochDays * USECS_PER_DAY);
}

std::optional<core::Duration> span_after(core::Timestamp base, pg::IntervalRef interval,
                                         core::Duration bound) {
    const Interval *value = DatumGetIntervalP(interval.datum);
    if (!pg::compat::interval_is_finite(value)) {
        return std::nullopt;
    }
    // A rough measure first: the exact sum must not leave the range of timestamps.
    const double rough = static_cast<double>(value->time) +
                         static_cast<double>(value->day) * USECS_PER_DAY +
                         static_cast<double>(value->month) * 30.0 * USECS_PER_DAY;
    const double limit = static_cast<double>(bound.count()) * 1.1 + 62.0 * USECS_PER_DAY;
    if (rough > limit || rough < -limit) {
        return std::nullopt;
    }
    const Datum sum = DirectFunctionCall2(timestamptz_pl_interval, TimestampTzGetDatum(base.micros),
                                          interval.datum);
    const core::Duration span = core::Timestamp{DatumGetTimestampTz(sum)} - base;
    if (span > bound || span < -bound) {
        return std::nullopt;
    }
    return span;
}

namespace {

core::Timestamp clock_for_sql() {
    return now();
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_clock, clock_for_sql)

}  // namespace x_jobs::clock
