// If this failed, an instant far in the future would wrap into the past, and a job would run at
// once.
#include "core/values.hpp"

#include <limits>

#include "unit.hpp"

int main() {
    using x_jobs::core::Duration;
    using x_jobs::core::kNever;
    using x_jobs::core::Timestamp;
    using x_jobs::core::Uuid;
    using x_jobs::unit::check;
    using x_jobs::unit::equal;

    equal((Timestamp{5} + Duration{7}).micros, 12, "an instant moves by a duration");
    equal((Timestamp{5} - Timestamp{7}).count(), -2, "instants differ by a duration");
    check(Timestamp{std::numeric_limits<std::int64_t>::max() - 1} + Duration{5} < kNever,
          "C-094 a sum never wraps");
    check(kNever + Duration{0} < kNever, "C-094 a computed instant is never infinity");
    Uuid low;
    Uuid high;
    low.bytes[0] = 0x7F;
    high.bytes[0] = 0x80;
    check(low < high, "DRV-7 ids compare by unsigned bytes");
    low = high;
    low.bytes[15] = 1;
    check(high < low, "DRV-7 down to the last one");
    return x_jobs::unit::done();
}
