// The one place that follows transactions: registers the callbacks and the utility hook once per
// process and tells the rooms that keep notes of a transaction. After a commit nothing may raise or
// allocate.
#pragma once

namespace x_jobs::transaction {

// Registers the callbacks; called once, from _PG_init.
void initialise();

}  // namespace x_jobs::transaction
