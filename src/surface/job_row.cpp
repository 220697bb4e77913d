// See job_row.hpp.
#include "surface/job_row.hpp"

namespace x_jobs::surface {

namespace {

using pg::NullableValue;
using store::Column;
using store::Row;

NullableValue priority_of(const Row &row) {
    return {Int32GetDatum(row.get<std::int16_t>(Column::priority)), false};
}

NullableValue claim_of(const Row &row) {
    return row.claim() == 0 ? NullableValue{} : row.raw(Column::claim);
}

NullableValue tenant_of(const Row &row) {
    return row.get<std::string_view>(Column::tenant_id).empty() ? NullableValue{}
                                                                : row.raw(Column::tenant_id);
}

NullableValue final_attempt_of(const Row &row) {
    return {BoolGetDatum(row.attempt() >= row.max_attempts()), false};
}

}  // namespace

std::array<NullableValue, kJobColumns> job_columns(const Row &row, bool finished) {
    const auto only_finished = [&](Column column) {
        return finished ? row.raw(column) : NullableValue{};
    };
    return {row.raw(Column::id),
            row.raw(Column::name),
            row.raw(Column::queue),
            row.raw(Column::state),
            priority_of(row),
            row.raw(Column::input),
            row.raw(Column::idempotency_key),
            row.raw(Column::run_id),
            row.raw(Column::attempt),
            row.raw(Column::max_attempts),
            final_attempt_of(row),
            claim_of(row),
            row.raw(Column::claimed_by),
            tenant_of(row),
            row.raw(Column::tags),
            row.raw(Column::run_at),
            row.raw(Column::created_at),
            row.raw(Column::updated_at),
            row.raw(Column::claimed_at),
            row.raw(Column::visible_at),
            only_finished(Column::finished_at),
            row.raw(Column::expires_at),
            row.raw(Column::timeout),
            row.raw(Column::last_error),
            row.raw(Column::last_error_code),
            row.raw(Column::last_error_stack),
            row.raw(Column::progress),
            only_finished(Column::result),
            only_finished(Column::reason),
            row.raw(Column::traceparent),
            row.raw(Column::enqueued_by)};
}

std::array<NullableValue, kClaimedColumns> claimed_columns(const Row &row) {
    return {row.raw(Column::id),
            row.raw(Column::name),
            row.raw(Column::queue),
            priority_of(row),
            row.raw(Column::input),
            row.raw(Column::idempotency_key),
            row.raw(Column::run_id),
            row.raw(Column::attempt),
            row.raw(Column::max_attempts),
            final_attempt_of(row),
            claim_of(row),
            row.raw(Column::claimed_by),
            tenant_of(row),
            row.raw(Column::tags),
            row.raw(Column::run_at),
            row.raw(Column::created_at),
            row.raw(Column::claimed_at),
            row.raw(Column::visible_at),
            row.raw(Column::timeout),
            row.raw(Column::last_error),
            row.raw(Column::traceparent),
            row.raw(Column::enqueued_by)};
}

}  // namespace x_jobs::surface
