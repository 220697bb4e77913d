// See queues.hpp.
#include "store/queues.hpp"

#include "clock/clock.hpp"
#include "pg/scan_key.hpp"
#include "store/mirror.hpp"
#include "store/relations.hpp"
#include "store/table.hpp"

namespace x_jobs::store {

namespace {

constexpr int kQueueColumns = 5;

enum class Found { nothing, unfinished, committed };

// Sees unfinished inserts too, so that a new queue is made once and not at every enqueue until the
// first commits.
Found look_for(Table &queues, Datum name) {
    SnapshotData dirty;
    InitDirtySnapshot(dirty);
    Relation index = index_open(relation_named("queues_pkey"), AccessShareLock);
    IndexScanDesc scan = pg::compat::begin_index_scan(queues.relation(), index, &dirty, 1);
    ScanKeyData key = pg::key_equal(1, F_TEXTEQ, TEXTOID, name);
    index_rescan(scan, &key, 1, nullptr, 0);
    Found found = Found::nothing;
    if (index_getnext_slot(scan, ForwardScanDirection, queues.read_slot())) {
        bool is_null = false;
        const Datum maker =
            slot_getsysattr(queues.read_slot(), MinTransactionIdAttributeNumber, &is_null);
        const bool unfinished = TransactionIdIsValid(dirty.xmin) ||
                                TransactionIdIsCurrentTransactionId(DatumGetTransactionId(maker));
        found = unfinished ? Found::unfinished : Found::committed;
    }
    index_endscan(scan);
    index_close(index, AccessShareLock);
    return found;
}

}  // namespace

void ensure_queue(std::string_view queue) {
    if (mirror::find_queue(queue) != nullptr) {
        return;
    }
    Table queues = Table::open("queues", kQueueColumns);
    const Datum name = pg::DatumOf<std::string_view>::make(queue);
    switch (look_for(queues, name)) {
        case Found::nothing: {
            const Datum values[kQueueColumns] = {name,
                                                 pg::DatumOf<core::Timestamp>::make(clock::now())};
            const bool nulls[kQueueColumns] = {false, false, true, true, true};
            queues.insert_unless_taken(values, nulls, queues.unique_indexes_on(1), nullptr,
                                       nullptr);
            break;
        }
        case Found::committed:
            // Nobody is told of a new queue; each backend finds it once.
            mirror::remember_queue(queue);
            break;
        case Found::unfinished:
            break;
    }
    queues.close();
}

}  // namespace x_jobs::store
