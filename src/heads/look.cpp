// See look.hpp.
#include "heads/look.hpp"

#include "heads/notes.hpp"
#include "settings/settings.hpp"

namespace x_jobs::heads {

namespace {

// Scans that this process has registered and not ended yet.
struct Registered {
    QueueRef queue;
    int scan;
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
    return look;
}

bool crosses(const core::PlaceRange &range) {
    return range.end > core::lane_end(range.begin.priority);
}

// Copies the open places and registers the scan, in one step.
bool register_scan(QueueLook &look, core::Timestamp now, core::Heads::Open &open) {
    const bool none_active =
        std::all_of(registered.begin(), registered.end(),
                    [](const Registered &one) { return one.scan == core::kNoScan; });
    if (none_active) {
        if (registered.size() == 0) {
            registered = pg::Array<Registered>(TopMemoryContext);
        }
        registered.clear();
    }
    // Room first: from the registration on nothing may raise before it is on the list.
    look.number = registered.size();
    Registered &entry = registered.push({look.queue, core::kNoScan});
    const bool current = change_heads(look.queue, [&](core::Heads &heads) {
        heads.open_due(now);
        open = heads.open();
        entry.scan = look.scan = heads.begin_scan();
    });
    return current;
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

void end_look(const QueueLook &look, const Trail &trail) {
    if (look.scan == core::kNoScan) {
        return;
    }
    registered[look.number].scan = core::kNoScan;
    const bool closes = may_close();
    change_heads(look.queue, [&](core::Heads &heads) {
        for (const core::Place &place : trail.seen) {
            heads.pass(place);
        }
        for (const core::PlaceRange &range : trail.unwatched.ranges()) {
            heads.watch(range, trail.unwatched_until);
        }
        if (closes) {
            heads.end_scan(look.scan, {trail.covered.begin(), trail.covered.size()}, trail.left);
        } else {
            heads.abandon_scan(look.scan);
        }
    });
}

void abandon_looks() {
    for (Registered &entry : registered) {
        if (entry.scan != core::kNoScan) {
            change_heads(entry.queue, [&](core::Heads &heads) { heads.abandon_scan(entry.scan); });
            entry.scan = core::kNoScan;
        }
    }
}

}  // namespace x_jobs::heads
