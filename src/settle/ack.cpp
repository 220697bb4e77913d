// x_jobs.ack: the attempt succeeded.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "pg/function.hpp"
#include "rights/rights.hpp"
#include "settle/attempt_end.hpp"

namespace x_jobs::settle {

namespace {

bool ack(std::optional<core::Uuid> id, std::optional<std::string_view> worker_id,
         std::optional<std::int64_t> claim, std::optional<pg::Jsonb> result,
         std::optional<pg::IntervalRef> duration) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.ack()");
    const lease::Fence fence = lease::make_fence(id, worker_id, claim);
    Done done;
    if (result) {
        done.result = arguments::payload(*result, "result");
    }
    done.duration =
        arguments::optional_duration(duration, "duration", core::kMaxDelay, clock::now())
            .value_or(core::Duration::zero());
    Desk desk = Desk::open();
    const bool landed = complete(desk, fence, done);
    desk.close();
    return landed;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_ack, ack)

}  // namespace x_jobs::settle
