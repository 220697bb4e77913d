// The table of live jobs. Owns how a live row is found: by id, by idempotency key. A look-up reads
// the queue as it is now (SnapshotSelf), at every isolation level and without predicate locks; a
// row that moves while it is looked for is found by a second look with a fresh MVCC snapshot. Every
// change of a live row passes here, so here the heads are told of it.
#pragma once

#include <tuple>

#include "shmem/layout.hpp"
#include "store/row.hpp"
#include "store/table.hpp"

namespace x_jobs::store {

struct Key {
    std::string_view name;
    std::string_view tenant_id;
    std::string_view idempotency_key;
};

// In the order of the index that keeps them apart.
inline auto operator<=>(const Key &one, const Key &other) {
    return std::tie(one.idempotency_key, one.name, one.tenant_id) <=>
           std::tie(other.idempotency_key, other.name, other.tenant_id);
}
inline bool operator==(const Key &one, const Key &other) {
    return (one <=> other) == 0;
}

// The key of a row; nothing when it has none.
std::optional<Key> key_of(const Row &row);

class Live {
   public:
    static Live open();
    void close();
    void release();
    Table &table() { return table_; }

    // Finds the newest committed (or own) version of the row and reads it into `row`, whose values
    // stay readable until the next look-up. False when there is none.
    bool find(const core::Uuid &id, Row &row);
    bool find(const Key &key, Row &row);
    // The least key from there on that any index entry has, a dead one too; nothing when there is
    // none. Its text is made in the present memory context.
    std::optional<Key> next_key(const Key &from);
    // The same as find() with a fresh MVCC snapshot only.
    bool find_fresh(const Key &key, Row &row);

    // The position of the row that the last look-up, or read(), found.
    ItemPointer tid() { return &table_.read_slot()->tts_tid; }
    // By what the leases of this table's rows are watched.
    shmem::LeaseKey lease_key(const core::Uuid &id) const {
        return {id, MyDatabaseId, RelationGetRelid(table_.relation())};
    }
    // Whether another transaction is changing or locking the row that the read slot holds, so that
    // a claim would pass it over.
    bool is_taken_by_others();
    // Reads the row that the read slot holds.
    void read(Row &row);

    void insert(const Row &row);
    bool insert_unless_taken(const Row &row, List *arbiters, bool (*veto)(void *),
                             void *veto_argument);
    // See Table::insert_until_taken.
    std::size_t insert_until_taken(std::span<const Row *const> rows,
                                   std::span<const std::size_t> order, List *arbiters);
    bool wait_for_key(const Row &row, List *arbiters);
    WriteResult update(const Row &row, Wait wait);
    WriteResult remove(Wait wait);
    // Locks the found row until the end of the transaction and reads it again.
    WriteResult lock(Row &row);

    // Indexes that decide whether a row may enter.
    List *key_arbiters();
    List *key_and_id_arbiters();

   private:
    enum class Sight { now, fresh };
    bool find_id_with(const core::Uuid &id, Row &row, Sight sight);
    struct Held {
        core::Uuid id;
        std::int64_t claim;
    };
    Held held();
    void note_lease_ended(const Held &held);
    void note_touched();
    void note_state(const Row &row);
    bool find_key_with(const Key &key, Row &row, Sight sight);
    bool scan_now(IndexScanDesc &scan, const char *index_name, ScanKeyData *keys, int count,
                  Row &row);
    bool scan_fresh(const char *index_name, ScanKeyData *keys, int count, Row &row);
    void end_scans();

    Table table_;
    // Kept open from one look-up to the next.
    IndexScanDesc id_scan_ = nullptr;
    IndexScanDesc key_scan_ = nullptr;
};

static_assert(std::is_trivially_destructible_v<Live>);

}  // namespace x_jobs::store
