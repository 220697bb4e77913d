// See cron.hpp: how a text becomes a schedule. Items are read in cron_item; when it fires is found
// in cron_search.
#include "core/cron.hpp"

#include <algorithm>

#include "core/cron_calendar.hpp"
#include "core/cron_item.hpp"

namespace x_jobs::core::cron {

namespace {

constexpr std::string_view kWhiteSpace = " \t\n\v\f\r";
constexpr std::string_view kEvery = "@every";

constexpr std::array<Range, kFields> kRanges{{{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 7}}};
constexpr std::array<std::string_view, kFields> kFieldNames{"second",       "minute", "hour",
                                                            "day of month", "month",  "weekday"};
struct Macro {
    std::string_view name;
    std::string_view text;
};
constexpr std::array kMacros{Macro{"@yearly", "0 0 1 1 *"},  Macro{"@annually", "0 0 1 1 *"},
                             Macro{"@monthly", "0 0 1 * *"}, Macro{"@weekly", "0 0 * * 0"},
                             Macro{"@daily", "0 0 * * *"},   Macro{"@midnight", "0 0 * * *"},
                             Macro{"@hourly", "0 * * * *"}};

std::string_view trim(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(kWhiteSpace), text.size()));
    return {text.data(), text.find_last_not_of(kWhiteSpace) + 1};
}

// Takes the first word off a text that was trimmed, and leaves a text that is trimmed.
std::string_view take_word(std::string_view &text) {
    const Cut word = cut(text, kWhiteSpace);
    text = trim(word.tail);
    return word.head;
}

Fault add_field(Schedule &schedule, Field field, std::string_view text) {
    std::string_view rest = text;
    for (;;) {
        const Cut item = cut(rest, ",");
        const Problem problem = add_item(schedule, field, item.head);
        if (problem != Problem::none) {
            return {problem, field, item.head.empty() ? text : item.head};
        }
        if (!item.found) {
            return {};
        }
        rest = item.tail;
    }
}

// The text has been trimmed.
Fault read_fields(Schedule &schedule, std::string_view text) {
    std::array<std::string_view, kFields> words;
    std::size_t count = 0;
    std::string_view rest = text;
    while (!rest.empty() && count < words.size()) {
        words[count++] = take_word(rest);
    }
    if (!rest.empty() || count < words.size() - 1) {
        return {Problem::field_count, Field::second, text};
    }
    // Five fields begin with the minute.
    const std::size_t left_out = words.size() - count;
    if (left_out > 0) {
        schedule.seconds = 1;
    }
    schedule.days_restricted = true;
    schedule.weekdays_restricted = true;
    for (std::size_t n = 0; n < count; ++n) {
        const Fault fault = add_field(schedule, static_cast<Field>(n + left_out), words[n]);
        if (fault.problem != Problem::none) {
            return fault;
        }
    }
    return has_days(schedule) ? Fault{} : Fault{Problem::never, Field::day, text};
}

Fault read_macro(Parsed &parsed, std::string_view text) {
    std::string_view rest = text;
    const std::string_view word = take_word(rest);
    if (is_word(word, kEvery)) {
        parsed.schedule.is_interval = true;
        parsed.interval = rest;
        return rest.empty() ? Fault{Problem::empty_item, Field::second, text} : Fault{};
    }
    for (const Macro &macro : kMacros) {
        if (rest.empty() && is_word(word, macro.name)) {
            return read_fields(parsed.schedule, macro.text);
        }
    }
    return {Problem::unknown_macro, Field::second, text};
}

}  // namespace

Range range_of(Field field) {
    return kRanges[static_cast<std::size_t>(field)];
}

std::string_view name_of(Field field) {
    return kFieldNames[static_cast<std::size_t>(field)];
}

Parsed parse(std::string_view text, DayRule day_rule) {
    Parsed parsed;
    parsed.schedule.day_rule = day_rule;
    if (text.size() > kMaxText) {
        // The text is not shown again: it may be as long as a value of the server can be.
        parsed.fault.problem = Problem::too_long;
        return parsed;
    }
    text = trim(text);
    if (text.empty()) {
        parsed.fault.problem = Problem::empty;
    } else if (text.front() == '@') {
        parsed.fault = read_macro(parsed, text);
    } else {
        parsed.fault = read_fields(parsed.schedule, text);
    }
    return parsed;
}

}  // namespace x_jobs::core::cron
