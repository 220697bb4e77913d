// What a queue's claims know of its table: the places where a claimable row may stand. Pure values;
// shared memory keeps one for each queue, and src/heads guards it with a lock.
//
// It is a hint that may say too much and never too little: every claimable row stands in an open
// place, or some transaction will open its place once the row can be seen. A claim scans the open
// places only, and closes those that it went through; so it never meets again what is dead,
// whatever vacuum can or cannot remove.
//
// - A new queue is open everywhere.
// - A row that becomes claimable opens its place after others can see it. Where no claim has been
//   yet (beyond the frontier of its priority) the whole rest is opened, since nothing dead lies
//   there.
// - A claim's scan is registered before it begins. What is opened while it runs it may have passed
//   too early, so that stays open when the scan closes what it went through.
// - A claim takes a place before it touches the row: a taken place is closed, so no two claims try
//   the same row, and whoever took it opens it again if the row stays claimable.
#pragma once

#include "core/limits.hpp"
#include "core/place.hpp"

namespace x_jobs::core {

constexpr int kOpenRanges = 64;
constexpr int kConcurrentScans = 16;
constexpr int kOpenedMeanwhile = 4;
constexpr int kLeft = 8;
// A scan that found no room to be registered may look, and closes nothing.
constexpr int kNoScan = -1;

class Heads {
   public:
    Heads();

    using Open = PlaceSet<kOpenRanges>;
    // What a scan leaves claimable behind itself.
    using Left = PlaceSet<kLeft>;

    // Opens everything.
    void reset();

    const Open &open() const { return open_; }

    // Registers a scan that is about to read the table.
    int begin_scan();
    // Closes what the scan went through, but for what was opened meanwhile and what it left.
    void close(int scan, std::span<const PlaceRange> covered, const Left &left);
    void end_scan(int scan);

    // Closes the place, for a claim that will open it again if it does not get the row. False when
    // it is not open: then somebody else has it.
    bool take(const Place &place);
    // The first open place from there on.
    Place next_open(const Place &from) const;

    // Opens the places of rows that have become claimable and can be seen.
    void lower(const PlaceRange &rows);

    // Notes how far claims have gone in a priority.
    void pass(const Place &place);

    // Rows that run under a lease which nobody watches: opened when `due` has come.
    void watch(const PlaceRange &rows, Timestamp due);
    // Opens what is watched, if its time has come.
    void open_due(Timestamp now);

    // The least instant at which a scan may find something; in the past for now, kNever for
    // nothing.
    Timestamp next_due() const;

   private:
    struct Scan {
        bool active = false;
        PlaceSet<kOpenedMeanwhile> opened_meanwhile;
    };

    PlaceRange widened(const PlaceRange &rows) const;
    void subtract(const PlaceRange &range);

    Open open_;
    // The place behind the last index entry that a scan has seen, for each priority.
    std::array<Place, kPriorities> frontier_{};
    std::array<Scan, kConcurrentScans> scans_{};
    PlaceSet<1> watched_;
    Timestamp watched_until_ = kNever;
};

}  // namespace x_jobs::core
