// The one table of settings (x_jobs.*). Other rooms read through these functions and never write.
#pragma once

#include <cstddef>

#include "core/values.hpp"

namespace x_jobs::settings {

// Defines every setting; called once, from _PG_init.
void define();

// The span of finished work that one leaf of the history ring takes.
core::Duration history_step();
// How long a claim or a wait goes without looking at the table, whatever it was told.
core::Duration poll_interval();
// The longest that claim(wait => …) waits inside its statement.
core::Duration max_claim_wait();
// How long finished rows are kept.
core::Duration retention();
// How often the places that claims have closed are gone over again; zero for never.
core::Duration rescan_interval();
// How many databases may have a scheduler.
int max_databases();
// Whether this database has one.
bool scheduler();
// How long the scheduler may take over one occurrence of a task.
core::Duration task_timeout();
// How many queues, and how many leases, shared memory has room for.
int max_queues();
int max_leases();
// The largest input, and the largest result, in bytes.
std::size_t max_input_size();
// Whether commits send NOTIFY.
bool notify();
// What is added to the system's clock; zero outside tests.
core::Duration test_clock_offset();

}  // namespace x_jobs::settings
