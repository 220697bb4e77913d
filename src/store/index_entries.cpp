// See index_entries.hpp.
#include "store/index_entries.hpp"

#include <algorithm>

#include "pg/array.hpp"
#include "pg/compat.hpp"
#include "pg/scan_key.hpp"

namespace x_jobs::store {

namespace {

bool has_expression(Relation index) {
    for (int i = 0; i < index->rd_index->indnkeyatts; ++i) {
        if (index->rd_index->indkey.values[i] <= 0) {
            return true;
        }
    }
    return false;
}

bool is_text_column(const Node *node) {
    return IsA(node, Var) && reinterpret_cast<const Var *>(node)->vartype == TEXTOID;
}

bool same_text(Datum one, Datum other) {
    return pg::DatumOf<std::string_view>::read(one) == pg::DatumOf<std::string_view>::read(other);
}

bool is_among(Datum value, ArrayType *texts) {
    const pg::Elements elements = pg::elements_of(pg::ArrayRef{PointerGetDatum(texts)});
    return std::any_of(elements.values.begin(), elements.values.end(),
                       [&](Datum text) { return same_text(value, text); });
}

}  // namespace

// column = 'text' and column = ANY ('{text,…}'), in the C collation of all text of the extension.
void IndexEntries::describe_comparison(const Node *expression, Index &described) {
    const List *arguments = NIL;
    if (IsA(expression, OpExpr) &&
        reinterpret_cast<const OpExpr *>(expression)->opfuncid == F_TEXTEQ) {
        arguments = reinterpret_cast<const OpExpr *>(expression)->args;
    } else if (IsA(expression, ScalarArrayOpExpr) &&
               reinterpret_cast<const ScalarArrayOpExpr *>(expression)->useOr &&
               reinterpret_cast<const ScalarArrayOpExpr *>(expression)->opfuncid == F_TEXTEQ) {
        arguments = reinterpret_cast<const ScalarArrayOpExpr *>(expression)->args;
    }
    if (list_length(arguments) != 2 ||
        !is_text_column(static_cast<const Node *>(linitial(arguments))) ||
        !IsA(lsecond(arguments), Const) || castNode(Const, lsecond(arguments))->constisnull) {
        return;
    }
    described.condition = Condition::is_one_of;
    described.column = castNode(Var, linitial(arguments))->varattno;
    described.wanted = castNode(Const, lsecond(arguments));
}

IndexEntries::Index IndexEntries::describe(Relation index) {
    Index described{index, Condition::unknown, 0, nullptr};
    if (index->rd_rel->relam != BTREE_AM_OID || has_expression(index) ||
        !index->rd_index->indimmediate || index->rd_index->indisexclusion) {
        return described;
    }
    if (heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, nullptr)) {
        described.condition = Condition::none;
        return described;
    }
    const List *predicate =
        index->rd_indpred != NIL ? index->rd_indpred : RelationGetIndexPredicate(index);
    if (list_length(predicate) != 1) {
        return described;
    }
    const auto *expression = static_cast<const Node *>(linitial(predicate));
    if (is_notclause(expression)) {
        const auto *column =
            static_cast<const Node *>(linitial(castNode(BoolExpr, linitial(predicate))->args));
        if (IsA(column, Var)) {
            described.condition = Condition::is_false;
            described.column = reinterpret_cast<const Var *>(column)->varattno;
        }
        return described;
    }
    describe_comparison(expression, described);
    return described;
}

bool IndexEntries::takes(const Index &index, std::span<const Datum> values,
                         std::span<const bool> nulls) {
    if (index.condition == Condition::none) {
        return true;
    }
    const auto column = static_cast<std::size_t>(index.column - 1);
    if (nulls[column]) {
        return false;
    }
    if (index.condition == Condition::is_false) {
        return !DatumGetBool(values[column]);
    }
    return index.wanted->consttype == TEXTOID
               ? same_text(values[column], index.wanted->constvalue)
               : is_among(values[column], DatumGetArrayTypeP(index.wanted->constvalue));
}

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
        const Index described = describe(index);
        entries.plain_ = entries.plain_ && described.condition != Condition::unknown;
        entries.indexes_.push(described);
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
    if (!takes(index, values, nulls)) {
        return true;
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
