// Differences between the supported servers. The only file that asks for PG_VERSION_NUM; each
// wrapper has the newest server's signature and names the version that changed.
#pragma once

#include "pg/postgres.hpp"

extern "C" {
#if PG_VERSION_NUM >= 160000
#include "varatt.h"  // 16: moved out of postgres.h
#endif
}

namespace x_jobs::pg::compat {

enum class NewIndexEntries { none, all, summarizing };

// 16: table_tuple_update reports which indexes need entries instead of whether any does.
inline TM_Result table_update(Relation relation, ItemPointer tid, TupleTableSlot *slot,
                              CommandId command, bool wait, TM_FailureData *failure,
                              NewIndexEntries *entries) {
    LockTupleMode mode;
#if PG_VERSION_NUM >= 160000
    TU_UpdateIndexes which = TU_None;
    const TM_Result result = table_tuple_update(relation, tid, slot, command, SnapshotSelf,
                                                InvalidSnapshot, wait, failure, &mode, &which);
    *entries = which == TU_All ? NewIndexEntries::all
                               : (which == TU_Summarizing ? NewIndexEntries::summarizing
                                                          : NewIndexEntries::none);
#else
    bool any = false;
    const TM_Result result = table_tuple_update(relation, tid, slot, command, SnapshotSelf,
                                                InvalidSnapshot, wait, failure, &mode, &any);
    *entries = any ? NewIndexEntries::all : NewIndexEntries::none;
#endif
    return result;
}

// 16: ExecInsertIndexTuples takes onlySummarizing.
inline List *insert_index_entries(ResultRelInfo *info, TupleTableSlot *slot, EState *estate,
                                  bool update, bool no_duplicate_error, bool *conflict,
                                  List *arbiters, bool only_summarizing) {
#if PG_VERSION_NUM >= 160000
    return ExecInsertIndexTuples(info, slot, estate, update, no_duplicate_error, conflict, arbiters,
                                 only_summarizing);
#else
    static_cast<void>(only_summarizing);
    return ExecInsertIndexTuples(info, slot, estate, update, no_duplicate_error, conflict,
                                 arbiters);
#endif
}

// 18: ExecCheckIndexConstraints takes the tid of the row itself.
inline bool check_constraints(ResultRelInfo *info, TupleTableSlot *slot, EState *estate,
                              ItemPointer conflict, List *arbiters) {
#if PG_VERSION_NUM >= 180000
    ItemPointerData none;
    ItemPointerSetInvalid(&none);
    return ExecCheckIndexConstraints(info, slot, estate, conflict, &none, arbiters);
#else
    return ExecCheckIndexConstraints(info, slot, estate, conflict, arbiters);
#endif
}

// 18: index_beginscan takes instrumentation.
inline IndexScanDesc begin_index_scan(Relation heap, Relation index, Snapshot snapshot, int keys) {
#if PG_VERSION_NUM >= 180000
    return index_beginscan(heap, index, snapshot, nullptr, keys, 0);
#else
    return index_beginscan(heap, index, snapshot, keys, 0);
#endif
}

// 17: PGPROC numbers became MyProcNumber.
inline int my_proc_number() {
#if PG_VERSION_NUM >= 170000
    return MyProcNumber;
#else
    return MyProc->pgprocno;
#endif
}

// 16: pg_database_ownercheck became object_ownercheck.
inline bool owns_database(Oid database) {
#if PG_VERSION_NUM >= 160000
    return object_ownercheck(DatabaseRelationId, database, GetUserId());
#else
    return pg_database_ownercheck(database, GetUserId());
#endif
}

// 16: pgstat_fetch_stat_local_beentry became pgstat_get_local_beentry_by_index.
inline const PgBackendStatus *backend_status(int index) {
#if PG_VERSION_NUM >= 160000
    return &pgstat_get_local_beentry_by_index(index)->backendStatus;
#else
    return &pgstat_fetch_stat_local_beentry(index)->backendStatus;
#endif
}

// 17: intervals may be infinite.
inline bool interval_is_finite(const Interval *interval) {
#if PG_VERSION_NUM >= 170000
    return !INTERVAL_NOT_FINITE(interval);
#else
    static_cast<void>(interval);
    return true;
#endif
}

}  // namespace x_jobs::pg::compat
