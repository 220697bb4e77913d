// x_jobs.progress: the latest progress of a held job. A number that is not finite is dropped, since
// a failing report must never fail the job.
#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "lease/fence.hpp"
#include "pg/function.hpp"
#include "pg/text.hpp"
#include "rights/rights.hpp"

namespace x_jobs::lease {

namespace {

bool is_finite(Datum numeric) {
    return !numeric_is_nan(DatumGetNumeric(numeric)) && !numeric_is_inf(DatumGetNumeric(numeric));
}

const char *numeric_text(Datum numeric) {
    return DatumGetCString(DirectFunctionCall1(numeric_out, numeric));
}

pg::Jsonb compose(Datum done, Datum total, std::optional<std::string_view> note) {
    StringInfoData json;
    initStringInfo(&json);
    appendStringInfo(&json, "{\"done\":%s,\"total\":%s,", numeric_text(done), numeric_text(total));
    if (note) {
        appendStringInfoString(&json, "\"note\":");
        escape_json(&json,
                    pg::to_c_string(pg::storable_characters(*note, core::kMaxNoteCharacters)));
        appendStringInfoChar(&json, ',');
    }
    char instant[MAXDATELEN + 1];
    JsonEncodeDateTime(instant, TimestampTzGetDatum(clock::now().micros), TIMESTAMPTZOID, nullptr);
    appendStringInfo(&json, "\"at\":\"%s\"}", instant);
    return {DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data))};
}

bool progress(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.progress()");
    const Fence fence = make_fence(call.argument<core::Uuid>(0), call.argument<std::string_view>(1),
                                   call.argument<std::int64_t>(2));
    if (call.info->args[3].isnull) {
        arguments::raise_missing("done");
    }
    if (call.info->args[4].isnull) {
        arguments::raise_missing("total");
    }
    const Datum done = call.info->args[3].value;
    const Datum total = call.info->args[4].value;
    const bool storable = is_finite(done) && is_finite(total);
    const auto note = call.argument<std::string_view>(5);
    store::Live live = store::Live::open();
    const bool held = change_held(live, fence, [&](store::Row &row) {
        if (!storable) {
            return store::WriteResult::done;
        }
        row.set(store::Column::progress, compose(done, total, note));
        row.set(store::Column::updated_at, clock::now());
        return live.update(row, store::Wait::yes);
    });
    live.close();
    return held;
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_progress, progress)

}  // namespace x_jobs::lease
