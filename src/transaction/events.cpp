// See events.hpp.
#include "transaction/events.hpp"

#include "fleet/bars.hpp"
#include "heads/notes.hpp"
#include "lease/durability.hpp"
#include "lease/guard.hpp"
#include "pg/postgres.hpp"
#include "wake/announce.hpp"
#include "wake/waiters.hpp"

namespace x_jobs::transaction {

namespace {

ProcessUtility_hook_type previous_utility = nullptr;

void forget_all() {
    wake::abandon_wait();
    wake::forget();
    lease::forget_guards();
    lease::forget_commit();
}

void on_transaction(XactEvent event, void *) {
    switch (event) {
        case XACT_EVENT_PRE_COMMIT:
            lease::check_guards();
            wake::before_commit();
            lease::choose_commit();
            break;
        case XACT_EVENT_PRE_PREPARE:
            // NOTIFY cannot be prepared; COMMIT PREPARED announces instead.
            lease::check_guards();
            break;
        case XACT_EVENT_COMMIT:
            // The rows can be seen from here on.
            heads::after_commit();
            // Others are woken a little later, when the invalidations of this commit have been sent
            // too: see on_release.
            wake::abandon_wait();
            lease::forget_guards();
            lease::forget_commit();
            fleet::after_commit();
            break;
        case XACT_EVENT_ABORT:
            forget_all();
            fleet::after_abort();
            heads::after_abort(wake::wake_waiters);
            break;
        case XACT_EVENT_PREPARE:
            forget_all();
            fleet::after_abort();
            heads::after_prepare();
            break;
        default:
            break;
    }
}

// By now the transaction's rows are visible and what it changed in pauses and grants has been sent,
// so whoever wakes sees both.
void on_release(ResourceReleasePhase phase, bool is_commit, bool is_top_level, void *) {
    if (phase == RESOURCE_RELEASE_LOCKS && is_commit && is_top_level) {
        wake::after_commit();
    }
}

void on_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *) {
    if (event == SUBXACT_EVENT_ABORT_SUB) {
        wake::abandon_wait();
        wake::forget_subtransaction(own);
        lease::forget_guards_of(own);
        heads::after_subtransaction_abort(own, wake::wake_waiters);
    } else if (event == SUBXACT_EVENT_COMMIT_SUB) {
        wake::merge_subtransaction(own, parent);
        lease::merge_guards_of(own, parent);
        heads::merge_subtransaction(own, parent);
    }
}

void note_statement(const Node *statement) {
    if (IsA(statement, ListenStmt)) {
        wake::session_listens(castNode(ListenStmt, const_cast<Node *>(statement))->conditionname);
    }
}

bool ends_prepared(const Node *statement) {
    if (!IsA(statement, TransactionStmt)) {
        return false;
    }
    const auto kind = castNode(TransactionStmt, const_cast<Node *>(statement))->kind;
    return kind == TRANS_STMT_COMMIT_PREPARED || kind == TRANS_STMT_ROLLBACK_PREPARED;
}

void on_utility(PlannedStmt *planned, const char *query, bool read_only_tree,
                ProcessUtilityContext context, ParamListInfo parameters,
                QueryEnvironment *environment, DestReceiver *receiver,
                QueryCompletion *completion) {
    const bool prepared = ends_prepared(planned->utilityStmt);
    // Before LISTEN takes effect, so that no commit after it finds nobody listening.
    note_statement(planned->utilityStmt);
    fleet::before_statement(planned->utilityStmt);
    auto *next = previous_utility != nullptr ? previous_utility : standard_ProcessUtility;
    next(planned, query, read_only_tree, context, parameters, environment, receiver, completion);
    if (prepared) {
        heads::after_prepared_end();
        wake::after_prepared_end();
        fleet::after_prepared_end();
    }
}

}  // namespace

void initialise() {
    RegisterXactCallback(on_transaction, nullptr);
    RegisterSubXactCallback(on_subtransaction, nullptr);
    RegisterResourceReleaseCallback(on_release, nullptr);
    previous_utility = ProcessUtility_hook;
    ProcessUtility_hook = on_utility;
}

}  // namespace x_jobs::transaction
