// See live.hpp.
#include "store/live.hpp"

#include "heads/notes.hpp"
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

core::Place place_of(std::span<const Datum> values) {
    const auto at = [&](Column column) { return values[static_cast<std::size_t>(column)]; };
    return {DatumGetInt16(at(Column::priority)),
            core::Timestamp{DatumGetTimestampTz(at(Column::run_at))},
            pg::DatumOf<core::Uuid>::read(at(Column::id))};
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

void Live::end_scans() {
    for (IndexScanDesc *scan : {&id_scan_, &key_scan_}) {
        if (*scan != nullptr) {
            Relation index = (*scan)->indexRelation;
            index_endscan(*scan);
            index_close(index, AccessShareLock);
            *scan = nullptr;
        }
    }
}

void Live::close() {
    end_scans();
    table_.close();
}

void Live::release() {
    end_scans();
    table_.release();
}

bool Live::scan_now(IndexScanDesc &scan, const char *index_name, ScanKeyData *keys, int count,
                    Row &row) {
    if (scan == nullptr) {
        Relation index = index_open(relation_named(index_name), AccessShareLock);
        scan = pg::compat::begin_index_scan(table_.relation(), index, SnapshotSelf, count);
    }
    index_rescan(scan, keys, count, nullptr, 0);
    const bool found = index_getnext_slot(scan, ForwardScanDirection, table_.read_slot());
    if (found) {
        read(row);
    }
    return found;
}

bool Live::scan_fresh(const char *index_name, ScanKeyData *keys, int count, Row &row) {
    Relation index = index_open(relation_named(index_name), AccessShareLock);
    // A serializable transaction would take predicate locks with an MVCC snapshot, and fail for
    // reading a queue.
    const bool mvcc = !IsolationIsSerializable();
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
    return sight == Sight::now ? scan_now(id_scan_, "jobs_pkey", keys.data(), 1, row)
                               : scan_fresh("jobs_pkey", keys.data(), 1, row);
}

bool Live::find_key_with(const Key &key, Row &row, Sight sight) {
    std::array keys{
        pg::key_equal(1, F_TEXTEQ, TEXTOID,
                      pg::DatumOf<std::string_view>::make(key.idempotency_key)),
        pg::key_equal(2, F_TEXTEQ, TEXTOID, pg::DatumOf<std::string_view>::make(key.name)),
        pg::key_equal(3, F_TEXTEQ, TEXTOID, pg::DatumOf<std::string_view>::make(key.tenant_id))};
    return sight == Sight::now ? scan_now(key_scan_, "jobs_dedupe", keys.data(), 3, row)
                               : scan_fresh("jobs_dedupe", keys.data(), 3, row);
}

std::optional<Key> Live::next_key(const Key &from) {
    // The scan keeps a pointer to the members for as long as it reads.
    std::array<ScanKeyData, 3> members{
        pg::row_member(1, F_BTTEXTCMP, pg::DatumOf<std::string_view>::make(from.idempotency_key),
                       TEXTOID),
        pg::row_member(2, F_BTTEXTCMP, pg::DatumOf<std::string_view>::make(from.name), TEXTOID),
        pg::row_member(3, F_BTTEXTCMP, pg::DatumOf<std::string_view>::make(from.tenant_id),
                       TEXTOID)};
    ScanKeyData key = pg::row_from(members.data(), 3);
    Relation index = index_open(relation_named("jobs_dedupe"), AccessShareLock);
    IndexScanDesc scan = pg::compat::begin_index_scan(table_.relation(), index, SnapshotSelf, 1);
    scan->xs_want_itup = true;
    index_rescan(scan, &key, 1, nullptr, 0);
    std::optional<Key> next;
    if (index_getnext_tid(scan, ForwardScanDirection) != nullptr) {
        const auto column = [&](AttrNumber number) {
            const auto text = pg::DatumOf<std::string_view>::read(pg::entry_column(scan, number));
            return std::string_view{pnstrdup(text.data(), text.size()), text.size()};
        };
        // Entries without a key come behind all others, and a comparison of rows finds none.
        next = Key{column(2), column(3), column(1)};
    }
    index_endscan(scan);
    index_close(index, AccessShareLock);
    return next;
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

// The row in the read slot, before it is touched.
void Live::note_touched() {
    const std::span<const Datum> values{table_.read_slot()->tts_values,
                                        static_cast<std::size_t>(kLiveColumns)};
    const auto queue =
        pg::DatumOf<std::string_view>::read(values[static_cast<std::size_t>(Column::queue)]);
    heads::note_touched(RelationGetRelid(table_.relation()), queue, place_of(values));
}

// By which claim the row in the read slot is held; 0 when it does not run.
Live::Held Live::held() {
    const auto at = [&](Column column) {
        return table_.read_slot()->tts_values[static_cast<std::size_t>(column)];
    };
    const bool runs = pg::DatumOf<std::string_view>::read(at(Column::state)) ==
                      core::name_of(core::State::running);
    return {pg::DatumOf<core::Uuid>::read(at(Column::id)),
            runs ? DatumGetInt64(at(Column::claim)) : 0};
}

void Live::note_lease_ended(const Held &held) {
    if (held.claim != 0) {
        heads::note_lease_ended(RelationGetRelid(table_.relation()), held.id, held.claim);
    }
}

// A row that was written: it can be claimed, or runs under a lease.
void Live::note_state(const Row &row) {
    const Oid relation = RelationGetRelid(table_.relation());
    const core::Place place = place_of(values_of(row));
    const auto visible_at = row.optional<core::Timestamp>(Column::visible_at);
    if (row.state() != core::State::running || !visible_at) {
        heads::note_claimable(relation, row.queue(), place);
        return;
    }
    heads::note_running(relation, row.queue(), place, row.id(), row.claim(), *visible_at);
}

void Live::insert(const Row &row) {
    table_.insert(values_of(row), nulls_of(row));
    note_state(row);
}

bool Live::insert_unless_taken(const Row &row, List *arbiters, bool (*veto)(void *),
                               void *veto_argument) {
    const bool stands =
        table_.insert_unless_taken(values_of(row), nulls_of(row), arbiters, veto, veto_argument);
    if (stands) {
        note_state(row);
    }
    return stands;
}

std::size_t Live::insert_until_taken(std::span<const Row *const> rows,
                                     std::span<const std::size_t> order, List *arbiters) {
    pg::Array<RowView> views;
    for (const Row *row : rows) {
        views.push({values_of(*row), nulls_of(*row)});
    }
    const std::size_t entered =
        table_.insert_until_taken({views.begin(), views.size()}, order, arbiters);
    for (const std::size_t n : order.first(entered)) {
        note_state(*rows[n]);
    }
    return entered;
}

bool Live::wait_for_key(const Row &row, List *arbiters) {
    return table_.wait_for_key(values_of(row), nulls_of(row), arbiters);
}

WriteResult Live::update(const Row &row, Wait wait) {
    note_touched();
    const Held held_before = held();
    const WriteResult result = table_.update(tid(), values_of(row), nulls_of(row), wait);
    if (result == WriteResult::done) {
        if (row.state() != core::State::running) {
            note_lease_ended(held_before);
        }
        note_state(row);
    }
    return result;
}

WriteResult Live::remove(Wait wait) {
    note_touched();
    const Held held_before = held();
    const WriteResult result = table_.remove(tid(), wait);
    if (result == WriteResult::done) {
        note_lease_ended(held_before);
    }
    return result;
}

WriteResult Live::lock(Row &row) {
    const WriteResult result = table_.lock(tid());
    if (result == WriteResult::done) {
        read(row);
    }
    return result;
}

List *Live::key_arbiters() {
    return table_.unique_indexes_on(static_cast<AttrNumber>(Column::idempotency_key) + 1);
}

List *Live::key_and_id_arbiters() {
    return list_concat(key_arbiters(),
                       table_.unique_indexes_on(static_cast<AttrNumber>(Column::id) + 1));
}

}  // namespace x_jobs::store
