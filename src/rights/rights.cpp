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

bool owns_extension() {
    return superuser() || has_privs_of_role(GetUserId(), store::owner());
}

bool holds(const store::mirror::Grant &grant, Capability capability) {
    return grant.capability == capability && has_privs_of_role(GetUserId(), grant.role);
}

}  // namespace

void require(Capability capability) {
    store::mirror::refresh();
    if (owns_extension()) {
        return;
    }
    const auto grants = store::mirror::grants();
    if (std::none_of(grants.begin(), grants.end(),
                     [&](const auto &grant) { return holds(grant, capability); })) {
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
    if (owns_extension()) {
        return true;
    }
    const auto grants = store::mirror::grants();
    return std::any_of(grants.begin(), grants.end(), [&](const auto &grant) {
        return (grant.queue.empty() || grant.queue == queue) && holds(grant, Capability::worker);
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
    if (!owns_extension()) {
        errors::permission_denied("granting rights on x_jobs",
                                  "Only the owner of the extension or a superuser may grant.");
    }
}

X_JOBS_SQL_FUNCTION(x_jobs_require_owner, require_owner)

}  // namespace x_jobs::rights
