// See look.hpp.
#include "heads/look.hpp"

#include "heads/notes.hpp"
#include "settings/settings.hpp"

namespace x_jobs::heads {

namespace {

// Scans that this process has registered and not ended yet, and the place that each took last: an
// error may come before the row's transaction has noted it.
struct Registered {
    QueueRef queue;
    SubTransactionId subtransaction;
    int scan;
    bool active;
    core::PlaceRange taken;
};

pg::Array<Registered> registered;

// The server's own time, at which a slot was last looked at, is written no more often than this.
constexpr std::int64_t kUsedStepMicros = 1'000'000;

void note_use(shmem::QueueSlot &slot) {
    const auto now = static_cast<std::uint64_t>(GetCurrentTimestamp());
    if (now - pg_atomic_read_u64(&slot.used_at) >= static_cast<std::uint64_t>(kUsedStepMicros)) {
        pg_atomic_write_u64(&slot.used_at, now);
    }
}

// Whether this look is the one that goes over the closed places again: the net under everything.
bool takes_rescan(shmem::QueueSlot &slot, core::Timestamp now) {
    const core::Duration interval = settings::rescan_interval();
    if (interval == core::Duration::zero()) {
        return false;
    }
    std::uint64_t seen = pg_atomic_read_u64(&slot.rescan_at);
    const core::Timestamp at{static_cast<std::int64_t>(seen)};
    // A time too far ahead was set under a clock that has been put back since.
    if (seen != 0 && now < at && at - now <= interval) {
        return false;
    }
    const bool taken =
        pg_atomic_compare_exchange_u64(&slot.rescan_at, &seen, stored(now + interval));
    // A new slot is open everywhere; its first interval has just begun.
    return taken && seen != 0;
}

QueueLook everything() {
    QueueLook look;
    look.places.push(core::kEveryPlace);
    look.everything = true;
    return look;
}

bool crosses(const core::PlaceRange &range) {
    return range.end > core::lane_end(range.begin.priority);
}

// Copies the open places and registers the scan, in one step.
bool register_scan(QueueLook &look, core::Timestamp now, core::Heads::Open &open) {
    const bool none_active = std::all_of(registered.begin(), registered.end(),
                                         [](const Registered &one) { return !one.active; });
    if (none_active) {
        if (registered.size() == 0) {
            registered = pg::Array<Registered>(TopMemoryContext);
        }
        registered.clear();
    }
    // Room first: from the registration on nothing may raise before it is on the list.
    look.number = registered.size();
    Registered &entry =
        registered.push({look.queue, GetCurrentSubTransactionId(), core::kNoScan, false, {}});
    entry.active = change_heads(look.queue, [&](core::Heads &heads) {
        heads.open_due(now);
        open = heads.open();
        entry.scan = look.scan = heads.begin_scan();
    });
    look.registered = entry.active;
    return entry.active;
}

}  // namespace

namespace {

// Reads the open places, those of this transaction's own rows included, into the look.
void read_places(QueueLook &look, Oid relation, std::string_view queue, core::Timestamp now) {
    core::Heads::Open open;
    if (!register_scan(look, now, open)) {
        look = everything();
        return;
    }
    const core::PlaceSet<8> own = own_claimable(relation, queue);
    for (const core::PlaceRange &range : own.ranges()) {
        open.add(range);
        look.own.push(range);
    }
    for (const core::PlaceRange &range : open.ranges()) {
        if (range.begin.run_at > now && !crosses(range)) {
            look.next = std::min(look.next, range.begin.run_at);
        } else {
            look.places.push(range);
        }
    }
}

// The same for all places, whatever the heads say.
void read_everything(QueueLook &look, core::Timestamp now) {
    core::Heads::Open open;
    if (!register_scan(look, now, open)) {
        look = everything();
        return;
    }
    look.places.push(core::kEveryPlace);
    look.everything = true;
}

bool is_registered(const QueueLook &look) {
    return look.registered && registered[look.number].active;
}

bool is_own(const QueueLook &look, const core::Place &place) {
    return std::any_of(look.own.begin(), look.own.end(),
                       [&](const core::PlaceRange &range) { return range.contains(place); });
}

// The first place from there on that is open, or holds a row of this transaction.
core::Place next_worth_reading(const core::Heads &heads, const QueueLook &look,
                               const core::Place &from) {
    core::Place next = heads.next_open(from);
    for (const core::PlaceRange &own : look.own) {
        if (from < own.end) {
            next = std::min(next, std::max(from, own.begin));
        }
    }
    return next;
}

// Tells the heads what the look went through, and forgets it.
void close_behind(core::Heads &heads, const QueueLook &look, Trail &trail) {
    for (const core::Place &place : trail.seen) {
        heads.pass(place);
    }
    for (const core::PlaceRange &range : trail.unwatched.ranges()) {
        heads.watch(range, trail.unwatched_until);
    }
    if (may_close()) {
        heads.close(look.scan, {trail.covered.begin(), trail.covered.size()}, trail.left);
    }
    if (look.everything) {
        // Found where nothing needs to have been open. Elsewhere what is left stays as it is: it
        // may be somebody's by now.
        for (const core::PlaceRange &range : trail.left.ranges()) {
            heads.lower(range);
        }
    }
    trail.seen.clear();
    trail.unwatched.clear();
    trail.unwatched_until = core::kNever;
    trail.covered.clear();
    trail.left.clear();
}

}  // namespace

QueueLook begin_look(Oid relation, std::string_view queue, core::Timestamp now) {
    QueueLook look;
    look.queue = find_or_make(relation, queue);
    if (!look.queue.known()) {
        return everything();
    }
    shmem::QueueSlot &slot = slot_of(look.queue);
    note_use(slot);
    const core::Timestamp next_due = instant(&slot.next_due);
    if (takes_rescan(slot, now) || !may_close()) {
        read_everything(look, now);
    } else if (next_due <= now || has_own_claimable()) {
        read_places(look, relation, queue, now);
    } else {
        look.next = next_due;
    }
    return look;
}

void end_look(const QueueLook &look, Trail &trail) {
    if (!is_registered(look)) {
        return;
    }
    registered[look.number].active = false;
    change_heads(look.queue, [&](core::Heads &heads) {
        close_behind(heads, look, trail);
        heads.end_scan(look.scan);
    });
}

core::Place close_so_far(const QueueLook &look, Trail &trail, const core::Place &from) {
    core::Place next = from;
    if (is_registered(look)) {
        change_heads(look.queue, [&](core::Heads &heads) {
            close_behind(heads, look, trail);
            if (!look.everything) {
                next = next_worth_reading(heads, look, from);
            }
        });
    }
    return next;
}

Taking take_place(const QueueLook &look, Trail &trail, const core::Place &place,
                  core::Place &next) {
    if (!is_registered(look) || look.everything || is_own(look, place)) {
        return Taking::unreserved;
    }
    bool taken = false;
    const bool current = change_heads(look.queue, [&](core::Heads &heads) {
        taken = heads.take(place);
        if (taken) {
            registered[look.number].taken = core::just(place);
            close_behind(heads, look, trail);
        } else {
            next = next_worth_reading(heads, look, place);
        }
    });
    if (!current) {
        return Taking::unreserved;
    }
    return taken ? Taking::ours : Taking::gone;
}

void give_back(const QueueLook &look, const core::Place &place) {
    change_heads(look.queue, [&](core::Heads &heads) { heads.lower(core::just(place)); });
}

void abandon_looks(unsigned subtransaction) {
    for (Registered &entry : registered) {
        if (entry.active && entry.subtransaction >= subtransaction) {
            change_heads(entry.queue, [&](core::Heads &heads) {
                heads.lower(entry.taken);
                heads.end_scan(entry.scan);
            });
            entry.active = false;
        }
    }
}

}  // namespace x_jobs::heads
