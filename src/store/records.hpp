// What an ended attempt leaves behind besides its row: a tally row for the counters, and for a
// failed attempt a record for people. Both are append only and written in the settle's own
// transaction.
#pragma once

#include "store/row.hpp"
#include "store/table.hpp"

namespace x_jobs::store {

enum class Tally : char { done = 'd', failed = 'f', dead = 'x', retried = 'r' };

class TallyWriter {
   public:
    // Counts one ended attempt under the row's name and queue.
    void count(const Row &row, Tally outcome, core::Timestamp ended_at, core::Duration duration);
    void close();

   private:
    bool open_ = false;
    Table table_;
};

// Keeps upkeep from emptying a tally to the end of the transaction, for a reader who takes a
// snapshot afterwards. Waits for a roll-up that is under way.
void hold_tallies();

struct FailedAttempt {
    std::string_view outcome;
    std::optional<std::string_view> error;
    std::optional<std::string_view> code;
    std::optional<std::string_view> stack;
    core::Timestamp ended_at;
    core::Duration duration;
};

// Records a failed attempt of `row`, which still shows who held it and since when.
void record_failure(const Row &row, const FailedAttempt &attempt);

// Erases the records of a removed job.
void erase_attempts(const core::Uuid &job);

}  // namespace x_jobs::store
