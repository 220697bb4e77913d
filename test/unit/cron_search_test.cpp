// If this failed, the search would leave out or invent a firing somewhere in the calendar, where no
// table looks.
//
// Random schedules in random zones, against a walk that goes through every second or minute of the
// wall clock and knows nothing of the search: it has its own calendar, and its own reading of each
// item.
#include <algorithm>
#include <random>
#include <set>

#include "core/cron.hpp"
#include "cron_zone.hpp"
#include "unit.hpp"

namespace {

using x_jobs::core::Timestamp;
using x_jobs::core::cron::last;
using x_jobs::core::cron::next;
using x_jobs::core::cron::Occurrence;
using x_jobs::core::cron::parse;
using x_jobs::core::cron::Parsed;
using x_jobs::core::cron::Problem;
using x_jobs::core::cron::Schedule;
using x_jobs::unit::check;
using x_jobs::unit::DayRule;
using x_jobs::unit::kMicros;
using x_jobs::unit::TableZone;
using x_jobs::unit::text_of;

constexpr std::int64_t kDay = 86'400;
constexpr int kSecond = 0;
constexpr int kMinute = 1;
constexpr int kHour = 2;
constexpr int kDayOfMonth = 3;
constexpr int kMonth = 4;
constexpr int kWeekday = 5;

std::mt19937 random_source(20261202);

int pick(int least, int most) {
    return least + static_cast<int>(random_source() % static_cast<unsigned>(most - least + 1));
}
bool chance(int percent) {
    return pick(1, 100) <= percent;
}

struct Date {
    int month;
    int day;
    int weekday;
    int days_in_month;
};

// From 2000-01-01 on, for 800 years.
std::vector<Date> make_calendar() {
    std::vector<Date> dates;
    int weekday = 6;
    for (int year = 2000; year < 2800; ++year) {
        const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        const int lengths[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        for (int month = 1; month <= 12; ++month) {
            for (int day = 1; day <= lengths[month - 1]; ++day) {
                dates.push_back({month, day, weekday, lengths[month - 1]});
                weekday = (weekday + 1) % 7;
            }
        }
    }
    return dates;
}
const std::vector<Date> kCalendar = make_calendar();
constexpr int kCycle = 146'097;

// What a text should mean.
struct Model {
    std::string text;
    std::set<int> values[6];
    bool stars[6] = {};
    bool real_time = false;
    bool last_day = false;
    bool last_working_day = false;
    std::set<int> nearest;
    std::set<int> last_weekdays;
    std::set<std::pair<int, int>> nth;
    DayRule rule = DayRule::either;

    bool day_matches(const Date &date) const;
    bool time_matches(std::int64_t second_of_day) const {
        const int second = static_cast<int>(second_of_day);
        return values[kHour].contains(second / 3600) &&
               values[kMinute].contains(second / 60 % 60) && values[kSecond].contains(second % 60);
    }
};

bool is_working(const Date &date, int day) {
    const int weekday = ((date.weekday + day - date.day) % 7 + 7) % 7;
    return weekday != 0 && weekday != 6;
}

// By the definition: of the month's working days the one with the least distance.
int nearest_working(const Date &date, int to) {
    int best = 0;
    for (int day = 1; day <= date.days_in_month; ++day) {
        if (is_working(date, day) && (best == 0 || std::abs(day - to) < std::abs(best - to))) {
            best = day;
        }
    }
    return best;
}

bool Model::day_matches(const Date &date) const {
    if (!values[kMonth].contains(date.month)) {
        return false;
    }
    bool by_day = values[kDayOfMonth].contains(date.day);
    by_day = by_day || (last_day && date.day == date.days_in_month);
    if (last_working_day && is_working(date, date.day)) {
        bool later = false;
        for (int day = date.day + 1; day <= date.days_in_month; ++day) {
            later = later || is_working(date, day);
        }
        by_day = by_day || !later;
    }
    for (const int day : nearest) {
        by_day = by_day || (day <= date.days_in_month && nearest_working(date, day) == date.day);
    }
    bool by_weekday = values[kWeekday].contains(date.weekday);
    by_weekday =
        by_weekday || (last_weekdays.contains(date.weekday) && date.day + 7 > date.days_in_month);
    by_weekday = by_weekday || nth.contains({date.weekday, (date.day - 1) / 7 + 1});
    if (stars[kDayOfMonth] || stars[kWeekday]) {
        return (stars[kDayOfMonth] || by_day) && (stars[kWeekday] || by_weekday);
    }
    return rule == DayRule::both ? by_day && by_weekday : by_day || by_weekday;
}

constexpr int kLeast[] = {0, 0, 0, 1, 1, 0};
constexpr int kMost[] = {59, 59, 23, 31, 12, 6};

std::string name_of(int field, int value) {
    const char *months[] = {"",     "jan", "Feb",  "march", "apr", "MAY",     "June",
                            "july", "aug", "sept", "oct",   "nov", "december"};
    const char *weekdays[] = {"sun", "Monday", "tues", "wed", "THU", "fri", "sat"};
    if (field == kMonth && chance(30)) {
        return months[value];
    }
    if (field == kWeekday && chance(30)) {
        return weekdays[value % 7];
    }
    return std::to_string(value);
}

// Goes from one value to the next as a hand goes round a dial.
void add_range(Model &model, int field, int from, int to, int step) {
    int value = from;
    for (int n = 0;; ++n) {
        if (n % step == 0) {
            model.values[field].insert(value);
        }
        if (value == to) {
            return;
        }
        value = value == kMost[field] ? kLeast[field] : value + 1;
    }
}

std::string add_day_mark(Model &model) {
    const int kind = pick(1, 4);
    if (kind == 1) {
        model.last_day = true;
        return "L";
    }
    if (kind == 2) {
        model.last_working_day = true;
        return "lw";
    }
    const int day = kind == 3 ? pick(1, 31) : (chance(50) ? 1 : pick(28, 31));
    model.nearest.insert(day);
    return std::to_string(day) + "W";
}

std::string add_weekday_mark(Model &model) {
    const int weekday = pick(0, 7);
    if (chance(50)) {
        model.last_weekdays.insert(weekday % 7);
        return name_of(kWeekday, weekday) + "L";
    }
    const int nth = pick(1, 5);
    model.nth.insert({weekday % 7, nth});
    return name_of(kWeekday, weekday) + "#" + std::to_string(nth);
}

std::string add_item(Model &model, int field) {
    const int least = kLeast[field];
    const int most = kMost[field];
    const int kind = pick(1, 100);
    const int step = chance(80) ? pick(1, std::max(1, most / 2)) : pick(1, most);
    const int from = pick(least, most);
    const int to = pick(least, most);
    if (kind <= 15) {
        add_range(model, field, least, most, step);
        model.real_time = model.real_time || field == kMinute || field == kHour;
        return (chance(80) ? "*/" : "?/") + std::to_string(step);
    }
    if (kind <= 25) {
        add_range(model, field, from, most, step);
        return name_of(field, from) + "/" + std::to_string(step);
    }
    if (kind <= 35) {
        add_range(model, field, from, to, 1);
        return name_of(field, from) + "-" + name_of(field, to);
    }
    if (kind <= 50) {
        add_range(model, field, from, to, step);
        return name_of(field, from) + "-" + name_of(field, to) + "/" + std::to_string(step);
    }
    if (kind <= 75 && field == kDayOfMonth) {
        return add_day_mark(model);
    }
    if (kind <= 75 && field == kWeekday) {
        return add_weekday_mark(model);
    }
    model.values[field].insert(from);
    return name_of(field, from);
}

std::string add_star(Model &model, int field) {
    add_range(model, field, kLeast[field], kMost[field], 1);
    model.stars[field] = true;
    model.real_time = model.real_time || field == kMinute || field == kHour;
    return chance(80) ? "*" : "?";
}

// `star_percent` says how often a field is a star.
Model random_model(bool with_seconds, const int (&star_percent)[6]) {
    Model model;
    model.rule = chance(50) ? DayRule::both : DayRule::either;
    if (!with_seconds) {
        model.values[kSecond].insert(0);
    }
    for (int field = with_seconds ? kSecond : kMinute; field <= kWeekday; ++field) {
        std::string text;
        if (chance(star_percent[field])) {
            text = add_star(model, field);
        } else {
            text = add_item(model, field);
        }
        while (chance(30)) {
            text += "," + add_item(model, field);
        }
        model.text += (model.text.empty() ? "" : " ") + text;
    }
    return model;
}

// A stretch of time in a zone, in steps of a second or a minute, with the changes of its clock well
// inside.
struct Window {
    TableZone zone;
    std::int64_t unit;
    std::int64_t begin;
    std::int64_t end;
    // Where comparisons are made; what was shown before is known there.
    std::int64_t from() const { return begin + 3 * kDay; }
    std::int64_t upto() const { return end - 3 * kDay; }
};

// No offsets are further apart than those of real zones.
int other_offset(int offset, std::int64_t unit) {
    const int changes[] = {3600, 3600, 1800, 7200, 900, 86'400, 60, 93'600, 45 * 60};
    for (;;) {
        const int size = changes[pick(0, 8)] + (unit == 1 && chance(30) ? pick(1, 59) : 0);
        const int other = chance(50) ? offset + size : offset - size;
        if (other >= -12 * 3600 && other <= 14 * 3600) {
            return other;
        }
    }
}

Window random_window(std::int64_t unit, int days) {
    Window window{{0, {}}, unit, pick(10, 20'000) * kDay, 0};
    window.end = window.begin + days * kDay;
    int offset = (chance(30) ? pick(-12, -10) : pick(-12, 13)) * 3600;
    if (chance(30)) {
        offset += unit == 1 ? pick(1, 3599) : pick(1, 59) * 60;
    }
    window.zone.first_offset = offset;
    std::int64_t at = window.from() + pick(0, 20) * 3600;
    while (at < window.upto()) {
        offset = other_offset(offset, unit);
        window.zone.changes.push_back({at, offset});
        at += 3 * kDay + pick(0, 10 * 24 * 60) * 60;
    }
    return window;
}

struct Firing {
    std::int64_t at;
    std::int64_t moved;
    bool operator<(const Firing &other) const {
        return at != other.at ? at < other.at : moved < other.moved;
    }
};

// The walk: what the wall clock shows at each instant, and when it shows each time first.
class Walk {
   public:
    explicit Walk(const Window &window) : window_(window) {
        lowest_ = window.begin - 30 * 3600;
        lowest_ -= lowest_ % window.unit;
        first_shown_.assign(
            static_cast<std::size_t>((window.end - window.begin + 60 * 3600) / window.unit), kNot);
        Stretch stretch = window.zone.stretch(window.begin);
        for (std::int64_t at = window.begin; at < window.end; at += window.unit) {
            if (at >= stretch.until) {
                stretch = window.zone.stretch(at);
            }
            const std::int64_t local = at + stretch.offset;
            shown_.push_back(local);
            std::int64_t &first = first_shown_[index(local)];
            first = first == kNot ? at : first;
        }
    }

    std::vector<Firing> firings(const Model &model) const {
        std::vector<Firing> all;
        return model.real_time ? in_real_time(model) : at_fixed_times(model);
    }

   private:
    static constexpr std::int64_t kNot = std::numeric_limits<std::int64_t>::min();
    using Stretch = x_jobs::core::cron::Stretch;

    std::size_t index(std::int64_t local) const {
        return static_cast<std::size_t>((local - lowest_) / window_.unit);
    }

    // The dates are looked at once each, since that takes the time.
    template <typename Take>
    static void matching(const Model &model, std::int64_t local, std::int64_t &day, bool &matches,
                         Take take) {
        if (local / kDay != day) {
            day = local / kDay;
            matches = model.day_matches(kCalendar[static_cast<std::size_t>(day)]);
        }
        if (matches && model.time_matches(local % kDay)) {
            take();
        }
    }

    std::vector<Firing> in_real_time(const Model &model) const {
        std::vector<Firing> all;
        std::int64_t day = -1;
        bool matches = false;
        std::int64_t at = window_.begin;
        for (const std::int64_t local : shown_) {
            matching(model, local, day, matches, [&] { all.push_back({at, 0}); });
            at += window_.unit;
        }
        return all;
    }

    // A time that is never shown goes on from the last one that was, as if the clock had not been
    // changed.
    std::vector<Firing> at_fixed_times(const Model &model) const {
        std::vector<Firing> all;
        std::int64_t day = -1;
        bool matches = false;
        std::int64_t known_local = kNot;
        std::int64_t known_at = 0;
        for (std::size_t n = 0; n < first_shown_.size(); ++n) {
            const std::int64_t local = lowest_ + static_cast<std::int64_t>(n) * window_.unit;
            if (first_shown_[n] != kNot) {
                known_local = local;
                known_at = first_shown_[n];
            }
            if (known_local == kNot) {
                continue;
            }
            const std::int64_t at = known_at + (local - known_local);
            if (at >= window_.end) {
                break;
            }
            matching(model, local, day, matches, [&] {
                all.push_back({at, at + window_.zone.stretch(at).offset - local});
            });
        }
        std::sort(all.begin(), all.end());
        all.erase(
            std::unique(all.begin(), all.end(),
                        [](const Firing &one, const Firing &other) { return one.at == other.at; }),
            all.end());
        return all;
    }

    const Window &window_;
    std::int64_t lowest_;
    std::vector<std::int64_t> shown_;
    std::vector<std::int64_t> first_shown_;
};

void complain(const Model &model, const Window &window, std::int64_t after) {
    std::cout << "# \"" << model.text << "\" " << (model.rule == DayRule::both ? "both" : "either")
              << " after " << text_of(after) << ", offset " << window.zone.first_offset;
    for (const auto &change : window.zone.changes) {
        std::cout << ", from " << text_of(change.at) << ' ' << change.offset;
    }
    std::cout << '\n';
}

struct Tally {
    int schedules = 0;
    int firings = 0;
    int moved = 0;
    bool parsed = true;
    bool next_agrees = true;
    bool last_agrees = true;
    bool walk_agrees = true;
};

bool same(const std::optional<Occurrence> &found, const Firing &wanted) {
    return found && found->at.micros == wanted.at * kMicros &&
           found->moved.count() == wanted.moved * kMicros;
}

// Compares next() with the first firing after an instant, if there is one in the window.
bool next_agrees(const Schedule &schedule, const Window &window, const std::vector<Firing> &all,
                 std::int64_t after) {
    const auto found =
        next(schedule, window.zone.zone(), Timestamp{after * kMicros + pick(0, kMicros - 1)});
    const auto wanted =
        std::upper_bound(all.begin(), all.end(), Firing{after, std::numeric_limits<int>::max()});
    if (wanted == all.end() || wanted->at >= window.upto()) {
        return !found || found->at.micros >= window.upto() * kMicros;
    }
    return same(found, *wanted);
}

bool last_agrees(const Schedule &schedule, const Window &window, const std::vector<Firing> &all,
                 std::int64_t after, std::int64_t upto) {
    const auto found = last(schedule, window.zone.zone(), Timestamp{after * kMicros},
                            Timestamp{upto * kMicros + pick(0, kMicros - 1)});
    auto wanted =
        std::upper_bound(all.begin(), all.end(), Firing{upto, std::numeric_limits<int>::max()});
    if (wanted == all.begin() || (--wanted)->at <= after) {
        return !found;
    }
    return same(found, *wanted);
}

// All of them in their order, up to a bound for those that are many.
bool walk_agrees(const Schedule &schedule, const Window &window, const std::vector<Firing> &all,
                 Tally &tally) {
    std::int64_t after =
        std::max(window.from(), window.zone.changes.front().at - pick(0, 6 * 3600));
    for (int n = 0; n < 400; ++n) {
        const auto wanted = std::upper_bound(all.begin(), all.end(),
                                             Firing{after, std::numeric_limits<int>::max()});
        if (wanted == all.end() || wanted->at >= window.upto()) {
            return true;
        }
        if (!same(next(schedule, window.zone.zone(), Timestamp{after * kMicros}), *wanted)) {
            return false;
        }
        ++tally.firings;
        tally.moved += wanted->moved != 0 ? 1 : 0;
        after = wanted->at;
    }
    return true;
}

std::int64_t random_instant(const Window &window) {
    // Half of them near a change.
    if (!window.zone.changes.empty() && chance(50)) {
        const auto &changes = window.zone.changes;
        const auto &change =
            changes[static_cast<std::size_t>(pick(0, static_cast<int>(changes.size()) - 1))];
        return std::clamp<std::int64_t>(change.at + pick(-100'000, 100'000), window.from(),
                                        window.upto() - 1);
    }
    return window.from() + pick(0, static_cast<int>(window.upto() - window.from()) - 1);
}

void compare(const Model &model, const Window &window, const Walk &walk, Tally &tally) {
    const Parsed parsed = parse(model.text, model.rule);
    if (parsed.fault.problem == Problem::never) {
        return;
    }
    ++tally.schedules;
    if (parsed.fault.problem != Problem::none) {
        tally.parsed = false;
        complain(model, window, 0);
        return;
    }
    const std::vector<Firing> all = walk.firings(model);
    if (!walk_agrees(parsed.schedule, window, all, tally)) {
        tally.walk_agrees = false;
        complain(model, window, window.from());
    }
    for (int n = 0; n < 20; ++n) {
        const std::int64_t one = random_instant(window);
        const std::int64_t other = random_instant(window);
        if (!next_agrees(parsed.schedule, window, all, one)) {
            tally.next_agrees = false;
            complain(model, window, one);
        }
        if (!last_agrees(parsed.schedule, window, all, std::min(one, other),
                         std::max(one, other))) {
            tally.last_agrees = false;
            complain(model, window, one);
        }
    }
}

void against_a_walk(std::string_view by, std::int64_t unit, int days, int windows, int schedules) {
    Tally tally;
    const int mostly_stars[] = {20, 10, 15, 60, 85, 60};
    for (int n = 0; n < windows; ++n) {
        const Window window = random_window(unit, days);
        const Walk walk(window);
        for (int m = 0; m < schedules; ++m) {
            compare(random_model(unit == 1, mostly_stars), window, walk, tally);
        }
    }
    std::cout << "# " << tally.schedules << " schedules, " << tally.firings << " firings, "
              << tally.moved << " of them moved\n";
    const auto name = [by](const char *what) { return what + std::string{by}; };
    check(tally.parsed, name("CRON-2 CRON-3 CRON-4 X-3 random texts are legal, by the "));
    check(tally.next_agrees, name("CRON-7 X-2 next() is what a walk finds, by the "));
    check(tally.walk_agrees, name("X-2 every firing of a walk is found in its order, by the "));
    check(tally.last_agrees, name("SCHED-4 last() is the last of a walk, by the "));
    check(tally.moved > schedules / 4, name("CRON-8 CRON-11 some of them were moved, by the "));
}

// Rare days: where the next one may lie years ahead, and whether there is any.
void against_a_calendar() {
    const TableZone utc{0, {}};
    const int few_stars[] = {0, 0, 0, 20, 30, 20};
    bool never_agrees = true;
    bool next_agrees = true;
    int never = 0;
    int rare = 0;
    for (int n = 0; n < 1500; ++n) {
        Model model = random_model(false, few_stars);
        // Only the days are of interest.
        model.text = "0 0" + model.text.substr(model.text.find(' ', model.text.find(' ') + 1));
        const Parsed parsed = parse(model.text, model.rule);
        std::vector<int> days;
        for (int day = 0; day < 2 * kCycle && days.size() < 60; ++day) {
            if (model.day_matches(kCalendar[static_cast<std::size_t>(day)])) {
                days.push_back(day);
            }
        }
        never += days.empty() ? 1 : 0;
        if (days.empty() != (parsed.fault.problem == Problem::never)) {
            never_agrees = false;
            std::cout << "# \"" << model.text << "\"\n";
        }
        Timestamp after{-1};
        for (std::size_t m = 0; m < days.size() && next_agrees; ++m) {
            const auto found = next(parsed.schedule, utc.zone(), after);
            next_agrees = found && found->at.micros == days[m] * kDay * kMicros;
            if (!next_agrees) {
                std::cout << "# \"" << model.text << "\" at day " << days[m] << '\n';
            }
            rare += m > 0 && days[m] - days[m - 1] > 400 ? 1 : 0;
            after = Timestamp{days[m] * kDay * kMicros};
        }
    }
    std::cout << "# " << never << " never, " << rare << " gaps of more than a year\n";
    check(never_agrees && never > 0,
          "CRON-6 C-003 what never fires is what no day of 400 years matches");
    check(next_agrees && rare > 0,
          "CRON-5 C-001 the days of random schedules are those of a calendar");
}

}  // namespace

int main() {
    against_a_walk("minute", 60, 40, 40, 50);
    against_a_walk("second", 1, 9, 10, 20);
    against_a_calendar();
    return x_jobs::unit::done();
}
