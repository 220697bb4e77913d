// Text that must always be storable: cut to a bound, at a character, with a visible mark.
#pragma once

#include <string_view>

namespace x_jobs::pg {

// Stands where something was cut off or could not be shown.
constexpr std::string_view kCutMark = " [cut]";

// The text without control characters other than tab and line ends (each becomes a question mark in
// brackets), cut to `bytes` in all, mark included.
std::string_view storable(std::string_view value, std::size_t bytes);

// The same, bounded by a number of characters.
std::string_view storable_characters(std::string_view value, int characters);

// A C string of the current memory context.
char *to_c_string(std::string_view value);

}  // namespace x_jobs::pg
