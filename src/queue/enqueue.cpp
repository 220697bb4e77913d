// x_jobs.enqueue and its batch forms. A batch is answered in the order in which it came.
#include "arguments/arguments.hpp"
#include "arguments/composite.hpp"
#include "errors/errors.hpp"
#include "pg/rows.hpp"
#include "queue/batch.hpp"
#include "rights/rights.hpp"

namespace x_jobs::queue {

namespace {

// The arguments of x_jobs.enqueue by position.
enum Position {
    kName,
    kInput,
    kKey,
    kQueue,
    kRunAt,
    kDelay,
    kPriority,
    kMaxAttempts,
    kTenant,
    kOnConflict,
    kExpiresAt,
    kTags,
    kDedupe,
    kTraceparent,
    kEnqueuedBy,
    kId,
    kRunId,
    kPositions,
};

// The options that enqueue and enqueue_many share, at the same positions in both.
RawRequest read_options(pg::Call call) {
    RawRequest raw;
    raw.name = call.argument<std::string_view>(kName);
    raw.queue = call.argument<std::string_view>(kQueue);
    raw.run_at = call.argument<core::Timestamp>(kRunAt);
    raw.delay = call.argument<pg::IntervalRef>(kDelay);
    raw.priority = call.argument<std::int32_t>(kPriority);
    raw.max_attempts = call.argument<std::int32_t>(kMaxAttempts);
    raw.tenant_id = call.argument<std::string_view>(kTenant);
    raw.on_conflict = call.argument<std::string_view>(kOnConflict);
    raw.expires_at = call.argument<core::Timestamp>(kExpiresAt);
    raw.tags = call.argument<pg::ArrayRef>(kTags);
    raw.dedupe = call.argument<bool>(kDedupe);
    raw.traceparent = call.argument<std::string_view>(kTraceparent);
    raw.enqueued_by = call.argument<std::string_view>(kEnqueuedBy);
    return raw;
}

Datum enqueue(pg::Call call) {
    rights::require_for_write(rights::Capability::producer, "x_jobs.enqueue()");
    RawRequest raw = read_options(call);
    raw.input = call.argument<pg::Jsonb>(kInput);
    raw.idempotency_key = call.argument<std::string_view>(kKey);
    raw.id = call.argument<core::Uuid>(kId);
    raw.run_id = call.argument<core::Uuid>(kRunId);
    Request request = check(raw);
    mint_ids(request);
    store::Live live = store::Live::open();
    const Enqueued enqueued = enqueue_one(live, request);
    live.close();
    const std::array columns{pg::to_nullable(std::optional{enqueued.id}),
                             pg::to_nullable(std::optional{enqueued.run_id}),
                             pg::to_nullable(std::optional{enqueued.deduped})};
    return pg::make_row(call, columns);
}

// Inserts requests and answers them by position.
void enqueue_batch(pg::Call call, pg::Array<Request *> &requests) {
    for (Request *request : requests) {
        mint_ids(*request);
    }
    const pg::Array<Enqueued> answers = enqueue_all(requests);
    pg::RowWriter rows(call);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const std::array columns{pg::to_nullable(std::optional{static_cast<std::int32_t>(i + 1)}),
                                 pg::to_nullable(std::optional{answers[i].id}),
                                 pg::to_nullable(std::optional{answers[i].run_id}),
                                 pg::to_nullable(std::optional{answers[i].deduped})};
        rows.write(columns);
    }
}

// Made where it stays: a request is large, and a batch has thousands.
template <typename Make>
Request *keep(Make make) {
    return new (palloc(sizeof(Request))) Request(make());
}

Datum enqueue_many(pg::Call call) {
    rights::require_for_write(rights::Capability::producer, "x_jobs.enqueue_many()");
    RawRequest raw = read_options(call);
    const pg::Elements inputs =
        pg::elements_of(arguments::required(call.argument<pg::ArrayRef>(kInput), "inputs"));
    const auto keys_given = call.argument<pg::ArrayRef>(kKey);
    if (!keys_given && raw.dedupe.value_or(true)) {
        errors::raise(errors::Code::idempotency_required);
    }
    pg::Elements keys{};
    if (keys_given) {
        keys = pg::elements_of(*keys_given);
        if (keys.size() != inputs.size()) {
            errors::invariant("idempotency_keys", "must have as many elements as inputs");
        }
    }
    pg::Array<Request *> requests;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        raw.input = inputs.get<pg::Jsonb>(i);
        if (keys_given) {
            raw.idempotency_key = keys.get<std::string_view>(i);
        }
        // What all elements share is checked with the first, and stands in the others as it is.
        requests.push(keep([&] { return i == 0 ? check(raw) : check_like(*requests[0], raw); }));
    }
    enqueue_batch(call, requests);
    return Datum{0};
}

// The fields of an x_jobs.new_job, which are the arguments of enqueue in the same order.
RawRequest read_composite(Datum composite) {
    const pg::Elements fields = arguments::fields_of(composite, kPositions, "new_job");
    RawRequest raw;
    raw.name = fields.get<std::string_view>(kName);
    raw.input = fields.get<pg::Jsonb>(kInput);
    raw.idempotency_key = fields.get<std::string_view>(kKey);
    raw.queue = fields.get<std::string_view>(kQueue);
    raw.run_at = fields.get<core::Timestamp>(kRunAt);
    raw.delay = fields.get<pg::IntervalRef>(kDelay);
    raw.priority = fields.get<std::int32_t>(kPriority);
    raw.max_attempts = fields.get<std::int32_t>(kMaxAttempts);
    raw.tenant_id = fields.get<std::string_view>(kTenant);
    raw.on_conflict = fields.get<std::string_view>(kOnConflict);
    raw.expires_at = fields.get<core::Timestamp>(kExpiresAt);
    raw.tags = fields.get<pg::ArrayRef>(kTags);
    raw.dedupe = fields.get<bool>(kDedupe);
    raw.traceparent = fields.get<std::string_view>(kTraceparent);
    raw.enqueued_by = fields.get<std::string_view>(kEnqueuedBy);
    raw.id = fields.get<core::Uuid>(kId);
    raw.run_id = fields.get<core::Uuid>(kRunId);
    return raw;
}

Datum enqueue_mix(pg::Call call) {
    rights::require_for_write(rights::Capability::producer, "x_jobs.enqueue_many()");
    const pg::Elements jobs =
        pg::elements_of(arguments::required(call.argument<pg::ArrayRef>(0), "jobs"));
    pg::Array<Request *> requests;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs.nulls[i]) {
            arguments::raise_missing_element("jobs");
        }
        requests.push(keep([&] { return check(read_composite(jobs.values[i])); }));
    }
    enqueue_batch(call, requests);
    return Datum{0};
}

// What enqueue_mix would refuse; for those who keep jobs to enqueue them later.
void check_jobs(std::optional<pg::ArrayRef> given) {
    const pg::Elements jobs = pg::elements_of(arguments::required(given, "jobs"));
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        if (jobs.nulls[i]) {
            arguments::raise_missing_element("jobs");
        }
        static_cast<void>(check(read_composite(jobs.values[i])));
    }
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_enqueue, enqueue)
X_JOBS_SQL_FUNCTION(x_jobs_enqueue_many, enqueue_many)
X_JOBS_SQL_FUNCTION(x_jobs_enqueue_mix, enqueue_mix)
X_JOBS_SQL_FUNCTION(x_jobs_check_jobs, check_jobs)

}  // namespace x_jobs::queue
