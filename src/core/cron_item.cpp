// See cron_item.hpp.
#include "core/cron_item.hpp"

#include <algorithm>
#include <charconv>
#include <span>

namespace x_jobs::core::cron {

namespace {

constexpr int kWeek = 7;
constexpr std::size_t kLeastNameLength = 3;

constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                   "may",       "june",     "july",     "august",
                                                   "september", "october",  "november", "december"};
constexpr std::array<std::string_view, 7> kWeekdays{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};

// The server's own function depends on the locale.
constexpr char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// Nowhere is substr called: its check of the position would need the C++ runtime.
std::string_view without_last(std::string_view text) {
    text.remove_suffix(1);
    return text;
}

struct Value {
    Problem problem;
    int number = 0;
};

Value read_number(std::string_view part, Range range) {
    if (part.empty()) {
        return {Problem::empty_item};
    }
    unsigned number = 0;
    const char *const end = part.data() + part.size();
    const auto [rest, error] = std::from_chars(part.data(), end, number);
    if (error == std::errc::invalid_argument || rest != end) {
        return {Problem::no_number};
    }
    if (error != std::errc{} || number < static_cast<unsigned>(range.least) ||
        number > static_cast<unsigned>(range.most)) {
        return {Problem::out_of_range};
    }
    return {Problem::none, static_cast<int>(number)};
}

std::span<const std::string_view> names_of(Field field) {
    if (field == Field::month) {
        return kMonths;
    }
    if (field == Field::weekday) {
        return kWeekdays;
    }
    return {};
}

// A number of the field, or a name.
Value read_value(Field field, std::string_view part) {
    int number = range_of(field).least;
    for (const std::string_view name : names_of(field)) {
        if (part.size() >= kLeastNameLength && part.size() <= name.size() &&
            is_word(part, {name.data(), part.size()})) {
            return {Problem::none, number};
        }
        ++number;
    }
    return read_number(part, range_of(field));
}

Value read_step(Field field, std::string_view part) {
    if (cut(part, "/").found) {
        return {Problem::double_step};
    }
    const Value step = read_number(part, {1, range_of(field).most});
    return step.problem == Problem::none || step.problem == Problem::empty_item
               ? step
               : Value{Problem::bad_step};
}

// What is wrong with a part that read_value refused: L, W and # are known to a reader, only not
// here.
Problem refusal(Field field, std::string_view part, Problem problem) {
    if (problem != Problem::no_number) {
        return problem;
    }
    const char end = lower(part.back());
    const std::string_view rest = without_last(part);
    const bool is_mark =
        (end == 'l' || end == 'w') &&
        (is_word(rest, "l") || read_value(field, rest).problem != Problem::no_number);
    return is_mark || cut(part, "#").found ? Problem::misplaced : problem;
}

// The values that a field has, each once; weekday 7 is 0.
Range cycle_of(Field field) {
    return field == Field::weekday ? Range{0, kWeek - 1} : range_of(field);
}

Bits &bits_of(Schedule &schedule, Field field) {
    switch (field) {
        case Field::second:
            return schedule.seconds;
        case Field::minute:
            return schedule.minutes;
        case Field::hour:
            return schedule.hours;
        case Field::day:
            return schedule.days;
        case Field::month:
            return schedule.months;
        case Field::weekday:
            break;
    }
    return schedule.weekdays;
}

// Both ends belong to it; a range that ends before it begins goes through the end of the cycle. A
// weekday 7 may be either end: 0-7 is the whole week, 7-7 is Sunday alone.
void add_range(Schedule &schedule, Field field, Range range, int step) {
    const Range cycle = cycle_of(field);
    const int length = cycle.most - cycle.least + 1;
    const int distance = range.most - range.least + (range.most < range.least ? length : 0);
    for (int n = 0; n <= distance; n += step) {
        bits_of(schedule, field) |= Bits{1}
                                    << (cycle.least + (range.least - cycle.least + n) % length);
    }
}

void add_star(Schedule &schedule, Field field, int step, bool is_bare) {
    add_range(schedule, field, cycle_of(field), step);
    if (field == Field::minute || field == Field::hour) {
        schedule.follows_real_time = true;
    }
    if (field == Field::day && is_bare) {
        schedule.days_restricted = false;
    }
    if (field == Field::weekday && is_bare) {
        schedule.weekdays_restricted = false;
    }
}

// L, LW and nW.
Problem add_day_mark(Schedule &schedule, std::string_view mark) {
    if (is_word(mark, "l")) {
        schedule.last_day = true;
        return Problem::none;
    }
    if (is_word(mark, "lw")) {
        schedule.last_working_day = true;
        return Problem::none;
    }
    const std::string_view number = without_last(mark);
    if (lower(mark.back()) != 'w' || number.empty()) {
        return Problem::no_number;
    }
    const Value day = read_value(Field::day, number);
    if (day.problem == Problem::none) {
        schedule.nearest_working_days |= Bits{1} << day.number;
    }
    return day.problem;
}

// n#k.
Problem add_nth_weekday(Schedule &schedule, const Cut &mark) {
    const Value weekday = read_value(Field::weekday, mark.head);
    if (weekday.problem != Problem::none) {
        return weekday.problem;
    }
    const int most = static_cast<int>(schedule.nth_weekdays.size());
    const Value nth = read_number(mark.tail, {1, most});
    if (nth.problem == Problem::none) {
        schedule.nth_weekdays[static_cast<std::size_t>(nth.number - 1)] |=
            Bits{1} << (weekday.number % kWeek);
    }
    return nth.problem;
}

// nL.
Problem add_last_weekday(Schedule &schedule, std::string_view mark) {
    const std::string_view name = without_last(mark);
    if (lower(mark.back()) != 'l' || name.empty()) {
        return Problem::no_number;
    }
    const Value weekday = read_value(Field::weekday, name);
    if (weekday.problem == Problem::none) {
        schedule.last_weekdays |= Bits{1} << (weekday.number % kWeek);
    }
    return weekday.problem;
}

// What stands alone in an item: a value, or a mark where the field has some.
Problem add_single(Schedule &schedule, Field field, std::string_view part) {
    const Value value = read_value(field, part);
    if (value.problem == Problem::none) {
        add_range(schedule, field, {value.number, value.number}, 1);
        return Problem::none;
    }
    Problem problem = value.problem;
    if (problem == Problem::no_number && field == Field::day) {
        problem = add_day_mark(schedule, part);
    }
    if (problem == Problem::no_number && field == Field::weekday) {
        const Cut mark = cut(part, "#");
        if (mark.found) {
            return add_nth_weekday(schedule, mark);
        }
        problem = add_last_weekday(schedule, part);
    }
    return refusal(field, part, problem);
}

}  // namespace

bool is_word(std::string_view text, std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                      [](char one, char other) { return lower(one) == other; });
}

Cut cut(std::string_view text, std::string_view at_any_of) {
    const std::size_t at = text.find_first_of(at_any_of);
    if (at == std::string_view::npos) {
        return {false, text, {}};
    }
    return {true, {text.data(), at}, {text.data() + at + 1, text.size() - at - 1}};
}

Problem add_item(Schedule &schedule, Field field, std::string_view item) {
    const Cut base = cut(item, "/");
    const Value step = base.found ? read_step(field, base.tail) : Value{Problem::none, 1};
    if (step.problem != Problem::none) {
        return step.problem;
    }
    if (base.head == "*" || base.head == "?") {
        add_star(schedule, field, step.number, !base.found);
        return Problem::none;
    }
    const Cut range = cut(base.head, "-");
    if (!range.found && !base.found) {
        return add_single(schedule, field, item);
    }
    const Value least = read_value(field, range.head);
    if (least.problem != Problem::none) {
        return refusal(field, range.head, least.problem);
    }
    Value most{Problem::none, cycle_of(field).most};
    if (range.found) {
        most = read_value(field, range.tail);
        if (most.problem != Problem::none) {
            return refusal(field, range.tail, most.problem);
        }
    }
    add_range(schedule, field, {least.number, most.number}, step.number);
    return Problem::none;
}

}  // namespace x_jobs::core::cron
