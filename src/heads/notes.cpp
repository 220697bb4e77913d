// See notes.hpp. The notes live in the transaction's memory; at its end nothing is allocated. Notes
// of a subtransaction lie behind those of its parents, so only the tail is ever walked.
#include "heads/notes.hpp"

#include <algorithm>

#include "heads/leases.hpp"
#include "heads/look.hpp"
#include "pg/array.hpp"
#include "pg/function.hpp"
#include "pg/stop_point.hpp"

namespace x_jobs::heads {

namespace {

struct QueueNote {
    SubTransactionId subtransaction;
    Oid relation;
    const char *queue;
    std::uint64_t hash;
    QueueRef slot;
    int touched_rows;
    core::PlaceSet<8> claimable;
    core::PlaceSet<8> touched;
};

struct LeaseNote {
    SubTransactionId subtransaction;
    // Only its key and its claim count for one that has ended.
    HeldLease lease;
    bool ended;
    // Until when it is watched so far; nothing when there was no room.
    std::optional<core::Timestamp> until;
};

pg::Array<QueueNote> queue_notes;
pg::Array<LeaseNote> lease_notes;
bool noting = false;
// heads::lapses() when the transaction began to note.
std::uint64_t lapses_before;
Oid written_by_hand = InvalidOid;

void begin_noting() {
    if (!noting) {
        queue_notes = pg::Array<QueueNote>(TopTransactionContext);
        lease_notes = pg::Array<LeaseNote>(TopTransactionContext);
        lapses_before = lapses();
        noting = true;
    }
}

QueueNote &note_in(SubTransactionId subtransaction, Oid relation, std::string_view queue) {
    for (std::size_t i = queue_notes.size(); i > 0; --i) {
        QueueNote &note = queue_notes[i - 1];
        if (note.subtransaction != subtransaction) {
            break;
        }
        if (note.relation == relation && queue == note.queue) {
            return note;
        }
    }
    auto *name = static_cast<char *>(MemoryContextAlloc(TopTransactionContext, queue.size() + 1));
    std::copy(queue.begin(), queue.end(), name);
    name[queue.size()] = '\0';
    QueueNote &note = queue_notes.push(QueueNote{});
    note.subtransaction = subtransaction;
    note.relation = relation;
    note.queue = name;
    note.hash = queue_hash(queue);
    note.slot = find(relation, queue);
    return note;
}

// A queue may have got its slot after the note was made.
QueueRef current_slot(const QueueNote &note) {
    return is_current(note.slot) ? note.slot : find(note.relation, note.queue);
}

template <int Room>
void lower(const QueueNote &note, const core::PlaceSet<Room> &places) {
    if (places.empty()) {
        return;
    }
    change_heads(current_slot(note), [&](core::Heads &heads) {
        for (const core::PlaceRange &range : places.ranges()) {
            heads.lower(range);
        }
    });
}

void give_back(const QueueNote &note, Wake wake) {
    lower(note, note.touched);
    if (note.touched_rows > 0) {
        wake(MyDatabaseId, note.hash, note.touched_rows);
    }
}

// The note of the subtransaction and the queue among those that lie just below `end`.
QueueNote *note_below(std::size_t end, SubTransactionId subtransaction, const QueueNote &like) {
    for (std::size_t i = end; i > 0 && queue_notes[i - 1].subtransaction == subtransaction; --i) {
        QueueNote &note = queue_notes[i - 1];
        if (note.relation == like.relation && std::strcmp(note.queue, like.queue) == 0) {
            return &note;
        }
    }
    return nullptr;
}

void join(QueueNote &onto, const QueueNote &note) {
    for (const core::PlaceRange &range : note.claimable.ranges()) {
        onto.claimable.add(range);
    }
    for (const core::PlaceRange &range : note.touched.ranges()) {
        onto.touched.add(range);
    }
    onto.touched_rows += note.touched_rows;
}

template <typename Note>
bool ends_with(const pg::Array<Note> &notes, SubTransactionId subtransaction) {
    return !notes.empty() && notes[notes.size() - 1].subtransaction == subtransaction;
}

void watch_in_crowd(const HeldLease &lease) {
    change_heads(lease.queue, [&](core::Heads &heads) {
        heads.watch(core::just(lease.place), lease.expires_at);
    });
}

// A lease that lapsed before its claim had committed was found, and the row nobody's to take: so it
// is watched again, and found again.
void confirm(const LeaseNote &note, bool some_lapsed) {
    const bool as_it_was =
        note.until == note.lease.expires_at && !some_lapsed && is_current(note.lease.queue);
    if (!as_it_was && (!note.until || !confirm_lease(note.lease, *note.until))) {
        watch_in_crowd(note.lease);
    }
}

void open_after_writing_by_hand() {
    if (OidIsValid(written_by_hand)) {
        open_everything(written_by_hand);
        written_by_hand = InvalidOid;
    }
}

}  // namespace

void note_claimable(Oid relation, std::string_view queue, const core::Place &place) {
    if (shmem::pointer() == nullptr) {
        return;
    }
    begin_noting();
    note_in(GetCurrentSubTransactionId(), relation, queue).claimable.add(core::just(place));
}

void note_touched(Oid relation, std::string_view queue, const core::Place &place) {
    if (shmem::pointer() == nullptr) {
        return;
    }
    begin_noting();
    QueueNote &note = note_in(GetCurrentSubTransactionId(), relation, queue);
    note.touched.add(core::just(place));
    ++note.touched_rows;
}

void note_running(Oid relation, std::string_view queue, const core::Place &place,
                  const core::Uuid &id, std::int64_t claim, core::Timestamp expires_at) {
    if (shmem::pointer() == nullptr) {
        return;
    }
    const QueueRef slot = find(relation, queue);
    if (!slot.known()) {
        // Who makes the slot meanwhile may read the row as it was before.
        note_claimable(relation, queue, place);
        return;
    }
    begin_noting();
    const HeldLease lease{{id, MyDatabaseId, relation}, claim, slot, place, expires_at};
    const std::optional<core::Timestamp> until = watch_lease(lease);
    if (!until) {
        watch_in_crowd(lease);
    }
    lease_notes.push({GetCurrentSubTransactionId(), lease, false, until});
}

void note_lease_ended(Oid relation, const core::Uuid &id, std::int64_t claim) {
    if (shmem::pointer() == nullptr) {
        return;
    }
    begin_noting();
    LeaseNote &note = lease_notes.push(LeaseNote{});
    note.subtransaction = GetCurrentSubTransactionId();
    note.lease.key = {id, MyDatabaseId, relation};
    note.lease.claim = claim;
    note.ended = true;
}

void note_written_by_hand(Oid relation) {
    written_by_hand = relation;
}

bool has_own_claimable() {
    return noting && std::any_of(queue_notes.begin(), queue_notes.end(),
                                 [](const QueueNote &note) { return !note.claimable.empty(); });
}

core::PlaceSet<8> own_claimable(Oid relation, std::string_view queue) {
    core::PlaceSet<8> places;
    if (!noting) {
        return places;
    }
    for (const QueueNote &note : queue_notes) {
        if (note.relation == relation && queue == note.queue) {
            for (const core::PlaceRange &range : note.claimable.ranges()) {
                places.add(range);
            }
        }
    }
    return places;
}

bool may_close() {
    return !OidIsValid(written_by_hand);
}

void after_commit() {
    open_after_writing_by_hand();
    if (!noting) {
        return;
    }
    noting = false;
    pg::stop_point("committed");
    for (const QueueNote &note : queue_notes) {
        lower(note, note.claimable);
    }
    pg::stop_point("opened");
    const bool some_lapsed = lapses() != lapses_before;
    for (const LeaseNote &note : lease_notes) {
        if (note.ended) {
            forget_lease(note.lease.key, note.lease.claim);
        } else {
            confirm(note, some_lapsed);
        }
    }
}

void after_abort(Wake wake) {
    abandon_looks(TopSubTransactionId);
    open_after_writing_by_hand();
    if (!noting) {
        return;
    }
    noting = false;
    for (const QueueNote &note : queue_notes) {
        give_back(note, wake);
    }
}

void after_prepare() {
    noting = false;
    open_after_writing_by_hand();
}

void after_subtransaction_abort(unsigned subtransaction, Wake wake) {
    abandon_looks(subtransaction);
    if (!noting) {
        return;
    }
    while (ends_with(queue_notes, subtransaction)) {
        give_back(queue_notes.pop(), wake);
    }
    while (ends_with(lease_notes, subtransaction)) {
        lease_notes.pop();
    }
}

void merge_subtransaction(unsigned subtransaction, unsigned parent) {
    if (!noting) {
        return;
    }
    std::size_t first = queue_notes.size();
    while (first > 0 && queue_notes[first - 1].subtransaction == subtransaction) {
        --first;
    }
    // Into the parent's note of the same queue where it has one, which lies just below; else it
    // becomes the parent's.
    std::size_t kept = first;
    for (std::size_t i = first; i < queue_notes.size(); ++i) {
        if (QueueNote *onto = note_below(first, parent, queue_notes[i])) {
            join(*onto, queue_notes[i]);
        } else {
            queue_notes[kept] = queue_notes[i];
            queue_notes[kept].subtransaction = parent;
            ++kept;
        }
    }
    while (queue_notes.size() > kept) {
        queue_notes.pop();
    }
    for (std::size_t i = lease_notes.size();
         i > 0 && lease_notes[i - 1].subtransaction == subtransaction; --i) {
        lease_notes[i - 1].subtransaction = parent;
    }
}

void after_prepared_end() {
    open_everything(InvalidOid);
}

}  // namespace x_jobs::heads
