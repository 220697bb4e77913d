// Queues in which a row has fallen due by the mere passing of time. Reads the claim index, so it
// knows every queue, whether anybody has claimed there or not.
#pragma once

#include <optional>
#include <string_view>

#include "core/values.hpp"

namespace x_jobs::store {

// Calls `name` once for each queue that has a waiting row, written before it was due, whose time
// came in (after, upto]; and for one that has more rows of that time than are worth a look. Answers
// when the next row falls due, rows included that are gone since; nothing when somebody has the
// table or its index locked, since upkeep waits for nobody.
std::optional<core::Timestamp> queues_due(core::Timestamp after, core::Timestamp upto,
                                          void (*name)(std::string_view queue));

}  // namespace x_jobs::store
