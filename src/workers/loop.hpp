// What all background workers share. A round is: sleep on the latch until the next thing to do,
// serve interrupts, do it.
#pragma once

#include "core/values.hpp"
#include "pg/postgres.hpp"

namespace x_jobs::workers {

// Lays out what every worker of ours has: `kind` is its type, `function` its entry.
BackgroundWorker describe_worker(const char *kind, const char *function);

// Unblocks signals. A termination ends the process between two steps; a step that lasts is given up
// after a few seconds.
void begin_worker();

// Called once the worker is connected, since the server's timers are made then.
void begin_steps();
void begin_step();
void end_step();

// Around a turn that runs what is somebody else's: if it goes on well after `limit`, whatever it
// does with a cancel, the process ends.
void begin_turn(core::Duration limit);
void end_turn();

// Runs a step: what takes too long once a termination has come is given up.
template <typename Body>
void step(Body body) {
    begin_step();
    body();
    end_step();
}

// Sleeps until the latch is set or the span has passed; leaves with the postmaster.
void nap(core::Duration span);

// Asked to end, by whoever terminates backends.
bool is_told_to_end();
// A step was given up because it did not end in time.
bool is_abandoned();
// The configuration was reloaded since the last question.
bool is_reloaded();

}  // namespace x_jobs::workers
