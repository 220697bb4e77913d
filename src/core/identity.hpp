// Version 7 uuids that grow within one process. Owns the layout of the bits and the rule for a
// clock that stands still or steps back; the caller brings the clock and the random bytes.
#pragma once

#include <cstdint>
#include <span>

#include "core/values.hpp"

namespace x_jobs::core {

// The newest time that an id of this process carried: milliseconds shifted left by 12, plus a
// fraction of 1/4096 ms.
struct IdentityClock {
    std::uint64_t last = 0;
};

// Makes an id later than every id made from the same `clock` before. `unix_micros` is the time
// since 1970.
Uuid make_uuid7(IdentityClock &clock, std::uint64_t unix_micros,
                std::span<const unsigned char, 8> random);

// Tells whether an id has version 7 and the variant of RFC 9562.
bool is_uuid7(const Uuid &id);

}  // namespace x_jobs::core
