// What the measuring clients share: a connection that never blocks, one loop over all of them, and
// a clock. One process holds every connection, so that the client takes little of the machine that
// it measures.
#pragma once

#include <libpq-fe.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace bench {

using Micros = std::int64_t;

// The wall clock, which is the server's too: both are on one machine.
inline Micros now() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
}

[[noreturn]] inline void die(const std::string &what, PGconn *connection = nullptr) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(),
                 connection == nullptr ? "failed" : PQerrorMessage(connection));
    std::exit(1);
}

// One session. A statement is sent, and its rows are there when `poll` answers true.
class Session {
   public:
    Session() : connection_(PQconnectdb("")) {
        if (PQstatus(connection_) != CONNECTION_OK) {
            die("connecting", connection_);
        }
        if (PQsetnonblocking(connection_, 1) != 0) {
            die("a connection that does not block", connection_);
        }
    }
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;
    ~Session() {
        PQclear(rows_);
        PQfinish(connection_);
    }

    int socket() const { return PQsocket(connection_); }
    int server_process() const { return PQbackendPID(connection_); }
    bool busy() const { return busy_; }

    void prepare(const char *name, const std::string &statement) {
        PGresult *result = PQprepare(connection_, name, statement.c_str(), 0, nullptr);
        if (PQresultStatus(result) != PGRES_COMMAND_OK) {
            die(statement, connection_);
        }
        PQclear(result);
    }

    void send(const char *name, const std::vector<std::string> &values = {}) {
        std::vector<const char *> pointers;
        for (const std::string &value : values) {
            pointers.push_back(value.c_str());
        }
        if (PQsendQueryPrepared(connection_, name, static_cast<int>(pointers.size()),
                                pointers.data(), nullptr, nullptr, 0) != 1) {
            die(name, connection_);
        }
        flush();
        busy_ = true;
    }

    // Sends text without preparing it, for what cannot be prepared.
    void send_text(const char *statement) {
        if (PQsendQuery(connection_, statement) != 1) {
            die(statement, connection_);
        }
        flush();
        busy_ = true;
    }

    // Waits for the answer: for setting up only.
    void finish() {
        while (busy_) {
            PGresult *result = PQgetResult(connection_);
            keep(result);
        }
    }

    // Takes what has arrived; true when a statement has been answered.
    bool poll() {
        if (PQconsumeInput(connection_) != 1) {
            die("reading", connection_);
        }
        while (PGnotify *notice = PQnotifies(connection_)) {
            ++notices_;
            PQfreemem(notice);
        }
        const bool was_busy = busy_;
        while (busy_ && PQisBusy(connection_) == 0) {
            keep(PQgetResult(connection_));
        }
        return was_busy && !busy_;
    }

    int rows() const { return rows_ == nullptr ? 0 : PQntuples(rows_); }
    std::string value(int row, int column) const { return PQgetvalue(rows_, row, column); }
    int take_notices() { return std::exchange(notices_, 0); }

   private:
    void flush() {
        while (PQflush(connection_) == 1) {
        }
    }

    void keep(PGresult *result) {
        if (result == nullptr) {
            busy_ = false;
            return;
        }
        const ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            die("the server", connection_);
        }
        PQclear(rows_);
        rows_ = result;
    }

    PGconn *connection_;
    PGresult *rows_ = nullptr;
    bool busy_ = false;
    int notices_ = 0;
};

// Waits for any of the sessions to have something to say.
class Loop {
   public:
    Loop() : epoll_(epoll_create1(0)) {}
    Loop(const Loop &) = delete;
    Loop &operator=(const Loop &) = delete;
    ~Loop() { close(epoll_); }

    void add(const Session &session, std::uint32_t number) const {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u32 = number;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, session.socket(), &event) != 0) {
            die("epoll_ctl");
        }
    }

    // The numbers of the sessions that can be polled, after at most `limit` microseconds.
    std::vector<std::uint32_t> wait(Micros limit) const {
        std::vector<epoll_event> events(256);
        timespec time{};
        time.tv_sec = std::max<Micros>(limit, 0) / 1'000'000;
        time.tv_nsec = std::max<Micros>(limit, 0) % 1'000'000 * 1000;
        const int count =
            epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &time, nullptr);
        std::vector<std::uint32_t> numbers;
        for (int i = 0; i < count; ++i) {
            numbers.push_back(events[static_cast<std::size_t>(i)].data.u32);
        }
        return numbers;
    }

   private:
    int epoll_;
};

// The value of an option `--name value`.
inline std::string option(int argc, char **argv, const std::string &name,
                          const std::string &otherwise = "") {
    for (int i = 1; i + 1 < argc; ++i) {
        if (argv[i] == "--" + name) {
            return argv[i + 1];
        }
    }
    return otherwise;
}

inline double quantile(std::vector<Micros> values, double share) {
    if (values.empty()) {
        return 0;
    }
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                     values.end());
    return static_cast<double>(values[rank]);
}

}  // namespace bench
