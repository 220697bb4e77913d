// x_jobs.nack and release: handing a job back.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "pg/function.hpp"
#include "rights/rights.hpp"
#include "settle/attempt_end.hpp"

namespace x_jobs::settle {

namespace {

// Dead letter beats fail, fail beats park.
Target target_of(bool park, bool dead_letter, bool fail) {
    if (dead_letter) {
        return Target::dead;
    }
    if (fail) {
        return Target::failed;
    }
    return park ? Target::suspended : Target::ready;
}

std::string_view reason_of(const HandBack &back) {
    if (back.target == Target::dead) {
        return "dead-letter";
    }
    return back.counted ? "failed" : "refused";
}

bool settle_one(const lease::Fence &fence, const HandBack &back) {
    Desk desk = Desk::open();
    const bool landed = hand_back(desk, fence, back);
    desk.close();
    return landed;
}

bool nack(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.nack()");
    const lease::Fence fence =
        lease::make_fence(call.argument<core::Uuid>(0), call.argument<std::string_view>(1),
                          call.argument<std::int64_t>(2));
    const core::Timestamp now = clock::now();
    HandBack back;
    back.delay =
        arguments::duration(call.argument<pg::IntervalRef>(3), "delay", core::kMaxDelay, now);
    back.error = call.argument<std::string_view>(4);
    back.stack = call.argument<std::string_view>(5);
    back.counted = arguments::required(call.argument<bool>(6), "counts_as_attempt");
    back.target = target_of(arguments::required(call.argument<bool>(7), "park"),
                            arguments::required(call.argument<bool>(8), "dead_letter"),
                            arguments::required(call.argument<bool>(9), "fail"));
    back.reason = reason_of(back);
    back.duration = arguments::optional_duration(call.argument<pg::IntervalRef>(10), "duration",
                                                 core::kMaxDelay, now)
                        .value_or(core::Duration::zero());
    return settle_one(fence, back);
}

bool release(std::optional<core::Uuid> id, std::optional<std::string_view> worker_id,
             std::optional<std::int64_t> claim, std::optional<pg::IntervalRef> delay,
             std::optional<std::string_view> error) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.release()");
    const lease::Fence fence = lease::make_fence(id, worker_id, claim);
    HandBack back;
    back.delay = arguments::duration(delay, "delay", core::kMaxDelay, clock::now());
    back.error = error;
    back.counted = false;
    return settle_one(fence, back);
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_nack, nack)
X_JOBS_SQL_FUNCTION(x_jobs_release, release)

}  // namespace x_jobs::settle
