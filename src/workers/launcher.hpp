// The launcher: one process for the server. Registered while the library is preloaded, and not in
// an upgrade of the server.
#pragma once

namespace x_jobs::workers {

// Called once, from _PG_init, only while preloading.
void register_launcher();

}  // namespace x_jobs::workers
