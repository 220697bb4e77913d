// What a transaction will tell others when it commits: queues that got work, and jobs that ended.
// Owns the two channels of NOTIFY, x_jobs_wake and x_jobs_settled. What a rolled-back savepoint
// noted is forgotten.
#pragma once

#include <string_view>

#include "core/values.hpp"

namespace x_jobs::wake {

enum class Channel {
    waiters_and_notify,
    waiters_only,  // a hand-back: NOTIFY is for new work
};

// Notes that a row of the queue became claimable from `run_at` on.
void made_claimable(std::string_view queue, core::Timestamp run_at, Channel channel);

// Notes that a queue may have work whatever is in it; an empty name stands for every queue.
void announce(std::string_view queue);

// Notes the end of a job for x_jobs_settled.
void settled(const core::Uuid &id, std::string_view name, std::string_view queue,
             std::string_view outcome);

// Transaction events, called by transaction/events only.
void before_commit();
void after_commit();
void forget();
void forget_subtransaction(unsigned subtransaction);
void merge_subtransaction(unsigned subtransaction, unsigned parent);
// A prepared transaction has ended: what it held is not known any more, so every queue is
// announced.
void after_prepared_end();

// For the scheduler, in a transaction of its own: whether anybody would hear a notification of new
// work, and sending one.
bool may_notify();
void notify_of(const char *queue);

// Notes that this session listens on a channel; NULL stands for a channel that is not ours.
void session_listens(const char *channel);

}  // namespace x_jobs::wake
