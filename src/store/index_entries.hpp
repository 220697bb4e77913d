// Entering a row into the indexes of its table without the executor, whose preparations (an
// expression compiled for each predicate, an executor state) would cost more than the entries. It
// knows B-trees on plain columns whose predicate, if any, asks for a column to be false or to be
// one of some texts; a table with any other index is left to the executor (see Table).
#pragma once

#include <span>

#include "pg/array.hpp"

namespace x_jobs::store {

class IndexEntries {
   public:
    // Opens the table's indexes; `plain` tells whether every one is of a known kind.
    static IndexEntries open(Relation relation);
    void close();
    bool plain() const { return plain_; }

    // Enters the row at `tid` into every index that takes it, and waits where a unique index holds
    // its key already.
    void enter(Relation relation, std::span<const Datum> values, std::span<const bool> nulls,
               ItemPointer tid);
    // In two steps: first into the unique indexes in `arbiters` (a list of oids), which are not
    // waited for: false when one may hold the key already, and the row must be taken back; then
    // into the others.
    bool enter_arbiters(Relation relation, std::span<const Datum> values,
                        std::span<const bool> nulls, ItemPointer tid, const List *arbiters);
    void enter_others(Relation relation, std::span<const Datum> values, std::span<const bool> nulls,
                      ItemPointer tid, const List *arbiters);

    // The unique indexes whose first column is the given one.
    List *unique_on(AttrNumber first_column) const;

   private:
    // What a predicate asks of a row.
    enum class Condition {
        none,
        is_false,   // NOT column
        is_one_of,  // column = 'text', column IN ('text', …)
        unknown,
    };
    struct Index {
        Relation relation;
        Condition condition;
        AttrNumber column;
        // A text, or an array of texts.
        const Const *wanted;
    };
    static Index describe(Relation index);
    static void describe_comparison(const Node *expression, Index &described);
    static bool takes(const Index &index, std::span<const Datum> values,
                      std::span<const bool> nulls);

    bool enter_one(Relation relation, const Index &index, std::span<const Datum> values,
                   std::span<const bool> nulls, ItemPointer tid, IndexUniqueCheck check);

    pg::Array<Index> indexes_;
    IndexInfo *info_ = nullptr;
    bool plain_ = true;
};

}  // namespace x_jobs::store
