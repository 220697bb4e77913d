// The rows that the surface answers, from stored rows. Owns the order of the columns of x_jobs.job
// and x_jobs.claimed_job (sql/install/10_types.sql) and what storage writes differently: no tenant
// is NULL there and empty here, a job never claimed has no claim.
#pragma once

#include <array>

#include "pg/rows.hpp"
#include "store/row.hpp"

namespace x_jobs::surface {

constexpr std::size_t kJobColumns = 31;
constexpr std::size_t kClaimedColumns = 22;

// A whole job, live or finished; `finished` tells whether the row has the columns of history.
std::array<pg::NullableValue, kJobColumns> job_columns(const store::Row &row, bool finished);

// A job as it is handed to a worker.
std::array<pg::NullableValue, kClaimedColumns> claimed_columns(const store::Row &row);

}  // namespace x_jobs::surface
