// The harness of the unit tests: a TAP line for each check, and nothing else.
//
// A test file opens with a sentence on what would break if it failed, calls check() and equal(),
// and returns unit::done() from main. Names hold the behaviour's id where there is one.
#pragma once

#include <iostream>
#include <source_location>
#include <string_view>

namespace x_jobs::unit {

inline int ran = 0;
inline int failed = 0;

// Reports one check by name; a failed one says where it stands.
inline bool check(bool held, std::string_view name,
                  std::source_location where = std::source_location::current()) {
    ++ran;
    std::cout << (held ? "ok " : "not ok ") << ran << " - " << name << '\n';
    if (!held) {
        ++failed;
        std::cout << "# failed at " << where.file_name() << ':' << where.line() << '\n';
    }
    return held;
}

// Checks that two values are equal, and shows both if they are not.
template <typename Got, typename Wanted>
bool equal(const Got &got, const Wanted &wanted, std::string_view name,
           std::source_location where = std::source_location::current()) {
    const bool held = check(got == wanted, name, where);
    if constexpr (requires { std::cout << got << wanted; }) {
        if (!held) {
            std::cout << "#   got: " << got << "\n#   wanted: " << wanted << '\n';
        }
    }
    return held;
}

// Ends the file: prints the plan and answers main's exit status.
inline int done() {
    std::cout << "1.." << ran << '\n';
    return failed == 0 && ran > 0 ? 0 : 1;
}

}  // namespace x_jobs::unit
