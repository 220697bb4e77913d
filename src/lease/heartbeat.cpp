// x_jobs.heartbeat and heartbeat_many: renewing a lease. A lapsed lease that nobody has taken can
// still be renewed.
#include <algorithm>

#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "errors/errors.hpp"
#include "lease/fence.hpp"
#include "pg/rows.hpp"
#include "rights/rights.hpp"

namespace x_jobs::lease {

namespace {

using store::Column;

bool renew(store::Live &live, const Fence &fence, core::Duration visibility) {
    return change_held(live, fence, [&](store::Row &row) {
        const core::Timestamp now = clock::now();
        row.set(Column::visible_at, now + visibility);
        row.set(Column::updated_at, now);
        return live.update(row, store::Wait::yes);
    });
}

core::Duration read_visibility(std::optional<pg::IntervalRef> visibility_timeout) {
    return arguments::duration(visibility_timeout, "visibility_timeout", core::kMaxVisibility,
                               clock::now());
}

bool heartbeat(std::optional<core::Uuid> id, std::optional<std::string_view> worker_id,
               std::optional<std::int64_t> claim,
               std::optional<pg::IntervalRef> visibility_timeout) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.heartbeat()");
    const Fence fence = make_fence(id, worker_id, claim);
    const core::Duration visibility = read_visibility(visibility_timeout);
    store::Live live = store::Live::open();
    const bool held = renew(live, fence, visibility);
    live.close();
    return held;
}

struct Beat {
    Fence fence;
    bool held;
};

// In id order, as every path that takes several rows, so that two such calls cannot wait for each
// other.
void renew_all(pg::Array<Beat> &beats, core::Duration visibility) {
    pg::Array<Beat *> order;
    for (Beat &beat : beats) {
        order.push(&beat);
    }
    std::sort(order.begin(), order.end(), [](const Beat *one, const Beat *other) {
        return one->fence.id != other->fence.id ? one->fence.id < other->fence.id : one < other;
    });
    store::Live live = store::Live::open();
    for (Beat *beat : order) {
        CHECK_FOR_INTERRUPTS();
        beat->held = renew(live, beat->fence, visibility);
    }
    live.close();
}

Datum heartbeat_many(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.heartbeat_many()");
    const pg::Elements ids =
        pg::elements_of(arguments::required(call.argument<pg::ArrayRef>(0), "ids"));
    const auto worker_id = call.argument<std::string_view>(1);
    const pg::Elements claims =
        pg::elements_of(arguments::required(call.argument<pg::ArrayRef>(2), "claims"));
    if (ids.size() != claims.size()) {
        errors::invariant("claims", "must have as many elements as ids");
    }
    const core::Duration visibility = read_visibility(call.argument<pg::IntervalRef>(3));
    pg::Array<Beat> beats;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        beats.push({make_fence(arguments::element(ids.get<core::Uuid>(i), "ids"), worker_id,
                               arguments::element(claims.get<std::int64_t>(i), "claims")),
                    false});
    }
    arguments::text(worker_id, "worker_id");
    renew_all(beats, visibility);
    pg::RowWriter rows(call);
    for (const Beat &beat : beats) {
        rows.write(std::array{pg::to_nullable(std::optional{beat.fence.id}),
                              pg::to_nullable(std::optional{beat.held})});
    }
    return Datum{0};
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_heartbeat, heartbeat)
X_JOBS_SQL_FUNCTION(x_jobs_heartbeat_many, heartbeat_many)

}  // namespace x_jobs::lease
