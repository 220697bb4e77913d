// See fence.hpp.
#include "lease/fence.hpp"

#include "arguments/arguments.hpp"
#include "rights/rights.hpp"

namespace x_jobs::lease {

namespace {

// A build broken on purpose, by which the demonstration shows that it would notice: any claim holds
// any live row.
#ifdef X_JOBS_BREAK_FENCE
constexpr bool kFenceBroken = true;
#else
constexpr bool kFenceBroken = false;
#endif

}  // namespace

Fence make_fence(std::optional<core::Uuid> id, std::optional<std::string_view> worker_id,
                 std::optional<std::int64_t> claim) {
    return {arguments::required(id, "id"), arguments::text(worker_id, "worker_id"),
            arguments::required(claim, "claim")};
}

bool is_held(const store::Row &row, const Fence &fence) {
    return row.state() == core::State::running && row.claim() == fence.claim &&
           row.optional<std::string_view>(store::Column::claimed_by) == fence.worker_id;
}

bool holds(const store::Row &row, const Fence &fence) {
    return kFenceBroken || (is_held(row, fence) && rights::may_work(row.queue()));
}

}  // namespace x_jobs::lease
