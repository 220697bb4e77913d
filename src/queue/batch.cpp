// See batch.hpp.
#include "queue/batch.hpp"

#include <algorithm>

#include "store/queues.hpp"

namespace x_jobs::queue {

namespace {

using store::Row;

using Key = std::optional<store::Key>;

class Batch {
   public:
    explicit Batch(pg::Array<Request *> &requests) : requests_(requests) {
        live_ = store::Live::open();
        for (std::size_t i = 0; i < requests.size(); ++i) {
            answers_.push({});
        }
    }

    // In the order of the keys.
    void add(std::size_t number, const Key &key);
    // Inserts those that wait to go in together.
    void flush();
    void close() { live_.close(); }
    const pg::Array<Enqueued> &answers() const { return answers_; }

   private:
    void know_queue(const Request &request);
    bool is_free(const store::Key &key);
    void insert_together();

    pg::Array<Request *> &requests_;
    pg::Array<Enqueued> answers_;
    pg::Array<std::size_t> together_;
    std::string_view queue_;
    // Whether the index was looked at; then no entry has a key from there on before this one, or
    // before the end.
    bool looked_ = false;
    Key free_to_;
    Key last_key_;
    store::Live live_;
};

void Batch::know_queue(const Request &request) {
    if (queue_.empty() || queue_ != request.row.queue()) {
        queue_ = request.row.queue();
        store::ensure_queue(queue_);
    }
}

// Whether no index entry has the key. Keys come in their order, so one look is good for all those
// before the next entry, and for most batches for all of them. An entry may be that of an enqueue
// which has not ended, or dead and not yet removed.
bool Batch::is_free(const store::Key &key) {
    const auto is_before_end = [&] { return !free_to_ || key < *free_to_; };
    if (!looked_ || !is_before_end()) {
        free_to_ = live_.next_key(key);
        looked_ = true;
    }
    return is_before_end();
}

// Those whose key is free go in together: not beside a request of the same key, which has to find
// it; and a caller's own id is looked for in the history too.
void Batch::add(std::size_t number, const Key &key) {
    Request &request = *requests_[number];
    know_queue(request);
    const bool repeated = key && last_key_ == key;
    last_key_ = key;
    if (!request.has_own_id && !repeated && (!key || is_free(*key))) {
        together_.push(number);
        if (together_.size() == store::kTogether) {
            flush();
        }
        return;
    }
    Row holder;
    if (!request.has_own_id && !repeated && is_held(live_, request, holder)) {
        if (const auto answer = answer_at_once(request, holder)) {
            answers_[number] = *answer;
            return;
        }
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
    // Somebody has taken one of the keys since: from there on one by one, each waiting for who
    // holds its key.
    for (std::size_t i = entered; i < together_.size(); ++i) {
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
        Key key;
        std::size_t number;
    };
    pg::Array<Keyed> order;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        order.push({store::key_of(requests[i]->row), i});
    }
    std::sort(order.begin(), order.end(), [](const Keyed &one, const Keyed &other) {
        const auto difference = one.key <=> other.key;
        return difference != 0 ? difference < 0 : one.number < other.number;
    });
    Batch batch(requests);
    for (const Keyed &next : order) {
        CHECK_FOR_INTERRUPTS();
        batch.add(next.number, next.key);
    }
    batch.flush();
    batch.close();
    return batch.answers();
}

}  // namespace x_jobs::queue
