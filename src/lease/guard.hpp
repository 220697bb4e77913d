// Guards: the promise that a transaction commits only while a claim holds its job. Owns the list of
// the present transaction's guards; the check itself runs before the commit, when the row is locked
// against a new claim.
#pragma once

#include "lease/fence.hpp"

namespace x_jobs::lease {

// Notes that the claim settled its job in this transaction: its guards, set before or after, count
// as held.
void note_settled(const core::Uuid &id, std::int64_t claim);

// Transaction events, called by transaction/events only.
void check_guards();
void forget_guards();
void forget_guards_of(unsigned subtransaction);
void merge_guards_of(unsigned subtransaction, unsigned parent);

}  // namespace x_jobs::lease
