// See guard.hpp.
#include "lease/guard.hpp"

#include "errors/errors.hpp"
#include "pg/array.hpp"
#include "pg/function.hpp"
#include "rights/rights.hpp"

namespace x_jobs::lease {

namespace {

struct Guard {
    Fence fence;
    SubTransactionId set_in;
    // The subtransaction in which the claim itself settled the job; invalid while it has not.
    SubTransactionId settled_in;
};

pg::Array<Guard> guards;
bool guarding = false;

void set_guard(std::optional<core::Uuid> id, std::optional<std::string_view> worker_id,
               std::optional<std::int64_t> claim) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.guard()");
    Fence fence = make_fence(id, worker_id, claim);

    // What is lost already is said at once; what is held now is checked again before the commit.
    store::Live live = store::Live::open();
    store::Row row;
    const bool held = live.find(fence.id, row) && holds(row, fence);
    live.close();
    if (!held) {
        errors::raise(errors::Code::lease_lost);
    }
    if (!guarding) {
        guards = pg::Array<Guard>(TopTransactionContext);
        guarding = true;
    }
    MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
    fence.worker_id = {pnstrdup(fence.worker_id.data(), fence.worker_id.size()),
                       fence.worker_id.size()};
    MemoryContextSwitchTo(caller);
    guards.push({fence, GetCurrentSubTransactionId(), InvalidSubTransactionId});
}

// Locks the row until the end of the transaction, so that no claim can take the job between this
// check and the commit, and tells whether the guard's claim holds it.
bool still_held(store::Live &live, const Fence &fence) {
    return change_held(live, fence, [&](store::Row &row) {
        const store::WriteResult locked = live.lock(row);
        return locked == store::WriteResult::done && holds(row, fence)
                   ? store::WriteResult::done
                   : store::WriteResult::changed;
    });
}

}  // namespace

void guard_settled(const core::Uuid &id, std::int64_t claim) {
    if (!guarding) {
        return;
    }
    for (Guard &guard : guards) {
        if (guard.fence.id == id && guard.fence.claim == claim) {
            guard.settled_in = GetCurrentSubTransactionId();
        }
    }
}

void check_guards() {
    // A transaction that wrote nothing has nothing to protect.
    if (!guarding || !TransactionIdIsValid(GetTopTransactionIdIfAny())) {
        return;
    }
    store::Live live = store::Live::open();
    for (const Guard &guard : guards) {
        if (guard.settled_in == InvalidSubTransactionId && !still_held(live, guard.fence)) {
            errors::raise(errors::Code::lease_lost);
        }
    }
    live.close();
}

void forget_guards() {
    guarding = false;
}

void forget_guards_of(unsigned subtransaction) {
    if (!guarding) {
        return;
    }
    for (std::size_t i = guards.size(); i-- > 0;) {
        if (guards[i].set_in == subtransaction) {
            guards.remove_at(i);
        } else if (guards[i].settled_in == subtransaction) {
            guards[i].settled_in = InvalidSubTransactionId;
        }
    }
}

void merge_guards_of(unsigned subtransaction, unsigned parent) {
    if (!guarding) {
        return;
    }
    for (Guard &guard : guards) {
        guard.set_in = guard.set_in == subtransaction ? parent : guard.set_in;
        guard.settled_in = guard.settled_in == subtransaction ? parent : guard.settled_in;
    }
}

X_JOBS_SQL_FUNCTION(x_jobs_guard, set_guard)

}  // namespace x_jobs::lease
