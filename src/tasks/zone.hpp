// Time zones by their name in the server's catalogue. A zone that was found stays valid for the
// life of the process, which reads each zone once: a process that must know of new rules begins
// anew.
#pragma once

#include <string_view>

#include "core/cron.hpp"

namespace x_jobs::tasks {

struct NamedZone {
    core::cron::Zone zone;
    // As the catalogue spells it.
    std::string_view name;
};

// Raises X_TIMEZONE_INVALID for what is not a name of the catalogue: abbreviations and rules that
// the server would take elsewhere are not.
NamedZone zone_named(std::optional<std::string_view> name);

}  // namespace x_jobs::tasks
