// Checks of arguments as they arrive: each either answers the value or raises X_INVARIANT (or the
// code named beside it) with the argument's name, before anything has been changed.
#pragma once

#include <optional>
#include <string_view>

#include "core/limits.hpp"
#include "pg/array.hpp"

namespace x_jobs::arguments {

// A text of 1 to `bytes` bytes.
std::string_view text(std::optional<std::string_view> value, std::string_view argument,
                      std::size_t bytes = core::kMaxNameBytes);

// The same, but NULL is allowed and stays nothing; an empty text is allowed too.
std::optional<std::string_view> optional_text(std::optional<std::string_view> value,
                                              std::string_view argument, std::size_t bytes);

// A whole number within [least, most].
int count(std::optional<std::int32_t> value, std::string_view argument, int least, int most);

// A span within [0, most], measured from `base`.
core::Duration duration(std::optional<pg::IntervalRef> value, std::string_view argument,
                        core::Duration most, core::Timestamp base);

// The same; NULL stays nothing.
std::optional<core::Duration> optional_duration(std::optional<pg::IntervalRef> value,
                                                std::string_view argument, core::Duration most,
                                                core::Timestamp base);

// A finite instant before the year 10000; NULL stays nothing.
std::optional<core::Timestamp> optional_instant(std::optional<core::Timestamp> value,
                                                std::string_view argument);

// A value that must be given.
template <typename T>
T required(std::optional<T> value, std::string_view argument);

// An array of 0 or more texts, none NULL, each of 1 to 255 bytes.
pg::Array<std::string_view> names(pg::ArrayRef value, std::string_view argument);

// A stored jsonb no larger than x_jobs.max_input_size, detoasted once.
pg::Jsonb payload(pg::Jsonb value, std::string_view argument);

// A caller's own id: X_ID_INVALID unless it is a version 7 uuid.
std::optional<core::Uuid> optional_id(std::optional<core::Uuid> value, std::string_view argument);

[[noreturn]] void raise_missing(std::string_view argument);
[[noreturn]] void raise_missing_element(std::string_view argument);

// An element of an array argument that must be given.
template <typename T>
T element(std::optional<T> value, std::string_view argument) {
    if (!value) {
        raise_missing_element(argument);
    }
    return *value;
}

template <typename T>
T required(std::optional<T> value, std::string_view argument) {
    if (!value) {
        raise_missing(argument);
    }
    return *value;
}

}  // namespace x_jobs::arguments
