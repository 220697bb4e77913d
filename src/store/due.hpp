// Queues in which a row has fallen due by the mere passing of time. Reads the claim index, so it
// knows every queue, whether anybody has claimed there or not.
#pragma once

#include <optional>
#include <string_view>

#include "core/values.hpp"

namespace x_jobs::store {

enum class Due {
    later,  // rows that were not due yet when they were written: of the others their commits have
            // told
    all,
};

// Calls `name`, which must not raise, once for each queue that has such a waiting row whose time
// came in (after, upto]; and for one that has more rows of that time than are worth a look. Answers
// when the next row falls due, rows included that are gone since; nothing when somebody has the
// table or its index locked, since upkeep waits for nobody.
std::optional<core::Timestamp> queues_due(core::Timestamp after, core::Timestamp upto, Due due,
                                          void (*name)(std::string_view queue));

}  // namespace x_jobs::store
