// The session of a worker: settings that hold whatever the server, the database or a task's
// function has set.
#pragma once

namespace x_jobs::workers {

// Makes the settings that a worker relies on.
void set_up_session();

// Takes back what a function of somebody else may have left behind: settings, session locks,
// prepared statements.
void reset_session();

}  // namespace x_jobs::workers
