// Time zones as tables, and instants as texts, for the tests of cron schedules.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "core/cron.hpp"

namespace x_jobs::unit {

using core::cron::DayRule;
using core::cron::kForever;
using core::cron::Stretch;

constexpr std::chrono::sys_days kEpoch = std::chrono::year{2000} / 1 / 1;
constexpr std::int64_t kMicros = 1'000'000;

// "2026-03-29T01:00" or "2026-03-29T01:00:30", in seconds since 2000.
inline std::int64_t instant(const char *text) {
    int year = 0;
    int month = 0;
    int day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    std::sscanf(text, "%d-%d-%dT%d:%d:%d", &year, &month, &day, &hour, &minute, &second);
    const std::chrono::sys_days date = std::chrono::year{year} / month / day;
    return (date - kEpoch).count() * 86'400 + (hour * 60 + minute) * 60 + second;
}

inline std::string text_of(std::int64_t instant) {
    const std::int64_t day = instant / 86'400 - (instant % 86'400 < 0 ? 1 : 0);
    const std::chrono::year_month_day date{kEpoch + std::chrono::days{day}};
    const int time = static_cast<int>(instant - day * 86'400);
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d",
                  static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                  static_cast<unsigned>(date.day()), time / 3600, time / 60 % 60);
    std::string all = text.data();
    if (time % 60 != 0) {
        std::snprintf(text.data(), text.size(), ":%02d", time % 60);
        all += text.data();
    }
    return all + "Z";
}

struct Change {
    std::int64_t at;
    int offset;
};

struct TableZone {
    int first_offset;
    std::vector<Change> changes;
    // How often a search has asked.
    mutable int asked = 0;

    Stretch stretch(std::int64_t at) const {
        int offset = first_offset;
        for (const Change &change : changes) {
            if (change.at > at) {
                return {offset, change.at};
            }
            offset = change.offset;
        }
        return {offset, kForever};
    }

    core::cron::Zone zone() const {
        return {[](const void *data, std::int64_t at) {
                    const auto *self = static_cast<const TableZone *>(data);
                    ++self->asked;
                    return self->stretch(at);
                },
                this};
    }
};

}  // namespace x_jobs::unit
