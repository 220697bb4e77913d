// See candidates.hpp. The keys are read from the index entries, so an entry that is not due costs
// no heap access.
#include "lease/candidates.hpp"

#include <algorithm>

#include "core/limits.hpp"
#include "heads/leases.hpp"
#include "pg/scan_key.hpp"
#include "pg/stop_point.hpp"
#include "store/relations.hpp"

namespace x_jobs::lease {

namespace {

// The columns of the claim index.
enum IndexColumn : AttrNumber { kQueue = 1, kPriority, kRunAt, kId };

constexpr int kEntriesUntold = 1000;

core::Place place_of_entry(IndexScanDesc scan) {
    return {DatumGetInt16(pg::entry_column(scan, kPriority)),
            core::Timestamp{DatumGetTimestampTz(pg::entry_column(scan, kRunAt))},
            pg::DatumOf<core::Uuid>::read(pg::entry_column(scan, kId))};
}

}  // namespace

Candidates Candidates::open(store::Live &live, const pg::Array<std::string_view> &queues,
                            core::Timestamp now) {
    Candidates candidates;
    candidates.live_ = &live;
    candidates.now_ = now;
    const Oid relation = store::relation_named("jobs");
    for (const std::string_view queue : queues) {
        const heads::QueueLook look = heads::begin_look(relation, queue, now);
        candidates.next_due_ = std::min(candidates.next_due_, look.next);
        if (look.places.empty()) {
            heads::Trail nothing;
            heads::end_look(look, nothing);
        } else {
            Stream &stream = candidates.streams_.push(Stream{});
            stream.look = look;
            stream.queue = pg::DatumOf<std::string_view>::make(queue);
        }
    }
    if (!candidates.streams_.empty()) {
        candidates.open_index();
    }
    return candidates;
}

void Candidates::open_index() {
    pg::stop_point("look_begun");
    *live_ = store::Live::open();
    index_ = index_open(store::relation_named("jobs_claim"), AccessShareLock);
    for (Stream &stream : streams_) {
        stream.scan =
            pg::compat::begin_index_scan(live_->table().relation(), index_, SnapshotSelf, 2);
        stream.scan->xs_want_itup = true;
        stream.range = stream.look.places[0];
        enter(stream);
        advance(stream);
    }
}

void Candidates::close() {
    pg::stop_point("table_read");
    for (Stream &stream : streams_) {
        cover_what_was_read(stream);
        index_endscan(stream.scan);
        heads::end_look(stream.look, stream.trail);
    }
    if (index_ != nullptr) {
        index_close(index_, AccessShareLock);
    }
}

// Positions before the range's first entry that can be due, in this range or in one further on.
void Candidates::enter(Stream &stream) {
    for (;;) {
        while (!stream.range.empty() && stream.range.begin.run_at > now_) {
            next_due_ = std::min(next_due_, stream.range.begin.run_at);
            stream.range.begin = core::lane_end(stream.range.begin.priority);
        }
        if (!stream.range.empty()) {
            seek(stream);
            return;
        }
        if (++stream.number == stream.look.places.size()) {
            stream.exhausted = true;
            return;
        }
        stream.range = stream.look.places[stream.number];
    }
}

void Candidates::seek(Stream &stream) {
    const core::Place &from = stream.range.begin;
    std::array<ScanKeyData, 2> keys{pg::key_equal(kQueue, F_TEXTEQ, TEXTOID, stream.queue)};
    if (from == core::lane_begin(from.priority)) {
        keys[1] = pg::scan_key(kPriority, BTGreaterEqualStrategyNumber, F_INT2GE, INT2OID,
                               Int16GetDatum(from.priority));
    } else {
        // The index keeps a pointer to the members for as long as it reads.
        auto *members = static_cast<ScanKeyData *>(palloc(3 * sizeof(ScanKeyData)));
        members[0] = pg::row_member(kPriority, F_BTINT2CMP, Int16GetDatum(from.priority));
        members[1] =
            pg::row_member(kRunAt, F_TIMESTAMPTZ_CMP, TimestampTzGetDatum(from.run_at.micros));
        members[2] = pg::row_member(kId, F_UUID_CMP, pg::DatumOf<core::Uuid>::make(from.id));
        keys[1] = pg::row_from(members, 3);
    }
    index_rescan(stream.scan, keys.data(), 2, nullptr, 0);
}

// Notes that all up to `end` was gone through.
void Candidates::cover(Stream &stream, const core::Place &end) {
    if (stream.range.begin < end) {
        stream.trail.covered.push({stream.range.begin, end});
        stream.range.begin = end;
    }
}

void Candidates::cover_what_was_read(Stream &stream) {
    if (!stream.exhausted) {
        cover(stream, stream.place);
    }
}

void Candidates::advance(Stream &stream) {
    while (!stream.exhausted) {
        const bool found = index_getnext_tid(stream.scan, ForwardScanDirection) != nullptr;
        const core::Place place = found ? place_of_entry(stream.scan) : stream.range.end;
        if (place >= stream.range.end) {
            cover(stream, stream.range.end);
            enter(stream);
            continue;
        }
        if (place.run_at <= now_) {
            stream.place = place;
            return;
        }
        // Everything further on in this priority is due later still.
        cover(stream, place);
        enter(stream);
    }
}

Candidates::Stream *Candidates::lowest() {
    Stream *lowest = nullptr;
    for (Stream &stream : streams_) {
        if (!stream.exhausted && (lowest == nullptr || stream.place < lowest->place)) {
            lowest = &stream;
        }
    }
    return lowest;
}

// A long way is told of from time to time, so that nobody has to go it again: not those who come
// behind, not the next one if this claim is cut short. Where others have been it does not go
// itself.
void Candidates::tell(Stream &stream) {
    stream.untold = 0;
    cover(stream, stream.place);
    const core::Place next = heads::close_so_far(stream.look, stream.trail, stream.place);
    if (next > stream.place) {
        cover(stream, std::min(next, stream.range.end));
        enter(stream);
        advance(stream);
    }
}

bool Candidates::next(store::Row &row) {
    for (Stream *stream = lowest(); stream != nullptr; stream = lowest()) {
        CHECK_FOR_INTERRUPTS();
        if (stream->untold == kEntriesUntold) {
            // All that was read has been dealt with.
            tell(*stream);
            continue;
        }
        ++stream->untold;
        if (stream->place < stream->worth_from) {
            advance(*stream);
            continue;
        }
        last_ = stream;
        last_taking_ = heads::Taking::unreserved;
        last_place_ = stream->place;
        const bool visible = index_fetch_heap(stream->scan, live_->table().read_slot());
        pg::stop_point("row_read");
        if (visible) {
            live_->read(row);
        }
        note_seen();
        advance(*stream);
        if (visible) {
            return true;
        }
    }
    return false;
}

void Candidates::note_seen() {
    pg::Array<core::Place> &seen = last_->trail.seen;
    if (seen.empty() || seen[seen.size() - 1].priority != last_place_.priority) {
        seen.push(last_place_);
    } else {
        seen[seen.size() - 1] = last_place_;
    }
}

bool Candidates::take() {
    cover_what_was_read(*last_);
    last_taking_ = heads::take_place(last_->look, last_->trail, last_place_, last_->worth_from);
    pg::stop_point("place_taken");
    return last_taking_ != heads::Taking::gone;
}

void Candidates::leave_open() {
    if (last_taking_ == heads::Taking::ours) {
        heads::give_back(last_->look, last_place_);
    } else {
        last_->trail.left.add(core::just(last_place_));
    }
}

void Candidates::leave_running(const store::Row &row, core::Timestamp expires_at) {
    pg::stop_point("lease_seen");
    heads::Trail &trail = last_->trail;
    if (last_->look.queue.known() &&
        !heads::watch_seen_lease({live_->lease_key(row.id()), row.claim(), last_->look.queue,
                                  last_place_, expires_at})) {
        trail.unwatched.add(core::just(last_place_));
        trail.unwatched_until = std::min(trail.unwatched_until, expires_at);
    }
}

}  // namespace x_jobs::lease
