// See stop_point.hpp.
#include "pg/stop_point.hpp"

#ifdef X_JOBS_STOP_POINTS

#include <unistd.h>

#include <array>
#include <cstdio>

#include "pg/postgres.hpp"

namespace x_jobs::pg {

void stop_point(const char *name) {
    // A server's working directory is its data directory.
    std::array<char, MAXPGPATH> wanted;
    std::array<char, MAXPGPATH> reached;
    snprintf(wanted.data(), wanted.size(), "stop.%s.%d", name, MyProcPid);
    snprintf(reached.data(), reached.size(), "stop.%s.%d.reached", name, MyProcPid);
    if (std::rename(wanted.data(), reached.data()) != 0) {
        return;
    }
    while (access(reached.data(), F_OK) == 0) {
        pg_usleep(1000);
    }
}

}  // namespace x_jobs::pg

#endif
