// If this failed, a stale worker could settle a run that is not its own.
#include "core/ordinal.hpp"

#include "unit.hpp"

namespace {

using x_jobs::core::Durability;
using x_jobs::core::kClockOrdinals;
using x_jobs::core::next_ordinal;
using x_jobs::core::Timestamp;
using x_jobs::unit::check;
using x_jobs::unit::equal;

constexpr std::int64_t kTimeline = std::int64_t{1} << 32;
constexpr Timestamp kNow{800'000'000'000'000};

std::int64_t flushed(std::int64_t stored, std::uint32_t timeline) {
    return next_ordinal(stored, timeline, Durability::flushed, kNow);
}

}  // namespace

int main() {
    equal(flushed(0, 1), 1, "ROW-3 the first claim is 1");
    equal(flushed(1, 1), 2, "ROW-3 each claim adds one");
    equal(flushed(999, 1), 1000, "ROW-3 whatever came before");
    equal(flushed(0, 0), 1, "X-10 no timeline counts as the first");

    equal(flushed(7, 2), kTimeline + 1, "X-10 the first claim after a promotion jumps");
    equal(flushed(kTimeline + 1, 2), kTimeline + 2, "X-10 then it counts again");
    equal(flushed(7, 3), 2 * kTimeline + 1, "X-10 each promotion jumps further");
    equal(flushed(5 * kTimeline, 2), 5 * kTimeline + 1, "X-10 it never goes back");

    const std::int64_t relaxed = next_ordinal(7, 1, Durability::relaxed, kNow);
    equal(relaxed, kNow.micros, "X-10 a claim that a crash may lose takes the clock");
    check(flushed(relaxed, 1) > relaxed, "X-10 a row that had one keeps to the clock");
    equal(next_ordinal(relaxed, 1, Durability::flushed, Timestamp{kNow.micros + 50}), relaxed + 50,
          "X-10 also for claims that are flushed");
    equal(next_ordinal(relaxed, 1, Durability::relaxed, Timestamp{kNow.micros - 50}), relaxed + 1,
          "X-10 a clock that steps back gives no token twice");
    equal(next_ordinal(0, 1, Durability::relaxed, Timestamp{5}), kClockOrdinals,
          "X-10 a clock before the epoch of such ordinals still gives one");
    return x_jobs::unit::done();
}
