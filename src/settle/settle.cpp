// x_jobs.settle: many settlements, answered one by one.
#include "pg/rows.hpp"
#include "rights/rights.hpp"
#include "settle/settlements.hpp"

namespace x_jobs::settle {

namespace {

Datum settle_for_sql(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.settle()");
    const pg::Array<Settled> settled =
        settle_all(call.argument<pg::ArrayRef>(0), call.argument<std::string_view>(1));
    pg::RowWriter rows(call);
    for (std::size_t i = 0; i < settled.size(); ++i) {
        const auto outcome = settled[i].landed ? std::optional{settled[i].outcome} : std::nullopt;
        rows.write(std::array{pg::to_nullable(std::optional{static_cast<std::int32_t>(i + 1)}),
                              pg::to_nullable(std::optional{settled[i].id}),
                              pg::to_nullable(std::optional{settled[i].landed}),
                              pg::to_nullable(outcome)});
    }
    return Datum{0};
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_settle, settle_for_sql)

}  // namespace x_jobs::settle
