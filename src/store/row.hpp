// One row of jobs or history as values by column. Owns the order of the columns, which is the order
// of sql/install/20_tables.sql; history begins with the columns of jobs. The values are views of
// the slot or of the memory they were read from.
#pragma once

#include <array>

#include "core/job_state.hpp"
#include "pg/datum.hpp"

namespace x_jobs::store {

enum class Column {
    id,
    run_id,
    created_at,
    max_attempts,
    priority,
    blocked,
    dead_letters,
    queue,
    name,
    tenant_id,
    idempotency_key,
    input,
    expires_at,
    timeout,
    tags,
    traceparent,
    enqueued_by,
    run_at,
    updated_at,
    claim,
    attempt,
    state,
    claimed_by,
    claimed_at,
    visible_at,
    last_error,
    last_error_code,
    last_error_stack,
    progress,
    blocked_by,
    // history only
    result,
    reason,
    finished_at,
    purge_at,
    segment,
};

constexpr int kLiveColumns = static_cast<int>(Column::blocked_by) + 1;
constexpr int kHistoryColumns = static_cast<int>(Column::segment) + 1;

struct Row {
    std::array<Datum, kHistoryColumns> values{};
    std::array<bool, kHistoryColumns> nulls{};

    template <typename T>
    std::optional<T> optional(Column column) const {
        const auto n = static_cast<std::size_t>(column);
        if (nulls[n]) {
            return std::nullopt;
        }
        return pg::DatumOf<T>::read(values[n]);
    }
    // For columns that are NOT NULL.
    template <typename T>
    T get(Column column) const {
        return pg::DatumOf<T>::read(values[static_cast<std::size_t>(column)]);
    }
    template <typename T>
    void set(Column column, const T &value) {
        const auto n = static_cast<std::size_t>(column);
        values[n] = pg::DatumOf<T>::make(value);
        nulls[n] = false;
    }
    template <typename T>
    void set_optional(Column column, const std::optional<T> &value) {
        if (value) {
            set(column, *value);
        } else {
            clear(column);
        }
    }
    void set_state(core::State state) { set(Column::state, core::name_of(state)); }
    void clear(Column column) {
        const auto n = static_cast<std::size_t>(column);
        values[n] = Datum{0};
        nulls[n] = true;
    }
    pg::NullableValue raw(Column column) const {
        const auto n = static_cast<std::size_t>(column);
        return {values[n], nulls[n]};
    }

    core::Uuid id() const { return get<core::Uuid>(Column::id); }
    std::string_view queue() const { return get<std::string_view>(Column::queue); }
    std::optional<core::State> state() const {
        return core::state_named(get<std::string_view>(Column::state));
    }
    std::int64_t claim() const { return get<std::int64_t>(Column::claim); }
    int attempt() const { return get<std::int32_t>(Column::attempt); }
    int max_attempts() const { return get<std::int32_t>(Column::max_attempts); }
    core::Timestamp run_at() const { return get<core::Timestamp>(Column::run_at); }

    core::ClaimView claim_view() const {
        return {state(),
                claim(),
                attempt(),
                max_attempts(),
                run_at(),
                optional<core::Timestamp>(Column::visible_at),
                optional<core::Timestamp>(Column::expires_at)};
    }
};

static_assert(std::is_trivially_destructible_v<Row>);

}  // namespace x_jobs::store
