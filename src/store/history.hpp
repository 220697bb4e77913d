// Finished rows. Owns which leaf takes a row, and that an id found in no leaf is in none: leaves
// are searched one by one, since a finished row is looked for only by people and by callers who
// bring their own ids.
#pragma once

#include "core/ring.hpp"
#include "store/records.hpp"
#include "store/row.hpp"
#include "store/table.hpp"

namespace x_jobs::store {

// Appends rows; keeps the leaf of the last one open, since neighbours in time go to the same leaf.
class HistoryWriter {
   public:
    // Sets the row's segment and appends it. Its finished_at, purge_at, result and reason are set
    // already.
    void append(Row &row);
    // Where the ended attempts are counted.
    TallyWriter &tally() { return tally_; }
    void close();

   private:
    bool open_ = false;
    int leaf_ = core::kKeepLeaf;
    Table table_;
    TallyWriter tally_;
};

// One finished row, open for removal.
class HistoryRow {
   public:
    // Finds the row of the id in any leaf and reads it; false when there is none. Close it only if
    // it was found.
    bool find(const core::Uuid &id, Row &row);
    WriteResult remove() { return table_.remove(&table_.read_slot()->tts_tid, Wait::yes); }
    void close() { table_.close(); }

   private:
    Table table_;
};

// Whether any leaf holds the id, seen with a snapshot newer than every write of this transaction.
bool history_holds(const core::Uuid &id);

}  // namespace x_jobs::store
