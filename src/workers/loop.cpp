// See loop.hpp.
#include "workers/loop.hpp"

#include <algorithm>
#include <cerrno>

#include "pg/postgres.hpp"

namespace x_jobs::workers {

namespace {

volatile sig_atomic_t told_to_end = 0;
volatile sig_atomic_t abandoned = 0;
// How often the timer of a step has fired since.
volatile sig_atomic_t waited = 0;
// What is left of a turn; 0 outside of one.
volatile sig_atomic_t turn_seconds = 0;

constexpr int kTimerMillis = 1'000;
constexpr int kPatience = 3;

TimeoutId step_timer;

// Not the server's own handler, which interrupts at once: an idle worker ends by itself and says
// nothing, a busy one when its step has ended.
void on_terminate(int) {
    const int error = errno;
    told_to_end = 1;
    SetLatch(MyLatch);
    errno = error;
}

void on_timer() {
    bool overdue = false;
    if (turn_seconds > 0) {
        turn_seconds = turn_seconds - 1;
        overdue = turn_seconds == 0;
    }
    if (told_to_end != 0) {
        waited = waited + 1;
    }
    if (overdue || waited >= kPatience) {
        abandoned = 1;
        ProcDiePending = true;
        InterruptPending = true;
        SetLatch(MyLatch);
    }
}

// The file that this code was loaded from: another copy of the library would not find our shared
// memory.
const char *own_library() {
    Dl_info found{};
    const bool known = dladdr(reinterpret_cast<const void *>(&describe_worker), &found) != 0 &&
                       strlen(found.dli_fname) < BGW_MAXLEN;
    return known ? found.dli_fname : "x_jobs";
}

}  // namespace

BackgroundWorker describe_worker(const char *kind, const char *function) {
    BackgroundWorker worker{};
    worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
    worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
    snprintf(worker.bgw_library_name, sizeof worker.bgw_library_name, "%s", own_library());
    snprintf(worker.bgw_function_name, BGW_MAXLEN, "%s", function);
    snprintf(worker.bgw_name, BGW_MAXLEN, "%s", kind);
    snprintf(worker.bgw_type, BGW_MAXLEN, "%s", kind);
    return worker;
}

void begin_worker() {
    pqsignal(SIGTERM, on_terminate);
    pqsignal(SIGHUP, SignalHandlerForConfigReload);
    BackgroundWorkerUnblockSignals();
}

void begin_steps() {
    step_timer = RegisterTimeout(USER_TIMEOUT, on_timer);
}

void begin_step() {
    enable_timeout_every(
        step_timer, TimestampTzPlusMilliseconds(GetCurrentTimestamp(), kTimerMillis), kTimerMillis);
}

void end_step() {
    disable_timeout(step_timer, false);
}

void begin_turn(core::Duration limit) {
    turn_seconds = static_cast<int>(limit / std::chrono::seconds{1}) + 1 + kPatience;
}

void end_turn() {
    turn_seconds = 0;
}

bool is_abandoned() {
    return abandoned != 0;
}

void nap(core::Duration span) {
    const auto millis =
        std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(span).count(), 0);
    static_cast<void>(WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                                static_cast<long>(millis), PG_WAIT_EXTENSION));
    ResetLatch(MyLatch);
    // There is nothing to cancel.
    QueryCancelPending = false;
    CHECK_FOR_INTERRUPTS();
}

bool is_told_to_end() {
    return told_to_end != 0;
}

bool is_reloaded() {
    if (ConfigReloadPending == 0) {
        return false;
    }
    ConfigReloadPending = 0;
    ProcessConfigFile(PGC_SIGHUP);
    return true;
}

}  // namespace x_jobs::workers
