// See settlements.hpp.
#include "settle/settlements.hpp"

#include <algorithm>

#include "arguments/arguments.hpp"
#include "arguments/composite.hpp"
#include "clock/clock.hpp"
#include "errors/errors.hpp"

namespace x_jobs::settle {

namespace {

// The fields of x_jobs.settlement by position.
enum Position {
    kId,
    kClaim,
    kVerb,
    kResult,
    kError,
    kCode,
    kStack,
    kDelay,
    kRetryAfter,
    kDuration,
    kPositions
};

enum class Verb { ack, nack, release, fail, dead_letter };

struct Settlement {
    lease::Fence fence;
    Verb verb;
    Done done;
    HandBack back;
    Failure failure;
};

Verb verb_named(std::string_view name) {
    constexpr std::array<std::string_view, 5> kNames{"ack", "nack", "release", "fail",
                                                     "dead_letter"};
    const auto *found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
        errors::invariant("verb", "must be ack, nack, release, fail or dead_letter");
    }
    return static_cast<Verb>(found - kNames.begin());
}

HandBack read_hand_back(const pg::Elements &fields, Verb verb, core::Duration duration,
                        core::Timestamp now) {
    HandBack back;
    back.delay = arguments::optional_duration(fields.get<pg::IntervalRef>(kDelay), "delay",
                                              core::kMaxDelay, now)
                     .value_or(core::Duration::zero());
    back.error = fields.get<std::string_view>(kError);
    back.code =
        arguments::optional_text(fields.get<std::string_view>(kCode), "code", core::kMaxNameBytes);
    back.stack = fields.get<std::string_view>(kStack);
    back.duration = duration;
    back.counted = verb != Verb::release;
    if (verb == Verb::dead_letter) {
        back.target = Target::dead;
        back.reason = "dead-letter";
    }
    return back;
}

Failure read_failure(const pg::Elements &fields, core::Duration duration, core::Timestamp now) {
    Failure failure{};
    failure.error = arguments::required(fields.get<std::string_view>(kError), "error");
    failure.code =
        arguments::optional_text(fields.get<std::string_view>(kCode), "code", core::kMaxNameBytes);
    failure.stack = fields.get<std::string_view>(kStack);
    failure.stated_delay = arguments::optional_duration(fields.get<pg::IntervalRef>(kRetryAfter),
                                                        "retry_after", core::kMaxDelay, now);
    failure.duration = duration;
    return failure;
}

Settlement read_fields(const pg::Elements &fields, std::optional<std::string_view> worker_id,
                       core::Timestamp now) {
    Settlement settlement{};
    settlement.fence =
        lease::make_fence(fields.get<core::Uuid>(kId), worker_id, fields.get<std::int64_t>(kClaim));
    settlement.verb = verb_named(arguments::required(fields.get<std::string_view>(kVerb), "verb"));
    const core::Duration duration =
        arguments::optional_duration(fields.get<pg::IntervalRef>(kDuration), "duration",
                                     core::kMaxDelay, now)
            .value_or(core::Duration::zero());
    switch (settlement.verb) {
        case Verb::ack:
            if (const auto result = fields.get<pg::Jsonb>(kResult)) {
                settlement.done.result = arguments::payload(*result, "result");
            }
            settlement.done.duration = duration;
            break;
        case Verb::fail:
            settlement.failure = read_failure(fields, duration, now);
            break;
        default:
            settlement.back = read_hand_back(fields, settlement.verb, duration, now);
            break;
    }
    return settlement;
}

Settled apply(Desk &desk, const Settlement &settlement) {
    Settled settled{settlement.fence.id, false, {}};
    switch (settlement.verb) {
        case Verb::ack:
            settled.landed = complete(desk, settlement.fence, settlement.done);
            settled.outcome = "completed";
            break;
        case Verb::fail: {
            const FailureAnswer answer = fail(desk, settlement.fence, settlement.failure);
            settled.landed = answer.landed;
            settled.outcome =
                answer.retried ? "retried" : (answer.dead_lettered ? "dead-lettered" : "dropped");
            break;
        }
        default:
            settled.landed = hand_back(desk, settlement.fence, settlement.back);
            settled.outcome = outcome_of(settlement.back);
            break;
    }
    return settled;
}

}  // namespace

pg::Array<Settled> settle_all(std::optional<pg::ArrayRef> settlements,
                              std::optional<std::string_view> worker_id) {
    arguments::text(worker_id, "worker_id");
    const core::Timestamp now = clock::now();
    const pg::Elements given = pg::elements_of(arguments::required(settlements, "settlements"));
    pg::Array<Settlement> checked;
    pg::Array<std::size_t> order;
    pg::Array<Settled> answers;
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (given.nulls[i]) {
            arguments::raise_missing_element("settlements");
        }
        const pg::Elements fields = arguments::fields_of(given.values[i], kPositions, "settlement");
        checked.push(read_fields(fields, worker_id, now));
        order.push(i);
        answers.push({});
    }
    std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
        const core::Uuid &left = checked[one].fence.id;
        const core::Uuid &right = checked[other].fence.id;
        return left != right ? left < right : one < other;
    });
    Desk desk = Desk::open();
    for (const std::size_t n : order) {
        CHECK_FOR_INTERRUPTS();
        answers[n] = apply(desk, checked[n]);
    }
    desk.close();
    return answers;
}

}  // namespace x_jobs::settle
