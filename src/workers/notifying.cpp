// See notifying.hpp.
#include "workers/notifying.hpp"

#include <algorithm>
#include <array>

#include "fleet/notices.hpp"
#include "pg/attempt.hpp"
#include "store/due.hpp"
#include "wake/announce.hpp"
#include "workers/statement.hpp"

namespace x_jobs::workers {

namespace {

constexpr core::Duration kBetween = std::chrono::milliseconds{50};
// As often as the table is asked for rows that fall due later, and the notify queue for its room.
// New work that is due sooner after its commit is told of by the commit.
constexpr core::Duration kAskedAgain = std::chrono::seconds{1};
// Of the time, at most one part in this many goes into asking; but what the clock says of an ask
// during which it was set is not believed.
constexpr int kShareOfAsking = 20;
constexpr core::Duration kLongestRest = std::chrono::seconds{30};

core::Timestamp notified_at{};
// Up to where what fell due has been told of, and when the table is asked next.
core::Timestamp told_upto{};
core::Timestamp ask_at{};
// The latest instant that was seen, and that from which the clock was set back: up to there, rows
// may not be due yet that were when they were written.
core::Timestamp latest{};
core::Timestamp doubted_upto{};
// What an earlier scheduler may have left unsaid.
bool said_hello = false;

// Leaves word of each queue where a row has fallen due since the last time.
void ask(core::Timestamp now) {
    const TimestampTz begun = GetCurrentTimestamp();
    const auto next = store::queues_due(
        told_upto, now, told_upto < doubted_upto ? store::Due::all : store::Due::later,
        fleet::leave_notice);
    const core::Duration took{GetCurrentTimestamp() - begun};
    if (next) {
        told_upto = now;
    }
    ask_at = std::max(std::min(next.value_or(core::kNever), now + kAskedAgain),
                      now + std::clamp(took * kShareOfAsking, kBetween, kLongestRest));
}

void send(core::Timestamp now) {
    std::array<char, core::kMaxNameBytes + 1> queue;
    while (fleet::take_notice(queue)) {
        wake::notify_of(queue.data());
        notified_at = now;
    }
}

// What was taken from the board and could not be sent is known no more, so every queue stands for
// it.
bool attempt_to(const char *what, core::Timestamp now, void (*step)(core::Timestamp now)) {
    const auto failure = pg::attempt(what, [&] { step(now); });
    if (failure && is_installed_still()) {
        fleet::leave_notice("");
        ereport(LOG, errmsg("x_jobs cannot notify: %s", failure->message));
    }
    return !failure;
}

}  // namespace

core::Timestamp notify_listeners(core::Timestamp now) {
    if (now < latest) {
        doubted_upto = std::max(doubted_upto, latest);
        notified_at = std::min(notified_at, now);
        told_upto = std::min(told_upto, now);
    }
    latest = now;
    if (ask_at - now > kLongestRest) {
        ask_at = now;
    }
    if (now - notified_at < kBetween) {
        return notified_at + kBetween;
    }
    if (!wake::may_notify()) {
        // Nobody listens, or there is no room: what is on the board stays there.
        return now + kAskedAgain;
    }
    if (!said_hello) {
        said_hello = true;
        told_upto = now;
        fleet::leave_notice("");
    }
    if (ask_at <= now) {
        // If it fails, too.
        ask_at = now + kAskedAgain;
        static_cast<void>(attempt_to("looking for what falls due", now, ask));
    }
    return attempt_to("notifying", now, send) ? ask_at : now + kAskedAgain;
}

void notify_the_rest() {
    if (wake::may_notify()) {
        static_cast<void>(attempt_to("notifying", core::Timestamp{}, send));
    }
}

}  // namespace x_jobs::workers
