// See announce.hpp. The notes live in the transaction's memory; after the commit nothing is
// allocated.
#include "wake/announce.hpp"

#include <algorithm>

#include "clock/clock.hpp"
#include "fleet/notices.hpp"
#include "heads/notes.hpp"
#include "pg/array.hpp"
#include "pg/function.hpp"
#include "pg/text.hpp"
#include "settings/settings.hpp"
#include "shmem/layout.hpp"
#include "wake/waiters.hpp"

namespace x_jobs::wake {

namespace {

constexpr const char *kWakeChannel = "x_jobs_wake";
constexpr const char *kSettledChannel = "x_jobs_settled";
// A row due later than this is announced when it is due, not when it is enqueued.
constexpr core::Duration kDueSoon = std::chrono::milliseconds{1000};
// The share of the server's notify queue beyond which our own notifications are held back, or left
// out.
constexpr double kFullEnough = 0.5;
// Below the server's own bound on a notification.
constexpr int kMaxPayload = 7'800;

// Who tells those that listen: the commit itself, with NOTIFY, or a scheduler after it.
enum class Told { by_nobody, by_commit, by_scheduler };

struct QueueNote {
    SubTransactionId subtransaction;
    std::uint64_t hash;
    const char *queue;
    int jobs;
    // The least instant from which a row is claimable that NOTIFY is to tell of; kNever for
    // hand-backs.
    core::Timestamp notify_from;
    Told told;
};

struct SettledNote {
    SubTransactionId subtransaction;
    core::Uuid id;
    const char *name;
    const char *queue;
    const char *outcome;
};

pg::Array<QueueNote> queue_notes;
pg::Array<SettledNote> settled_notes;
bool noting = false;

void begin_noting() {
    if (!noting) {
        queue_notes = pg::Array<QueueNote>(TopTransactionContext);
        settled_notes = pg::Array<SettledNote>(TopTransactionContext);
        noting = true;
    }
}

// Whether anybody may be listening; without shared memory nobody can tell.
bool has_listeners(bool wake_channel) {
    shmem::Shared *shared = shmem::pointer();
    if (shared == nullptr) {
        return true;
    }
    return pg_atomic_read_u32(wake_channel ? &shared->wake_listeners : &shared->settled_listeners) >
           0;
}

// The share in use, asked for once a second: a session that keeps the queue full must not fail our
// commits.
bool notify_queue_has_room() {
    static core::Timestamp asked_at{};
    static bool room = true;
    const core::Timestamp now{GetCurrentTimestamp()};
    const core::Duration age = now - asked_at;
    if (age >= std::chrono::seconds{1} || age < core::Duration::zero()) {
        room = DatumGetFloat8(DirectFunctionCall1(pg_notification_queue_usage, Datum{0})) <
               kFullEnough;
        asked_at = now;
    }
    return room;
}

const char *kept_text(std::string_view value) {
    MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
    const char *copy = pnstrdup(value.data(), value.size());
    MemoryContextSwitchTo(caller);
    return copy;
}

void add_to(QueueNote &note, const QueueNote &added) {
    note.jobs = note.jobs > INT_MAX - added.jobs ? INT_MAX : note.jobs + added.jobs;
    note.notify_from = std::min(note.notify_from, added.notify_from);
}

// The note of the subtransaction and the queue among those that lie just below `end`.
QueueNote *note_below(std::size_t end, SubTransactionId subtransaction, const QueueNote &like) {
    for (std::size_t i = end; i > 0 && queue_notes[i - 1].subtransaction == subtransaction; --i) {
        QueueNote &note = queue_notes[i - 1];
        if (note.hash == like.hash && std::strcmp(note.queue, like.queue) == 0) {
            return &note;
        }
    }
    return nullptr;
}

void note_queue(std::string_view queue, core::Timestamp notify_from, int jobs) {
    begin_noting();
    const std::uint64_t hash = queue.empty() ? 0 : heads::queue_hash(queue);
    const SubTransactionId subtransaction = GetCurrentSubTransactionId();
    const char *name = pg::to_c_string(queue);
    const QueueNote added{subtransaction, hash, name, jobs, notify_from, Told::by_nobody};
    if (QueueNote *note = note_below(queue_notes.size(), subtransaction, added)) {
        add_to(*note, added);
        return;
    }
    queue_notes.push(added).queue = kept_text(queue);
}

void notify_settled(const SettledNote &note) {
    StringInfoData payload;
    initStringInfo(&payload);
    const Datum id = DirectFunctionCall1(uuid_out, pg::DatumOf<core::Uuid>::make(note.id));
    appendStringInfo(&payload, "{\"id\":\"%s\",\"name\":", DatumGetCString(id));
    escape_json(&payload, note.name);
    appendStringInfoString(&payload, ",\"queue\":");
    escape_json(&payload, note.queue);
    appendStringInfo(&payload, ",\"outcome\":\"%s\"}", note.outcome);
    // Only rows written by hand have names of that size; they must not make a commit fail.
    if (payload.len < kMaxPayload) {
        Async_Notify(kSettledChannel, payload.data);
    }
    pfree(payload.data);
}

template <typename Note>
void forget_notes(pg::Array<Note> &notes, SubTransactionId subtransaction) {
    while (!notes.empty() && notes[notes.size() - 1].subtransaction == subtransaction) {
        notes.pop();
    }
}

}  // namespace

void made_claimable(std::string_view queue, core::Timestamp run_at, Channel channel) {
    note_queue(queue, channel == Channel::waiters_and_notify ? run_at : core::kNever, 1);
}

void announce(std::string_view queue) {
    note_queue(queue, core::Timestamp{}, INT_MAX);
}

void settled(const core::Uuid &id, std::string_view name, std::string_view queue,
             std::string_view outcome) {
    if (!settings::notify()) {
        return;
    }
    begin_noting();
    settled_notes.push(
        {GetCurrentSubTransactionId(), id, kept_text(name), kept_text(queue), kept_text(outcome)});
}

void before_commit() {
    if (!noting || !settings::notify()) {
        return;
    }
    // Asked now rather than when the note was taken: the transaction may have lasted.
    const core::Timestamp soon = clock::now() + kDueSoon;
    const bool wake = has_listeners(true) &&
                      std::any_of(queue_notes.begin(), queue_notes.end(),
                                  [&](const QueueNote &note) { return note.notify_from <= soon; });
    const bool settled = has_listeners(false) && !settled_notes.empty();
    if ((!wake && !settled) || !notify_queue_has_room()) {
        return;
    }
    const bool hand_over = wake && fleet::scheduler_notifies();
    for (QueueNote &note : queue_notes) {
        if (wake && note.notify_from <= soon) {
            note.told = hand_over ? Told::by_scheduler : Told::by_commit;
            if (!hand_over) {
                Async_Notify(kWakeChannel, note.queue);
            }
        }
    }
    for (const SettledNote &note : settled_notes) {
        if (settled) {
            notify_settled(note);
        }
    }
}

void after_commit() {
    if (!noting) {
        return;
    }
    // A scheduler also tells of what there was no room for, and of what has come near while the
    // commit took its time.
    const bool hand_over = settings::notify() && has_listeners(true) && fleet::scheduler_notifies();
    const core::Timestamp soon = hand_over ? clock::now() + kDueSoon : core::kEver;
    for (const QueueNote &note : queue_notes) {
        wake_waiters(MyDatabaseId, note.hash, note.jobs);
        if (note.told == Told::by_scheduler ||
            (note.told == Told::by_nobody && note.notify_from <= soon)) {
            fleet::leave_notice(note.queue);
        }
    }
    forget();
}

void forget() {
    noting = false;
}

void forget_subtransaction(unsigned subtransaction) {
    if (noting) {
        forget_notes(queue_notes, subtransaction);
        forget_notes(settled_notes, subtransaction);
    }
}

// Notes of a subtransaction lie behind those of its parents, so only the tail is walked; a loop of
// ten thousand savepoints must not cost their square.
void merge_subtransaction(unsigned subtransaction, unsigned parent) {
    if (!noting) {
        return;
    }
    for (std::size_t i = settled_notes.size();
         i > 0 && settled_notes[i - 1].subtransaction == subtransaction; --i) {
        settled_notes[i - 1].subtransaction = parent;
    }
    std::size_t first = queue_notes.size();
    while (first > 0 && queue_notes[first - 1].subtransaction == subtransaction) {
        --first;
    }
    std::size_t kept = first;
    for (std::size_t i = first; i < queue_notes.size(); ++i) {
        if (QueueNote *onto = note_below(first, parent, queue_notes[i])) {
            add_to(*onto, queue_notes[i]);
        } else {
            queue_notes[kept] = queue_notes[i];
            queue_notes[kept].subtransaction = parent;
            ++kept;
        }
    }
    while (queue_notes.size() > kept) {
        queue_notes.pop();
    }
}

void after_prepared_end() {
    wake_waiters(MyDatabaseId, 0, INT_MAX);
    if (!settings::notify() || !has_listeners(true)) {
        return;
    }
    if (fleet::scheduler_notifies()) {
        fleet::leave_notice("");
    } else if (notify_queue_has_room()) {
        notify_of("");
    }
}

bool may_notify() {
    return settings::notify() && has_listeners(true) && notify_queue_has_room();
}

void notify_of(const char *queue) {
    Async_Notify(kWakeChannel, queue);
}

namespace {

bool listens_wake = false;
bool listens_settled = false;

void stop_listening(int, Datum) {
    shmem::Shared *shared = shmem::pointer();
    if (listens_wake) {
        pg_atomic_fetch_sub_u32(&shared->wake_listeners, 1);
    }
    if (listens_settled) {
        pg_atomic_fetch_sub_u32(&shared->settled_listeners, 1);
    }
    listens_wake = listens_settled = false;
}

}  // namespace

void session_listens(const char *channel) {
    shmem::Shared *shared = shmem::pointer();
    const bool wake = std::strcmp(channel, kWakeChannel) == 0;
    const bool settled = std::strcmp(channel, kSettledChannel) == 0;
    if (shared == nullptr || (!wake && !settled)) {
        return;
    }
    if (!listens_wake && !listens_settled) {
        before_shmem_exit(stop_listening, Datum{0});
    }
    // Kept until the session ends, whatever UNLISTEN and ROLLBACK say: counting one too many costs
    // a notification, one too few would lose them.
    if (wake && !listens_wake) {
        listens_wake = true;
        pg_atomic_fetch_add_u32(&shared->wake_listeners, 1);
    }
    if (settled && !listens_settled) {
        listens_settled = true;
        pg_atomic_fetch_add_u32(&shared->settled_listeners, 1);
    }
}

namespace {

void announce_for_sql(std::optional<std::string_view> queue) {
    announce(*queue);
}

// The trigger on the table of live jobs. The library's own writes do not fire it.
Datum written_by_hand(pg::Call call) {
    if (!CALLED_AS_TRIGGER(call.info)) {
        elog(ERROR, "written_by_hand is a trigger function");
    }
    const auto *data = reinterpret_cast<TriggerData *>(call.info->context);
    heads::note_written_by_hand(RelationGetRelid(data->tg_relation));
    announce("");
    return PointerGetDatum(nullptr);
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_announce, announce_for_sql)
X_JOBS_SQL_FUNCTION(x_jobs_written_by_hand, written_by_hand)

}  // namespace x_jobs::wake
