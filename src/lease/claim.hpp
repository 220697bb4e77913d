// Handing out jobs. Owns the order of a claim, what makes a row claimable, and the end of rows that
// a claim meets but must not hand out: those whose lease lapsed on the final attempt, and those
// that expired unstarted.
#pragma once

#include "core/ordinal.hpp"
#include "pg/array.hpp"
#include "pg/rows.hpp"
#include "store/row.hpp"

namespace x_jobs::lease {

struct ClaimRequest {
    pg::Array<std::string_view> queues;
    std::string_view worker_id;
    int max_jobs = 1;
    core::Duration visibility{0};
    core::Duration wait{0};
    // Whether only some job names are wanted.
    bool filtered = false;
    pg::Array<std::string_view> names;
    bool durable = true;
};

// Reads and checks claim's arguments, which stand at `first` and after it. Raises
// X_JOB_CLAIM_QUEUES_EMPTY, X_INVARIANT, and 42501 for a queue without grant.
ClaimRequest read_claim(pg::Call call, int first);

// Claims, waiting as the request says, and gives each row to `rows` behind `status`, when there is
// one. Never waits for a row lock: what another transaction holds is passed over.
void claim(const ClaimRequest &request, pg::RowWriter &rows,
           std::optional<std::string_view> status);

}  // namespace x_jobs::lease
