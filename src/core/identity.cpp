// See identity.hpp. 48 bits of milliseconds, version, 12 bits of the millisecond's fraction,
// variant, 62 random bits.
#include "core/identity.hpp"

#include <algorithm>

namespace x_jobs::core {

Uuid make_uuid7(IdentityClock &clock, std::uint64_t unix_micros,
                std::span<const unsigned char, 8> random) {
    const std::uint64_t millis = unix_micros / 1000;
    const std::uint64_t fraction = (unix_micros % 1000) * 4096 / 1000;
    // A clock that has not moved on, or has stepped back, is continued by the smallest step.
    clock.last = std::max((millis << 12) | fraction, clock.last + 1);

    Uuid id;
    for (std::size_t i = 0; i < 6; ++i) {
        id.bytes[i] = static_cast<unsigned char>(clock.last >> (52 - 8 * i));
    }
    id.bytes[6] = static_cast<unsigned char>(0x70 | ((clock.last >> 8) & 0x0F));
    id.bytes[7] = static_cast<unsigned char>(clock.last & 0xFF);
    std::copy(random.begin(), random.end(), id.bytes.begin() + 8);
    id.bytes[8] = static_cast<unsigned char>(0x80 | (id.bytes[8] & 0x3F));
    return id;
}

bool is_uuid7(const Uuid &id) {
    return (id.bytes[6] & 0xF0) == 0x70 && (id.bytes[8] & 0xC0) == 0x80;
}

}  // namespace x_jobs::core
