// See index_entries.hpp.
#include "store/index_entries.hpp"

#include <algorithm>

#include "pg/compat.hpp"

namespace x_jobs::store {

namespace {

constexpr AttrNumber kUnknown = -1;

bool has_expression(Relation index) {
    for (int i = 0; i < index->rd_index->indnkeyatts; ++i) {
        if (index->rd_index->indkey.values[i] <= 0) {
            return true;
        }
    }
    return false;
}

// The column of a predicate NOT column, 0 for no predicate, kUnknown for any other.
AttrNumber column_of_predicate(Relation index) {
    if (heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr)) {
        return 0;
    }
    const List *predicate =
        index->rd_indpred != NIL ? index->rd_indpred : RelationGetIndexPredicate(index);
    if (list_length(predicate) != 1 || !IsA(linitial(predicate), BoolExpr)) {
        return kUnknown;
    }
    const auto *expression = static_cast<const BoolExpr *>(linitial(predicate));
    if (expression->boolop != NOT_EXPR || !IsA(linitial(expression->args), Var)) {
        return kUnknown;
    }
    return static_cast<const Var *>(linitial(expression->args))->varattno;
}

}  // namespace

IndexEntries IndexEntries::open(Relation relation) {
    IndexEntries entries;
    List *oids = RelationGetIndexList(relation);
    ListCell *cell = nullptr;
    foreach (cell, oids) {
        Relation index = index_open(lfirst_oid(cell), RowExclusiveLock);
        if (!index->rd_index->indisready) {
            index_close(index, NoLock);
            continue;
        }
        const bool known = index->rd_rel->relam == BTREE_AM_OID && !has_expression(index) &&
                           index->rd_index->indimmediate;
        const AttrNumber unless = known ? column_of_predicate(index) : kUnknown;
        entries.plain_ = entries.plain_ && unless != kUnknown;
        entries.indexes_.push({index, unless});
    }
    list_free(oids);
    // What the access method is told about the index; a B-tree asks for none of it.
    entries.info_ = makeNode(IndexInfo);
    return entries;
}

void IndexEntries::close() {
    for (const Index &index : indexes_) {
        index_close(index.relation, RowExclusiveLock);
    }
    indexes_.clear();
}

bool IndexEntries::enter_one(Relation relation, const Index &index, std::span<const Datum> values,
                             std::span<const bool> nulls, ItemPointer tid, IndexUniqueCheck check) {
    if (index.unless != 0) {
        const auto column = static_cast<std::size_t>(index.unless - 1);
        if (nulls[column] || DatumGetBool(values[column])) {
            return true;
        }
    }
    Datum entry[INDEX_MAX_KEYS];
    bool entry_nulls[INDEX_MAX_KEYS];
    for (int i = 0; i < index.relation->rd_index->indnatts; ++i) {
        const auto column =
            static_cast<std::size_t>(index.relation->rd_index->indkey.values[i] - 1);
        entry[i] = values[column];
        entry_nulls[i] = nulls[column];
    }
    return index_insert(index.relation, entry, entry_nulls, tid, relation, check, false, info_);
}

void IndexEntries::enter(Relation relation, std::span<const Datum> values,
                         std::span<const bool> nulls, ItemPointer tid) {
    enter_others(relation, values, nulls, tid, NIL);
}

bool IndexEntries::enter_arbiters(Relation relation, std::span<const Datum> values,
                                  std::span<const bool> nulls, ItemPointer tid,
                                  const List *arbiters) {
    return std::all_of(indexes_.begin(), indexes_.end(), [&](const Index &index) {
        return !list_member_oid(arbiters, RelationGetRelid(index.relation)) ||
               enter_one(relation, index, values, nulls, tid, UNIQUE_CHECK_PARTIAL);
    });
}

void IndexEntries::enter_others(Relation relation, std::span<const Datum> values,
                                std::span<const bool> nulls, ItemPointer tid,
                                const List *arbiters) {
    for (const Index &index : indexes_) {
        if (!list_member_oid(arbiters, RelationGetRelid(index.relation))) {
            const bool unique = index.relation->rd_index->indisunique;
            enter_one(relation, index, values, nulls, tid,
                      unique ? UNIQUE_CHECK_YES : UNIQUE_CHECK_NO);
        }
    }
}

List *IndexEntries::unique_on(AttrNumber first_column) const {
    List *found = NIL;
    for (const Index &index : indexes_) {
        if (index.relation->rd_index->indisunique &&
            index.relation->rd_index->indkey.values[0] == first_column) {
            found = lappend_oid(found, RelationGetRelid(index.relation));
        }
    }
    return found;
}

}  // namespace x_jobs::store
