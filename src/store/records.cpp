// See records.hpp.
#include "store/records.hpp"

#include "pg/scan_key.hpp"
#include "store/mirror.hpp"
#include "store/relations.hpp"
#include "store/table.hpp"

namespace x_jobs::store {

namespace {

constexpr std::array kTallies{"tally_0", "tally_1", "tally_2"};
constexpr int kTallyColumns = 5;
constexpr int kAttemptColumns = 12;

std::int64_t millis(core::Duration duration) {
    return std::chrono::round<std::chrono::milliseconds>(duration).count();
}

}  // namespace

void TallyWriter::count(const Row &row, Tally outcome, core::Timestamp ended_at,
                        core::Duration duration) {
    // Should the turn pass on between this look and the insert, the row still counts: readers sum
    // all tallies, and a tally is emptied only under a lock that no writer holds.
    if (!open_) {
        table_ =
            Table::open(kTallies[static_cast<std::size_t>(mirror::tally_turn())], kTallyColumns);
        open_ = true;
    }
    const Datum values[kTallyColumns] = {pg::DatumOf<core::Timestamp>::make(ended_at),
                                         Int64GetDatum(millis(duration)),
                                         CharGetDatum(static_cast<char>(outcome)),
                                         row.raw(Column::queue).datum, row.raw(Column::name).datum};
    const bool nulls[kTallyColumns] = {};
    table_.insert_later(values, nulls);
}

void TallyWriter::close() {
    if (open_) {
        table_.close();
        open_ = false;
    }
}

void hold_tallies() {
    for (const char *tally : kTallies) {
        LockRelationOid(relation_named(tally), AccessShareLock);
    }
}

void record_failure(const Row &row, const FailedAttempt &attempt) {
    Table attempts = Table::open("attempts", kAttemptColumns);
    const auto error = pg::to_nullable(attempt.error);
    const auto code = pg::to_nullable(attempt.code);
    const auto stack = pg::to_nullable(attempt.stack);
    const auto started_at = row.raw(Column::claimed_at);
    const auto worker = row.raw(Column::claimed_by);
    const Datum values[kAttemptColumns] = {row.raw(Column::id).datum,
                                           row.raw(Column::run_id).datum,
                                           started_at.datum,
                                           pg::DatumOf<core::Timestamp>::make(attempt.ended_at),
                                           row.raw(Column::claim).datum,
                                           Int64GetDatum(millis(attempt.duration)),
                                           row.raw(Column::attempt).datum,
                                           pg::DatumOf<std::string_view>::make(attempt.outcome),
                                           worker.datum,
                                           error.datum,
                                           code.datum,
                                           stack.datum};
    const bool nulls[kAttemptColumns] = {
        false, false, started_at.is_null, false,         false,        false,
        false, false, worker.is_null,     error.is_null, code.is_null, stack.is_null};
    attempts.insert(values, nulls);
    attempts.close();
}

void erase_attempts(const core::Uuid &job) {
    Table attempts = Table::open("attempts", kAttemptColumns);
    Relation index = index_open(relation_named("attempts_job"), AccessShareLock);
    IndexScanDesc scan = pg::compat::begin_index_scan(attempts.relation(), index, SnapshotSelf, 1);
    ScanKeyData key = pg::key_equal(1, F_UUID_EQ, UUIDOID, pg::DatumOf<core::Uuid>::make(job));
    index_rescan(scan, &key, 1, nullptr, 0);
    while (index_getnext_slot(scan, ForwardScanDirection, attempts.read_slot())) {
        // A row that upkeep is removing at this moment is gone either way.
        attempts.remove(&attempts.read_slot()->tts_tid, Wait::no);
    }
    index_endscan(scan);
    index_close(index, AccessShareLock);
    attempts.close();
}

}  // namespace x_jobs::store
