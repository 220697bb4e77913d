// Errors that users see. catalog.def is the one table: name, SQLSTATE, message, detail and hint of
// each. Any room may raise; nothing else in the library writes an error text for users, except
// 42501 which keeps the server's code.
#pragma once

#include <initializer_list>
#include <source_location>
#include <string_view>

namespace x_jobs::errors {

enum class Code {
#define X(identifier, name, sqlstate, message, detail, hint) identifier,
#include "errors/catalog.def"
#undef X
};

// Raises the error; the arguments replace {0}, {1} … in its texts. Never returns.
[[noreturn]] void raise(Code code, std::initializer_list<std::string_view> arguments = {},
                        std::source_location where = std::source_location::current());

// Raises X_INVARIANT: which argument, and what is wrong with it ("must be …").
[[noreturn]] void invariant(std::string_view argument, std::string_view problem,
                            std::source_location where = std::source_location::current());

// Raises 42501, the server's code, with a hint that names the grant that is missing.
[[noreturn]] void permission_denied(std::string_view what, std::string_view hint,
                                    std::source_location where = std::source_location::current());

}  // namespace x_jobs::errors
