// Measures how long a waiting worker takes to get a job that was committed, and what idle waiters
// cost.
//
//   waiters --waiters N --rounds N --jobs N --idle SECONDS
//
// The modes take turns, over the same sessions. claim: each worker waits in claim(wait => ...).
// call: in CALL x_jobs.wait, and claims when it returns. listen: each worker listens on x_jobs_wake
// and claims when it is notified. One job at a time is enqueued, and the next only when every
// worker waits again.
//
// Each job is measured from the instant at which the server committed it, and from when its
// statement was sent, until the worker has the claimed job. The producer's commit does not wait for
// its WAL: what is measured is the way from one commit to the other side. The server has
// track_commit_timestamp when there are jobs. With --idle nothing is enqueued and the server's
// processes are watched instead. Prints JSON, one line for each turn; the database is libpq's
// default.
#include <sys/resource.h>

#include <memory>

#include "client.hpp"

namespace bench {

namespace {

// How long nothing may arrive before every worker counts as asleep.
constexpr Micros kQuiet = 20'000;
constexpr Micros kLost = 60'000'000;

enum class Mode { claim, call, listen };

constexpr const char *name_of(Mode mode) {
    return mode == Mode::claim ? "claim" : mode == Mode::call ? "call" : "listen";
}

enum class Doing { resting, waiting, claiming, acking };

struct Worker {
    std::unique_ptr<Session> session = std::make_unique<Session>();
    Doing doing = Doing::resting;
    // Notified while it was busy.
    bool look_again = false;
};

struct Timing {
    std::vector<Micros> from_commit;
    std::vector<Micros> from_send;
};

struct Usage {
    double seconds = 0;
    double switches = 0;
};

class Bench {
   public:
    explicit Bench(int workers) {
        command(producer_, "SET synchronous_commit = off");
        producer_.prepare("enqueue",
                          "SELECT pg_current_xact_id()::xid, id FROM x_jobs.enqueue('bench', "
                          "bench.input(), dedupe => false)");
        producer_.prepare("enqueue_many",
                          "SELECT count(*) FROM x_jobs.enqueue_many('bench', "
                          "array_fill(bench.input(), ARRAY[$1::int]), NULL, dedupe => false)");
        producer_.prepare("committed",
                          "SELECT (extract(epoch FROM pg_xact_commit_timestamp($1::xid)) * "
                          "1000000)::bigint");
        producer_.prepare("drain",
                          "SELECT count(x_jobs.ack(c.id, 'drain', c.claim)) FROM "
                          "x_jobs.claim('{default}', 'drain', 10000) AS c");
        loop_.add(producer_, 0);
        for (int i = 0; i < workers; ++i) {
            workers_.push_back(make_worker(i));
            loop_.add(*workers_.back().session, static_cast<std::uint32_t>(i) + 1);
        }
    }

    // Every worker waits, in the way that the mode says.
    void enter(Mode mode, bool durable) {
        mode_ = mode;
        leaving_ = false;
        claim_ = durable ? "claim_durable" : "claim";
        wait_ = durable ? "wait_durable" : "wait";
        command(producer_,
                mode == Mode::listen ? "SET x_jobs.notify = on" : "SET x_jobs.notify = off");
        for (Worker &worker : workers_) {
            if (mode == Mode::listen) {
                command(*worker.session, "LISTEN x_jobs_wake");
            }
            wait_again(worker);
        }
        settle_down();
    }

    Timing measure(int jobs) {
        Timing timing;
        for (int i = 0; i < jobs; ++i) {
            const Micros sent = now();
            enqueued_ = false;
            claimed_ = 0;
            producer_.send("enqueue");
            while (!enqueued_ || claimed_ == 0) {
                turn_or_die(sent, "a job was not claimed");
            }
            timing.from_commit.push_back(claimed_ - committed());
            timing.from_send.push_back(claimed_ - sent);
            settle_down();
        }
        return timing;
    }

    // What the waiting backends use in so many seconds.
    Usage idle(int seconds) {
        settle_down();
        const Usage before = usage();
        usleep(static_cast<useconds_t>(seconds) * 1'000'000);
        const Usage after = usage();
        return {after.seconds - before.seconds, after.switches - before.switches};
    }

    // Nobody waits any more: each of those who sleep in the server gets a job.
    void leave() {
        leaving_ = true;
        const Micros began = now();
        for (Worker &worker : workers_) {
            if (mode_ == Mode::listen && !worker.session->busy()) {
                command(*worker.session, "UNLISTEN x_jobs_wake");
                worker.doing = Doing::resting;
            }
        }
        while (true) {
            const auto awake =
                std::count_if(workers_.begin(), workers_.end(),
                              [](const Worker &worker) { return worker.doing != Doing::resting; });
            if (awake == 0) {
                break;
            }
            producer_.send("enqueue_many", {std::to_string(awake)});
            producer_.finish();
            settle_down();
            if (now() - began > kLost) {
                die("waiting workers did not come back");
            }
        }
        producer_.send("drain");
        producer_.finish();
    }

   private:
    static void command(Session &session, const char *text) {
        session.send_text(text);
        session.finish();
    }

    // The instant at which the server committed what the producer has just enqueued.
    Micros committed() {
        const std::string transaction = producer_.value(0, 0);
        producer_.send("committed", {transaction});
        producer_.finish();
        return std::atoll(producer_.value(0, 0).c_str());
    }

    static Worker make_worker(int number) {
        Worker worker;
        Session &session = *worker.session;
        const std::string id = "worker-" + std::to_string(number);
        const std::string begin = "SELECT id, claim FROM x_jobs.claim('{default}', '" + id + "'";
        session.prepare("claim", begin + ", durable => false)");
        session.prepare("claim_durable", begin + ")");
        session.prepare("wait", begin + ", wait => '600 s', durable => false)");
        session.prepare("wait_durable", begin + ", wait => '600 s')");
        session.prepare("ack", "SELECT x_jobs.ack($1::uuid, '" + id + "', $2::bigint)");
        // The first call of a session loads the catalogue: it is not what is measured.
        session.send("claim");
        session.finish();
        return worker;
    }

    void claim(Worker &worker) {
        worker.doing = Doing::claiming;
        worker.session->send(claim_);
    }

    void wait_again(Worker &worker) {
        worker.doing = leaving_ ? Doing::resting : Doing::waiting;
        if (leaving_) {
            return;
        }
        if (mode_ == Mode::claim) {
            worker.session->send(wait_);
        } else if (mode_ == Mode::call) {
            worker.session->send_text("CALL x_jobs.wait('{default}', '600 s')");
        } else if (std::exchange(worker.look_again, false)) {
            claim(worker);
        }
    }

    void answered(Worker &worker, Micros at) {
        if (worker.doing == Doing::acking) {
            wait_again(worker);
            return;
        }
        if (worker.doing == Doing::waiting && mode_ == Mode::call) {
            claim(worker);
            return;
        }
        Session &session = *worker.session;
        if (session.rows() == 0) {
            wait_again(worker);
            return;
        }
        claimed_ = at;
        worker.doing = Doing::acking;
        session.send("ack", {session.value(0, 0), session.value(0, 1)});
    }

    // One round of the loop; true when something arrived.
    bool turn(Micros limit) {
        const std::vector<std::uint32_t> ready = loop_.wait(limit);
        const Micros at = now();
        for (const std::uint32_t number : ready) {
            if (number == 0) {
                enqueued_ = producer_.poll() || enqueued_;
                continue;
            }
            Worker &worker = workers_[number - 1];
            if (worker.session->poll()) {
                answered(worker, at);
            }
            if (worker.session->take_notices() > 0 && mode_ == Mode::listen && !leaving_) {
                if (worker.session->busy()) {
                    worker.look_again = true;
                } else {
                    claim(worker);
                }
            }
        }
        return !ready.empty();
    }

    void turn_or_die(Micros since, const char *what) {
        turn(kLost);
        if (now() - since > kLost) {
            die(what);
        }
    }

    void settle_down() {
        while (turn(kQuiet)) {
        }
    }

    Usage usage() const {
        Usage sum;
        for (const Worker &worker : workers_) {
            const std::string folder =
                "/proc/" + std::to_string(worker.session->server_process()) + "/";
            sum.seconds += ticks_of(folder + "stat") / static_cast<double>(sysconf(_SC_CLK_TCK));
            sum.switches += switches_of(folder + "status");
        }
        return sum;
    }

    static double ticks_of(const std::string &path) {
        std::FILE *file = std::fopen(path.c_str(), "r");
        unsigned long user = 0;
        unsigned long system = 0;
        // The name of the process may have blanks and ends with a parenthesis.
        if (file == nullptr ||
            std::fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                        &user, &system) != 2) {
            die(path);
        }
        std::fclose(file);
        return static_cast<double>(user + system);
    }

    static double switches_of(const std::string &path) {
        std::FILE *file = std::fopen(path.c_str(), "r");
        if (file == nullptr) {
            die(path);
        }
        char line[256];
        unsigned long count = 0;
        bool found = false;
        while (!found && std::fgets(line, sizeof line, file) != nullptr) {
            found = std::sscanf(line, "voluntary_ctxt_switches: %lu", &count) == 1;
        }
        std::fclose(file);
        if (!found) {
            die(path);
        }
        return static_cast<double>(count);
    }

    Session producer_;
    Loop loop_;
    std::vector<Worker> workers_;
    Mode mode_ = Mode::claim;
    bool leaving_ = false;
    const char *claim_ = "claim";
    const char *wait_ = "wait";
    bool enqueued_ = false;
    Micros claimed_ = 0;
};

std::string list(const std::vector<Micros> &values) {
    std::string text = "[";
    for (const Micros value : values) {
        text += (text.size() == 1 ? "" : ", ") + std::to_string(value);
    }
    return text + "]";
}

void time_jobs(Bench &bench, int rounds, int jobs) {
    for (int round = 0; round < rounds; ++round) {
        for (const bool durable : {false, true}) {
            for (const Mode mode : {Mode::claim, Mode::call, Mode::listen}) {
                bench.enter(mode, durable);
                const Timing timing = bench.measure(jobs);
                bench.leave();
                std::printf(
                    "{\"round\": %d, \"durable\": %s, \"mode\": \"%s\", \"from_commit_us\": %s, "
                    "\"from_send_us\": %s}\n",
                    round, durable ? "true" : "false", name_of(mode),
                    list(timing.from_commit).c_str(), list(timing.from_send).c_str());
            }
        }
    }
}

void watch_idle(Bench &bench, int rounds, int seconds) {
    for (int round = 0; round < rounds; ++round) {
        for (const Mode mode : {Mode::claim, Mode::call}) {
            bench.enter(mode, true);
            const Usage usage = bench.idle(seconds);
            bench.leave();
            std::printf(
                "{\"round\": %d, \"mode\": \"%s\", \"cpu_seconds\": %.3f, \"switches\": %.0f}\n",
                round, name_of(mode), usage.seconds, usage.switches);
        }
    }
}

}  // namespace

}  // namespace bench

int main(int argc, char **argv) {
    const auto number = [&](const char *name) {
        return std::atoi(bench::option(argc, argv, name, "0").c_str());
    };
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    bench::Bench bench(number("waiters"));
    if (number("idle") > 0) {
        bench::watch_idle(bench, number("rounds"), number("idle"));
    } else {
        bench::time_jobs(bench, number("rounds"), number("jobs"));
    }
    return 0;
}
