// Who may do what. Owns the check that every verb makes before it touches a table: the server has
// checked EXECUTE, this checks the grant itself, so that neither alone opens the door. Superusers
// and members of the extension's owner may do everything. Failing a check raises 42501.
#pragma once

#include <string_view>

#include "store/mirror.hpp"

namespace x_jobs::rights {

using store::mirror::Capability;

// Whether the current role has the capability, for a worker on at least one queue.
bool has(Capability capability);

// Raises unless the current role has the capability, for a worker on at least one queue.
void require(Capability capability);

// The same for a call that writes: refuses it on a standby, in a read-only transaction and in a
// parallel one before anything is touched, with the server's own codes. `verb` names the call in
// the message.
void require_for_write(Capability capability, const char *verb);

// Whether the current role may work on the queue.
bool may_work(std::string_view queue);

// Raises unless the current role may work on the queue.
void require_queue(std::string_view queue);

// Raises unless the current role owns the extension.
void require_owner();

}  // namespace x_jobs::rights
