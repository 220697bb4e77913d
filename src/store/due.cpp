// See due.hpp. A walk from lane to lane, a queue with a priority: what was due before, or is not
// yet, is jumped over, so the cost is that of the lanes and not of the rows.
#include "store/due.hpp"

#include <algorithm>

#include "core/job_state.hpp"
#include "core/place.hpp"
#include "pg/compat.hpp"
#include "pg/datum.hpp"
#include "pg/scan_key.hpp"
#include "store/relations.hpp"
#include "store/row.hpp"

namespace x_jobs::store {

namespace {

// The columns of the claim index.
enum IndexColumn : AttrNumber { kQueue = 1, kPriority, kRunAt };

// A lane where more than this falls due between two looks is as good as sure to have got work.
constexpr int kLookedAt = 100;
constexpr core::Duration kMoment = std::chrono::microseconds{1};

struct Entry {
    // Of the page that the scan is on.
    std::string_view queue;
    std::int16_t priority;
    core::Timestamp run_at;
};

class Walk {
   public:
    Walk(Relation table, Relation index, core::Timestamp after, core::Timestamp upto,
         void (*name)(std::string_view queue))
        : after_(after), upto_(upto), name_(name) {
        slot_ = table_slot_create(table, nullptr);
        scan_ = pg::compat::begin_index_scan(table, index, SnapshotSelf, 1);
        scan_->xs_want_itup = true;
    }

    core::Timestamp go();

   private:
    std::optional<Entry> seek(std::string_view queue, int priority, core::Timestamp run_at);
    std::optional<Entry> step();
    std::optional<Entry> go_through(std::string_view queue, std::int16_t priority);
    bool has_fallen_due();

    core::Timestamp after_;
    core::Timestamp upto_;
    void (*name_)(std::string_view queue);
    IndexScanDesc scan_;
    TupleTableSlot *slot_;
    // The scan keeps a pointer to them.
    std::array<ScanKeyData, 3> members_{};
    // Whether the queue at hand has been named.
    bool named_ = false;
    core::Timestamp next_ = core::kNever;
};

std::optional<Entry> Walk::step() {
    if (index_getnext_tid(scan_, ForwardScanDirection) == nullptr) {
        return std::nullopt;
    }
    return Entry{pg::DatumOf<std::string_view>::read(pg::entry_column(scan_, kQueue)),
                 DatumGetInt16(pg::entry_column(scan_, kPriority)),
                 core::Timestamp{DatumGetTimestampTz(pg::entry_column(scan_, kRunAt))}};
}

// The first entry that is not before this.
std::optional<Entry> Walk::seek(std::string_view queue, int priority, core::Timestamp run_at) {
    members_[0] =
        pg::row_member(kQueue, F_BTTEXTCMP, pg::DatumOf<std::string_view>::make(queue), TEXTOID);
    members_[1] =
        pg::row_member(kPriority, F_BTINT2CMP, Int16GetDatum(static_cast<std::int16_t>(priority)));
    members_[2] = pg::row_member(kRunAt, F_TIMESTAMPTZ_CMP, TimestampTzGetDatum(run_at.micros));
    ScanKeyData key = pg::row_from(members_.data(), 3);
    index_rescan(scan_, &key, 1, nullptr, 0);
    return step();
}

// Whether the row of this entry waits, and did so before its time came: what was due when it was
// written has been told of by its commit.
bool Walk::has_fallen_due() {
    if (!index_fetch_heap(scan_, slot_)) {
        return false;
    }
    const auto value = [&](Column column) {
        bool is_null = false;
        return slot_getattr(slot_, static_cast<int>(column) + 1, &is_null);
    };
    const auto state = core::state_named(pg::DatumOf<std::string_view>::read(value(Column::state)));
    return state && core::is_waiting(*state) &&
           DatumGetTimestampTz(value(Column::run_at)) >
               DatumGetTimestampTz(value(Column::updated_at));
}

// Goes through one lane; answers the first entry behind it.
std::optional<Entry> Walk::go_through(std::string_view queue, std::int16_t priority) {
    int looked_at = 0;
    std::optional<Entry> entry = seek(queue, priority, after_ + kMoment);
    const auto in_lane = [&] {
        return entry && entry->queue == queue && entry->priority == priority;
    };
    while (in_lane() && entry->run_at <= upto_) {
        if (!named_ && (looked_at == kLookedAt || has_fallen_due())) {
            name_(queue);
            named_ = true;
        }
        if (named_) {
            entry = seek(queue, priority, upto_ + kMoment);
        } else {
            ++looked_at;
            entry = step();
        }
    }
    if (in_lane()) {
        next_ = std::min(next_, entry->run_at);
        entry = seek(queue, priority + 1, core::kEver);
    }
    return entry;
}

core::Timestamp Walk::go() {
    std::optional<Entry> entry = seek("", 0, core::kEver);
    std::string_view queue;
    while (entry) {
        CHECK_FOR_INTERRUPTS();
        if (entry->queue != queue) {
            // Of any length: rows may have been written by hand.
            queue = {pnstrdup(entry->queue.data(), entry->queue.size()), entry->queue.size()};
            named_ = false;
        }
        entry = go_through(queue, entry->priority);
    }
    index_endscan(scan_);
    ExecDropSingleTupleTableSlot(slot_);
    return next_;
}

}  // namespace

std::optional<core::Timestamp> queues_due(core::Timestamp after, core::Timestamp upto,
                                          void (*name)(std::string_view queue)) {
    const Oid table_id = relation_named("jobs");
    const Oid index_id = relation_named("jobs_claim");
    if (!ConditionalLockRelationOid(table_id, AccessShareLock)) {
        return std::nullopt;
    }
    std::optional<core::Timestamp> next;
    if (ConditionalLockRelationOid(index_id, AccessShareLock)) {
        Relation table = table_open(table_id, NoLock);
        Relation index = index_open(index_id, NoLock);
        next = Walk{table, index, after, upto, name}.go();
        index_close(index, AccessShareLock);
        table_close(table, NoLock);
    }
    UnlockRelationOid(table_id, AccessShareLock);
    return next;
}

}  // namespace x_jobs::store
