// See candidates.hpp. The keys are read from the index entries, so an entry that is not due costs
// no heap access.
#include "lease/candidates.hpp"

#include <algorithm>
#include <tuple>

#include "core/limits.hpp"
#include "pg/scan_key.hpp"
#include "store/relations.hpp"

namespace x_jobs::lease {

namespace {

// The columns of the claim index.
enum IndexColumn { kQueue = 1, kPriority, kRunAt, kId };

Datum entry_column(IndexScanDesc scan, IndexColumn column) {
    bool is_null = false;
    return index_getattr(scan->xs_itup, column, scan->xs_itupdesc, &is_null);
}

}  // namespace

Candidates Candidates::open(store::Live &live, const pg::Array<std::string_view> &queues,
                            core::Timestamp now) {
    Candidates candidates;
    candidates.live_ = &live;
    candidates.now_ = now;
    candidates.index_ = index_open(store::relation_named("jobs_claim"), AccessShareLock);
    for (const std::string_view queue : queues) {
        Stream &stream = candidates.streams_.push({});
        stream.queue = pg::DatumOf<std::string_view>::make(queue);
        stream.scan = pg::compat::begin_index_scan(live.table().relation(), candidates.index_,
                                                   SnapshotSelf, 2);
        stream.scan->xs_want_itup = true;
        candidates.seek(stream, 0);
    }
    return candidates;
}

void Candidates::close() {
    for (Stream &stream : streams_) {
        index_endscan(stream.scan);
    }
    index_close(index_, AccessShareLock);
}

void Candidates::seek(Stream &stream, std::int16_t priority) {
    std::array keys{pg::key_equal(kQueue, F_TEXTEQ, TEXTOID, stream.queue),
                    pg::scan_key(kPriority, BTGreaterEqualStrategyNumber, F_INT2GE, INT2OID,
                                 Int16GetDatum(priority))};
    index_rescan(stream.scan, keys.data(), 2, nullptr, 0);
    advance(stream);
}

void Candidates::advance(Stream &stream) {
    if (index_getnext_tid(stream.scan, ForwardScanDirection) == nullptr) {
        stream.exhausted = true;
        return;
    }
    stream.priority = DatumGetInt16(entry_column(stream.scan, kPriority));
    stream.run_at = core::Timestamp{DatumGetTimestampTz(entry_column(stream.scan, kRunAt))};
    stream.id = pg::DatumOf<core::Uuid>::read(entry_column(stream.scan, kId));
    if (stream.run_at <= now_) {
        return;
    }
    // Everything further on in this priority is due later still.
    next_due_ = std::min(next_due_, stream.run_at);
    if (stream.priority + 1 >= core::kPriorities) {
        stream.exhausted = true;
        return;
    }
    seek(stream, static_cast<std::int16_t>(stream.priority + 1));
}

Candidates::Stream *Candidates::lowest() {
    Stream *lowest = nullptr;
    for (Stream &stream : streams_) {
        if (stream.exhausted) {
            continue;
        }
        if (lowest == nullptr || std::tie(stream.priority, stream.run_at, stream.id) <
                                     std::tie(lowest->priority, lowest->run_at, lowest->id)) {
            lowest = &stream;
        }
    }
    return lowest;
}

bool Candidates::next(store::Row &row) {
    for (Stream *stream = lowest(); stream != nullptr; stream = lowest()) {
        CHECK_FOR_INTERRUPTS();
        const bool visible = index_fetch_heap(stream->scan, live_->table().read_slot());
        if (visible) {
            live_->read(row);
        }
        advance(*stream);
        if (visible) {
            return true;
        }
    }
    return false;
}

}  // namespace x_jobs::lease
