// See request.hpp.
#include "queue/request.hpp"

#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "core/limits.hpp"
#include "errors/errors.hpp"

namespace x_jobs::queue {

namespace {

using store::Column;

OnConflict on_conflict_named(std::optional<std::string_view> name) {
    if (!name || *name == "dedupe") {
        return OnConflict::dedupe;
    }
    if (*name == "error") {
        return OnConflict::error;
    }
    if (*name != "replace") {
        errors::invariant("on_conflict", "must be dedupe, error or replace");
    }
    return OnConflict::replace;
}

std::optional<std::string_view> check_key(const RawRequest &raw) {
    const bool dedupe = raw.dedupe.value_or(true);
    if (!raw.idempotency_key) {
        if (dedupe) {
            errors::raise(errors::Code::idempotency_required);
        }
        return std::nullopt;
    }
    if (!dedupe) {
        errors::invariant("idempotency_key", "and dedupe => false exclude each other");
    }
    return arguments::text(raw.idempotency_key, "idempotency_key", core::kMaxKeyBytes);
}

core::Timestamp check_run_at(const RawRequest &raw) {
    const core::Timestamp base = clock::transaction_start();
    if (raw.run_at && raw.delay) {
        errors::invariant("run_at", "and delay exclude each other");
    }
    if (raw.delay) {
        return base + arguments::duration(raw.delay, "delay", core::kMaxDelay, base);
    }
    return arguments::optional_instant(raw.run_at, "run_at").value_or(base);
}

pg::Jsonb check_input(const RawRequest &raw) {
    if (!raw.input) {
        return {DirectFunctionCall1(jsonb_in, CStringGetDatum("null"))};
    }
    return arguments::payload(*raw.input, "input");
}

void check_tags(pg::ArrayRef tags) {
    const pg::Array<std::string_view> names = arguments::names(tags, "tags");
    if (names.size() > static_cast<std::size_t>(core::kMaxTags)) {
        errors::invariant("tags", "must have at most 32 elements");
    }
}

std::string_view queue_or_default(std::optional<std::string_view> queue) {
    const auto given = arguments::optional_text(queue, "queue", core::kMaxNameBytes);
    return !given || given->empty() ? std::string_view{"default"} : *given;
}

void fill_options(store::Row &row, const RawRequest &raw) {
    row.set_optional(Column::traceparent, arguments::optional_text(raw.traceparent, "traceparent",
                                                                   core::kMaxTraceparentBytes));
    row.set_optional(Column::enqueued_by,
                     arguments::optional_text(raw.enqueued_by, "enqueued_by", core::kMaxNameBytes));
    row.set_optional(Column::expires_at, arguments::optional_instant(raw.expires_at, "expires_at"));
    if (raw.tags) {
        check_tags(*raw.tags);
    }
    row.set_optional(Column::tags, raw.tags);
}

}  // namespace

Request check(const RawRequest &raw) {
    Request request;
    store::Row &row = request.row;
    row.nulls.fill(true);
    row.set(Column::name, arguments::text(raw.name, "name"));
    row.set_optional(Column::idempotency_key, check_key(raw));
    row.set(Column::queue, queue_or_default(raw.queue));
    row.set(Column::tenant_id,
            arguments::optional_text(raw.tenant_id, "tenant_id", core::kMaxNameBytes)
                .value_or(std::string_view{}));
    row.set(Column::input, check_input(raw));
    row.set(Column::priority, static_cast<std::int16_t>(
                                  arguments::count(raw.priority.value_or(core::kDefaultPriority),
                                                   "priority", 0, core::kPriorities - 1)));
    row.set(Column::max_attempts,
            arguments::count(raw.max_attempts.value_or(core::kDefaultMaxAttempts), "max_attempts",
                             1, INT_MAX));
    fill_options(row, raw);

    request.on_conflict = on_conflict_named(raw.on_conflict);
    request.run_at = check_run_at(raw);
    request.has_own_id = arguments::optional_id(raw.id, "id").has_value();
    row.set_optional(Column::id, raw.id);
    row.set_optional(Column::run_id, arguments::optional_id(raw.run_id, "run_id"));

    const core::Timestamp now = clock::now();
    row.set(Column::run_at, request.run_at);
    row.set(Column::created_at, clock::transaction_start());
    row.set(Column::updated_at, clock::transaction_start());
    row.set(Column::claim, std::int64_t{0});
    row.set(Column::attempt, std::int32_t{0});
    row.set(Column::blocked, false);
    row.set(Column::dead_letters, true);
    row.set_state(request.run_at > now ? core::State::delayed : core::State::ready);
    return request;
}

Request check_like(const Request &checked, const RawRequest &raw) {
    Request request = checked;
    request.row.set_optional(Column::idempotency_key, check_key(raw));
    request.row.set(Column::input, check_input(raw));
    return request;
}

}  // namespace x_jobs::queue
