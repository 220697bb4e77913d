// See batch.hpp.
#include "queue/batch.hpp"

#include <algorithm>

#include "store/queues.hpp"

namespace x_jobs::queue {

namespace {

using store::Column;
using store::Row;

// In the order of the dedupe index.
struct SortKey {
    std::optional<std::string_view> idempotency_key;
    std::string_view name;
    std::string_view tenant_id;
    auto operator<=>(const SortKey &) const = default;
};

SortKey sort_key(const Request &request) {
    const Row &row = request.row;
    return {row.optional<std::string_view>(Column::idempotency_key),
            row.get<std::string_view>(Column::name), row.get<std::string_view>(Column::tenant_id)};
}

bool same_key(const Request &one, const Request &other) {
    return !one.row.raw(Column::idempotency_key).is_null && sort_key(one) == sort_key(other);
}

class Batch {
   public:
    explicit Batch(pg::Array<Request *> &requests) : requests_(requests) {
        live_ = store::Live::open();
        for (std::size_t i = 0; i < requests.size(); ++i) {
            answers_.push({});
        }
    }

    void add(std::size_t number);
    // Inserts those that wait to go in together.
    void flush();
    void close() { live_.close(); }
    const pg::Array<Enqueued> &answers() const { return answers_; }

   private:
    void know_queue(const Request &request);
    bool goes_together(const Request &request);
    void insert_together();

    pg::Array<Request *> &requests_;
    pg::Array<Enqueued> answers_;
    pg::Array<std::size_t> together_;
    std::string_view queue_;
    // Whether keys are looked for before they are inserted.
    bool looks_first_ = true;
    bool found_any_ = false;
    store::Live live_;
};

void Batch::know_queue(const Request &request) {
    if (queue_.empty() || queue_ != request.row.queue()) {
        queue_ = request.row.queue();
        store::ensure_queue(queue_);
    }
}

// Not beside a request of the same key, which has to find it; and a caller's own id is looked for
// in the history too.
bool Batch::goes_together(const Request &request) {
    return !request.has_own_id &&
           (together_.empty() || !same_key(*requests_[together_[together_.size() - 1]], request));
}

void Batch::add(std::size_t number) {
    Request &request = *requests_[number];
    know_queue(request);
    Row holder;
    const bool held = looks_first_ && is_held(live_, request, holder);
    if (!held && !found_any_) {
        // A batch whose first key is new is mostly new altogether, and the indexes tell of the
        // rest.
        looks_first_ = false;
    }
    found_any_ = found_any_ || held;
    const auto answer =
        held && !request.has_own_id ? answer_at_once(request, holder) : std::nullopt;
    if (answer) {
        answers_[number] = *answer;
        return;
    }
    if (!held && goes_together(request)) {
        together_.push(number);
        if (together_.size() == store::kTogether) {
            flush();
        }
        return;
    }
    // It may have to wait for somebody, so those before it must stand.
    flush();
    answers_[number] = enqueue_one(live_, request);
}

// In the order in which they came, which is that of their ids and of the claims to come; only the
// keys are entered in the order of the keys.
void Batch::insert_together() {
    pg::Array<std::size_t> numbers;
    for (const std::size_t number : together_) {
        numbers.push(number);
    }
    std::sort(numbers.begin(), numbers.end());
    pg::Array<const Row *> rows;
    for (const std::size_t number : numbers) {
        rows.push(&requests_[number]->row);
    }
    pg::Array<std::size_t> order;
    for (const std::size_t number : together_) {
        const auto *at = std::lower_bound(numbers.begin(), numbers.end(), number);
        order.push(static_cast<std::size_t>(at - numbers.begin()));
    }
    const std::size_t entered = live_.insert_until_taken(
        {rows.begin(), rows.size()}, {order.begin(), order.size()}, live_.key_arbiters());
    for (std::size_t i = 0; i < entered; ++i) {
        answers_[together_[i]] = inserted(*requests_[together_[i]]);
    }
    // Somebody has one of the keys: from there on one by one, each waiting for who holds its key.
    for (std::size_t i = entered; i < together_.size(); ++i) {
        looks_first_ = found_any_ = true;
        answers_[together_[i]] = enqueue_one(live_, *requests_[together_[i]]);
    }
}

void Batch::flush() {
    if (together_.size() > 1) {
        insert_together();
    } else if (together_.size() == 1) {
        answers_[together_[0]] = enqueue_one(live_, *requests_[together_[0]]);
    }
    together_.clear();
}

}  // namespace

pg::Array<Enqueued> enqueue_all(pg::Array<Request *> &requests) {
    struct Keyed {
        SortKey key;
        std::size_t number;
    };
    pg::Array<Keyed> order;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        order.push({sort_key(*requests[i]), i});
    }
    std::sort(order.begin(), order.end(), [](const Keyed &one, const Keyed &other) {
        const auto difference = one.key <=> other.key;
        return difference != 0 ? difference < 0 : one.number < other.number;
    });
    Batch batch(requests);
    for (const Keyed &next : order) {
        CHECK_FOR_INTERRUPTS();
        batch.add(next.number);
    }
    batch.flush();
    batch.close();
    return batch.answers();
}

}  // namespace x_jobs::queue
