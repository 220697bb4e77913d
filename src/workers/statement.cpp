// See statement.hpp.
#include "workers/statement.hpp"

#include "pg/attempt.hpp"

namespace x_jobs::workers {

bool is_installed() {
    return OidIsValid(get_extension_oid("x_jobs", true));
}

bool is_installed_still() {
    bool installed = false;
    pg::attempt("looking around", [&] { installed = is_installed(); });
    return installed;
}

Argument text_argument(const char *value) {
    return {TEXTOID, CStringGetTextDatum(value)};
}

Argument number_argument(std::int32_t value) {
    return {INT4OID, Int32GetDatum(value)};
}

}  // namespace x_jobs::workers
