// Statements that matter to background workers: those that need a database without other sessions,
// and those after which a scheduler has to look again at what its database is. Bars and words are
// the transaction's, and end with it.
#pragma once

#include "pg/postgres.hpp"

namespace x_jobs::fleet {

// Has the scheduler of this database woken when the transaction has committed.
void poke_at_commit();

// Called by transaction/events only. Before a utility statement: bars the databases that it needs
// for itself, and waits a little until their schedulers are gone.
void before_statement(const Node *statement);
void after_commit();
void after_abort();
// A prepared transaction was committed: nobody knows what it did.
void after_prepared_end();

}  // namespace x_jobs::fleet
