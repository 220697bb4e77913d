// See queues.hpp.
#include "lease/queues.hpp"

#include <algorithm>

#include "arguments/arguments.hpp"
#include "errors/errors.hpp"
#include "rights/rights.hpp"
#include "store/mirror.hpp"

namespace x_jobs::lease {

pg::Array<std::string_view> read_queues(std::optional<pg::ArrayRef> list) {
    pg::Array<std::string_view> queues;
    const pg::Elements elements = pg::elements_of(arguments::required(list, "queues"));
    if (elements.size() == 0) {
        errors::raise(errors::Code::claim_queues_empty);
    }
    if (elements.size() > core::kMaxQueuesPerClaim) {
        errors::invariant("queues", "must have at most 1000 elements");
    }
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const auto given = arguments::element(elements.get<std::string_view>(i), "queues");
        const auto queue =
            given.empty() ? std::string_view{"default"} : arguments::text(given, "queues");
        if (std::find(queues.begin(), queues.end(), queue) == queues.end()) {
            rights::require_queue(queue);
            queues.push(queue);
        }
    }
    return queues;
}

pg::Array<std::string_view> open_queues(const pg::Array<std::string_view> &queues) {
    pg::Array<std::string_view> open;
    for (const std::string_view queue : queues) {
        const store::mirror::Queue *known = store::mirror::find_queue(queue);
        if (known == nullptr || !known->paused) {
            open.push(queue);
        }
    }
    return open;
}

}  // namespace x_jobs::lease
