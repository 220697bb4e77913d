// See notifying.hpp.
#include "workers/notifying.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "fleet/notices.hpp"
#include "heads/queues.hpp"
#include "pg/attempt.hpp"
#include "wake/announce.hpp"

namespace x_jobs::workers {

namespace {

constexpr core::Duration kBetween = std::chrono::milliseconds{50};
// As often as the share of the notify queue in use is asked for.
constexpr core::Duration kFull = std::chrono::seconds{1};

core::Timestamp notified_at{};
core::Timestamp looked_at{};
// What an earlier scheduler may have left unsaid.
bool said_hello = false;

void leave_due(void *, const char *queue) {
    fleet::leave_notice(queue);
}

// Notifies of everything on the board.
void send() {
    std::array<char, core::kMaxNameBytes + 1> queue;
    while (fleet::take_notice(queue)) {
        wake::notify_of(queue.data());
        notified_at = looked_at;
    }
}

// What was taken from the board and could not be sent is known no more, so every queue stands for
// it.
bool try_to_send() {
    const auto failure = pg::attempt("notifying", send);
    if (failure) {
        fleet::leave_notice("");
        ereport(LOG, errmsg("x_jobs cannot notify: %s", failure->message));
    }
    return !failure;
}

}  // namespace

core::Timestamp notify_listeners(core::Timestamp now) {
    if (now < notified_at) {
        notified_at = looked_at = now;
    }
    if (now - notified_at < kBetween) {
        return notified_at + kBetween;
    }
    const core::Timestamp next =
        heads::queues_due(std::exchange(looked_at, now), now, leave_due, nullptr);
    if (!wake::may_notify()) {
        // Nobody listens, or there is no room: what is on the board stays there.
        return std::min(next, now + kFull);
    }
    if (!said_hello) {
        said_hello = true;
        fleet::leave_notice("");
    }
    if (!try_to_send()) {
        return now + kFull;
    }
    return next;
}

void notify_the_rest() {
    if (wake::may_notify()) {
        static_cast<void>(try_to_send());
    }
}

}  // namespace x_jobs::workers
