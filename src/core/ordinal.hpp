// The claim ordinal, the fencing token of a lease. Owns the rule that a token is never given twice,
// whatever a crash or a promotion forgets.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/values.hpp"

namespace x_jobs::core {

enum class Durability {
    flushed,  // the claim's commit waits for its WAL: whoever saw the token, the row has it too
    relaxed,  // the commit may be lost in a crash although its token was seen
};

// Ordinals from here on come from the clock in microseconds (2001-02-04 and later); below, they are
// counted.
constexpr std::int64_t kClockOrdinals = std::int64_t{1} << 45;

// The ordinal of the next claim of a row.
//
// Flushed claims count 1, 2, 3 …; on a later timeline they go on at (timeline − 1) · 2^32 + 1 or
// more, beyond anything that the old primary could still give out. A relaxed claim takes the clock
// instead: were it lost, a count would be given again. A row that ever had such an ordinal keeps to
// the clock, for the same reason.
constexpr std::int64_t next_ordinal(std::int64_t stored, std::uint32_t timeline,
                                    Durability durability, Timestamp now) {
    const std::int64_t counted = stored + 1;
    if (durability == Durability::relaxed || stored >= kClockOrdinals) {
        return std::max({counted, now.micros, kClockOrdinals});
    }
    const std::int64_t past_timelines =
        timeline > 0 ? static_cast<std::int64_t>(timeline - 1) << 32 : 0;
    return std::max(counted, past_timelines + 1);
}

}  // namespace x_jobs::core
