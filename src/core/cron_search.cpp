// See cron.hpp: when a schedule comes round. Walks the stretches of the zone, and asks the calendar
// in each of them.
#include <algorithm>

#include "core/cron.hpp"
#include "core/cron_calendar.hpp"

namespace x_jobs::core::cron {

namespace {

constexpr std::int64_t kMicros = 1'000'000;
constexpr std::int64_t kCycleDays = 146'097;
// The years -4800 and 10000: the server knows no instant before the former, and next() none from
// the latter on.
constexpr std::int64_t kBegin = -17 * kCycleDays * kDaySeconds * kMicros;
constexpr std::int64_t kEnd = 20 * kCycleDays * kDaySeconds * kMicros;

// More than the offsets of any zone differ among each other (26 hours, at a date line that moves).
constexpr std::int64_t kReach = 2 * kDaySeconds;

// A stretch, and what came before it.
struct Leg {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t offset;
    std::int64_t offset_before;
    // The first local second that the wall clock has not shown before.
    std::int64_t fresh;
};

struct Candidate {
    std::int64_t at;
    std::int64_t moved;
};

// What lies further back than this has no influence: its gaps and its repeated times are over.
Leg first_leg(const Zone &zone, std::int64_t after) {
    const std::int64_t begin = after - kReach;
    const Stretch stretch = zone.stretch_at(zone.data, begin);
    return {begin, stretch.until, stretch.offset, stretch.offset, begin + stretch.offset};
}

Leg leg_after(const Zone &zone, const Leg &leg) {
    const Stretch stretch = zone.stretch_at(zone.data, leg.end);
    return {leg.end, stretch.until, stretch.offset, leg.offset,
            std::max(leg.fresh, leg.end + leg.offset)};
}

// The first matching local time that the wall clock shows in this leg.
std::optional<Candidate> shown(const Schedule &schedule, const Leg &leg, std::int64_t after) {
    std::int64_t from = std::max(after + 1, leg.begin) + leg.offset;
    if (!schedule.follows_real_time) {
        from = std::max(from, leg.fresh);
    }
    const std::optional<std::int64_t> match = first_match(schedule, from);
    if (!match || *match - leg.offset >= leg.end) {
        return std::nullopt;
    }
    return Candidate{*match - leg.offset, 0};
}

// The first matching local time that was skipped where this leg begins.
std::optional<Candidate> moved(const Schedule &schedule, const Leg &leg, std::int64_t after) {
    if (schedule.follows_real_time || leg.offset <= leg.offset_before) {
        return std::nullopt;
    }
    const std::int64_t from =
        std::max({after + 1 + leg.offset_before, leg.begin + leg.offset_before, leg.fresh});
    const std::optional<std::int64_t> match = first_match(schedule, from);
    if (!match || *match >= leg.begin + leg.offset) {
        return std::nullopt;
    }
    return Candidate{*match - leg.offset_before, leg.offset - leg.offset_before};
}

// Of two in one instant the one that was not moved counts.
void take_earlier(std::optional<Candidate> &least, const std::optional<Candidate> &other) {
    if (other && (!least || other->at < least->at ||
                  (other->at == least->at && other->moved < least->moved))) {
        least = other;
    }
}

// An instant before which nothing fires in any leg after this one. A later leg may show times again
// that this one has shown, hence the look back.
std::optional<std::int64_t> quiet_until(const Schedule &schedule, const Leg &leg) {
    const std::optional<std::int64_t> match = first_match(schedule, leg.end + leg.offset - kReach);
    if (!match) {
        return std::nullopt;
    }
    return *match - leg.offset - kReach;
}

std::optional<Candidate> next_on_wall(const Schedule &schedule, const Zone &zone,
                                      std::int64_t after) {
    std::optional<Candidate> least;
    Leg leg = first_leg(zone, after);
    for (;;) {
        take_earlier(least, shown(schedule, leg, after));
        take_earlier(least, moved(schedule, leg, after));
        if ((least && least->at < leg.end) || leg.end >= kEnd / kMicros) {
            return least;
        }
        const std::optional<std::int64_t> quiet = quiet_until(schedule, leg);
        if (!quiet) {
            return least;
        }
        // A rare schedule is not followed through hundreds of changes of the clock.
        if (*quiet - kReach > leg.end) {
            after = *quiet - 1;
            leg = first_leg(zone, after);
        } else {
            leg = leg_after(zone, leg);
        }
    }
}

Timestamp next_of_interval(const Schedule &schedule, Timestamp after) {
    if (after < schedule.anchor) {
        return schedule.anchor + schedule.period;
    }
    // Unsigned, since the difference of two instants may be larger than any of them.
    const std::uint64_t passed = static_cast<std::uint64_t>(after.micros) -
                                 static_cast<std::uint64_t>(schedule.anchor.micros);
    const std::uint64_t into_period = passed % static_cast<std::uint64_t>(schedule.period.count());
    return after + Duration{schedule.period.count() - static_cast<std::int64_t>(into_period)};
}

}  // namespace

std::optional<Occurrence> next(const Schedule &schedule, const Zone &zone, Timestamp after) {
    after.micros = std::max(after.micros, kBegin);
    Occurrence found;
    if (after.micros >= kEnd) {
        return std::nullopt;
    }
    if (schedule.is_interval) {
        if (schedule.period <= Duration::zero()) {
            return std::nullopt;
        }
        found.at = next_of_interval(schedule, after);
    } else {
        const std::optional<Candidate> candidate =
            next_on_wall(schedule, zone, floor_divide(after.micros, kMicros));
        if (!candidate) {
            return std::nullopt;
        }
        found.at.micros = candidate->at * kMicros;
        found.moved = Duration{candidate->moved * kMicros};
    }
    if (found.at.micros >= kEnd) {
        return std::nullopt;
    }
    return found;
}

std::optional<Occurrence> last(const Schedule &schedule, const Zone &zone, Timestamp after,
                               Timestamp upto) {
    std::optional<Occurrence> found = next(schedule, zone, after);
    if (!found || found->at > upto) {
        return std::nullopt;
    }
    // Nothing fires after this instant, up to `upto`.
    std::int64_t high = std::min(upto.micros, kEnd);
    while (found->at.micros < high) {
        const std::int64_t middle = found->at.micros + (high - found->at.micros) / 2;
        const std::optional<Occurrence> later = next(schedule, zone, Timestamp{middle});
        if (later && later->at.micros <= high) {
            found = later;
        } else {
            high = middle;
        }
    }
    return found;
}

}  // namespace x_jobs::core::cron
