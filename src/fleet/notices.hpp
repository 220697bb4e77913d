// What commits leave for the scheduler to notify of: each queue stands here once, however many
// commits give it work. Nothing here allocates or raises, so a commit that is through may call it.
#pragma once

#include <string_view>

#include "fleet/registry.hpp"

namespace x_jobs::fleet {

// Leaves word that a queue of this database got work; an empty name stands for every queue.
void leave_notice(std::string_view queue);

// Takes one notice of this database; false when there is none. `queue` is empty for every queue.
bool take_notice(std::array<char, core::kMaxNameBytes + 1> &queue);

}  // namespace x_jobs::fleet
