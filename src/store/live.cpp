// See live.hpp.
#include "store/live.hpp"

#include "pg/scan_key.hpp"
#include "store/relations.hpp"

namespace x_jobs::store {

namespace {

std::span<const Datum> values_of(const Row &row) {
    return std::span{row.values}.first<static_cast<std::size_t>(kLiveColumns)>();
}

std::span<const bool> nulls_of(const Row &row) {
    return std::span{row.nulls}.first<static_cast<std::size_t>(kLiveColumns)>();
}

}  // namespace

std::optional<Key> key_of(const Row &row) {
    const auto key = row.optional<std::string_view>(Column::idempotency_key);
    if (!key) {
        return std::nullopt;
    }
    return Key{row.get<std::string_view>(Column::name),
               row.get<std::string_view>(Column::tenant_id), *key};
}

Live Live::open() {
    Live live;
    live.table_ = Table::open("jobs", kLiveColumns);
    return live;
}

void Live::read(Row &row) {
    TupleTableSlot *slot = table_.read_slot();
    slot_getallattrs(slot);
    for (std::size_t i = 0; i < static_cast<std::size_t>(kLiveColumns); ++i) {
        row.values[i] = slot->tts_values[i];
        row.nulls[i] = slot->tts_isnull[i];
    }
}

bool Live::is_taken_by_others() {
    bool copied = false;
    HeapTuple tuple = ExecFetchSlotHeapTuple(table_.read_slot(), false, &copied);
    const HeapTupleHeader header = tuple->t_data;
    const TransactionId holder = HeapTupleHeaderGetRawXmax(header);
    if ((header->t_infomask & HEAP_XMAX_INVALID) != 0 || !TransactionIdIsValid(holder)) {
        return false;
    }
    if ((header->t_infomask & HEAP_XMAX_IS_MULTI) != 0) {
        return MultiXactIdIsRunning(holder, HEAP_XMAX_IS_LOCKED_ONLY(header->t_infomask));
    }
    return TransactionIdIsInProgress(holder);
}

bool Live::scan_one(const char *index_name, ScanKeyData *keys, int count, Row &row, Sight sight) {
    Relation index = index_open(relation_named(index_name), AccessShareLock);
    // A serializable transaction would take predicate locks with an MVCC snapshot, and fail for
    // reading a queue.
    const bool mvcc = sight == Sight::fresh && !IsolationIsSerializable();
    Snapshot snapshot = mvcc ? RegisterSnapshot(GetLatestSnapshot()) : SnapshotSelf;
    IndexScanDesc scan = pg::compat::begin_index_scan(table_.relation(), index, snapshot, count);
    index_rescan(scan, keys, count, nullptr, 0);
    const bool found = index_getnext_slot(scan, ForwardScanDirection, table_.read_slot());
    index_endscan(scan);
    if (mvcc) {
        UnregisterSnapshot(snapshot);
    }
    index_close(index, AccessShareLock);
    if (found) {
        read(row);
    }
    return found;
}

bool Live::find_id_with(const core::Uuid &id, Row &row, Sight sight) {
    std::array keys{pg::key_equal(1, F_UUID_EQ, UUIDOID, pg::DatumOf<core::Uuid>::make(id))};
    return scan_one("jobs_pkey", keys.data(), 1, row, sight);
}

bool Live::find_key_with(const Key &key, Row &row, Sight sight) {
    std::array keys{
        pg::key_equal(1, F_TEXTEQ, TEXTOID, pg::DatumOf<std::string_view>::make(key.name)),
        pg::key_equal(2, F_TEXTEQ, TEXTOID, pg::DatumOf<std::string_view>::make(key.tenant_id)),
        pg::key_equal(3, F_TEXTEQ, TEXTOID,
                      pg::DatumOf<std::string_view>::make(key.idempotency_key))};
    return scan_one("jobs_dedupe", keys.data(), 3, row, sight);
}

bool Live::find(const core::Uuid &id, Row &row) {
    return find_id_with(id, row, Sight::now) || find_id_with(id, row, Sight::fresh);
}

bool Live::find(const Key &key, Row &row) {
    return find_key_with(key, row, Sight::now);
}

bool Live::find_fresh(const Key &key, Row &row) {
    return find_key_with(key, row, Sight::fresh);
}

void Live::insert(const Row &row) {
    table_.insert(values_of(row), nulls_of(row));
}

bool Live::insert_unless_taken(const Row &row, List *arbiters, bool (*veto)(void *),
                               void *veto_argument) {
    return table_.insert_unless_taken(values_of(row), nulls_of(row), arbiters, veto, veto_argument);
}

bool Live::wait_for_key(const Row &row, List *arbiters) {
    return table_.wait_for_key(values_of(row), nulls_of(row), arbiters);
}

WriteResult Live::update(const Row &row, Wait wait) {
    return table_.update(tid(), values_of(row), nulls_of(row), wait);
}

WriteResult Live::lock(Row &row) {
    const WriteResult result = table_.lock(tid());
    if (result == WriteResult::done) {
        read(row);
    }
    return result;
}

List *Live::key_arbiters() {
    return table_.unique_indexes_on(static_cast<AttrNumber>(Column::name) + 1);
}

List *Live::key_and_id_arbiters() {
    return list_concat(key_arbiters(),
                       table_.unique_indexes_on(static_cast<AttrNumber>(Column::id) + 1));
}

}  // namespace x_jobs::store
