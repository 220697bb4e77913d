// See rights.hpp. Grants come from the backend's mirror; memberships from the server's own cache.
#include "rights/rights.hpp"

#include <algorithm>
#include <array>

#include "errors/errors.hpp"
#include "pg/function.hpp"
#include "pg/text.hpp"
#include "store/relations.hpp"

namespace x_jobs::rights {

namespace {

struct Wording {
    std::string_view what;
    std::string_view hint;
};

constexpr std::array<Wording, 3> kWordings{{
    {"producing jobs of x_jobs",
     "The owner of the extension can run SELECT x_jobs.grant_producer('role')."},
    {"working on jobs of x_jobs",
     "The owner of the extension can run SELECT x_jobs.grant_worker('role')."},
    {"operating x_jobs",
     "The owner of the extension can run SELECT x_jobs.grant_operator('role')."},
}};

bool owns_extension(Oid role) {
    return superuser_arg(role) || has_privs_of_role(role, store::owner());
}

bool holds(Oid role, const store::mirror::Grant &grant, Capability capability) {
    return grant.capability == capability && has_privs_of_role(role, grant.role);
}

bool role_has(Oid role, Capability capability) {
    store::mirror::refresh();
    const auto grants = store::mirror::grants();
    return owns_extension(role) ||
           std::any_of(grants.begin(), grants.end(),
                       [&](const auto &grant) { return holds(role, grant, capability); });
}

}  // namespace

bool has(Capability capability) {
    return role_has(GetUserId(), capability);
}

void require(Capability capability) {
    if (!has(capability)) {
        const Wording &wording = kWordings[static_cast<std::size_t>(capability)];
        errors::permission_denied(wording.what, wording.hint);
    }
}

void require_for_write(Capability capability, const char *verb) {
    PreventCommandIfReadOnly(verb);
    PreventCommandIfParallelMode(verb);
    PreventCommandDuringRecovery(verb);
    require(capability);
}

bool may_work(std::string_view queue) {
    const Oid role = GetUserId();
    if (owns_extension(role)) {
        return true;
    }
    const auto grants = store::mirror::grants();
    return std::any_of(grants.begin(), grants.end(), [&](const auto &grant) {
        return (grant.queue.empty() || grant.queue == queue) &&
               holds(role, grant, Capability::worker);
    });
}

void require_queue(std::string_view queue) {
    if (!may_work(queue)) {
        errors::permission_denied(psprintf("queue \"%s\" of x_jobs", pg::to_c_string(queue)),
                                  "The owner of the extension can run SELECT "
                                  "x_jobs.grant_worker('role', ARRAY['queue']).");
    }
}

void require_owner() {
    if (!owns_extension(GetUserId())) {
        errors::permission_denied("granting rights on x_jobs",
                                  "Only the owner of the extension or a superuser may grant.");
    }
}

namespace {

// For functions that act for another: whether the role exists, and may produce or operate.
bool role_may(std::optional<std::int32_t> role, std::optional<std::string_view> capability) {
    const Oid oid = static_cast<Oid>(*role);
    return SearchSysCacheExists1(AUTHOID, ObjectIdGetDatum(oid)) &&
           role_has(oid, *capability == "operator" ? Capability::operate : Capability::producer);
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_require_owner, require_owner)
X_JOBS_SQL_FUNCTION(x_jobs_role_may, role_may)

}  // namespace x_jobs::rights
