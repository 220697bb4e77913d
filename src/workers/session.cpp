// See session.hpp.
#include "workers/session.hpp"

#include <array>

#include "pg/postgres.hpp"

namespace x_jobs::workers {

namespace {

struct Setting {
    const char *name;
    const char *value;
};

constexpr std::array<Setting, 7> kSettings{{
    // Upkeep needs statements that see what others have committed.
    {"default_transaction_isolation", "read committed"},
    {"default_transaction_read_only", "off"},
    {"default_transaction_deferrable", "off"},
    {"session_replication_role", "origin"},
    // Nothing that a worker does may wait for long, or be cut short by a limit that is meant for
    // sessions.
    {"lock_timeout", "2s"},
    {"statement_timeout", "0"},
    {"transaction_timeout", "0"},
}};

}  // namespace

void set_up_session() {
    SetConfigOption("application_name", MyBgworkerEntry->bgw_name, PGC_USERSET, PGC_S_SESSION);
    for (const Setting &setting : kSettings) {
        // transaction_timeout came with PostgreSQL 17.
        if (GetConfigOption(setting.name, true, false) != nullptr) {
            SetConfigOption(setting.name, setting.value, PGC_SUSET, PGC_S_SESSION);
        }
    }
}

void reset_session() {
    ResetAllOptions();
    set_up_session();
    LockReleaseAll(USER_LOCKMETHOD, true);
    DropAllPreparedStatements();
}

}  // namespace x_jobs::workers
