// If this failed, a claim would pass over jobs that wait, or read places where nothing can be.
#include "core/place.hpp"

#include <random>
#include <set>

#include "unit.hpp"

namespace {

using x_jobs::core::just;
using x_jobs::core::kEveryPlace;
using x_jobs::core::kNever;
using x_jobs::core::lane_begin;
using x_jobs::core::lane_end;
using x_jobs::core::next_place;
using x_jobs::core::Place;
using x_jobs::core::PlaceRange;
using x_jobs::core::PlaceSet;
using x_jobs::core::Timestamp;
using x_jobs::core::Uuid;
using x_jobs::unit::check;
using x_jobs::unit::equal;

Place place(int n) {
    return {5, Timestamp{n}, Uuid{}};
}

PlaceRange range(int begin, int end) {
    return {place(begin), place(end)};
}

template <int Room>
std::string_view shape(const PlaceSet<Room> &set, std::initializer_list<PlaceRange> wanted) {
    const auto all = set.ranges();
    return std::equal(all.begin(), all.end(), wanted.begin(), wanted.end()) ? "as wanted"
                                                                            : "otherwise";
}

void places() {
    Uuid last{};
    last.bytes.fill(0xFF);
    Uuid one{};
    one.bytes.back() = 1;
    check(next_place({5, Timestamp{7}, Uuid{}}) == Place{5, Timestamp{7}, one},
          "the next place has the next id");
    check(next_place({5, Timestamp{7}, last}) == Place{5, Timestamp{8}, Uuid{}},
          "behind the last id comes the next instant");
    check(next_place({5, kNever, last}) == lane_begin(6),
          "behind the last instant comes the next priority");
    check(lane_end(4) == lane_begin(5), "priorities lie side by side");
    check(kEveryPlace.contains(lane_begin(0)) && !kEveryPlace.contains(lane_end(9)),
          "everything is the priorities from 0 to 9");
}

void adding() {
    PlaceSet<3> set;
    set.add(range(10, 20));
    set.add(range(30, 40));
    equal(shape(set, {range(10, 20), range(30, 40)}), "as wanted", "disjoint ranges stay apart");
    set.add(range(20, 25));
    equal(shape(set, {range(10, 25), range(30, 40)}), "as wanted", "what touches becomes one");
    set.add(range(24, 31));
    equal(shape(set, {range(10, 40)}), "as wanted", "what overlaps becomes one");
    set.add(range(12, 13));
    equal(shape(set, {range(10, 40)}), "as wanted", "what is there changes nothing");
    set.add(range(5, 5));
    equal(shape(set, {range(10, 40)}), "as wanted", "an empty range changes nothing");
    set.add(range(0, 1));
    set.add(range(60, 61));
    set.add(range(70, 71));
    equal(shape(set, {range(0, 40), range(60, 61), range(70, 71)}), "as wanted",
          "beyond its room the nearest become one");
    PlaceSet<2> lanes;
    lanes.add(just({1, Timestamp{0}, Uuid{}}));
    lanes.add(just({2, Timestamp{0}, Uuid{}}));
    lanes.add(just({2, Timestamp{1'000'000}, Uuid{}}));
    check(lanes.size() == 2 && lanes.ranges()[0].end.priority == 1,
          "neighbours of one priority are nearer than any two of different ones");
}

void subtracting() {
    PlaceSet<3> set;
    set.add(range(10, 40));
    set.subtract(range(0, 15));
    equal(shape(set, {range(15, 40)}), "as wanted", "the front is taken");
    set.subtract(range(35, 50));
    equal(shape(set, {range(15, 35)}), "as wanted", "the end is taken");
    set.subtract(range(20, 30));
    equal(shape(set, {range(15, 20), range(30, 35)}), "as wanted", "the middle is taken");
    set.subtract(range(16, 17));
    equal(shape(set, {range(15, 16), range(17, 20), range(30, 35)}), "as wanted",
          "the set is full now");
    set.subtract(range(31, 32));
    equal(shape(set, {range(15, 16), range(17, 20), range(30, 35)}), "as wanted",
          "without room for the split it says too much");
    set.subtract(range(0, 33));
    equal(shape(set, {range(33, 35)}), "as wanted", "several are taken at once");
    set.subtract(kEveryPlace);
    check(set.empty(), "everything is taken");
}

// Against a set of single instants: nothing that was added and not taken may be missing.
void never_too_little() {
    std::mt19937 random(20261201);
    bool missing = false;
    bool exact = true;
    for (int round = 0; round < 200; ++round) {
        PlaceSet<5> small;
        PlaceSet<100> large;
        std::set<int> truth;
        for (int step = 0; step < 60; ++step) {
            const int begin = static_cast<int>(random() % 100);
            const int end = begin + 1 + static_cast<int>(random() % 8);
            const bool add = random() % 3 != 0;
            for (int n = begin; n < end; ++n) {
                if (add) {
                    truth.insert(n);
                } else {
                    truth.erase(n);
                }
            }
            if (add) {
                small.add(range(begin, end));
                large.add(range(begin, end));
            } else {
                small.subtract(range(begin, end));
                large.subtract(range(begin, end));
            }
            for (int n = 0; n < 110; ++n) {
                missing = missing || (truth.contains(n) && !small.contains(place(n)));
                exact = exact && truth.contains(n) == large.contains(place(n));
            }
        }
    }
    check(!missing, "a small set never says too little, over random changes");
    check(exact, "a set with room is exact, over random changes");
}

}  // namespace

int main() {
    places();
    adding();
    subtracting();
    never_too_little();
    return x_jobs::unit::done();
}
