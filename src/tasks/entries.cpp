// What a task enqueues for an occurrence, when a SQL function says so. The function runs as the
// role that made the task, with that role's rights and no others, and is found by its signature at
// every occurrence: a task of a dump, or of an upgraded server, names no oid.
#include "arguments/arguments.hpp"
#include "pg/rows.hpp"
#include "pg/text.hpp"
#include "surface/as_role.hpp"

namespace x_jobs::tasks {

namespace {

// The statement that answers all rows of the function as one array.
const char *statement_for(Oid function) {
    const char *name = quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
                                                  get_func_name(function));
    if (type_is_rowtype(get_func_rettype(function))) {
        return psprintf("SELECT ARRAY(SELECT j FROM %s($1) AS j)", name);
    }
    return psprintf("SELECT %s($1)", name);
}

Datum run(const char *statement, core::Timestamp occurrence, MemoryContext caller_memory) {
    SPI_connect();
    Oid types[] = {TIMESTAMPTZOID};
    Datum values[] = {pg::DatumOf<core::Timestamp>::make(occurrence)};
    const int outcome = SPI_execute_with_args(statement, 1, types, values, nullptr, false, 1);
    if (outcome != SPI_OK_SELECT || SPI_processed != 1) {
        elog(ERROR, "the entries of a task cannot be read: %s", SPI_result_code_string(outcome));
    }
    bool is_null = true;
    const Datum jobs = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &is_null);
    Datum answer{0};
    if (!is_null) {
        MemoryContext inner = MemoryContextSwitchTo(caller_memory);
        answer = datumCopy(jobs, false, -1);
        MemoryContextSwitchTo(inner);
    }
    SPI_finish();
    return answer;
}

// _x_jobs.entries_of(function text, owner oid, occurrence timestamptz) RETURNS x_jobs.new_job[]
Datum entries_of(pg::Call call) {
    const auto signature = arguments::required(call.argument<std::string_view>(0), "function");
    const auto owner = arguments::required(call.argument<std::int32_t>(1), "owner");
    const auto occurrence = arguments::required(call.argument<core::Timestamp>(2), "occurrence");
    const Oid function = DatumGetObjectId(
        DirectFunctionCall1(regprocedurein, CStringGetDatum(pg::to_c_string(signature))));
    const char *statement = statement_for(function);
    MemoryContext memory = CurrentMemoryContext;
    const Datum jobs = surface::as_role(static_cast<Oid>(owner), "pg_catalog, pg_temp",
                                        [&] { return run(statement, occurrence, memory); });
    return jobs == 0 ? pg::answer_null(call) : jobs;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_entries_of, entries_of)

}  // namespace x_jobs::tasks
