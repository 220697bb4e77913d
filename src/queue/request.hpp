// What one enqueue asks for, read from arguments, from arrays or from an x_jobs.new_job, and
// checked before anything is written.
#pragma once

#include "pg/array.hpp"
#include "pg/function.hpp"
#include "store/row.hpp"

namespace x_jobs::queue {

enum class OnConflict { dedupe, error, replace };

struct Request {
    // Everything that a new row holds; ids that the caller did not bring are made when it is
    // inserted.
    store::Row row;
    OnConflict on_conflict = OnConflict::dedupe;
    bool has_own_id = false;
    core::Timestamp run_at;
};

// Raw values as they came, by the order of the arguments of x_jobs.enqueue.
struct RawRequest {
    std::optional<std::string_view> name;
    std::optional<pg::Jsonb> input;
    std::optional<std::string_view> idempotency_key;
    std::optional<std::string_view> queue;
    std::optional<core::Timestamp> run_at;
    std::optional<pg::IntervalRef> delay;
    std::optional<std::int32_t> priority;
    std::optional<std::int32_t> max_attempts;
    std::optional<std::string_view> tenant_id;
    std::optional<std::string_view> on_conflict;
    std::optional<core::Timestamp> expires_at;
    std::optional<pg::ArrayRef> tags;
    std::optional<bool> dedupe;
    std::optional<std::string_view> traceparent;
    std::optional<std::string_view> enqueued_by;
    std::optional<core::Uuid> id;
    std::optional<core::Uuid> run_id;
};

// Checks everything and lays the row out. Raises X_INVARIANT, X_IDEMPOTENCY_REQUIRED or
// X_ID_INVALID.
Request check(const RawRequest &raw);

// The same for a request that differs from a checked one in its input and its key only.
Request check_like(const Request &checked, const RawRequest &raw);

}  // namespace x_jobs::queue
