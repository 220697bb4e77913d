// The jobs that run under a lease. Watched from the claim until the settle, each with the place
// that its lapse opens; found without a search when its time has come. An entry may be left over
// from a claim that was rolled back, and opens its place in vain; a lease that finds no room is the
// caller's to remember (Heads::watch).
#pragma once

#include <optional>

#include "heads/queues.hpp"

namespace x_jobs::heads {

// The lease of one claim: whose, where its row stands, until when.
struct HeldLease {
    shmem::LeaseKey key;
    std::int64_t claim;
    QueueRef queue;
    core::Place place;
    core::Timestamp expires_at;
};

// Watches a lease that has just been written. Answers until when, which is earlier than it ends
// where it was watched already: a renewal may yet be rolled back. Nothing when there is no room.
std::optional<core::Timestamp> watch_lease(const HeldLease &lease);
// The same for a row that was read, and may have been claimed again since: what is known of a newer
// claim is kept, and ends no later. Nothing, too, where that one stands elsewhere: whoever moved
// the row may yet roll back, and only one place is watched for each row.
std::optional<core::Timestamp> watch_seen_lease(const HeldLease &lease);
// After the commit of what watch_lease() was told, which has answered `until`. What somebody has
// changed since ends no later; what has lapsed meanwhile, while nobody could take the row, is
// watched again. False when there is no room.
bool confirm_lease(const HeldLease &lease, core::Timestamp until);
// After the commit of a settle. Another claim's stays as it is.
void forget_lease(const shmem::LeaseKey &key, std::int64_t claim);

// How many leases have lapsed so far: as long as it stays the same, none was taken off.
std::uint64_t lapses();

// The earliest instant at which a watched lease may lapse.
core::Timestamp least_expiry();

// Opens the places of the leases that have lapsed, of every database, and wakes their queues. At
// the cost of one read when there is none.
void open_lapsed(core::Timestamp now, Wake wake);

// Who is to be told when a lease comes in that ends earlier than all others; called once.
void tell_of_earlier_lease(void (*tell)());

}  // namespace x_jobs::heads
