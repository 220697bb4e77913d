// Named points at which the tests of races hold a process. Only the library of `make stop-points`
// has them, which is never installed; elsewhere a stop point is nothing.
#pragma once

namespace x_jobs::pg {

#ifdef X_JOBS_STOP_POINTS
// If the data directory has a file stop.<name>.<pid>, renames it to stop.<name>.<pid>.reached and
// waits until that is gone. Looks at no interrupt and never raises, so it may stand after a commit.
void stop_point(const char *name);
#else
inline void stop_point(const char * /*name*/) {}
#endif

}  // namespace x_jobs::pg
