// See due.hpp. A walk from lane to lane, a queue with a priority: what was due before, or is not
// yet, is jumped over, so the cost is that of the lanes and not of the rows.
#include "store/due.hpp"

#include <algorithm>

#include "core/job_state.hpp"
#include "core/place.hpp"
#include "errors/errors.hpp"
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
    Walk(Relation table, Relation index, core::Timestamp after, core::Timestamp upto, Due due,
         void (*name)(std::string_view queue))
        : after_(after), upto_(upto), due_(due), name_(name) {
        slot_ = table_slot_create(table, nullptr);
        scan_ = pg::compat::begin_index_scan(table, index, SnapshotSelf, 1);
        scan_->xs_want_itup = true;
        // A dead entry is as good a place to jump from; to leave them out is to go through them
        // all.
        scan_->ignore_killed_tuples = false;
    }

    core::Timestamp go();

   private:
    std::optional<Entry> seek(int priority, core::Timestamp run_at);
    std::optional<Entry> step();
    void turn_to(std::string_view queue);
    std::optional<Entry> go_through(const Entry &first);
    bool has_fallen_due();

    core::Timestamp after_;
    core::Timestamp upto_;
    Due due_;
    void (*name_)(std::string_view queue);
    IndexScanDesc scan_;
    TupleTableSlot *slot_;
    // The scan keeps a pointer to them.
    std::array<ScanKeyData, 3> members_{};
    // The queue at hand, and whether it has been named.
    Datum queue_value_{0};
    std::string_view queue_;
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

// The first entry, from the queue at hand on, that is not before this.
std::optional<Entry> Walk::seek(int priority, core::Timestamp run_at) {
    members_[0] = pg::row_member(kQueue, F_BTTEXTCMP, queue_value_, TEXTOID);
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
           (due_ == Due::all || DatumGetTimestampTz(value(Column::run_at)) >
                                    DatumGetTimestampTz(value(Column::updated_at)));
}

// The name is copied, of any length: rows may have been written by hand.
void Walk::turn_to(std::string_view queue) {
    queue_value_ = pg::DatumOf<std::string_view>::make(queue);
    queue_ = pg::DatumOf<std::string_view>::read(queue_value_);
    named_ = false;
}

// Goes through the lane of its first entry; answers the first one behind it.
std::optional<Entry> Walk::go_through(const Entry &first) {
    const std::int16_t priority = first.priority;
    const core::Timestamp from = (named_ ? upto_ : after_) + kMoment;
    int looked_at = 0;
    std::optional<Entry> entry = first.run_at < from ? seek(priority, from) : first;
    const auto in_lane = [&] {
        return entry && entry->queue == queue_ && entry->priority == priority;
    };
    while (in_lane() && entry->run_at <= upto_) {
        if (!named_ && (looked_at == kLookedAt || has_fallen_due())) {
            name_(queue_);
            named_ = true;
        }
        if (named_) {
            entry = seek(priority, upto_ + kMoment);
        } else {
            ++looked_at;
            entry = step();
        }
    }
    if (in_lane()) {
        next_ = std::min(next_, entry->run_at);
        entry = seek(priority + 1, core::kEver);
    }
    return entry;
}

core::Timestamp Walk::go() {
    turn_to("");
    std::optional<Entry> entry = seek(0, core::kEver);
    while (entry) {
        CHECK_FOR_INTERRUPTS();
        if (entry->queue != queue_) {
            turn_to(entry->queue);
        }
        entry = go_through(*entry);
    }
    index_endscan(scan_);
    ExecDropSingleTupleTableSlot(slot_);
    return next_;
}

}  // namespace

std::optional<core::Timestamp> queues_due(core::Timestamp after, core::Timestamp upto, Due due,
                                          void (*name)(std::string_view queue)) {
    const Oid table_id = relation_named("jobs");
    if (!ConditionalLockRelationOid(table_id, AccessShareLock)) {
        return std::nullopt;
    }
    std::optional<core::Timestamp> next;
    // Gone, if the extension was made again before we had the lock.
    if (Relation table = try_table_open(table_id, NoLock)) {
        if (RelationGetNumberOfAttributes(table) != kLiveColumns) {
            errors::raise(errors::Code::version_mismatch, {"jobs"});
        }
        // With the table locked, a rebuild waits for us before it drops the index that this names.
        const Oid index_id = relation_named("jobs_claim");
        if (ConditionalLockRelationOid(index_id, AccessShareLock)) {
            Relation index = index_open(index_id, NoLock);
            next = Walk{table, index, after, upto, due, name}.go();
            index_close(index, AccessShareLock);
        }
        table_close(table, NoLock);
    }
    UnlockRelationOid(table_id, AccessShareLock);
    return next;
}

}  // namespace x_jobs::store
