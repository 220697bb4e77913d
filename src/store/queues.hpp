// The row that each queue has from its first use on. Made without waiting for anybody: two sessions
// that use a new queue at once do not meet.
#pragma once

#include <string_view>

namespace x_jobs::store {

// Makes the queue's row in this transaction unless it exists or somebody is making it.
void ensure_queue(std::string_view queue);

}  // namespace x_jobs::store
