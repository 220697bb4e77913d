// See mirror.hpp. Each mirror has a memory context of its own, reset at every reload. A reload
// counts only if no invalidation came in while it ran.
#include "store/mirror.hpp"

#include <algorithm>

#include "pg/function.hpp"
#include "pg/rows.hpp"
#include "store/relations.hpp"

namespace x_jobs::store::mirror {

namespace {

struct Source {
    const char *table;
    Oid relation = InvalidOid;
    std::uint64_t changes = 1;
    std::uint64_t loaded = 0;
    MemoryContext context = nullptr;
};

Source queue_source{"queues"};
Source grant_source{"grants"};
Source ring_source{"history_leaves"};
Source turn_source{"tally_turn"};

pg::Array<Queue> queue_mirror;
bool queue_mirror_sorted = false;
pg::Array<Grant> grant_mirror;
core::Ring ring_mirror;
int turn_mirror = 0;

void drop(Source &source, Oid relation) {
    if (!OidIsValid(relation) || relation == source.relation) {
        ++source.changes;
    }
}

void on_invalidation(Datum, Oid relation) {
    drop(queue_source, relation);
    drop(grant_source, relation);
    drop(ring_source, relation);
    drop(turn_source, relation);
}

// Calls `take` for each row of the source, in its memory context, until a whole pass saw no
// invalidation.
template <typename Start, typename Take>
void load(Source &source, Start start, Take take) {
    while (source.loaded != source.changes) {
        if (source.context == nullptr) {
            source.context =
                AllocSetContextCreate(TopMemoryContext, "x_jobs mirror", ALLOCSET_SMALL_SIZES);
        }
        source.relation = relation_named(source.table);
        Relation relation = table_open(source.relation, AccessShareLock);
        // What comes in from here on belongs to changes that the scan may have missed.
        const std::uint64_t seen = source.changes;
        MemoryContextReset(source.context);
        start();
        TupleTableSlot *slot = table_slot_create(relation, nullptr);
        TableScanDesc scan = table_beginscan(relation, SnapshotSelf, 0, nullptr);
        while (table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
            slot_getallattrs(slot);
            MemoryContext caller = MemoryContextSwitchTo(source.context);
            take(slot);
            MemoryContextSwitchTo(caller);
        }
        table_endscan(scan);
        ExecDropSingleTupleTableSlot(slot);
        table_close(relation, AccessShareLock);
        source.loaded = seen;
    }
}

std::string_view kept_text(TupleTableSlot *slot, int column) {
    if (slot->tts_isnull[column]) {
        return {};
    }
    const auto value = pg::DatumOf<std::string_view>::read(slot->tts_values[column]);
    return {pnstrdup(value.data(), value.size()), value.size()};
}

Capability capability_named(std::string_view name) {
    if (name == "producer") {
        return Capability::producer;
    }
    return name == "worker" ? Capability::worker : Capability::operate;
}

}  // namespace

void initialise() {
    CacheRegisterRelcacheCallback(on_invalidation, Datum{0});
}

void refresh() {
    AcceptInvalidationMessages();
}

const Queue *find_queue(std::string_view name) {
    load(
        queue_source,
        [] {
            queue_mirror = pg::Array<Queue>(queue_source.context);
            queue_mirror_sorted = false;
        },
        [](TupleTableSlot *slot) {
            queue_mirror.push({kept_text(slot, 0), !slot->tts_isnull[2]});
        });
    const auto by_name = [](const Queue &one, const Queue &other) { return one.name < other.name; };
    if (!queue_mirror_sorted) {
        std::sort(queue_mirror.begin(), queue_mirror.end(), by_name);
        queue_mirror_sorted = true;
    }
    const Queue *found =
        std::lower_bound(queue_mirror.begin(), queue_mirror.end(), Queue{name, false}, by_name);
    return found == queue_mirror.end() || found->name != name ? nullptr : found;
}

void remember_queue(std::string_view name) {
    if (queue_source.loaded != queue_source.changes || !queue_mirror_sorted) {
        return;
    }
    auto *copy = static_cast<char *>(MemoryContextAlloc(queue_source.context, name.size() + 1));
    std::copy(name.begin(), name.end(), copy);
    queue_mirror.push({{copy, name.size()}, false});
    // Into its place: the last moves down to where it belongs.
    for (std::size_t i = queue_mirror.size() - 1;
         i > 0 && queue_mirror[i].name < queue_mirror[i - 1].name; --i) {
        std::swap(queue_mirror[i], queue_mirror[i - 1]);
    }
}

std::span<const Grant> grants() {
    load(
        grant_source, [] { grant_mirror = pg::Array<Grant>(grant_source.context); },
        [](TupleTableSlot *slot) {
            const Capability capability = capability_named(kept_text(slot, 1));
            grant_mirror.push(
                {DatumGetObjectId(slot->tts_values[0]), capability, kept_text(slot, 2)});
        });
    return {grant_mirror.begin(), grant_mirror.size()};
}

const core::Ring &ring() {
    load(
        ring_source, [] { ring_mirror = core::Ring{}; },
        [](TupleTableSlot *slot) {
            const auto leaf = pg::DatumOf<std::int16_t>::read(slot->tts_values[0]);
            ring_mirror.upper[static_cast<std::size_t>(leaf)] =
                pg::DatumOf<core::Timestamp>::read(slot->tts_values[1]);
            ring_mirror.laid_out = true;
        });
    return ring_mirror;
}

int tally_turn() {
    load(
        turn_source, [] { turn_mirror = 0; },
        [](TupleTableSlot *slot) {
            turn_mirror = pg::DatumOf<std::int16_t>::read(slot->tts_values[0]);
        });
    return turn_mirror;
}

namespace {

// The trigger on every mirrored table.
Datum drop_mirrors(pg::Call call) {
    if (!CALLED_AS_TRIGGER(call.info)) {
        elog(ERROR, "drop_mirrors is a trigger function");
    }
    auto *data = reinterpret_cast<TriggerData *>(call.info->context);
    CacheInvalidateRelcacheByRelid(RelationGetRelid(data->tg_relation));
    return PointerGetDatum(nullptr);
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_drop_mirrors, drop_mirrors)

}  // namespace x_jobs::store::mirror
