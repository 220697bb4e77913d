// The ring of history leaves as a value: which leaf takes a row. Owns no storage.
#pragma once

#include <array>
#include <optional>

#include "core/values.hpp"

namespace x_jobs::core {

constexpr int kRingLeaves = 32;
constexpr int kKeepLeaf = kRingLeaves;

// The upper bound of each leaf; not laid out until the first settle or maintain().
struct Ring {
    bool laid_out = false;
    std::array<Timestamp, kRingLeaves> upper{};
};

// A ring whose first leaf ends with the present step, in steps counted from the year 2000.
Ring lay_out(Timestamp now, Duration step);

// The leaf for a row that may be purged at `purge_at`: the one whose bound is the least above it. A
// row without such an instant, or with one beyond the ring, belongs to the leaf that is kept.
int leaf_for(const Ring &ring, std::optional<Timestamp> purge_at);

}  // namespace x_jobs::core
