// What each backend keeps of the small tables: pauses and known queues, grants, the bounds of the
// ring, the turn of the tallies. A mirror is dropped by the relcache invalidation that every writer
// of its table sends, and is read anew at the next use: exact from the next statement on, without
// shared memory and without a page read.
#pragma once

#include "core/ring.hpp"
#include "pg/array.hpp"

namespace x_jobs::store::mirror {

struct Queue {
    std::string_view name;
    bool paused;
};

enum class Capability { producer, worker, operate };

struct Grant {
    Oid role;
    Capability capability;
    // Empty stands for every queue.
    std::string_view queue;
};

// Registers the invalidation callback; called once, from _PG_init.
void initialise();

// Takes in what other sessions have committed. A statement that relies on a mirror calls it first.
void refresh();

// Adds the row of a queue that has been found committed and is not known yet; it is not paused,
// since a pause would have dropped the mirror.
void remember_queue(std::string_view name);

// The queue's row as far as it is known; nothing when the queue has none yet.
const Queue *find_queue(std::string_view name);
std::span<const Grant> grants();
const core::Ring &ring();
int tally_turn();

}  // namespace x_jobs::store::mirror
