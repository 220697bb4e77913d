// _x_jobs.open_places: what the heads of this database's queues say, for people who look for the
// reason of a slow claim, and for the tests that hold it against the table.
#include "heads/look.hpp"
#include "pg/rows.hpp"

namespace x_jobs::heads {

namespace {

struct Shown {
    std::string_view queue;
    core::PlaceRange range;
};

// Copies one slot's open places; nothing of another database.
void copy_slot(shmem::QueueSlot &slot, pg::Array<Shown> &shown) {
    auto *open = static_cast<core::Heads::Open *>(palloc(sizeof(core::Heads::Open)));
    auto *name = static_cast<shmem::QueueKey *>(palloc(sizeof(shmem::QueueKey)));
    LWLockAcquire(slot.lock, LW_SHARED);
    const bool ours =
        pg_atomic_read_u64(&slot.generation) != 0 && slot.key.database == MyDatabaseId;
    if (ours) {
        *open = slot.heads.open();
        *name = slot.key;
    }
    LWLockRelease(slot.lock);
    if (!ours) {
        return;
    }
    const std::string_view queue{name->name.data()};
    for (const core::PlaceRange &range : open->ranges()) {
        shown.push({queue, range});
    }
    if (open->empty()) {
        // Known, and closed everywhere.
        shown.push({queue, {}});
    }
}

Datum open_places(pg::Call call) {
    pg::RowWriter rows(call);
    pg::Array<Shown> shown;
    shmem::Shared *shared = shmem::pointer();
    for (int i = 0; shared != nullptr && i < shared->slot_count; ++i) {
        CHECK_FOR_INTERRUPTS();
        if (pg_atomic_read_u64(&shared->slots[i].generation) != 0) {
            copy_slot(shared->slots[i], shown);
        }
    }
    for (const Shown &one : shown) {
        const bool closed = one.range.empty();
        const auto place = [&](const core::Place &from, auto field) {
            return closed ? pg::NullableValue{} : pg::to_nullable(std::optional{field(from)});
        };
        const auto priority = [](const core::Place &from) { return from.priority; };
        const auto run_at = [](const core::Place &from) { return from.run_at; };
        const auto id = [](const core::Place &from) { return from.id; };
        rows.write(std::array{pg::to_nullable(std::optional{one.queue}),
                              place(one.range.begin, priority), place(one.range.begin, run_at),
                              place(one.range.begin, id), place(one.range.end, priority),
                              place(one.range.end, run_at), place(one.range.end, id)});
    }
    return Datum{0};
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_open_places, open_places)

}  // namespace x_jobs::heads
