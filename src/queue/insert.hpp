// How a job comes into the live table: once per live idempotency key, whoever else tries at the
// same moment, at every isolation level and without a serialization failure.
#pragma once

#include "queue/request.hpp"
#include "store/live.hpp"

namespace x_jobs::queue {

struct Enqueued {
    core::Uuid id;
    core::Uuid run_id;
    bool deduped;
};

// Gives the request the ids that its caller did not bring. Ids grow in the order of these calls,
// and jobs of one priority and time are claimed in the order of their ids.
void mint_ids(Request &request);

// Inserts the request's job, whose ids are minted, or answers the job that already stands for it. A
// live holder of the key is answered at once, however long the transaction of its worker stays
// open; an enqueue of the same key that has not committed yet is waited for. Raises X_JOB_DUPLICATE
// when the request wants that.
Enqueued enqueue_one(store::Live &live, Request &request);

// Whether a live job holds the request's key; found without waiting for anybody.
bool is_held(store::Live &live, const Request &request, store::Row &holder);

// The answer for a request whose key a live job holds, if nothing is to be done about that job.
std::optional<Enqueued> answer_at_once(const Request &request, const store::Row &holder);

// Announces the job that was inserted for the request, and answers it.
Enqueued inserted(const Request &request);

// Raises X_JOB_DUPLICATE, naming the job that holds the key.
[[noreturn]] void refuse_duplicate(const store::Row &holder);

// Makes the next id of this backend.
core::Uuid new_id();

}  // namespace x_jobs::queue
