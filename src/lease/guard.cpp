// See guard.hpp.
#include "lease/guard.hpp"

#include <algorithm>

#include "errors/errors.hpp"
#include "pg/array.hpp"
#include "pg/function.hpp"
#include "rights/rights.hpp"

namespace x_jobs::lease {

namespace {

struct Guard {
    Fence fence;
    SubTransactionId set_in;
};

// A claim that settled its job in the present transaction.
struct Settlement {
    core::Uuid id;
    std::int64_t claim;
    SubTransactionId settled_in;
};

pg::Array<Guard> guards;
pg::Array<Settlement> settlements;
bool noting = false;

void begin_noting() {
    if (!noting) {
        guards = pg::Array<Guard>(TopTransactionContext);
        settlements = pg::Array<Settlement>(TopTransactionContext);
        noting = true;
    }
}

bool settled_here(const Fence &fence) {
    return noting &&
           std::any_of(settlements.begin(), settlements.end(), [&](const Settlement &one) {
               return one.id == fence.id && one.claim == fence.claim;
           });
}

void set_guard(std::optional<core::Uuid> id, std::optional<std::string_view> worker_id,
               std::optional<std::int64_t> claim) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.guard()");
    Fence fence = make_fence(id, worker_id, claim);

    // What is lost already is said at once; what is held now is checked again before the commit.
    store::Live live = store::Live::open();
    store::Row row;
    const bool held = settled_here(fence) || (live.find(fence.id, row) && holds(row, fence));
    live.close();
    if (!held) {
        errors::raise(errors::Code::lease_lost);
    }
    begin_noting();
    MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
    fence.worker_id = {pnstrdup(fence.worker_id.data(), fence.worker_id.size()),
                       fence.worker_id.size()};
    MemoryContextSwitchTo(caller);
    guards.push({fence, GetCurrentSubTransactionId()});
}

// Locks the row until the end of the transaction, so that no claim can take the job between this
// check and the commit, and tells whether the guard's claim holds it. Rights were asked when the
// guard was set: at the commit the current role may be another.
bool still_held(store::Live &live, const Fence &fence) {
    store::Row row;
    while (live.find(fence.id, row) && is_held(row, fence)) {
        if (live.lock(row) == store::WriteResult::done) {
            return is_held(row, fence);
        }
        CHECK_FOR_INTERRUPTS();
    }
    return false;
}

}  // namespace

void note_settled(const core::Uuid &id, std::int64_t claim) {
    begin_noting();
    settlements.push({id, claim, GetCurrentSubTransactionId()});
}

void check_guards() {
    if (!noting || guards.empty()) {
        return;
    }
    // In id order, as every path that takes several rows.
    std::sort(guards.begin(), guards.end(),
              [](const Guard &one, const Guard &other) { return one.fence.id < other.fence.id; });
    store::Live live = store::Live::open();
    for (const Guard &guard : guards) {
        if (!settled_here(guard.fence) && !still_held(live, guard.fence)) {
            errors::raise(errors::Code::lease_lost);
        }
    }
    live.close();
}

void forget_guards() {
    noting = false;
}

// What a subtransaction noted lies behind what its parents noted: only the tail is walked.
void forget_guards_of(unsigned subtransaction) {
    if (!noting) {
        return;
    }
    while (!guards.empty() && guards[guards.size() - 1].set_in == subtransaction) {
        guards.pop();
    }
    while (!settlements.empty() &&
           settlements[settlements.size() - 1].settled_in == subtransaction) {
        settlements.pop();
    }
}

void merge_guards_of(unsigned subtransaction, unsigned parent) {
    if (!noting) {
        return;
    }
    for (std::size_t i = guards.size(); i > 0 && guards[i - 1].set_in == subtransaction; --i) {
        guards[i - 1].set_in = parent;
    }
    for (std::size_t i = settlements.size();
         i > 0 && settlements[i - 1].settled_in == subtransaction; --i) {
        settlements[i - 1].settled_in = parent;
    }
}

X_JOBS_SQL_FUNCTION(x_jobs_guard, set_guard)

}  // namespace x_jobs::lease
