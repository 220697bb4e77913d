// Where a job stands in the order in which its queue hands jobs out, and sets of such places. Pure
// values: a set is a sorted list of disjoint half-open ranges with room for a fixed number of them;
// when there are more, the nearest two become one, so a set may say too much, and never too little.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include "core/limits.hpp"
#include "core/values.hpp"

namespace x_jobs::core {

// The order of the claim index within a queue.
struct Place {
    std::int16_t priority = 0;
    Timestamp run_at;
    Uuid id;
    auto operator<=>(const Place &) const = default;
};

constexpr Timestamp kEver{std::numeric_limits<std::int64_t>::min()};

// The first place of a priority; that of the next one ends it.
constexpr Place lane_begin(int priority) {
    return {static_cast<std::int16_t>(priority), kEver, Uuid{}};
}

constexpr Place lane_end(int priority) {
    return lane_begin(priority + 1);
}

// The place that follows immediately.
constexpr Place next_place(Place place) {
    for (std::size_t i = place.id.bytes.size(); i > 0; --i) {
        if (++place.id.bytes[i - 1] != 0) {
            return place;
        }
    }
    if (place.run_at != kNever) {
        ++place.run_at.micros;
        return place;
    }
    return lane_end(place.priority);
}

struct PlaceRange {
    Place begin;
    Place end;
    bool empty() const { return end <= begin; }
    bool contains(const Place &place) const { return begin <= place && place < end; }
    bool operator==(const PlaceRange &) const = default;
};

constexpr PlaceRange kEveryPlace{lane_begin(0), lane_end(kPriorities - 1)};

constexpr PlaceRange just(const Place &place) {
    return {place, next_place(place)};
}

template <int Room>
class PlaceSet {
   public:
    void clear() { size_ = 0; }
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return static_cast<std::size_t>(size_); }
    std::span<const PlaceRange> ranges() const { return {ranges_.data(), size()}; }
    bool contains(const Place &place) const;

    // Adds a range; what touches or overlaps becomes one.
    void add(const PlaceRange &added);
    // Takes a range out. A set without room for the split keeps what it cannot split.
    void subtract(const PlaceRange &taken);

   private:
    // Of two neighbours: how much the set says too much if they become one.
    static std::int64_t gap(const PlaceRange &left, const PlaceRange &right);
    void insert(int at, const PlaceRange &range);
    void erase(int first, int last);
    void join_nearest();

    int size_ = 0;
    // One more than the room, for the moment between an insertion and a junction.
    std::array<PlaceRange, Room + 1> ranges_{};
};

template <int Room>
bool PlaceSet<Room>::contains(const Place &place) const {
    const auto all = ranges();
    const auto after =
        std::upper_bound(all.begin(), all.end(), place,
                         [](const Place &one, const PlaceRange &range) { return one < range.end; });
    return after != all.end() && after->begin <= place;
}

template <int Room>
void PlaceSet<Room>::add(const PlaceRange &added) {
    if (added.empty()) {
        return;
    }
    PlaceRange joined = added;
    int first = 0;
    while (first < size_ && ranges_[static_cast<std::size_t>(first)].end < joined.begin) {
        ++first;
    }
    int last = first;
    for (; last < size_ && ranges_[static_cast<std::size_t>(last)].begin <= joined.end; ++last) {
        const PlaceRange &met = ranges_[static_cast<std::size_t>(last)];
        joined.begin = std::min(joined.begin, met.begin);
        joined.end = std::max(joined.end, met.end);
    }
    erase(first, last);
    insert(first, joined);
    if (size_ > Room) {
        join_nearest();
    }
}

template <int Room>
void PlaceSet<Room>::subtract(const PlaceRange &taken) {
    if (taken.empty()) {
        return;
    }
    for (int i = 0; i < size_;) {
        PlaceRange &range = ranges_[static_cast<std::size_t>(i)];
        if (range.end <= taken.begin || taken.end <= range.begin) {
            ++i;
            continue;
        }
        const PlaceRange before{range.begin, taken.begin};
        const PlaceRange after{taken.end, range.end};
        if (!before.empty() && !after.empty()) {
            if (size_ < Room) {
                range = before;
                insert(i + 1, after);
            }
            return;
        }
        if (before.empty() && after.empty()) {
            erase(i, i + 1);
            continue;
        }
        range = before.empty() ? after : before;
        ++i;
    }
}

template <int Room>
std::int64_t PlaceSet<Room>::gap(const PlaceRange &left, const PlaceRange &right) {
    constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
    if (left.end.priority != right.begin.priority) {
        return kFar;
    }
    std::int64_t distance = 0;
    const bool overflow =
        __builtin_sub_overflow(right.begin.run_at.micros, left.end.run_at.micros, &distance);
    return overflow ? kFar : distance;
}

template <int Room>
void PlaceSet<Room>::insert(int at, const PlaceRange &range) {
    std::copy_backward(ranges_.begin() + at, ranges_.begin() + size_, ranges_.begin() + size_ + 1);
    ranges_[static_cast<std::size_t>(at)] = range;
    ++size_;
}

template <int Room>
void PlaceSet<Room>::erase(int first, int last) {
    std::copy(ranges_.begin() + last, ranges_.begin() + size_, ranges_.begin() + first);
    size_ -= last - first;
}

template <int Room>
void PlaceSet<Room>::join_nearest() {
    int nearest = 0;
    for (int i = 1; i + 1 < size_; ++i) {
        const auto n = static_cast<std::size_t>(i);
        const auto best = static_cast<std::size_t>(nearest);
        if (gap(ranges_[n], ranges_[n + 1]) < gap(ranges_[best], ranges_[best + 1])) {
            nearest = i;
        }
    }
    const auto n = static_cast<std::size_t>(nearest);
    ranges_[n].end = ranges_[n + 1].end;
    erase(nearest + 1, nearest + 2);
}

}  // namespace x_jobs::core
