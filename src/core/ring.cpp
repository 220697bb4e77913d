// See ring.hpp.
#include "core/ring.hpp"

namespace x_jobs::core {

Ring lay_out(Timestamp now, Duration step) {
    Ring ring;
    ring.laid_out = true;
    Timestamp upper{now.micros - now.micros % step.count()};
    for (Timestamp &leaf : ring.upper) {
        upper = upper + step;
        leaf = upper;
    }
    return ring;
}

int leaf_for(const Ring &ring, std::optional<Timestamp> purge_at) {
    if (!ring.laid_out || !purge_at) {
        return kKeepLeaf;
    }
    int chosen = kKeepLeaf;
    Timestamp least = kNever;
    for (int leaf = 0; leaf < kRingLeaves; ++leaf) {
        const Timestamp upper = ring.upper[static_cast<std::size_t>(leaf)];
        if (upper > *purge_at && upper < least) {
            chosen = leaf;
            least = upper;
        }
    }
    return chosen;
}

}  // namespace x_jobs::core
