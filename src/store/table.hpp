// One open table of the extension: reading, inserting, updating and deleting rows through the
// access methods, with neither SPI nor planner. Knows nothing of what the rows mean. An open Table
// must not be copied past its close().
#pragma once

#include <span>

#include "pg/compat.hpp"
#include "pg/datum.hpp"
#include "store/index_entries.hpp"

namespace x_jobs::store {

enum class Wait { yes, no };

enum class WriteResult {
    done,
    changed,  // somebody else updated, deleted or (with Wait::no) is holding the row
};

// The values of one row, which somebody else holds.
struct RowView {
    std::span<const Datum> values;
    std::span<const bool> nulls;
};

// How many rows go in together: what a page-wise insertion gains is gained long before.
constexpr std::size_t kTogether = 200;

class Table {
   public:
    // The table keeps its lock to the end of the transaction unless it is closed with release().
    static Table open(const char *name, int columns);
    void close();
    // Closes and gives the lock back, for a caller that has written nothing and goes to sleep.
    void release();

    Relation relation() const { return relation_; }
    // Where look-ups leave the row that they found.
    TupleTableSlot *read_slot();
    int columns() const { return columns_; }

    // Inserts a row and its index entries.
    void insert(std::span<const Datum> values, std::span<const bool> nulls);
    // The same, at close() at the latest, together with others. For rows that nobody looks for
    // before.
    void insert_later(std::span<const Datum> values, std::span<const bool> nulls);

    // Inserts rows in their order, a page at a time, which is far cheaper than one by one, and
    // enters them into the indexes in `arbiters` in the order of the numbers in `order`, until one
    // of these may hold a row's keys already. The number of rows that are in; the others of `order`
    // are not. At most kTogether rows.
    std::size_t insert_until_taken(std::span<const RowView> rows,
                                   std::span<const std::size_t> order, List *arbiters);

    // Inserts unless an index in `arbiters` (a list of oids) holds its keys already; `veto` is
    // asked once the row's entries stand and before others can rely on it. Answers whether the row
    // is in.
    bool insert_unless_taken(std::span<const Datum> values, std::span<const bool> nulls,
                             List *arbiters, bool (*veto)(void *), void *veto_argument);

    // Every unique index whose first column is the given one, twins that REINDEX CONCURRENTLY is
    // building included: all of them decide whether a row may enter.
    List *unique_indexes_on(AttrNumber first_column);

    // Waits until no unfinished transaction holds one of the row's keys; false when a committed row
    // does.
    bool wait_for_key(std::span<const Datum> values, std::span<const bool> nulls, List *arbiters);

    WriteResult update(ItemPointer tid, std::span<const Datum> values, std::span<const bool> nulls,
                       Wait wait);
    WriteResult remove(ItemPointer tid, Wait wait);

    // Locks the row FOR NO KEY UPDATE, waiting for others; `changed` when it is not the newest
    // version any more.
    WriteResult lock(ItemPointer tid);

   private:
    IndexEntries &indexes();
    void prepare_executor();
    void insert_pending();
    void enter(std::span<const Datum> values, std::span<const bool> nulls);
    bool enter_unless_taken(std::span<const Datum> values, std::span<const bool> nulls,
                            List *arbiters);
    void fill(std::span<const Datum> values, std::span<const bool> nulls);
    void put_into_batch(std::size_t n, std::span<const Datum> values, std::span<const bool> nulls);
    void insert_batch(std::size_t count);

    Relation relation_ = nullptr;
    TupleTableSlot *read_slot_ = nullptr;
    TupleTableSlot *write_slot_ = nullptr;
    // For rows that go in together, used again and again; those in front are pending.
    pg::Array<TupleTableSlot *> batch_slots_;
    TupleDesc batch_row_ = nullptr;
    std::size_t pending_ = 0;
    IndexEntries indexes_;
    bool indexes_open_ = false;
    // Only for tables with indexes of a kind that IndexEntries does not know, and for waiting.
    EState *estate_ = nullptr;
    ResultRelInfo *result_info_ = nullptr;
    int columns_ = 0;
};

static_assert(std::is_trivially_destructible_v<Table>);

}  // namespace x_jobs::store
