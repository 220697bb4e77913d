// The plain values that every room speaks in. Owns no rule but their comparison; no server header.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace x_jobs::core {

using Duration = std::chrono::microseconds;

// A job's or a run's id, in the byte order that sorts as the server sorts uuid.
struct Uuid {
    std::array<unsigned char, 16> bytes{};
    auto operator<=>(const Uuid &) const = default;
};

// An instant in microseconds since 2000-01-01 00:00 UTC, as the server stores timestamptz.
struct Timestamp {
    std::int64_t micros = 0;
    auto operator<=>(const Timestamp &) const = default;
};

constexpr Timestamp kNever{std::numeric_limits<std::int64_t>::max()};

// Saturates below the instant that stands for infinity: no computed instant is ever infinite.
constexpr Timestamp operator+(Timestamp instant, Duration duration) {
    std::int64_t sum = 0;
    if (__builtin_add_overflow(instant.micros, duration.count(), &sum) || sum == kNever.micros) {
        return Timestamp{kNever.micros - 1};
    }
    return Timestamp{sum};
}

constexpr Duration operator-(Timestamp later, Timestamp earlier) {
    return Duration{later.micros - earlier.micros};
}

static_assert(std::is_trivially_copyable_v<Uuid> && sizeof(Uuid) == 16);
static_assert(std::is_trivially_destructible_v<Timestamp>);

}  // namespace x_jobs::core
