// How one attempt ends, as values and as acts: done, handed back, or stopped for good. Owns what
// each ending does to the row, to the counters and to the records; every settle verb is one of
// these under a fence.
#pragma once

#include "core/backoff.hpp"
#include "lease/fence.hpp"
#include "store/history.hpp"

namespace x_jobs::settle {

// The open tables of one call that settles.
struct Desk {
    store::Live live;
    store::HistoryWriter history;

    static Desk open() { return {store::Live::open(), {}}; }
    void close() {
        history.close();
        live.close();
    }
};

struct Done {
    std::optional<pg::Jsonb> result;
    core::Duration duration{0};
};

enum class Target { ready, suspended, failed, dead };

struct HandBack {
    Target target = Target::ready;
    core::Duration delay{0};
    std::optional<std::string_view> error;
    std::optional<std::string_view> code;
    std::optional<std::string_view> stack;
    // Whether the attempt stays used up; if not, it is given back.
    bool counted = true;
    // Why a job was stopped for good.
    std::string_view reason;
    core::Duration duration{0};
};

struct Failure {
    std::string_view error;
    std::optional<std::string_view> code;
    std::optional<std::string_view> stack;
    std::optional<core::Duration> stated_delay;
    core::Duration duration{0};
};

struct FailureAnswer {
    bool landed = false;
    bool retried = false;
    bool dead_lettered = false;
    core::Timestamp retry_at;
};

// Each answers whether it landed; one whose fence does not hold changes nothing.
bool complete(Desk &desk, const lease::Fence &fence, const Done &done);
bool hand_back(Desk &desk, const lease::Fence &fence, const HandBack &back);
// The retry policy decides between another attempt and the dead letters.
FailureAnswer fail(Desk &desk, const lease::Fence &fence, const Failure &failure);

// What workers and listeners are told of a hand-back that landed.
std::string_view outcome_of(const HandBack &back);

}  // namespace x_jobs::settle
