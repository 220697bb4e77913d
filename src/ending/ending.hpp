// How a live row leaves the live table: into history, with its tally, its record and its
// announcement, all in the settle's own transaction. Every path by which a job finishes ends here.
#pragma once

#include "store/history.hpp"
#include "store/live.hpp"
#include "store/records.hpp"

namespace x_jobs::ending {

struct Ending {
    core::State state = core::State::done;
    core::Timestamp at;
    std::optional<std::string_view> reason;
    std::optional<pg::Jsonb> result;
    // What the counters get; nothing for endings that are not counted.
    std::optional<store::Tally> tally;
    // What x_jobs_settled gets; empty for endings that are not announced.
    std::string_view outcome;
    core::Duration duration{0};
};

// Deletes the live row that the look-up found and writes it to history as `row`, whose other
// columns the caller has set. `changed` when somebody else changed the row first: nothing has been
// written then.
store::WriteResult finish(store::Live &live, store::HistoryWriter &history, store::Row &row,
                          const Ending &ending, store::Wait wait);

// Why a claim ends a row instead of handing it out.
enum class Burial {
    lapsed,          // its lease lapsed on the final attempt
    claims_used_up,  // no ordinal is left that it never had
};

// Ends a row that a claim must not hand out any more, as dead, or failed if it does not
// dead-letter.
store::WriteResult bury(store::Live &live, store::HistoryWriter &history, store::Row &row,
                        Burial why, core::Timestamp now, store::Wait wait);

// Ends a waiting row that was not started before its expires_at.
store::WriteResult expire(store::Live &live, store::HistoryWriter &history, store::Row &row,
                          core::Timestamp now, store::Wait wait);

}  // namespace x_jobs::ending
