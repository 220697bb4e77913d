// The gates of the cold surface. A public function bound to a gate has a private one of the same
// name and arguments in _x_jobs, usually plain SQL; the gate checks the caller's right, then runs
// it as the extension's owner, with a fixed search_path and in a security-restricted context, and
// answers what it answers.
#include "pg/rows.hpp"
#include "pg/text.hpp"
#include "rights/rights.hpp"
#include "store/records.hpp"
#include "store/relations.hpp"
#include "surface/as_role.hpp"

namespace x_jobs::surface {

namespace {

using rights::Capability;

// The role that called the outermost gate in progress.
Oid gate_caller = InvalidOid;

struct Routine {
    const char *name;
    bool returns_set;
};

Routine routine_of(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple)) {
        elog(ERROR, "cache lookup failed for function %u", function);
    }
    const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const Routine routine{pstrdup(NameStr(form->proname)), form->proretset};
    ReleaseSysCache(tuple);
    return routine;
}

const char *statement_for(const Routine &routine, int arguments) {
    StringInfoData statement;
    initStringInfo(&statement);
    appendStringInfo(&statement, "SELECT %s_x_jobs.%s(", routine.returns_set ? "* FROM " : "",
                     quote_identifier(routine.name));
    for (int i = 1; i <= arguments; ++i) {
        appendStringInfo(&statement, "%s$%d", i == 1 ? "" : ", ", i);
    }
    appendStringInfoChar(&statement, ')');
    return statement.data;
}

void answer_rows(FunctionCallInfo info) {
    auto *result = reinterpret_cast<ReturnSetInfo *>(info->resultinfo);
    for (std::uint64_t i = 0; i < SPI_processed; ++i) {
        tuplestore_puttuple(result->setResult, SPI_tuptable->vals[i]);
    }
}

Datum answer_one(FunctionCallInfo info, MemoryContext caller_memory) {
    bool is_null = true;
    TupleDesc descriptor = SPI_tuptable->tupdesc;
    const Datum value = SPI_getbinval(SPI_tuptable->vals[0], descriptor, 1, &is_null);
    info->isnull = is_null;
    if (is_null || TupleDescAttr(descriptor, 0)->atttypid == VOIDOID) {
        return Datum{0};
    }
    MemoryContext spi_memory = MemoryContextSwitchTo(caller_memory);
    const Form_pg_attribute attribute = TupleDescAttr(descriptor, 0);
    const Datum copy = datumCopy(value, attribute->attbyval, attribute->attlen);
    MemoryContextSwitchTo(spi_memory);
    return copy;
}

// Runs the body between connecting to SPI and finishing; an error on the way is cleaned up by the
// abort.
Datum run_body(FunctionCallInfo info, bool at_active_snapshot) {
    const bool is_set = info->flinfo->fn_retset;
    if (is_set) {
        InitMaterializedSRF(info, 0);
    }
    MemoryContext caller_memory = CurrentMemoryContext;
    SPI_connect();
    auto *nulls = static_cast<char *>(palloc(static_cast<Size>(info->nargs) + 1));
    auto *values =
        static_cast<Datum *>(palloc((static_cast<Size>(info->nargs) + 1) * sizeof(Datum)));
    for (int i = 0; i < info->nargs; ++i) {
        values[i] = info->args[i].value;
        nulls[i] = info->args[i].isnull ? 'n' : ' ';
    }
    Oid *types = nullptr;
    int count = 0;
    get_func_signature(info->flinfo->fn_oid, &types, &count);
    const char *statement = statement_for(routine_of(info->flinfo->fn_oid), count);
    const int outcome =
        SPI_execute_with_args(statement, count, types, values, nulls, at_active_snapshot, 0);
    if (outcome != SPI_OK_SELECT) {
        elog(ERROR, "the body of a gate failed: %s", SPI_result_code_string(outcome));
    }
    Datum answer{0};
    if (is_set) {
        answer_rows(info);
    } else {
        answer = answer_one(info, caller_memory);
    }
    SPI_finish();
    return answer;
}

Datum as_owner(FunctionCallInfo info, bool at_active_snapshot = false) {
    const Oid outer = gate_caller;
    gate_caller = GetUserId();
    const Datum answer = as_role(store::owner(), "pg_catalog, pg_temp", [info, at_active_snapshot] {
        return run_body(info, at_active_snapshot);
    });
    gate_caller = outer;
    return answer;
}

Datum operator_gate(pg::Call call) {
    rights::require(Capability::operate);
    return as_owner(call.info);
}

// A roll-up empties a tally by TRUNCATE, which no snapshot older than it can tell: so first the
// tallies are held, then a snapshot is taken, at every isolation level, and the body, which must
// not be volatile, reads with that one.
Datum counters_gate(pg::Call call) {
    rights::require(Capability::operate);
    store::hold_tallies();
    PushActiveSnapshot(GetLatestSnapshot());
    const Datum answer = as_owner(call.info, true);
    PopActiveSnapshot();
    return answer;
}

Datum worker_gate(pg::Call call) {
    rights::require(Capability::worker);
    return as_owner(call.info);
}

// Tasks are made by producers and looked after by operators; which task a producer may touch, its
// body decides.
Datum task_gate(pg::Call call) {
    if (!rights::has(Capability::operate)) {
        rights::require(Capability::producer);
    }
    return as_owner(call.info);
}

// An aborted gate leaves gate_caller behind; every gate sets it anew, and only a gate's body asks
// for it.
std::string_view caller() {
    return GetUserNameFromId(OidIsValid(gate_caller) ? gate_caller : GetUserId(), false);
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_operator_gate, operator_gate)
X_JOBS_SQL_FUNCTION(x_jobs_counters_gate, counters_gate)
X_JOBS_SQL_FUNCTION(x_jobs_worker_gate, worker_gate)
X_JOBS_SQL_FUNCTION(x_jobs_task_gate, task_gate)
X_JOBS_SQL_FUNCTION(x_jobs_caller, caller)

}  // namespace x_jobs::surface
