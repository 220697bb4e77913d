// See history.hpp.
#include "store/history.hpp"

#include "clock/clock.hpp"
#include "pg/scan_key.hpp"
#include "settings/settings.hpp"
#include "store/mirror.hpp"
#include "store/relations.hpp"

namespace x_jobs::store {

namespace {

struct LeafName {
    char text[16];
};

LeafName leaf_name(int leaf) {
    LeafName name;
    if (leaf == core::kKeepLeaf) {
        snprintf(name.text, sizeof name.text, "history_keep");
    } else {
        snprintf(name.text, sizeof name.text, "history_%02u", static_cast<unsigned>(leaf) % 100U);
    }
    return name;
}

// Lays the ring out at the first settle of the database. Whoever else settles at that moment does
// not wait for it: its rows go to the leaf that is kept, with the instant of their purge.
void lay_out_ring() {
    const Oid relation = relation_named("history_leaves");
    if (!ConditionalLockRelationOid(relation, ShareUpdateExclusiveLock)) {
        return;
    }
    mirror::refresh();
    if (mirror::ring().laid_out) {
        return;
    }
    const core::Ring laid_out = core::lay_out(clock::now(), settings::history_step());
    Table leaves = Table::open("history_leaves", 2);
    for (int leaf = 0; leaf < core::kRingLeaves; ++leaf) {
        const Datum values[] = {
            Int16GetDatum(static_cast<std::int16_t>(leaf)),
            pg::DatumOf<core::Timestamp>::make(laid_out.upper[static_cast<std::size_t>(leaf)])};
        const bool nulls[] = {false, false};
        leaves.insert(values, nulls);
    }
    CacheInvalidateRelcache(leaves.relation());
    leaves.close();
    // The mirror of this backend is to see the new bounds at once.
    CommandCounterIncrement();
}

int leaf_of(const Row &row) {
    return core::leaf_for(mirror::ring(), row.optional<core::Timestamp>(Column::purge_at));
}

}  // namespace

void HistoryWriter::append(Row &row) {
    if (!mirror::ring().laid_out) {
        lay_out_ring();
    }
    // The lock taken by opening the leaf brings in what a purge committed, which may have moved the
    // leaf's bounds.
    for (int leaf = leaf_of(row); !open_ || leaf != leaf_; leaf = leaf_of(row)) {
        if (open_) {
            table_.close();
        }
        table_ = Table::open(leaf_name(leaf).text, kHistoryColumns);
        open_ = true;
        leaf_ = leaf;
    }
    row.set(Column::segment, static_cast<std::int16_t>(leaf_));
    table_.insert_later(row.values, row.nulls);
}

void HistoryWriter::close() {
    if (open_) {
        table_.close();
        open_ = false;
    }
    tally_.close();
}

namespace {

// Positions `leaf` on the row of the id.
bool find_in(Table &leaf, Datum id, Snapshot snapshot) {
    Relation index = index_open(id_index_of(leaf.relation()), AccessShareLock);
    IndexScanDesc scan = pg::compat::begin_index_scan(leaf.relation(), index, snapshot, 1);
    ScanKeyData key = pg::key_equal(1, F_UUID_EQ, UUIDOID, id);
    index_rescan(scan, &key, 1, nullptr, 0);
    const bool found = index_getnext_slot(scan, ForwardScanDirection, leaf.read_slot());
    index_endscan(scan);
    index_close(index, AccessShareLock);
    return found;
}

}  // namespace

bool HistoryRow::find(const core::Uuid &id, Row &row) {
    const Datum wanted = pg::DatumOf<core::Uuid>::make(id);
    for (int leaf = core::kKeepLeaf; leaf >= 0; --leaf) {
        table_ = Table::open(leaf_name(leaf).text, kHistoryColumns);
        if (find_in(table_, wanted, SnapshotSelf)) {
            TupleTableSlot *slot = table_.read_slot();
            slot_getallattrs(slot);
            for (std::size_t i = 0; i < static_cast<std::size_t>(kHistoryColumns); ++i) {
                row.values[i] = slot->tts_values[i];
                row.nulls[i] = slot->tts_isnull[i];
            }
            return true;
        }
        table_.release();
    }
    return false;
}

bool history_holds(const core::Uuid &id) {
    HistoryRow history;
    Row row;
    if (!history.find(id, row)) {
        return false;
    }
    history.close();
    return true;
}

}  // namespace x_jobs::store
