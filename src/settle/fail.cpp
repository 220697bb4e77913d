// x_jobs.fail: the attempt failed, and the retry policy decides what follows.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "pg/rows.hpp"
#include "rights/rights.hpp"
#include "settle/attempt_end.hpp"

namespace x_jobs::settle {

namespace {

Datum fail_for_sql(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.fail()");
    const lease::Fence fence =
        lease::make_fence(call.argument<core::Uuid>(0), call.argument<std::string_view>(1),
                          call.argument<std::int64_t>(2));
    const core::Timestamp now = clock::now();
    Failure failure{};
    failure.error = arguments::required(call.argument<std::string_view>(3), "error");
    failure.code =
        arguments::optional_text(call.argument<std::string_view>(4), "code", core::kMaxNameBytes);
    failure.stack = call.argument<std::string_view>(5);
    failure.stated_delay = arguments::optional_duration(call.argument<pg::IntervalRef>(6),
                                                        "retry_after", core::kMaxDelay, now);
    failure.duration = arguments::optional_duration(call.argument<pg::IntervalRef>(7), "duration",
                                                    core::kMaxDelay, now)
                           .value_or(core::Duration::zero());
    Desk desk = Desk::open();
    const FailureAnswer answer = fail(desk, fence, failure);
    desk.close();

    std::array<pg::NullableValue, 4> columns{pg::to_nullable(std::optional{answer.landed})};
    if (answer.landed && answer.retried) {
        columns[1] = pg::to_nullable(std::optional<std::string_view>{"retried"});
        columns[2] = pg::to_nullable(std::optional{answer.retry_at});
    } else if (answer.landed) {
        columns[1] = pg::to_nullable(
            std::optional<std::string_view>{answer.dead_lettered ? "dead-lettered" : "dropped"});
        columns[3] = pg::to_nullable(std::optional<std::string_view>{"attempts-exhausted"});
    }
    return pg::make_row(call, columns);
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_fail, fail_for_sql)

}  // namespace x_jobs::settle
