// Enqueues and works off jobs at a steady rate, and measures every claim: its latency, and how many
// brought a job.
//
//   steady --store x_jobs|textbook --rate N --warm SECONDS --seconds SECONDS --window SECONDS
//   --late yes|no
//          --abandon N --visibility SECONDS
//
// Producers commit one job at a time; with --late, 16 producers keep a transaction open for two
// seconds each, and enqueue evenly all the while, so that jobs come into sight long after their
// place in the queue was passed. Eight workers claim one job and settle it, with a quarter more
// claims than jobs. The first jobs (--abandon) are claimed and left, so that leases lapse while it
// is measured. Prints JSON; the database is libpq's default.
#include <memory>

#include "client.hpp"

namespace bench {

namespace {

constexpr int kWorkers = 8;
constexpr int kProducers = 4;
constexpr int kLateProducers = 16;
constexpr Micros kLateHold = 2'000'000;
constexpr Micros kSecond = 1'000'000;
// Claims that are due and not sent yet; more than this are given up, as a worker that is behind
// would.
constexpr double kMaxDue = 16;

struct Settings {
    bool x_jobs = true;
    bool late = false;
    double rate = 800;
    int warm = 5;
    int seconds = 120;
    int window = 10;
    int abandon = 0;
    std::string visibility = "60";
};

struct Worker {
    std::unique_ptr<Session> session = std::make_unique<Session>();
    bool claiming = false;
    Micros sent = 0;
};

// A producer; a late one counts what its open transaction has enqueued.
struct Producer {
    std::unique_ptr<Session> session = std::make_unique<Session>();
    bool open = false;
    int enqueued = 0;
    Micros next = 0;
};

struct Claim {
    Micros at;
    Micros latency;
    bool got;
};

class Bench {
   public:
    explicit Bench(const Settings &settings) : settings_(settings) {
        for (int i = 0; i < kWorkers; ++i) {
            workers_.push_back(Worker{});
            prepare_worker(*workers_.back().session, "worker-" + std::to_string(i));
            loop_.add(*workers_.back().session, static_cast<std::uint32_t>(i));
        }
        const int producers = settings_.late ? kLateProducers : kProducers;
        for (int i = 0; i < producers; ++i) {
            producers_.push_back(Producer{});
            Session &session = *producers_.back().session;
            session.prepare("enqueue", settings_.x_jobs ? "SELECT id FROM x_jobs.enqueue('bench', "
                                                          "bench.input(), dedupe => false)"
                                                        : "INSERT INTO bench.plain (input) VALUES "
                                                          "(bench.input()) RETURNING id");
            session.prepare("begin", "BEGIN");
            session.prepare("commit", "COMMIT");
            loop_.add(session, static_cast<std::uint32_t>(kWorkers + i));
        }
    }

    void run() {
        began_ = now();
        const Micros end = began_ + (settings_.warm + settings_.seconds) * kSecond;
        Micros before = began_;
        double claims_due = 0;
        const Micros stagger = kLateHold / kLateProducers;
        for (std::size_t i = 0; i < producers_.size(); ++i) {
            producers_[i].next = began_ + (settings_.late ? stagger * static_cast<Micros>(i) : 0);
        }
        for (Micros at = began_; at < end; at = now()) {
            claims_due = std::min(
                claims_due + static_cast<double>(at - before) * settings_.rate * 1.25 / kSecond,
                kMaxDue);
            jobs_due_ += static_cast<double>(at - before) * settings_.rate / kSecond;
            before = at;
            produce(at);
            for (Worker &worker : workers_) {
                if (claims_due >= 1 && !worker.session->busy()) {
                    claims_due -= 1;
                    worker.claiming = true;
                    worker.sent = now();
                    worker.session->send("claim");
                }
            }
            for (const std::uint32_t number : loop_.wait(300)) {
                if (number < kWorkers) {
                    answered(workers_[number]);
                } else {
                    producers_[number - kWorkers].session->poll();
                }
            }
        }
    }

    void print() const {
        std::printf("{\"seconds\": [");
        for (int second = 0; second < settings_.seconds; ++second) {
            std::printf("%s", second == 0 ? "" : ", ");
            print_span(second, second + 1);
        }
        std::printf("], \"first\": ");
        print_span(0, settings_.window);
        std::printf(", \"last\": ");
        print_span(settings_.seconds - settings_.window, settings_.seconds);
        std::printf("}\n");
    }

   private:
    void prepare_worker(Session &session, const std::string &worker) const {
        if (settings_.x_jobs) {
            session.prepare("claim", "SELECT id, claim FROM x_jobs.claim('{default}', '" + worker +
                                         "', visibility_timeout => '" + settings_.visibility +
                                         " s')");
            session.prepare("ack", "SELECT x_jobs.ack($1::uuid, '" + worker + "', $2::bigint)");
            return;
        }
        session.prepare(
            "claim",
            "UPDATE bench.plain SET state = 'running', attempt = attempt + 1, claimed_by = '" +
                worker +
                "', visible_at = clock_timestamp() + interval '30 s' WHERE id = (SELECT id FROM "
                "bench.plain WHERE queue = 'default' AND state = 'ready' AND run_at <= now() "
                "ORDER BY priority, run_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id, 0");
        session.prepare("ack", "DELETE FROM bench.plain WHERE id = $1::bigint AND $2::int = 0");
    }

    void produce(Micros at) {
        if (settings_.late) {
            for (Producer &producer : producers_) {
                produce_late(producer, at);
            }
            return;
        }
        for (Producer &producer : producers_) {
            if (jobs_due_ >= 1 && !producer.session->busy()) {
                jobs_due_ -= 1;
                producer.session->send("enqueue");
            }
        }
    }

    int jobs_of_a_transaction() const {
        const double jobs = settings_.rate * kLateHold / kSecond / kLateProducers;
        return std::max(1, static_cast<int>(jobs));
    }

    // One step of a producer that keeps its transaction open: begin, enqueue evenly, commit.
    void produce_late(Producer &producer, Micros at) const {
        if (producer.session->busy() || at < producer.next) {
            return;
        }
        if (!producer.open) {
            producer.session->send("begin");
            producer.open = true;
            producer.enqueued = 0;
        } else if (producer.enqueued >= jobs_of_a_transaction()) {
            producer.session->send("commit");
            producer.open = false;
        } else {
            producer.session->send("enqueue");
            ++producer.enqueued;
            producer.next += kLateHold / jobs_of_a_transaction();
        }
    }

    void answered(Worker &worker) {
        if (!worker.session->poll() || !worker.claiming) {
            return;
        }
        const Micros at = now();
        const bool got = worker.session->rows() > 0;
        claims_.push_back({at - began_ - settings_.warm * kSecond, at - worker.sent, got});
        worker.claiming = false;
        if (got && abandoned_ < settings_.abandon) {
            ++abandoned_;
        } else if (got) {
            worker.session->send("ack", {worker.session->value(0, 0), worker.session->value(0, 1)});
        }
    }

    void print_span(int from, int to) const {
        std::vector<Micros> latencies;
        int empty = 0;
        for (const Claim &claim : claims_) {
            if (claim.at < from * kSecond || claim.at >= to * kSecond) {
                continue;
            }
            if (claim.got) {
                latencies.push_back(claim.latency);
            } else {
                ++empty;
            }
        }
        std::printf(
            "{\"rate\": %.1f, \"empty\": %d, \"p50_us\": %.0f, \"p99_us\": %.0f, \"most_us\": "
            "%.0f}",
            static_cast<double>(latencies.size()) / (to - from), empty, quantile(latencies, 0.5),
            quantile(latencies, 0.99), quantile(latencies, 1));
    }

    Settings settings_;
    Loop loop_;
    std::vector<Worker> workers_;
    std::vector<Producer> producers_;
    std::vector<Claim> claims_;
    double jobs_due_ = 0;
    int abandoned_ = 0;
    Micros began_ = 0;
};

}  // namespace

}  // namespace bench

int main(int argc, char **argv) {
    using bench::option;
    const auto number = [&](const char *name, const char *otherwise) {
        return std::atoi(option(argc, argv, name, otherwise).c_str());
    };
    bench::Settings settings;
    settings.x_jobs = option(argc, argv, "store", "x_jobs") == "x_jobs";
    settings.late = option(argc, argv, "late", "no") == "yes";
    settings.rate = number("rate", "800");
    settings.warm = number("warm", "5");
    settings.seconds = number("seconds", "120");
    settings.window = number("window", "10");
    settings.abandon = number("abandon", "0");
    settings.visibility = option(argc, argv, "visibility", "60");
    bench::Bench bench(settings);
    bench.run();
    bench.print();
    return 0;
}
