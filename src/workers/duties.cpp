// See duties.hpp.
#include "workers/duties.hpp"

#include <algorithm>
#include <array>

#include "pg/attempt.hpp"
#include "workers/loop.hpp"
#include "workers/statement.hpp"

namespace x_jobs::workers {

namespace {

// A batch that came back full has more behind it, and is not waited for as long.
constexpr std::int64_t kBatch = 10'000;
constexpr core::Duration kLongestRest = std::chrono::hours{1};
constexpr core::Duration kBetweenBatches = std::chrono::milliseconds{200};

struct Duty {
    const char *name;
    const char *statement;
    core::Duration every;
    core::Timestamp next{};
};

std::array<Duty, 11> duties{{
    {"laying out the history ring", "SELECT _x_jobs.lay_out_ring()", std::chrono::minutes{10}},
    {"emptying history", "SELECT _x_jobs.advance_ring()", std::chrono::minutes{1}},
    {"rolling up tallies", "SELECT _x_jobs.roll_up()", std::chrono::minutes{1}},
    {"rolling up counters", "SELECT _x_jobs.roll_up_tiers()", std::chrono::minutes{5}},
    {"burying lapsed jobs", "SELECT _x_jobs.bury_lapsed(10000)", std::chrono::seconds{20}},
    {"ending expired jobs", "SELECT _x_jobs.expire_waiting(10000)", std::chrono::minutes{1}},
    {"purging kept history", "SELECT _x_jobs.purge_kept(10000)", std::chrono::minutes{1}},
    {"purging attempts", "SELECT _x_jobs.purge_attempts(10000)", std::chrono::minutes{5}},
    {"purging the task log", "SELECT _x_jobs.purge_task_log(10000)", std::chrono::minutes{5}},
    {"forgetting workers", "SELECT _x_jobs.forget_lapsed_workers()", std::chrono::minutes{1}},
    {"forgetting dropped roles", "SELECT _x_jobs.forget_dropped_roles()", std::chrono::minutes{10}},
}};

// Up to a tenth more or less, so that the databases of a server do not do the same at the same
// moment.
core::Duration with_jitter(core::Duration span) {
    const double share = 0.9 + 0.2 * pg_prng_double(&pg_global_prng_state);
    return core::Duration{static_cast<std::int64_t>(static_cast<double>(span.count()) * share)};
}

// What takes long comes round less often: upkeep takes no more than a fiftieth of the time.
constexpr int kRestPerWork = 50;

void do_duty(Duty &duty, core::Timestamp now) {
    std::int64_t affected = 0;
    const auto failure = pg::attempt(duty.name, [&] {
        run_statement(duty.statement, {}, [&](HeapTuple tuple, TupleDesc descriptor) {
            affected = column<std::int64_t>(tuple, descriptor, 1).value_or(0);
        });
    });
    if (failure && is_installed_still()) {
        ereport(LOG, errmsg("x_jobs upkeep failed while %s: %s", duty.name, failure->message));
    }
    const core::Duration took = core::Timestamp{GetCurrentTimestamp()} - now;
    const core::Duration rest =
        std::min(std::max(duty.every, took * kRestPerWork), kLongestRest / 2);
    duty.next = now + (affected >= kBatch ? took + kBetweenBatches : with_jitter(rest));
}

// The first round spreads them, so that a server that starts with many databases does not do
// everything at once.
void spread(core::Timestamp now) {
    for (Duty &duty : duties) {
        const auto span = std::min<core::Duration>(duty.every, std::chrono::minutes{1});
        duty.next =
            now + core::Duration{static_cast<std::int64_t>(static_cast<double>(span.count()) *
                                                           pg_prng_double(&pg_global_prng_state))};
    }
}

constexpr core::Duration kRenewEvery = std::chrono::seconds{10};
bool leading = false;
core::Timestamp renew_at{};

// The same in every life of this server: one that comes back goes on at once.
const char *holder() {
    return psprintf("x_jobs scheduler of " UINT64_FORMAT, GetSystemIdentifier());
}

void renew(core::Timestamp now) {
    bool held = false;
    const auto failure = pg::attempt("renewing the leader lease", [&] {
        const std::array arguments{text_argument(holder())};
        run_statement("SELECT _x_jobs.leader_acquire('scheduler', $1, '30 s')", arguments,
                      [&](HeapTuple tuple, TupleDesc descriptor) {
                          held = column<bool>(tuple, descriptor, 1).value_or(false);
                      });
    });
    if (failure && is_installed_still()) {
        ereport(LOG, errmsg("x_jobs cannot renew its leader lease: %s", failure->message));
    }
    if (held != leading) {
        ereport(DEBUG1, errmsg("x_jobs scheduler %s", held ? "leads" : "does not lead"));
    }
    leading = held;
    renew_at = now + kRenewEvery;
}

}  // namespace

core::Timestamp do_duties(core::Timestamp now) {
    if (renew_at.micros == 0) {
        spread(now);
    }
    // A clock that was set back must not leave it in a far future, nor a duty below.
    if (now >= renew_at || renew_at - now > kRenewEvery) {
        renew(now);
    }
    core::Timestamp next = renew_at;
    for (Duty &duty : duties) {
        // A clock that was set back must not leave a duty in a far future.
        if (is_told_to_end()) {
            break;
        }
        if (now >= duty.next || duty.next - now > kLongestRest) {
            do_duty(duty, core::Timestamp{GetCurrentTimestamp()});
        }
        next = std::min(next, duty.next);
    }
    return next;
}

bool leads() {
    return leading;
}

void stop_leading() {
    if (leading) {
        leading = false;
        pg::attempt("giving the leader lease back", [] {
            const std::array arguments{text_argument(holder())};
            run_statement("SELECT _x_jobs.leader_release('scheduler', $1)", arguments,
                          [](HeapTuple, TupleDesc) {});
        });
    }
}

}  // namespace x_jobs::workers
