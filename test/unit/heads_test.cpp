// If this failed, a job would lie in the table and no claim would look where it stands.
#include "core/heads.hpp"

#include <array>

#include "unit.hpp"

namespace {

using x_jobs::core::Heads;
using x_jobs::core::just;
using x_jobs::core::kConcurrentScans;
using x_jobs::core::kEver;
using x_jobs::core::kEveryPlace;
using x_jobs::core::kNever;
using x_jobs::core::kNoScan;
using x_jobs::core::lane_begin;
using x_jobs::core::lane_end;
using x_jobs::core::Place;
using x_jobs::core::PlaceRange;
using x_jobs::core::Timestamp;
using x_jobs::core::Uuid;
using x_jobs::unit::check;
using x_jobs::unit::equal;

Place place(int n, int priority = 5) {
    return {static_cast<std::int16_t>(priority), Timestamp{n}, Uuid{}};
}

// A scan that went through everything, saw entries up to `last`, and left nothing.
void scan_all(Heads &heads, int last) {
    const int scan = heads.begin_scan();
    heads.pass(place(last));
    const std::array covered{kEveryPlace};
    heads.close(scan, covered, {});
    heads.end_scan(scan);
}

void a_new_queue() {
    Heads heads;
    check(heads.open().contains(place(1)) && heads.open().contains(place(1, 0)) &&
              heads.open().contains(place(1, 9)),
          "a new queue is open everywhere");
    equal(heads.next_due().micros, kEver.micros, "and may hold something at any time");
    scan_all(heads, 100);
    check(heads.open().empty(), "what was gone through is closed");
    equal(heads.next_due().micros, kNever.micros, "a closed queue holds nothing at any time");
}

void opening() {
    Heads heads;
    scan_all(heads, 100);
    heads.lower(just(place(50)));
    check(heads.open().contains(place(50)) && !heads.open().contains(place(51)),
          "behind the frontier only the row's own place is opened");
    heads.lower(just(place(200)));
    check(heads.open().contains(place(200)) && heads.open().contains(place(5000)),
          "beyond the frontier the rest of the priority is opened");
    check(!heads.open().contains(place(199)) && !heads.open().contains(place(1, 6)),
          "and neither what lies before, nor another priority");
    equal(heads.next_due().micros, std::int64_t{50}, "the first open place says when it is due");
}

void opened_during_a_scan() {
    Heads heads;
    scan_all(heads, 100);
    heads.lower(just(place(200)));
    const int scan = heads.begin_scan();
    heads.lower(just(place(150)));
    heads.lower(just(place(60)));
    heads.pass(place(300));
    const std::array covered{PlaceRange{place(0), lane_end(5)}};
    heads.close(scan, covered, {});
    heads.end_scan(scan);
    check(heads.open().contains(place(150)), "a place opened during a scan stays open behind it");
    check(heads.open().contains(place(60)), "also one behind the frontier");
    check(!heads.open().contains(place(59)), "what was gone through is closed beside it");
}

void two_scans() {
    Heads heads;
    const int one = heads.begin_scan();
    const int other = heads.begin_scan();
    check(one != other, "two scans are registered apart");
    heads.lower(just(place(10)));
    const std::array covered{kEveryPlace};
    heads.pass(place(20));
    heads.close(one, covered, {});
    heads.end_scan(one);
    heads.close(other, covered, {});
    heads.end_scan(other);
    check(heads.open().contains(place(10)), "both leave open what was opened during either");
    const int third = heads.begin_scan();
    heads.close(third, covered, {});
    heads.end_scan(third);
    check(heads.open().empty(), "a scan that began later closes it");
}

void left_behind() {
    Heads heads;
    const int scan = heads.begin_scan();
    Heads::Left left;
    left.add(just(place(7)));
    heads.pass(place(20));
    const std::array covered{kEveryPlace};
    heads.close(scan, covered, left);
    heads.end_scan(scan);
    check(heads.open().contains(place(7)) && !heads.open().contains(place(8)),
          "what a scan leaves stays open");
}

void taking_a_place() {
    Heads heads;
    const int one = heads.begin_scan();
    const int other = heads.begin_scan();
    heads.pass(place(20));
    heads.lower(just(place(10)));
    check(heads.take(place(10)), "an open place can be taken");
    check(!heads.take(place(10)), "once");
    check(heads.take(place(11)), "without its neighbour");
    const std::array covered{PlaceRange{lane_begin(0), place(11)}};
    heads.close(one, covered, {});
    check(!heads.open().contains(place(10)), "a taken place does not come back with a scan");
    check(heads.next_open(place(0)) > place(11), "the next open place lies behind what was closed");
    check(heads.next_open(place(500)) == place(500), "an open place is the next one itself");
    heads.lower(just(place(10)));
    heads.end_scan(one);
    const std::array all{kEveryPlace};
    heads.close(other, all, {});
    heads.end_scan(other);
    check(heads.open().contains(place(10)),
          "one that is given back stays open behind the scans that passed it while it was taken");
    check(!heads.open().contains(place(11)), "and no other");
    check(heads.next_open(place(11)) == kEveryPlace.end, "behind the last one there is none");
}

void closing_for_others() {
    Heads heads;
    scan_all(heads, 100);
    const int early = heads.begin_scan();
    heads.lower(just(place(10)));
    const int late = heads.begin_scan();
    heads.lower(just(place(20)));
    const std::array covered{kEveryPlace};
    heads.close(late, covered, {});
    heads.end_scan(late);
    check(!heads.open().contains(place(10)) && heads.open().contains(place(20)),
          "a scan closes what was opened before it began");
    heads.close(early, covered, {});
    heads.end_scan(early);
    check(!heads.open().contains(place(10)),
          "also for a scan that would have left it open for its own part");
    check(heads.open().contains(place(20)), "and not what was opened since");
}

void left_and_taken_since() {
    Heads heads;
    const int one = heads.begin_scan();
    Heads::Left left;
    left.add(just(place(7)));
    check(heads.take(place(7)), "what a scan is about to leave may be taken meanwhile");
    const std::array covered{kEveryPlace};
    heads.close(one, covered, left);
    check(!heads.open().contains(place(7)), "then it does not come back with the scan");
}

void no_room() {
    Heads heads;
    for (int i = 0; i < kConcurrentScans; ++i) {
        heads.begin_scan();
    }
    const int more = heads.begin_scan();
    equal(more, kNoScan, "there is room for a fixed number of scans");
    const std::array covered{kEveryPlace};
    heads.close(more, covered, {});
    heads.end_scan(more);
    check(heads.open().contains(place(1)), "a scan without room closes nothing");
    heads.end_scan(3);
    equal(heads.begin_scan(), 3, "a scan that has ended gives its room back");
}

void unwatched_leases() {
    Heads heads;
    scan_all(heads, 100);
    heads.watch(just(place(40)), Timestamp{1000});
    heads.watch(just(place(30)), Timestamp{2000});
    equal(heads.next_due().micros, std::int64_t{1000}, "an unwatched lease has its time");
    heads.open_due(Timestamp{999});
    check(heads.open().empty(), "not before it");
    heads.open_due(Timestamp{1000});
    check(heads.open().contains(place(40)) && heads.open().contains(place(30)),
          "then all unwatched places are opened");
    scan_all(heads, 100);
    equal(heads.next_due().micros, kNever.micros, "once");
    const int scan = heads.begin_scan();
    heads.watch(just(place(40)), Timestamp{3000});
    heads.open_due(Timestamp{3000});
    const std::array covered{kEveryPlace};
    heads.close(scan, covered, {});
    heads.end_scan(scan);
    check(heads.open().contains(place(40)), "a scan that was under way does not close them");
}

void opened_anew() {
    Heads heads;
    scan_all(heads, 100);
    const int scan = heads.begin_scan();
    heads.reset();
    const std::array covered{kEveryPlace};
    heads.close(scan, covered, {});
    heads.end_scan(scan);
    check(heads.open().contains(place(1)), "a scan that was under way does not close a reset");
}

void priorities() {
    Heads heads;
    scan_all(heads, 100);
    heads.lower({place(10, 2), place(20, 7)});
    check(heads.open().contains(place(5, 4)), "a range over several priorities opens them");
    equal(heads.next_due().micros, kEver.micros, "and is due at any time");
    heads.lower(just(place(10, 77)));
    check(heads.open().contains(place(10, 77)), "an unknown priority is kept as it is");
}

}  // namespace

int main() {
    a_new_queue();
    opening();
    opened_during_a_scan();
    two_scans();
    left_behind();
    taking_a_place();
    closing_for_others();
    left_and_taken_since();
    no_room();
    unwatched_leases();
    opened_anew();
    priorities();
    return x_jobs::unit::done();
}
