// If this failed, a finished row would be purged too early, or be kept for ever.
#include "core/ring.hpp"

#include <chrono>
#include <optional>

#include "unit.hpp"

namespace {

using x_jobs::core::Duration;
using x_jobs::core::kKeepLeaf;
using x_jobs::core::kRingLeaves;
using x_jobs::core::leaf_for;
using x_jobs::core::Ring;
using x_jobs::core::Timestamp;
using x_jobs::unit::equal;

constexpr std::int64_t kStep = 1000;

// Leaves that end at 1 to 32 steps; `turned` of them have been emptied and set behind the newest.
Ring ring(int turned = 0) {
    Ring made;
    made.laid_out = true;
    for (int leaf = 0; leaf < kRingLeaves; ++leaf) {
        const int end = leaf + 1 + (leaf < turned ? kRingLeaves : 0);
        made.upper[static_cast<std::size_t>(leaf)] = Timestamp{end * kStep};
    }
    return made;
}

}  // namespace

int main() {
    equal(leaf_for(Ring{}, Timestamp{5}), kKeepLeaf,
          "X-16 before the ring is laid out all is kept");
    equal(leaf_for(ring(), std::nullopt), kKeepLeaf, "X-16 what is never purged is kept");
    equal(leaf_for(ring(), Timestamp{-5}), 0,
          "X-16 what could go already goes with the first leaf");
    equal(leaf_for(ring(), Timestamp{0}), 0, "X-16 the first leaf");
    equal(leaf_for(ring(), Timestamp{kStep - 1}), 0, "X-16 up to its bound");
    equal(leaf_for(ring(), Timestamp{kStep}), 1,
          "X-16 a row of the bound itself is purged with the next");
    equal(leaf_for(ring(), Timestamp{14 * kStep}), 14, "X-16 in the middle");
    equal(leaf_for(ring(), Timestamp{32 * kStep - 1}), 31, "X-16 the last leaf");
    equal(leaf_for(ring(), Timestamp{32 * kStep}), kKeepLeaf, "X-16 beyond the ring is kept");
    equal(leaf_for(ring(), x_jobs::core::kNever), kKeepLeaf, "X-16 infinity is kept");
    equal(leaf_for(ring(3), Timestamp{0}), 3, "X-16 a ring that has turned begins elsewhere");
    equal(leaf_for(ring(3), Timestamp{33 * kStep}), 1, "X-16 and ends elsewhere");
    equal(leaf_for(ring(3), Timestamp{35 * kStep}), kKeepLeaf,
          "X-16 beyond a ring that has turned is kept");
    return x_jobs::unit::done();
}
