// What the present transaction will tell the heads at its end: places of rows that it made
// claimable, opened once it has committed; places of rows that it touched, opened if it rolls back;
// leases that its commit ends or moves. Written by store/live, which every change of a live row
// passes.
#pragma once

#include "heads/queues.hpp"

namespace x_jobs::heads {

// Of the queue `queue` in the table `relation`, in the present subtransaction.
void note_claimable(Oid relation, std::string_view queue, const core::Place &place);
// Before the row is touched.
void note_touched(Oid relation, std::string_view queue, const core::Place &place);
// A row that was written as running, under the claim with that ordinal.
void note_running(Oid relation, std::string_view queue, const core::Place &place,
                  const core::Uuid &id, std::int64_t claim, core::Timestamp expires_at);
void note_lease_ended(Oid relation, const core::Uuid &id, std::int64_t claim);
// Somebody writes the table with statements of their own: nobody knows what becomes claimable.
void note_written_by_hand(Oid relation);

// The places that this transaction has made claimable, which nobody else has opened yet.
bool has_own_claimable();
core::PlaceSet<8> own_claimable(Oid relation, std::string_view queue);
// Whether this transaction may close places: not after rows were written by hand.
bool may_close();

// Transaction events, called by transaction/events only; none raises. `wake` is called for each
// queue whose rows are free again, with the number of them.
void after_commit();
void after_abort(Wake wake);
void after_prepare();
void after_subtransaction_abort(unsigned subtransaction, Wake wake);
void merge_subtransaction(unsigned subtransaction, unsigned parent);
// COMMIT PREPARED and ROLLBACK PREPARED: what the transaction held is not known any more.
void after_prepared_end();

}  // namespace x_jobs::heads
