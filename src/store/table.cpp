// See table.hpp. Every write ends with a new command, so that what one call wrote the next one
// sees, in the same statement too.
#include "store/table.hpp"

#include <algorithm>

#include "store/relations.hpp"

namespace x_jobs::store {

Table Table::open(const char *name, int columns) {
    Table table;
    table.relation_ = open_for_write(name, columns);
    table.columns_ = columns;
    return table;
}

TupleTableSlot *Table::read_slot() {
    if (read_slot_ == nullptr) {
        read_slot_ = table_slot_create(relation_, nullptr);
    }
    return read_slot_;
}

void Table::close() {
    insert_pending();
    if (result_info_ != nullptr) {
        ExecCloseIndices(result_info_);
        FreeExecutorState(estate_);
        result_info_ = nullptr;
        estate_ = nullptr;
    }
    if (indexes_open_) {
        indexes_.close();
        indexes_open_ = false;
    }
    if (write_slot_ != nullptr) {
        ExecDropSingleTupleTableSlot(write_slot_);
        write_slot_ = nullptr;
    }
    if (read_slot_ != nullptr) {
        ExecDropSingleTupleTableSlot(read_slot_);
        read_slot_ = nullptr;
    }
    for (TupleTableSlot *slot : batch_slots_) {
        ExecDropSingleTupleTableSlot(slot);
    }
    batch_slots_.clear();
    table_close(relation_, NoLock);
}

void Table::release() {
    Relation relation = relation_;
    RelationIncrementReferenceCount(relation);
    close();
    table_close(relation, RowExclusiveLock);
}

void Table::fill(std::span<const Datum> values, std::span<const bool> nulls) {
    if (write_slot_ == nullptr) {
        write_slot_ = MakeSingleTupleTableSlot(RelationGetDescr(relation_), &TTSOpsVirtual);
    }
    ExecClearTuple(write_slot_);
    std::copy(values.begin(), values.end(), write_slot_->tts_values);
    std::copy(nulls.begin(), nulls.end(), write_slot_->tts_isnull);
    ExecStoreVirtualTuple(write_slot_);
}

IndexEntries &Table::indexes() {
    if (!indexes_open_) {
        indexes_ = IndexEntries::open(relation_);
        indexes_open_ = true;
    }
    return indexes_;
}

void Table::prepare_executor() {
    if (result_info_ != nullptr) {
        ResetPerTupleExprContext(estate_);
        return;
    }
    estate_ = CreateExecutorState();
    MemoryContext caller = MemoryContextSwitchTo(estate_->es_query_cxt);
    result_info_ = makeNode(ResultRelInfo);
    InitResultRelInfo(result_info_, relation_, 1, nullptr, 0);
    ExecOpenIndices(result_info_, true);
    MemoryContextSwitchTo(caller);
}

// Enters the row in the write slot into the indexes.
void Table::enter(std::span<const Datum> values, std::span<const bool> nulls) {
    if (indexes().plain()) {
        indexes_.enter(relation_, values, nulls, &write_slot_->tts_tid);
        return;
    }
    prepare_executor();
    list_free(pg::compat::insert_index_entries(result_info_, write_slot_, estate_, false, false,
                                               nullptr, NIL, false));
}

bool Table::enter_unless_taken(std::span<const Datum> values, std::span<const bool> nulls,
                               List *arbiters) {
    if (indexes().plain()) {
        ItemPointer tid = &write_slot_->tts_tid;
        if (!indexes_.enter_arbiters(relation_, values, nulls, tid, arbiters)) {
            return false;
        }
        indexes_.enter_others(relation_, values, nulls, tid, arbiters);
        return true;
    }
    prepare_executor();
    bool conflict = false;
    list_free(pg::compat::insert_index_entries(result_info_, write_slot_, estate_, false, true,
                                               &conflict, arbiters, false));
    return !conflict;
}

void Table::insert(std::span<const Datum> values, std::span<const bool> nulls) {
    fill(values, nulls);
    table_tuple_insert(relation_, write_slot_, GetCurrentCommandId(true), 0, nullptr);
    enter(values, nulls);
    CommandCounterIncrement();
}

void Table::insert_later(std::span<const Datum> values, std::span<const bool> nulls) {
    if (!indexes().plain()) {
        insert(values, nulls);
        return;
    }
    put_into_batch(pending_, values, nulls);
    ++pending_;
    if (pending_ == kTogether) {
        insert_pending();
    }
}

void Table::insert_pending() {
    if (pending_ == 0) {
        return;
    }
    insert_batch(pending_);
    for (TupleTableSlot *slot : std::span{batch_slots_.begin(), pending_}) {
        slot_getallattrs(slot);
        const auto columns = static_cast<std::size_t>(columns_);
        indexes_.enter(relation_, {slot->tts_values, columns}, {slot->tts_isnull, columns},
                       &slot->tts_tid);
    }
    pending_ = 0;
    CommandCounterIncrement();
}

// The row is copied. A slot over the table's own description would be entered with the resource
// owner, where hundreds of the same one are slow to find.
void Table::put_into_batch(std::size_t n, std::span<const Datum> values,
                           std::span<const bool> nulls) {
    if (batch_row_ == nullptr) {
        batch_row_ = CreateTupleDescCopy(RelationGetDescr(relation_));
    }
    if (n == batch_slots_.size()) {
        batch_slots_.push(MakeSingleTupleTableSlot(batch_row_, &TTSOpsHeapTuple));
    }
    HeapTuple tuple = heap_form_tuple(batch_row_, const_cast<Datum *>(values.data()),
                                      const_cast<bool *>(nulls.data()));
    ExecStoreHeapTuple(tuple, batch_slots_[n], true);
}

// The first `count` of the batch, without their index entries.
void Table::insert_batch(std::size_t count) {
    const CommandId command = GetCurrentCommandId(true);
    if (count == 1) {
        table_tuple_insert(relation_, batch_slots_[0], command, 0, nullptr);
    } else {
        // It leaves behind whatever it allocates.
        MemoryContext scratch =
            AllocSetContextCreate(CurrentMemoryContext, "x_jobs batch", ALLOCSET_DEFAULT_SIZES);
        MemoryContext caller = MemoryContextSwitchTo(scratch);
        table_multi_insert(relation_, batch_slots_.begin(), static_cast<int>(count), command, 0,
                           nullptr);
        MemoryContextSwitchTo(caller);
        MemoryContextDelete(scratch);
    }
}

std::size_t Table::insert_until_taken(std::span<const RowView> rows,
                                      std::span<const std::size_t> order, List *arbiters) {
    if (!indexes().plain()) {
        return 0;
    }
    insert_pending();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        put_into_batch(i, rows[i].values, rows[i].nulls);
    }
    insert_batch(rows.size());
    const auto tid_of = [&](std::size_t n) { return &batch_slots_[n]->tts_tid; };
    std::size_t entered = 0;
    while (entered < order.size() &&
           indexes_.enter_arbiters(relation_, rows[order[entered]].values,
                                   rows[order[entered]].nulls, tid_of(order[entered]), arbiters)) {
        ++entered;
    }
    CommandCounterIncrement();
    // Rows that this command has inserted and nobody has seen.
    for (const std::size_t n : order.subspan(entered)) {
        remove(tid_of(n), Wait::yes);
        ItemPointerSetInvalid(tid_of(n));
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (ItemPointerIsValid(tid_of(i))) {
            indexes_.enter_others(relation_, rows[i].values, rows[i].nulls, tid_of(i), arbiters);
        }
    }
    return entered;
}

List *Table::unique_indexes_on(AttrNumber first_column) {
    return indexes().unique_on(first_column);
}

bool Table::insert_unless_taken(std::span<const Datum> values, std::span<const bool> nulls,
                                List *arbiters, bool (*veto)(void *), void *veto_argument) {
    fill(values, nulls);
    const uint32 token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
    table_tuple_insert_speculative(relation_, write_slot_, GetCurrentCommandId(true), 0, nullptr,
                                   token);
    const bool stands =
        enter_unless_taken(values, nulls, arbiters) && (veto == nullptr || !veto(veto_argument));
    table_tuple_complete_speculative(relation_, write_slot_, token, stands);
    SpeculativeInsertionLockRelease(GetCurrentTransactionId());
    CommandCounterIncrement();
    return stands;
}

bool Table::wait_for_key(std::span<const Datum> values, std::span<const bool> nulls,
                         List *arbiters) {
    prepare_executor();
    fill(values, nulls);
    ItemPointerData conflict;
    return pg::compat::check_constraints(result_info_, write_slot_, estate_, &conflict, arbiters);
}

WriteResult Table::update(ItemPointer tid, std::span<const Datum> values,
                          std::span<const bool> nulls, Wait wait) {
    fill(values, nulls);
    TM_FailureData failure;
    auto entries = pg::compat::NewIndexEntries::none;
    const TM_Result result =
        pg::compat::table_update(relation_, tid, write_slot_, GetCurrentCommandId(true),
                                 wait == Wait::yes, &failure, &entries);
    if (result != TM_Ok) {
        return WriteResult::changed;
    }
    if (entries == pg::compat::NewIndexEntries::all && indexes().plain()) {
        indexes_.enter(relation_, values, nulls, &write_slot_->tts_tid);
    } else if (entries != pg::compat::NewIndexEntries::none) {
        prepare_executor();
        // Entered as new: the server's hint about unchanged columns would ask for a range table
        // that a plan has.
        list_free(pg::compat::insert_index_entries(
            result_info_, write_slot_, estate_, false, false, nullptr, NIL,
            entries == pg::compat::NewIndexEntries::summarizing));
    }
    CommandCounterIncrement();
    return WriteResult::done;
}

WriteResult Table::remove(ItemPointer tid, Wait wait) {
    TM_FailureData failure;
    const TM_Result result =
        table_tuple_delete(relation_, tid, GetCurrentCommandId(true), SnapshotSelf, InvalidSnapshot,
                           wait == Wait::yes, &failure, false);
    if (result != TM_Ok) {
        return WriteResult::changed;
    }
    CommandCounterIncrement();
    return WriteResult::done;
}

WriteResult Table::lock(ItemPointer tid) {
    TM_FailureData failure;
    const TM_Result result =
        table_tuple_lock(relation_, tid, SnapshotSelf, read_slot(), GetCurrentCommandId(true),
                         LockTupleNoKeyExclusive, LockWaitBlock, 0, &failure);
    return result == TM_Ok ? WriteResult::done : WriteResult::changed;
}

}  // namespace x_jobs::store
