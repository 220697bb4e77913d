// See table.hpp. Every write ends with a new command, so that what one call wrote the next one
// sees, in the same statement too.
#include "store/table.hpp"

#include "store/relations.hpp"

namespace x_jobs::store {

Table Table::open(const char *name, int columns) {
    Table table;
    table.relation_ = open_for_write(name, columns);
    table.columns_ = columns;
    table.read_slot_ = table_slot_create(table.relation_, nullptr);
    return table;
}

void Table::close() {
    if (result_info_ != nullptr) {
        ExecCloseIndices(result_info_);
        FreeExecutorState(estate_);
        result_info_ = nullptr;
        estate_ = nullptr;
    }
    if (write_slot_ != nullptr) {
        ExecDropSingleTupleTableSlot(write_slot_);
        write_slot_ = nullptr;
    }
    ExecDropSingleTupleTableSlot(read_slot_);
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
    for (int i = 0; i < columns_; ++i) {
        write_slot_->tts_values[i] = values[static_cast<std::size_t>(i)];
        write_slot_->tts_isnull[i] = nulls[static_cast<std::size_t>(i)];
    }
    ExecStoreVirtualTuple(write_slot_);
}

void Table::prepare_indexes() {
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

void Table::insert(std::span<const Datum> values, std::span<const bool> nulls) {
    prepare_indexes();
    fill(values, nulls);
    table_tuple_insert(relation_, write_slot_, GetCurrentCommandId(true), 0, nullptr);
    if (result_info_->ri_NumIndices > 0) {
        list_free(pg::compat::insert_index_entries(result_info_, write_slot_, estate_, false, false,
                                                   nullptr, NIL, false));
    }
    CommandCounterIncrement();
}

List *Table::unique_indexes_on(AttrNumber first_column) {
    prepare_indexes();
    List *found = NIL;
    for (int i = 0; i < result_info_->ri_NumIndices; ++i) {
        Relation index = result_info_->ri_IndexRelationDescs[i];
        if (index->rd_index->indisunique && index->rd_index->indkey.values[0] == first_column) {
            found = lappend_oid(found, RelationGetRelid(index));
        }
    }
    return found;
}

bool Table::insert_unless_taken(std::span<const Datum> values, std::span<const bool> nulls,
                                List *arbiters, bool (*veto)(void *), void *veto_argument) {
    prepare_indexes();
    fill(values, nulls);
    const uint32 token = SpeculativeInsertionLockAcquire(GetCurrentTransactionId());
    table_tuple_insert_speculative(relation_, write_slot_, GetCurrentCommandId(true), 0, nullptr,
                                   token);
    bool conflict = false;
    list_free(pg::compat::insert_index_entries(result_info_, write_slot_, estate_, false, true,
                                               &conflict, arbiters, false));
    const bool vetoed = !conflict && veto != nullptr && veto(veto_argument);
    const bool stands = !conflict && !vetoed;
    table_tuple_complete_speculative(relation_, write_slot_, token, stands);
    SpeculativeInsertionLockRelease(GetCurrentTransactionId());
    CommandCounterIncrement();
    return stands;
}

bool Table::wait_for_key(std::span<const Datum> values, std::span<const bool> nulls,
                         List *arbiters) {
    prepare_indexes();
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
    if (entries != pg::compat::NewIndexEntries::none) {
        prepare_indexes();
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
        table_tuple_lock(relation_, tid, SnapshotSelf, read_slot_, GetCurrentCommandId(true),
                         LockTupleNoKeyExclusive, LockWaitBlock, 0, &failure);
    return result == TM_Ok ? WriteResult::done : WriteResult::changed;
}

}  // namespace x_jobs::store
