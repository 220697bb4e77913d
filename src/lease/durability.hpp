// Whether a claim's commit waits for its WAL. Owns the rule that only a transaction which did
// nothing but claim may be let go without waiting, and that one whose claim counted on the wait
// gets it.
#pragma once

#include "core/ordinal.hpp"

namespace x_jobs::lease {

// How the claims of the present transaction will be committed, as far as it can be told now.
core::Durability begin_claim(bool durable);
// Notes that the claim has written what it had to.
void end_claim();

// The timeline that this server writes.
std::uint32_t timeline();

// Transaction events, called by transaction/events only.
void choose_commit();
void forget_commit();

}  // namespace x_jobs::lease
