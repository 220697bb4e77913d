// See heads.hpp.
#include "core/heads.hpp"

namespace x_jobs::core {

Heads::Heads() {
    for (int priority = 0; priority < kPriorities; ++priority) {
        frontier_[static_cast<std::size_t>(priority)] = lane_begin(priority);
    }
    open_.add(kEveryPlace);
}

void Heads::reset() {
    lower(kEveryPlace);
    watched_.clear();
    watched_until_ = kNever;
}

int Heads::begin_scan() {
    for (int i = 0; i < kConcurrentScans; ++i) {
        Scan &scan = scans_[static_cast<std::size_t>(i)];
        if (!scan.active) {
            scan.active = true;
            scan.opened_meanwhile.clear();
            return i;
        }
    }
    return kNoScan;
}

void Heads::end_scan(int scan) {
    if (scan != kNoScan) {
        scans_[static_cast<std::size_t>(scan)].active = false;
    }
}

// Whoever has looked at a place has done so for the other scans too: what was opened before that
// need not stay open on their account.
void Heads::subtract(const PlaceRange &range) {
    open_.subtract(range);
    for (Scan &scan : scans_) {
        if (scan.active) {
            scan.opened_meanwhile.subtract(range);
        }
    }
}

void Heads::close(int scan, std::span<const PlaceRange> covered, const Left &left) {
    if (scan == kNoScan) {
        return;
    }
    PlaceSet<kOpenedMeanwhile + kLeft> kept;
    for (const PlaceRange &range :
         scans_[static_cast<std::size_t>(scan)].opened_meanwhile.ranges()) {
        kept.add(range);
    }
    for (const PlaceRange &range : left.ranges()) {
        kept.add(range);
    }
    for (const PlaceRange &range : covered) {
        PlaceRange rest = range;
        for (const PlaceRange &keep : kept.ranges()) {
            subtract({rest.begin, std::min(keep.begin, rest.end)});
            rest.begin = std::max(rest.begin, keep.end);
        }
        subtract(rest);
    }
}

bool Heads::take(const Place &place) {
    if (!open_.contains(place)) {
        return false;
    }
    subtract(just(place));
    return true;
}

Place Heads::next_open(const Place &from) const {
    for (const PlaceRange &range : open_.ranges()) {
        if (from < range.end) {
            return std::max(from, range.begin);
        }
    }
    return kEveryPlace.end;
}

// Beyond the frontier lies nothing dead, so the rest of the priority is opened at once: the next
// rows, which mostly come behind this one, then change nothing.
PlaceRange Heads::widened(const PlaceRange &rows) const {
    const int priority = rows.begin.priority;
    if (priority < 0 || priority >= kPriorities || rows.end > lane_end(priority) ||
        rows.end <= frontier_[static_cast<std::size_t>(priority)]) {
        return rows;
    }
    return {rows.begin, lane_end(priority)};
}

void Heads::lower(const PlaceRange &rows) {
    if (rows.empty()) {
        return;
    }
    const PlaceRange opened = widened(rows);
    open_.add(opened);
    for (Scan &scan : scans_) {
        if (scan.active) {
            scan.opened_meanwhile.add(opened);
        }
    }
}

void Heads::pass(const Place &place) {
    if (place.priority >= 0 && place.priority < kPriorities) {
        Place &frontier = frontier_[static_cast<std::size_t>(place.priority)];
        frontier = std::max(frontier, next_place(place));
    }
}

void Heads::watch(const PlaceRange &rows, Timestamp due) {
    watched_.add(rows);
    watched_until_ = std::min(watched_until_, due);
}

void Heads::open_due(Timestamp now) {
    if (watched_until_ > now) {
        return;
    }
    for (const PlaceRange &range : watched_.ranges()) {
        lower(range);
    }
    watched_.clear();
    watched_until_ = kNever;
}

Timestamp Heads::next_due() const {
    Timestamp due = watched_until_;
    for (const PlaceRange &range : open_.ranges()) {
        // A range that crosses into another priority holds a place of every time.
        due = std::min(due, range.end.priority > range.begin.priority + 1 ||
                                    (range.end.priority > range.begin.priority &&
                                     range.end > lane_begin(range.end.priority))
                                ? kEver
                                : range.begin.run_at);
    }
    return due;
}

}  // namespace x_jobs::core
