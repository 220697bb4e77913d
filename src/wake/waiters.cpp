// See waiters.hpp.
#include "wake/waiters.hpp"

#include <algorithm>
#include <utility>

#include "clock/clock.hpp"
#include "heads/leases.hpp"
#include "pg/compat.hpp"
#include "settings/settings.hpp"
#include "shmem/layout.hpp"

namespace x_jobs::wake {

namespace {

using shmem::Waiter;

Waiter *own_waiter() {
    shmem::Shared *shared = shmem::pointer();
    return shared == nullptr ? nullptr : &shared->waiters[pg::compat::my_proc_number()];
}

bool waits_for(const Waiter &waiter, Oid database, std::uint64_t queue) {
    if (waiter.database != database) {
        return false;
    }
    if (waiter.any_queue || queue == 0) {
        return true;
    }
    const auto *last = waiter.queues.begin() + waiter.queue_count;
    return std::find(waiter.queues.begin(), last, queue) != last;
}

bool wake_one(int process, Waiter &waiter) {
    std::uint32_t expected = shmem::kWaiting;
    if (!pg_atomic_compare_exchange_u32(&waiter.state, &expected, shmem::kWoken)) {
        return false;
    }
    SetLatch(&ProcGlobal->allProcs[process].procLatch);
    return true;
}

// What this process waits for, while it does.
Oid waited_relation = InvalidOid;
std::span<const std::string_view> waited_queues;
// When its last look at the table began.
core::Timestamp looked_at;

// This process was woken, and its look at the table is not complete.
bool answering = false;

// One waiter wakes when the next lease lapses, and tells those whom it concerns; the others sleep
// on.
bool owns_timer() {
    shmem::Shared *shared = shmem::pointer();
    if (shared == nullptr) {
        return false;
    }
    const auto self = static_cast<std::uint32_t>(pg::compat::my_proc_number());
    std::uint32_t owner = shmem::kNobody;
    return pg_atomic_compare_exchange_u32(&shared->timer_owner, &owner, self) || owner == self;
}

void give_timer_back() {
    auto owner = static_cast<std::uint32_t>(pg::compat::my_proc_number());
    pg_atomic_compare_exchange_u32(&shmem::pointer()->timer_owner, &owner, shmem::kNobody);
}

// Has the owner of the timer ask for the earliest end again.
void poke_timer_owner() {
    const std::uint32_t owner = pg_atomic_read_u32(&shmem::pointer()->timer_owner);
    if (owner != shmem::kNobody) {
        SetLatch(&ProcGlobal->allProcs[owner].procLatch);
    }
}

bool waits_for_any_of(const Waiter &waiter, const Waiter &other) {
    const auto *last = other.queues.begin() + other.queue_count;
    return other.any_queue || std::any_of(other.queues.begin(), last, [&](std::uint64_t queue) {
               return waits_for(waiter, other.database, queue);
           });
}

bool is_asleep(const Waiter &waiter) {
    return pg_atomic_read_u32(const_cast<pg_atomic_uint32 *>(&waiter.state)) == shmem::kWaiting;
}

// Has one other waiter set its alarm anew: nobody may know any more when the next job of these
// queues is due, and when the next lease ends. The timer of the leases is everybody's, so where
// nobody else waits for these queues any waiter will do for it.
void hand_over(const Waiter &own, bool timer) {
    shmem::Shared *shared = shmem::pointer();
    LWLockAcquire(shared->lock, LW_SHARED);
    int chosen = -1;
    for (int i = 0; i < shared->waiter_count; ++i) {
        const Waiter &waiter = shared->waiters[i];
        if (&waiter == &own || !is_asleep(waiter)) {
            continue;
        }
        if (waits_for_any_of(waiter, own)) {
            chosen = i;
            break;
        }
        chosen = timer ? i : chosen;
    }
    if (chosen >= 0) {
        SetLatch(&ProcGlobal->allProcs[chosen].procLatch);
    }
    LWLockRelease(shared->lock);
}

// The wake that this process got and did not use belongs to somebody else who waits for the same
// queues.
void pass_on(const Waiter &waiter) {
    if (waiter.any_queue) {
        wake_waiters(waiter.database, 0, 1);
        return;
    }
    for (int i = 0; i < waiter.queue_count; ++i) {
        wake_waiters(waiter.database, waiter.queues[static_cast<std::size_t>(i)], 1);
    }
}

// Whether a wake came that no look has answered.
bool stop_waiting(Waiter &waiter) {
    pg_atomic_fetch_sub_u32(&shmem::pointer()->waiting, 1);
    const bool woken = pg_atomic_exchange_u32(&waiter.state, shmem::kIdle) == shmem::kWoken;
    return woken || std::exchange(answering, false);
}

// When the next job of the waited queues falls due, of those that were not due at the last look:
// these it saw, and others have been woken for them since.
core::Timestamp next_due() {
    core::Timestamp next = core::kNever;
    for (const std::string_view queue : waited_queues) {
        const core::Timestamp due = heads::next_due(heads::find(waited_relation, queue));
        next = due > looked_at ? std::min(next, due) : next;
    }
    return next;
}

// Whether a look may find something that nobody has told this process of: what it asks is kept in
// shared memory, so that a thousand idle waiters do not look at tables.
bool may_find_something(core::Timestamp now) {
    return std::any_of(waited_queues.begin(), waited_queues.end(), [&](std::string_view queue) {
        return heads::may_find_something(heads::find(waited_relation, queue), now);
    });
}

// How long a waiter goes without asking by itself. Where commits wake it that is only a net, which
// one of all waiters holds closely: a thousand that ask every second would keep a processor busy.
core::Duration poll_span() {
    constexpr int kLooser = 10;
    return shmem::pointer() == nullptr || owns_timer() ? settings::poll_interval()
                                                       : settings::poll_interval() * kLooser;
}

// The instant at which this process has to look although nobody wakes it.
core::Timestamp alarm(core::Timestamp latest) {
    const core::Timestamp at = std::min(latest, next_due());
    return owns_timer() ? std::min(at, heads::least_expiry()) : at;
}

bool has_timer() {
    return pg_atomic_read_u32(&shmem::pointer()->timer_owner) ==
           static_cast<std::uint32_t>(pg::compat::my_proc_number());
}

// Whether the others would sleep past something that this process has its alarm set for.
bool is_alarmed() {
    const core::Timestamp at =
        std::min(next_due(), has_timer() ? heads::least_expiry() : core::kNever);
    return at < clock::now() + settings::poll_interval();
}

void leave(Waiter &waiter, bool alarmed) {
    waited_queues = {};
    const bool timer = has_timer();
    if (stop_waiting(waiter)) {
        pass_on(waiter);
    }
    give_timer_back();
    if (alarmed && pg_atomic_read_u32(&shmem::pointer()->waiting) > 0) {
        hand_over(waiter, timer);
    }
}

bool is_waiting(Waiter *waiter) {
    return waiter != nullptr && pg_atomic_read_u32(&waiter->state) != shmem::kIdle;
}

}  // namespace

void begin_wait(Oid relation, std::span<const std::string_view> queues, Appetite appetite) {
    waited_relation = relation;
    waited_queues = queues;
    looked_at = clock::now();
    Waiter *waiter = own_waiter();
    if (waiter == nullptr) {
        return;
    }
    shmem::Shared *shared = shmem::pointer();
    LWLockAcquire(shared->lock, LW_EXCLUSIVE);
    waiter->database = MyDatabaseId;
    waiter->selective = appetite == Appetite::some_jobs;
    waiter->any_queue = queues.size() > shmem::kWaiterQueues;
    waiter->queue_count = waiter->any_queue ? 0 : static_cast<int>(queues.size());
    for (int i = 0; i < waiter->queue_count; ++i) {
        waiter->queues[static_cast<std::size_t>(i)] =
            heads::queue_hash(queues[static_cast<std::size_t>(i)]);
    }
    pg_atomic_write_u32(&waiter->state, shmem::kWaiting);
    pg_atomic_fetch_add_u32(&shared->waiting, 1);
    LWLockRelease(shared->lock);
}

void end_wait() {
    Waiter *waiter = own_waiter();
    if (!is_waiting(waiter)) {
        return;
    }
    answering = false;
    leave(*waiter, is_alarmed());
}

void abandon_wait() {
    Waiter *waiter = own_waiter();
    if (is_waiting(waiter)) {
        // The names of the queues may be gone already, so the alarm is not asked for.
        leave(*waiter, true);
    }
}

void sleep_until(core::Timestamp latest) {
    Waiter *waiter = own_waiter();
    answering = false;
    core::Timestamp poll_at = clock::now() + poll_span();
    core::Timestamp at = alarm(latest);
    while (waiter == nullptr || pg_atomic_read_u32(&waiter->state) != shmem::kWoken) {
        const core::Timestamp now = clock::now();
        if (now >= at) {
            break;
        }
        if (now >= poll_at) {
            if (waiter == nullptr || may_find_something(now)) {
                break;
            }
            poll_at = now + poll_span();
        }
        // Rounded up: waking a moment early would only mean another look.
        const auto millis =
            std::chrono::ceil<std::chrono::milliseconds>(std::min(at, poll_at) - now).count();
        static_cast<void>(WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
                                    static_cast<long>(millis), PG_WAIT_EXTENSION));
        ResetLatch(MyLatch);
        CHECK_FOR_INTERRUPTS();
        // An alarm that has been handed over may be earlier.
        at = std::min(at, alarm(latest));
    }
    CHECK_FOR_INTERRUPTS();
    looked_at = clock::now();
    if (waiter != nullptr) {
        // Before the look that follows, so that a commit from here on wakes again.
        answering = pg_atomic_exchange_u32(&waiter->state, shmem::kWaiting) == shmem::kWoken;
    }
}

void wake_waiters(Oid database, std::uint64_t queue, int jobs) {
    shmem::Shared *shared = shmem::pointer();
    if (shared == nullptr) {
        return;
    }
    // Orders this read after the commit that made the jobs visible.
    pg_memory_barrier();
    if (pg_atomic_read_u32(&shared->waiting) == 0) {
        return;
    }
    LWLockAcquire(shared->lock, LW_SHARED);
    int left = jobs;
    for (int i = 0; i < shared->waiter_count; ++i) {
        Waiter &waiter = shared->waiters[i];
        const bool concerned = pg_atomic_read_u32(&waiter.state) == shmem::kWaiting &&
                               (left > 0 || waiter.selective || waiter.any_queue) &&
                               waits_for(waiter, database, queue);
        if (concerned && wake_one(i, waiter) && !waiter.selective && !waiter.any_queue) {
            --left;
        }
    }
    LWLockRelease(shared->lock);
}

void initialise() {
    heads::tell_of_earlier_lease(poke_timer_owner);
}

}  // namespace x_jobs::wake
