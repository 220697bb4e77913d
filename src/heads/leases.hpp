// The jobs that run under a lease. Watched from the claim until the settle, each with the place
// that its lapse opens; found without a search when its time has come. An entry may be left over
// from a claim that was rolled back, and opens its place in vain; a lease that finds no room is the
// caller's to remember (Heads::watch).
#pragma once

#include "heads/queues.hpp"

namespace x_jobs::heads {

enum class Watched {
    until_then,
    until_earlier,  // it was watched already, and keeps its earlier end
    no_room,
};

// Watches the lease of the claim with the given ordinal.
Watched watch_lease(const shmem::LeaseKey &key, std::int64_t claim, QueueRef queue,
                    const core::Place &place, core::Timestamp expires_at);
// Moves the end of a watched lease; after the commit of its renewal. Another claim's stays as it
// is.
void renew_lease(const shmem::LeaseKey &key, std::int64_t claim, core::Timestamp expires_at);
// After the commit of a settle. Another claim's stays as it is.
void forget_lease(const shmem::LeaseKey &key, std::int64_t claim);

// The earliest instant at which a watched lease may lapse.
core::Timestamp least_expiry();

// Opens the places of the leases that have lapsed, of every database, and wakes their queues. At
// the cost of one read when there is none.
void open_lapsed(core::Timestamp now, Wake wake);

// Who is to be told when a lease comes in that ends earlier than all others; called once.
void tell_of_earlier_lease(void (*tell)());

}  // namespace x_jobs::heads
