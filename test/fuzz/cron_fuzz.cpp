// If this failed, a text could crash the server, hold a processor for ever, or fire backwards.
//
// The first bytes of an input make a zone and an instant, the rest is the text of a schedule.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/cron.hpp"

namespace {

using x_jobs::core::Timestamp;
using x_jobs::core::cron::DayRule;
using x_jobs::core::cron::Fault;
using x_jobs::core::cron::Field;
using x_jobs::core::cron::kForever;
using x_jobs::core::cron::last;
using x_jobs::core::cron::next;
using x_jobs::core::cron::parse;
using x_jobs::core::cron::Parsed;
using x_jobs::core::cron::Problem;
using x_jobs::core::cron::Stretch;
using x_jobs::core::cron::Zone;

constexpr std::int64_t kMicros = 1'000'000;
constexpr std::int64_t kDay = 86'400;
constexpr int kFirings = 8;

// A clock that goes back and forth between two offsets, at intervals of its own, from 2000 up to a
// last change.
struct Clock {
    std::int16_t offset_minutes[2];
    std::uint16_t hours_between;
    std::uint8_t seconds;
    std::uint8_t changes;
};

struct Input {
    Clock clock;
    std::int64_t after;
    std::int64_t upto;
    std::int64_t period;
};

// Between -12 and +14 hours, as those of real zones are.
std::int32_t offset_of(const Clock &clock, std::int64_t stretch) {
    const int minutes = clock.offset_minutes[stretch & 1] % (13 * 60) + 60;
    return minutes * 60 + clock.seconds % 60 * static_cast<int>(stretch & 1);
}

Stretch stretch_at(const void *data, std::int64_t instant) {
    const Clock &clock = *static_cast<const Clock *>(data);
    const std::int64_t length = 1800 + clock.hours_between * std::int64_t{3600};
    if (instant < 0) {
        return {offset_of(clock, 1), 0};
    }
    const std::int64_t stretch = instant / length;
    if (stretch >= clock.changes) {
        return {offset_of(clock, clock.changes), kForever};
    }
    return {offset_of(clock, stretch), (stretch + 1) * length};
}

void require(bool held) {
    if (!held) {
        std::abort();
    }
}

void check_fault(std::string_view text, const Fault &fault) {
    const bool inside =
        fault.text.empty() || (fault.text.data() >= text.data() &&
                               fault.text.data() + fault.text.size() <= text.data() + text.size());
    require(inside && fault.field <= Field::weekday);
}

void check_schedule(Parsed parsed, const Input &input) {
    parsed.schedule.period = x_jobs::core::Duration{input.period};
    parsed.schedule.anchor = Timestamp{input.after ^ input.period};
    const Zone zone{stretch_at, &input.clock};
    Timestamp after{input.after};
    Timestamp latest{};
    int found = 0;
    for (; found < kFirings; ++found) {
        const auto occurrence = next(parsed.schedule, zone, after);
        if (!occurrence) {
            break;
        }
        require(occurrence->at > after && occurrence->moved.count() >= 0);
        require(parsed.schedule.is_interval || occurrence->at.micros % kMicros == 0);
        // Nothing lies between, seen from anywhere in between.
        const auto again = next(parsed.schedule, zone, Timestamp{occurrence->at.micros - 1});
        require(again && again->at == occurrence->at && again->moved == occurrence->moved);
        after = occurrence->at;
        latest = after;
    }
    if (found > 0) {
        const auto same = last(parsed.schedule, zone, Timestamp{input.after}, latest);
        require(same && same->at == latest);
    }
    const auto any = last(parsed.schedule, zone, Timestamp{input.after}, Timestamp{input.upto});
    require(!any || (any->at.micros > input.after && any->at.micros <= input.upto));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    Input input{};
    const std::size_t head = std::min(size, sizeof input);
    if (head > 0) {
        std::memcpy(&input, data, head);
    }
    const std::string_view text{reinterpret_cast<const char *>(data) + head, size - head};
    for (const DayRule rule : {DayRule::either, DayRule::both}) {
        const Parsed parsed = parse(text, rule);
        check_fault(text, parsed.fault);
        if (parsed.fault.problem == Problem::none) {
            check_schedule(parsed, input);
        }
    }
    return 0;
}
