// Many requests at once. They are inserted in the order of (key, name, tenant), so that two batches
// with keys in common wait for each other in one direction only; neighbours that nobody is in the
// way of go in together.
#pragma once

#include "pg/array.hpp"
#include "queue/insert.hpp"

namespace x_jobs::queue {

// Inserts the requests, whose ids are minted; answers by position.
pg::Array<Enqueued> enqueue_all(pg::Array<Request *> &requests);

}  // namespace x_jobs::queue
