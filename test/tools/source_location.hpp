// Lets clang-tidy 14 read what g++ 12 builds: that clang lacks the builtin on which libstdc++ founds
// std::source_location. Included by force, by test/tools/tidy only.
#pragma once

#include <version>
#if !defined(__cpp_lib_source_location)
#define __cpp_lib_source_location 201907L
namespace std {
struct source_location {
    static constexpr source_location current(const char *file = __builtin_FILE(),
                                             const char *function = __builtin_FUNCTION(),
                                             unsigned line = __builtin_LINE()) noexcept {
        return {file, function, line};
    }
    constexpr const char *file_name() const noexcept { return file_; }
    constexpr const char *function_name() const noexcept { return function_; }
    constexpr unsigned line() const noexcept { return line_; }
    constexpr unsigned column() const noexcept { return 0; }
    const char *file_ = "";
    const char *function_ = "";
    unsigned line_ = 0;
};
}  // namespace std
#endif
