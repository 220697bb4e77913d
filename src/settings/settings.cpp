// See settings.hpp. Alphabetical within its groups; each default is written once and serves as boot
// value too.
#include "settings/settings.hpp"

#include "pg/postgres.hpp"

namespace x_jobs::settings {

namespace {

int history_step_seconds = 24 * 60 * 60;
int max_claim_wait_millis = 5'000;
int max_databases_count = 64;
int max_leases_count = 65'536;
int max_queues_count = 1'000;
int max_input_bytes = 64 * 1024 * 1024;
bool notify_enabled = true;
int poll_interval_millis = 1'000;
int rescan_interval_millis = 60'000;
int retention_seconds = 14 * 24 * 60 * 60;
bool scheduler_enabled = true;
int task_grace_seconds = 30;
int task_timeout_millis = 10'000;
double test_clock_offset_millis = 0;

constexpr int kSecondsOfTenYears = 10 * 366 * 24 * 60 * 60;
constexpr double kMillisOfCenturies = 1e13;

// What the scheduler of a database goes by.
void define_scheduling() {
    DefineCustomBoolVariable("x_jobs.scheduler", "Runs the scheduler of the database.",
                             "Off in the configuration file for the server, or by ALTER DATABASE "
                             "for one database: no task fires, and upkeep is left "
                             "to x_jobs.maintain().",
                             &scheduler_enabled, scheduler_enabled, PGC_SUSET, 0, nullptr, nullptr,
                             nullptr);
    DefineCustomIntVariable(
        "x_jobs.task_grace",
        "Sets how late the latest occurrence of a task may be and still be fired.",
        "Only tasks that catch up with nothing ask.", &task_grace_seconds, task_grace_seconds, 1,
        24 * 60 * 60, PGC_SUSET, GUC_UNIT_S, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("x_jobs.task_timeout",
                            "Sets how long the scheduler may take over one occurrence of a task.",
                            "A function of entries that takes longer is cancelled and tried again.",
                            &task_timeout_millis, task_timeout_millis, 100, 60 * 60 * 1000,
                            PGC_SUSET, GUC_UNIT_MS, nullptr, nullptr, nullptr);
}

// The sizes of what shared memory has room for.
void define_sizes() {
    DefineCustomIntVariable("x_jobs.max_databases", "Sets how many databases may have a scheduler.",
                            "Further ones get none until another is dropped.", &max_databases_count,
                            max_databases_count, 1, 10'000, PGC_POSTMASTER, 0, nullptr, nullptr,
                            nullptr);
    DefineCustomIntVariable(
        "x_jobs.max_leases", "Sets how many running jobs shared memory watches.",
        "The lapse of further ones is found by going through their queue.", &max_leases_count,
        max_leases_count, 16, 16 * 1024 * 1024, PGC_POSTMASTER, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable("x_jobs.max_queues", "Sets how many queues shared memory has room for.",
                            "Claims of further ones go through their queue from its front.",
                            &max_queues_count, max_queues_count, 1, 100'000, PGC_POSTMASTER, 0,
                            nullptr, nullptr, nullptr);
}

}  // namespace

void define() {
    DefineCustomIntVariable(
        "x_jobs.history_step",
        "Sets the span of finished work that one leaf of the history ring takes.",
        "Leaves already laid out keep their bounds; the next leaf follows the new step.",
        &history_step_seconds, history_step_seconds, 1, 366 * 24 * 60 * 60, PGC_SUSET, GUC_UNIT_S,
        nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "x_jobs.max_claim_wait",
        "Sets the longest time that claim(wait => ...) waits in its statement.",
        "The statement holds a snapshot while it waits; CALL x_jobs.wait() does not.",
        &max_claim_wait_millis, max_claim_wait_millis, 0, 600'000, PGC_SUSET, GUC_UNIT_MS, nullptr,
        nullptr, nullptr);
    DefineCustomIntVariable(
        "x_jobs.max_input_size", "Sets the largest input and the largest result of a job.",
        "Measured as stored jsonb, before compression.", &max_input_bytes, max_input_bytes, 1,
        1000 * 1024 * 1024, PGC_SUSET, GUC_UNIT_BYTE, nullptr, nullptr, nullptr);
    DefineCustomBoolVariable(
        "x_jobs.notify", "Sends notifications on the channels x_jobs_wake and x_jobs_settled.",
        "Workers that wait with claim or wait do not need them.", &notify_enabled, notify_enabled,
        PGC_SUSET, 0, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "x_jobs.poll_interval",
        "Sets the longest time that a waiting claim goes without looking at the table.",
        "With shared_preload_libraries it is only a net under the wake-ups, and all waiters but "
        "one look "
        "ten times less often; without, it is the wake-up.",
        &poll_interval_millis, poll_interval_millis, 10, 60'000, PGC_SUSET, GUC_UNIT_MS, nullptr,
        nullptr, nullptr);
    DefineCustomIntVariable(
        "x_jobs.rescan_interval",
        "Sets how often a claim looks again at the places where nothing was left to claim.",
        "A net under rows that others than x_jobs wrote or held; 0 switches it off.",
        &rescan_interval_millis, rescan_interval_millis, 0, 24 * 60 * 60 * 1000, PGC_SUSET,
        GUC_UNIT_MS, nullptr, nullptr, nullptr);
    DefineCustomIntVariable(
        "x_jobs.retention", "Sets how long finished jobs are kept.",
        "Dead letters are kept until they are removed; 0 keeps no row of a job that is done.",
        &retention_seconds, retention_seconds, 0, kSecondsOfTenYears, PGC_SUSET, GUC_UNIT_S,
        nullptr, nullptr, nullptr);
    DefineCustomRealVariable("x_jobs.test_clock_offset", "Shifts the clock of x_jobs, for tests.",
                             "Must be 0 outside tests.", &test_clock_offset_millis,
                             test_clock_offset_millis, -kMillisOfCenturies, kMillisOfCenturies,
                             PGC_SUSET, GUC_UNIT_MS | GUC_NOT_IN_SAMPLE, nullptr, nullptr, nullptr);
    define_scheduling();
    // The size of shared memory can be set only where there is some.
    if (process_shared_preload_libraries_in_progress) {
        define_sizes();
    }
    MarkGUCPrefixReserved("x_jobs");
}

core::Duration history_step() {
    return std::chrono::seconds{history_step_seconds};
}

core::Duration poll_interval() {
    return std::chrono::milliseconds{poll_interval_millis};
}

core::Duration max_claim_wait() {
    return std::chrono::milliseconds{max_claim_wait_millis};
}

core::Duration retention() {
    return std::chrono::seconds{retention_seconds};
}

core::Duration rescan_interval() {
    return std::chrono::milliseconds{rescan_interval_millis};
}

int max_databases() {
    return max_databases_count;
}

bool scheduler() {
    return scheduler_enabled;
}

core::Duration task_timeout() {
    return std::chrono::milliseconds{task_timeout_millis};
}

int max_queues() {
    return max_queues_count;
}

int max_leases() {
    return max_leases_count;
}

std::size_t max_input_size() {
    return static_cast<std::size_t>(max_input_bytes);
}

bool notify() {
    return notify_enabled;
}

core::Duration test_clock_offset() {
    return core::Duration{static_cast<std::int64_t>(test_clock_offset_millis * 1000.0)};
}

}  // namespace x_jobs::settings
