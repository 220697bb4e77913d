// Acting as another role for the time of a call, as the server's own SECURITY DEFINER does. An
// error on the way is cleaned up by the abort.
#pragma once

#include "pg/postgres.hpp"

namespace x_jobs::surface {

// Takes back every setting that the body made, LOCAL or not: what it calls may be anybody's, and
// what follows it runs with the caller's rights. Runs `body` as the role, in a security-restricted
// context and with the search path.
template <typename Body>
Datum as_role(Oid role, const char *search_path, Body body) {
    Oid caller = InvalidOid;
    int context = 0;
    GetUserIdAndSecContext(&caller, &context);
    const int nest_level = NewGUCNestLevel();
    SetUserIdAndSecContext(role,
                           context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
    set_config_option("search_path", search_path, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true,
                      0, false);
    const Datum answer = body();
    AtEOXact_GUC(false, nest_level);
    SetUserIdAndSecContext(caller, context);
    return answer;
}

}  // namespace x_jobs::surface
