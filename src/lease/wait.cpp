// CALL x_jobs.wait: sleeping until there may be work, between transactions and without a snapshot,
// so that a waiting worker holds back no vacuum. The procedure commits first; it cannot do so
// inside a transaction block.
#include <algorithm>

#include "arguments/arguments.hpp"
#include "clock/clock.hpp"
#include "core/limits.hpp"
#include "errors/errors.hpp"
#include "heads/leases.hpp"
#include "lease/candidates.hpp"
#include "lease/queues.hpp"
#include "pg/function.hpp"
#include "rights/rights.hpp"
#include "store/relations.hpp"
#include "wake/waiters.hpp"

namespace x_jobs::lease {

namespace {

struct Sight {
    bool work;
    core::Timestamp next;
};

// Looks for a row that a claim would take or end, and takes no snapshot for it.
Sight look(const pg::Array<std::string_view> &all_queues) {
    const pg::Array<std::string_view> queues = open_queues(all_queues);
    Sight sight{false, core::kNever};
    if (queues.empty()) {
        return sight;
    }
    const core::Timestamp now = clock::now();
    heads::open_lapsed(now, wake::wake_waiters);
    store::Live live;
    Candidates candidates = Candidates::open(live, queues, now);
    store::Row row;
    while (!sight.work && candidates.next(row)) {
        // Reporting a row that a claim would pass over would turn wait and claim into a busy loop
        // for as long as the other transaction lasts.
        if (live.is_taken_by_others()) {
            candidates.leave_open();
            continue;
        }
        sight.work = core::judge(row.claim_view(), now) != core::ClaimVerdict::leave;
        const core::Timestamp change = core::next_change(row.claim_view());
        sight.next = std::min(sight.next, change);
        if (sight.work) {
            candidates.leave_open();
        } else if (row.state() == core::State::running && change != core::kNever) {
            candidates.leave_running(row, change);
        }
    }
    sight.next = std::min(sight.next, candidates.next_due());
    candidates.close();
    if (!candidates.empty()) {
        live.release();
    }
    return sight;
}

// Memory that outlives the commit: the list of queues, copied out of the call.
pg::Array<std::string_view> kept(const pg::Array<std::string_view> &queues, MemoryContext context) {
    pg::Array<std::string_view> copies(context);
    for (const std::string_view queue : queues) {
        auto *copy = static_cast<char *>(MemoryContextAlloc(context, queue.size() + 1));
        std::copy(queue.begin(), queue.end(), copy);
        copies.push({copy, queue.size()});
    }
    return copies;
}

void sleep_for_work(const pg::Array<std::string_view> &queues, core::Timestamp deadline,
                    MemoryContext round) {
    wake::begin_wait(store::relation_named("jobs"), {queues.begin(), queues.size()},
                     wake::Appetite::every_job);
    for (;;) {
        store::mirror::refresh();
        MemoryContext caller = MemoryContextSwitchTo(round);
        const Sight sight = look(queues);
        MemoryContextSwitchTo(caller);
        MemoryContextReset(round);
        if (sight.work || clock::now() >= deadline) {
            break;
        }
        // The catalogue lookups of the look left a snapshot of their own behind.
        InvalidateCatalogSnapshot();
        wake::sleep_until(std::min(deadline, sight.next));
    }
    wake::end_wait();
}

void wait(pg::Call call) {
    rights::require_for_write(rights::Capability::worker, "x_jobs.wait()");
    const auto *context = call.info->context;
    if (context == nullptr || !IsA(context, CallContext) ||
        castNode(CallContext, const_cast<Node *>(context))->atomic) {
        errors::raise(errors::Code::wait_in_transaction);
    }
    const pg::Array<std::string_view> given = read_queues(call.argument<pg::ArrayRef>(0));
    const core::Timestamp now = clock::now();
    const core::Timestamp deadline = now + arguments::duration(call.argument<pg::IntervalRef>(1),
                                                               "timeout", core::kMaxWait, now);

    // SPI's memory of a procedure lives across its commits, and is freed whatever happens.
    SPI_connect_ext(SPI_OPT_NONATOMIC);
    const pg::Array<std::string_view> queues = kept(given, CurrentMemoryContext);
    MemoryContext round =
        AllocSetContextCreate(CurrentMemoryContext, "x_jobs wait", ALLOCSET_DEFAULT_SIZES);
    SPI_commit();
    sleep_for_work(queues, deadline, round);
    SPI_finish();
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_wait, wait)

}  // namespace x_jobs::lease
