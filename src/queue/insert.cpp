// See insert.hpp.
#include "queue/insert.hpp"

#include "clock/clock.hpp"
#include "core/identity.hpp"
#include "ending/ending.hpp"
#include "errors/errors.hpp"
#include "store/history.hpp"
#include "store/queues.hpp"
#include "wake/announce.hpp"

namespace x_jobs::queue {

namespace {

using store::Column;
using store::Row;

Enqueued deduped_onto(const Row &row) {
    return {row.id(), row.get<core::Uuid>(Column::run_id), true};
}

// Gives a waiting job the new input, time and priority; `changed` when it moved on meanwhile.
store::WriteResult replace(store::Live &live, Row &holder, const Request &request) {
    for (const Column column : {Column::input, Column::run_at, Column::priority, Column::state}) {
        const auto n = static_cast<std::size_t>(column);
        holder.values[n] = request.row.values[n];
    }
    holder.set(Column::updated_at, clock::now());
    const store::WriteResult result = live.update(holder, store::Wait::yes);
    if (result == store::WriteResult::done) {
        wake::made_claimable(holder.queue(), request.run_at, wake::Channel::waiters_and_notify);
    }
    return result;
}

// A holder that can never be handed out any more must not swallow new work: it ends here, as the
// next claim would have ended it. False when it is no such job.
bool expire_holder(store::Live &live, Row &holder) {
    const core::Timestamp now = clock::now();
    if (!core::is_expired(holder.claim_view(), now)) {
        return false;
    }
    store::HistoryWriter history;
    ending::expire(live, history, holder, now, store::Wait::yes);
    history.close();
    return true;
}

// What a request does when a live job holds its key. Nothing when the holder changed and must be
// looked for again.
std::optional<Enqueued> meet(store::Live &live, Row &holder, const Request &request) {
    if (expire_holder(live, holder)) {
        return std::nullopt;
    }
    const auto state = holder.state();
    if (request.on_conflict == OnConflict::error) {
        refuse_duplicate(holder);
    }
    if (request.on_conflict == OnConflict::replace && state && core::is_waiting(*state) &&
        replace(live, holder, request) != store::WriteResult::done) {
        return std::nullopt;
    }
    return deduped_onto(holder);
}

bool finished_meanwhile(void *id) {
    return store::history_holds(*static_cast<core::Uuid *>(id));
}

// A caller's own id names a row in whatever state: that row is the answer, before any key is looked
// at.
std::optional<Enqueued> find_own_id(store::Live &live, const Request &request) {
    const core::Uuid id = request.row.id();
    Row found;
    if (live.find(id, found)) {
        return deduped_onto(found);
    }
    store::HistoryRow history;
    if (!history.find(id, found)) {
        return std::nullopt;
    }
    const Enqueued answer = deduped_onto(found);
    history.close();
    return answer;
}

// Puts the row in unless somebody holds its key or its id.
bool try_insert(store::Live &live, Request &request, bool has_key) {
    if (!has_key && !request.has_own_id) {
        live.insert(request.row);
        return true;
    }
    if (!request.has_own_id) {
        return live.insert_unless_taken(request.row, live.key_arbiters(), nullptr, nullptr);
    }
    // The job of this id may have finished between the look and the insert: asked again while the
    // row stands, so that it cannot happen unseen.
    core::Uuid id = request.row.id();
    return live.insert_unless_taken(request.row, live.key_and_id_arbiters(), finished_meanwhile,
                                    &id);
}

List *arbiters_of(store::Live &live, const Request &request) {
    return request.has_own_id ? live.key_and_id_arbiters() : live.key_arbiters();
}

}  // namespace

namespace {

// Asked of the system for many ids at once.
std::span<const unsigned char, 8> random_bytes() {
    static std::array<unsigned char, 512> pool;
    static std::size_t used = pool.size();
    if (used == pool.size()) {
        if (!pg_strong_random(pool.data(), pool.size())) {
            elog(ERROR, "could not generate random values");
        }
        used = 0;
    }
    used += 8;
    return std::span<const unsigned char, 8>{pool.data() + used - 8, 8};
}

}  // namespace

core::Uuid new_id() {
    static core::IdentityClock identity_clock;
    return core::make_uuid7(identity_clock, clock::unix_micros(), random_bytes());
}

void refuse_duplicate(const Row &holder) {
    const Datum id = DirectFunctionCall1(uuid_out, holder.raw(Column::id).datum);
    errors::raise(errors::Code::job_duplicate, {DatumGetCString(id)});
}

void mint_ids(Request &request) {
    for (const Column column : {Column::id, Column::run_id}) {
        if (request.row.raw(column).is_null) {
            request.row.set(column, new_id());
        }
    }
}

Enqueued inserted(const Request &request) {
    wake::made_claimable(request.row.queue(), request.run_at, wake::Channel::waiters_and_notify);
    return {request.row.id(), request.row.get<core::Uuid>(Column::run_id), false};
}

bool is_held(store::Live &live, const Request &request, Row &holder) {
    const std::optional<store::Key> key = store::key_of(request.row);
    return key && live.find(*key, holder);
}

std::optional<Enqueued> answer_at_once(const Request &request, const Row &holder) {
    if (request.on_conflict != OnConflict::dedupe ||
        core::is_expired(holder.claim_view(), clock::now())) {
        return std::nullopt;
    }
    return deduped_onto(holder);
}

namespace {

// Looking for the holder of a key costs an index scan, which a new key does not need: the index
// tells at the insertion whether it is taken. A key that is taken costs a row that is written in
// vain. So keys are looked for as long as this session has met holders lately.
constexpr int kLooksAfterHolder = 100;
// A new session looks for its first few.
int looks_left = 8;

bool looks_first() {
    if (looks_left > 0) {
        --looks_left;
        return true;
    }
    return false;
}

}  // namespace

Enqueued enqueue_one(store::Live &live, Request &request) {
    Row &row = request.row;
    store::ensure_queue(row.queue());
    const std::optional<store::Key> key = store::key_of(row);
    bool look_first = looks_first();
    for (;;) {
        if (request.has_own_id) {
            if (const auto found = find_own_id(live, request)) {
                return *found;
            }
        }
        Row holder;
        bool held = look_first && is_held(live, request, holder);
        look_first = true;
        if (!held && try_insert(live, request, key.has_value())) {
            return inserted(request);
        }
        // Held by a row that moved during the look, or by an enqueue that has not ended.
        held = held || (key && live.find_fresh(*key, holder));
        looks_left = kLooksAfterHolder;
        if (held) {
            if (const auto answer = meet(live, holder, request)) {
                return *answer;
            }
        } else {
            live.wait_for_key(row, arbiters_of(live, request));
        }
        CHECK_FOR_INTERRUPTS();
    }
}

namespace {

core::Uuid new_id_for_sql() {
    return new_id();
}

}  // namespace

X_JOBS_SQL_FUNCTION(x_jobs_new_id, new_id_for_sql)

}  // namespace x_jobs::queue
