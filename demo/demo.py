"""The demo's conductor; demo/run starts it in a throwaway cluster.

`run` reads a real file, starts one producer and four workers as processes of their own (clients.py), shows how they get
on, kills one worker with SIGKILL in the middle and in the end compares what the database holds with what the clients
logged (report.py).

Each client syncs its log to disk line by line: what it was told (this commit succeeded, that ack was refused) stands
there even if it is killed a moment later. The report is right only if database and logs agree. An effect is one row of
`effects`, written by a handler in the transaction of its ack; the table has no unique constraint, so a second effect
would be stored, and counted.
"""

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
from clients import WORKERS, DemoWorker, produce, read_lines, read_log
from report import report

SCHEMA = """
    CREATE EXTENSION x_jobs;
    CREATE TABLE lines (no integer PRIMARY KEY, body text NOT NULL);
    CREATE TABLE effects (
        line integer NOT NULL,
        job_id uuid NOT NULL,
        claim bigint NOT NULL,
        worker_id text NOT NULL,
        digest text NOT NULL,
        started_at timestamptz NOT NULL
    );
"""


class Screen:
    """Progress: one line that is rewritten on a terminal, a plain line now and then elsewhere."""

    def __init__(self):
        self.terminal = sys.stdout.isatty()
        self.shown = False
        self.next_plain = 0.0

    def progress(self, text):
        if self.terminal:
            print(f"\r\x1b[K{text}", end="", flush=True)
            self.shown = True
        elif time.monotonic() >= self.next_plain:
            print(text, flush=True)
            self.next_plain = time.monotonic() + 3

    def say(self, text):
        print(("\r\x1b[K" if self.shown else "") + text, flush=True)
        self.shown = False


class Clients:
    """The producer and the workers, as processes."""

    def __init__(self, options):
        self.options = options
        self.running = {}

    def start(self, name, *arguments):
        shared = {name: getattr(self.options, name) for name in ("conninfo", "folder", "lines", "rate", "seed")}
        command = [sys.executable, __file__, *arguments, *(f"--{name}={value}" for name, value in shared.items())]
        with open(self.options.folder / f"{name}.err", "w", encoding="utf-8") as errors:
            self.running[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=errors)

    def kill(self, name):
        self.running[name].send_signal(signal.SIGKILL)
        self.running.pop(name).wait()

    def fallen(self):
        """Names of the clients that ended badly."""
        return [name for name, process in self.running.items() if process.poll() not in (None, 0)]

    def drain(self):
        """SIGTERM for all; answers the names of those that did not end well within 15 seconds."""
        for process in self.running.values():
            if process.poll() is None:
                process.terminate()
        give_up = time.monotonic() + 15
        stubborn = []
        for name, process in self.running.items():
            try:
                if process.wait(max(0.1, give_up - time.monotonic())) != 0:
                    stubborn.append(name)
            except subprocess.TimeoutExpired:
                stubborn.append(name)
        return stubborn

    def end(self):
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def run(options):
    source, lines = read_lines(options.lines)
    options.lines = len(lines)
    screen = Screen()
    with psycopg.connect(options.conninfo, autocommit=True) as connection:
        connection.execute(SCHEMA)
        screen.say(f"== {source}: {len(lines)} lines, one transaction each; 4 workers")
        clients = Clients(options)
        troubles = []
        try:
            for name in WORKERS:
                clients.start(name, "work", "--name", name)
            clients.start("producer", "produce")
            conduct(connection, clients, screen, troubles)
            troubles += [f"{name} did not end cleanly, see {name}.err" for name in clients.drain()]
        finally:
            clients.end()
        screen.say("")
        return report(connection, options, source, lines, troubles)


def conduct(connection, clients, screen, troubles):
    """Watches until everything is done, and kills the doomed worker on the way."""
    began = time.monotonic()
    give_up = began + clients.options.lines / clients.options.rate + 60
    while True:
        stored, done, running, again = connection.execute(
            """SELECT (SELECT count(*) FROM lines), count(*) FILTER (WHERE state = 'done'),
                      count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE claim > 1)
                 FROM x_jobs.all_jobs"""
        ).fetchone()
        screen.progress(
            f"{time.monotonic() - began:5.1f} s   committed {stored:5}   done {done:5}   running {running:3}   "
            f"redelivered {again:3}"
        )
        if "doomed" in clients.running and begun_its_last(clients.options.folder):
            clients.kill("doomed")
            screen.say("   worker doomed: SIGKILL in the middle of a job")
        for name in clients.fallen():
            troubles.append(f"{name} fell over, see {name}.err")
            clients.running.pop(name)
        produced = "producer" not in clients.running or clients.running["producer"].poll() is not None
        if produced and stored == done and "doomed" not in clients.running:
            return
        if time.monotonic() > give_up:
            troubles.append("the jobs were not done in time")
            return
        time.sleep(0.25)


def begun_its_last(folder):
    log = folder / "doomed.log"
    return log.exists() and any(entry["event"] == "doomed" for entry in read_log(log))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", choices=["run", "produce", "work"])
    parser.add_argument("--conninfo", required=True)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=150)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--name")
    options = parser.parse_args()
    if options.role == "produce":
        return produce(options)
    if options.role == "work":
        return DemoWorker(options).run()
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
