// See durability.hpp.
#include "lease/durability.hpp"

#include "pg/postgres.hpp"

namespace x_jobs::lease {

namespace {

struct Present {
    bool relaxed = false;
    bool flushed = false;
    // Nothing but relaxed claims has been written, up to `written`.
    bool nothing_else = false;
    XLogRecPtr written = InvalidXLogRecPtr;
};

Present present;

void set_for_this_commit(const char *value) {
    set_config_option("synchronous_commit", value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_LOCAL,
                      true, 0, false);
}

}  // namespace

core::Durability begin_claim(bool durable) {
    if (durable && synchronous_commit > SYNCHRONOUS_COMMIT_OFF) {
        present.flushed = true;
        return core::Durability::flushed;
    }
    if (!present.relaxed) {
        present.relaxed = true;
        present.nothing_else = !TransactionIdIsValid(GetTopTransactionIdIfAny());
    } else if (present.written != XactLastRecEnd) {
        present.nothing_else = false;
    }
    return core::Durability::relaxed;
}

void end_claim() {
    present.written = XactLastRecEnd;
}

std::uint32_t timeline() {
    return GetWALInsertionTimeLine();
}

void choose_commit() {
    if (present.flushed) {
        // The ordinals given out count on this commit being durable, whatever was set since.
        if (synchronous_commit == SYNCHRONOUS_COMMIT_OFF) {
            set_for_this_commit("local");
        }
    } else if (present.relaxed && present.nothing_else && present.written == XactLastRecEnd) {
        set_for_this_commit("off");
    }
}

void forget_commit() {
    present = Present{};
}

}  // namespace x_jobs::lease
