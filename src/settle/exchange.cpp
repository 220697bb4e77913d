// x_jobs.exchange: settle, then claim, in one transaction, so that a busy worker pays one commit
// for both.
#include "lease/claim.hpp"
#include "pg/rows.hpp"
#include "rights/rights.hpp"
#include "settle/settlements.hpp"
#include "surface/job_row.hpp"

namespace x_jobs::settle {

namespace {

Datum exchange(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.exchange()");
    // The claim's arguments are checked before anything is settled.
    lease::ClaimRequest request = lease::read_claim(call, 1);
    const pg::Array<Settled> settled =
        settle_all(call.argument<pg::ArrayRef>(0), call.argument<std::string_view>(2));
    pg::RowWriter rows(call);
    bool landed = false;
    for (const Settled &one : settled) {
        if (one.landed) {
            landed = true;
            continue;
        }
        std::array<pg::NullableValue, surface::kClaimedColumns + 1> columns{};
        columns[0] = pg::to_nullable(std::optional<std::string_view>{"lost"});
        columns[1] = pg::to_nullable(std::optional{one.id});
        rows.write(columns);
    }
    // What has been settled must not wait for a commit behind a sleep.
    if (landed) {
        request.wait = core::Duration::zero();
    }
    lease::claim(request, rows, "claimed");
    return Datum{0};
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_exchange, exchange)

}  // namespace x_jobs::settle
