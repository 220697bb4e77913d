"""The demo's clients and its report; demo/run starts it in a throwaway cluster.

`run` reads a real file, starts one producer and four workers as processes of their own, shows how they get on, kills
one worker with SIGKILL in the middle and in the end compares what the database holds with what the clients logged.

Each client keeps a log of its own outside the database and syncs it to disk line by line: what a client was told (this
commit succeeded, that ack was refused) stands there even if the client is killed a moment later. The report is right
only if database and logs agree. An effect is one row of `effects`, written by a handler in the transaction of its ack;
the table has no unique constraint, so a second effect would be stored, and counted.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from datetime import datetime, timezone
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb
from worker import Worker

SOURCES = ["/usr/share/zoneinfo/tzdata.zi", "/usr/share/zoneinfo/zone1970.tab", "/var/lib/dpkg/status",
           "/usr/share/dict/words", "/etc/services"]
LEAST_LINES = 2000
ROLLED_BACK = 0.10  # the share of the producer's transactions that end in ROLLBACK

VISIBILITY = 2.0  # seconds; short, so that a lapse is seen within the demo
LONG_EVERY = 900  # every so many lines one job takes longer than its lease and lives on renewals
LONG_SECONDS = 2.5
# A redelivered job is worked slowly, so that the worker that lost it settles late while the new one still holds it.
AGAIN_SECONDS = 0.5
LAPSES = (40, 120, 200)  # the forgetful worker lets the lease of these of its jobs lapse
DOOM = 1 / 12  # after this share of the lines the doomed worker begins a job that it will not live to finish
DOOM_SECONDS = 30.0
ROUNDS = 400

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


class Log:
    """A client's own record: one JSON object a line, on disk before the client goes on."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")

    def write(self, **facts):
        self.file.write(json.dumps({"at": time.time(), **facts}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


def read_log(path):
    """The lines of a log; a last one that was cut off by SIGKILL is left out."""
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return entries


def digest(text, at_least=0.0):
    """The work: a chain of hashes over the line, computed over and over until `at_least` seconds are gone."""
    until = time.monotonic() + at_least
    while True:
        value = text.encode()
        for _ in range(ROUNDS):
            value = hashlib.sha256(value).digest()
        if time.monotonic() >= until:
            return value.hex()


# -- the producer ------------------------------------------------------------------------------------------------------


def produce(options):
    """For each line one transaction: its business row and its job, committed or rolled back as one."""
    log = Log(options.folder / "producer.log")
    dice = random.Random(options.seed)
    began = time.monotonic()
    with psycopg.connect(options.conninfo) as connection:
        for number, text in enumerate(read_lines(options.lines)[1], start=1):
            time.sleep(max(0.0, began + number / options.rate - time.monotonic()))
            connection.execute("INSERT INTO lines (no, body) VALUES (%s, %s)", [number, text])
            job_id = connection.execute(
                """SELECT id FROM x_jobs.enqueue('digest', input => %s, idempotency_key => %s, queue => 'lines',
                                                 max_attempts => 10)""",
                [Jsonb({"line": number, "text": text}), f"line:{number}"],
            ).fetchone()[0]
            kept = dice.random() >= ROLLED_BACK
            if kept:
                connection.commit()
            else:
                connection.rollback()
            log.write(event="committed" if kept else "rolled back", line=number, job=str(job_id))
    log.write(event="finished")


# -- the workers -------------------------------------------------------------------------------------------------------


class DemoWorker(Worker):
    """The worker of the examples, with a log on disk. One of the four forgets a lease now and then, one is doomed."""

    def __init__(self, options):
        super().__init__(options.conninfo, ["lines"], visibility=VISIBILITY, wait=2.0, grace=10.0,
                         worker_id=options.name)
        self.log = Log(options.folder / f"{options.name}.log")
        self.forgetful = options.name == "forgetful"
        self.doomed_at = int(options.lines * DOOM) if options.name == "doomed" else None
        self.begun = 0
        self.forgotten = None
        self.handler("digest")(self.digest_line)

    def report(self, event, job, **facts):
        self.log.write(event=event, job=str(job.id), claim=job.claim, attempt=job.attempt, line=job.input["line"], **facts)

    def digest_line(self, job):
        started_at = datetime.now(timezone.utc)
        line, text = job.input["line"], job.input["text"]
        self.begun += 1
        if self.forgetful and self.begun in LAPSES:
            self.let_lease_lapse(job)
            seconds = 0.0
        elif self.begun == self.doomed_at:
            self.report("doomed", job)
            seconds = DOOM_SECONDS
        elif job.attempt > 1:
            seconds = AGAIN_SECONDS
        else:
            seconds = LONG_SECONDS if line % LONG_EVERY == 0 else 0.0
        result = digest(text, seconds)
        job.connection.execute(
            "INSERT INTO effects (line, job_id, claim, worker_id, digest, started_at) VALUES (%s, %s, %s, %s, %s, %s)",
            [line, job.id, job.claim, self.worker_id, result, started_at],
        )
        return {"digest": result}

    def let_lease_lapse(self, job):
        """Renews no more, waits until somebody else has the job, and then goes on as if nothing had happened."""
        self.forgotten = job
        self.report("lapsing", job)
        give_up = time.monotonic() + 20
        with self._connect(autocommit=True) as connection:
            while time.monotonic() < give_up:
                claim = connection.execute("SELECT claim FROM x_jobs.job(%s)", [job.id]).fetchone()[0]
                if claim != job.claim:
                    return
                time.sleep(0.01)

    def leases_to_renew(self):
        return [job for job in super().leases_to_renew() if job is not self.forgotten]


# -- the conductor -----------------------------------------------------------------------------------------------------


def read_lines(at_most):
    """The first source with enough lines that are neither blank nor comments: (path, lines)."""
    for source in SOURCES:
        try:
            text = Path(source).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        lines = [line.strip() for line in text.splitlines()]
        lines = [line.replace("\x00", "") for line in lines if line and not line.startswith("#")]
        if len(lines) >= LEAST_LINES:
            return source, lines[:at_most]
    raise SystemExit(f"none of {', '.join(SOURCES)} has {LEAST_LINES} lines")


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
        command = [sys.executable, __file__, *arguments, "--conninfo", self.options.conninfo, "--folder",
                   str(self.options.folder), "--lines", str(self.options.lines), "--rate", str(self.options.rate),
                   "--seed", str(self.options.seed)]
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


WORKERS = ["steady-1", "steady-2", "forgetful", "doomed"]


def run(options):
    source, lines = read_lines(options.lines)
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
            conduct(connection, clients, len(lines), screen, troubles)
            troubles += [f"{name} did not end cleanly, see {name}.err" for name in clients.drain()]
        finally:
            clients.end()
        screen.say("")
        return report(connection, options, source, lines, troubles)


def conduct(connection, clients, expected, screen, troubles):
    """Watches until everything is done, and kills the doomed worker on the way."""
    began = time.monotonic()
    give_up = began + expected / clients.options.rate + 60
    while True:
        stored, done, running, again = connection.execute(
            """SELECT (SELECT count(*) FROM lines), count(*) FILTER (WHERE state = 'done'),
                      count(*) FILTER (WHERE state = 'running'), count(*) FILTER (WHERE claim > 1)
                 FROM x_jobs.all_jobs"""
        ).fetchone()
        screen.progress(f"{time.monotonic() - began:5.1f} s   committed {stored:5}   done {done:5}   running {running:3}   "
                        f"redelivered {again:3}")
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


# -- the report --------------------------------------------------------------------------------------------------------


def report(connection, options, source, lines, troubles):
    """Prints the numbers and whether they are right; answers the exit code."""
    one = lambda query, *arguments: connection.execute(query, arguments).fetchone()[0]
    produced = read_log(options.folder / "producer.log")
    committed = {entry["line"] for entry in produced if entry["event"] == "committed"}
    rolled_back = {entry["line"]: entry["job"] for entry in produced if entry["event"] == "rolled back"}
    worked = [{"worker": name, **entry} for name in WORKERS for entry in read_log(options.folder / f"{name}.log")]
    claims = {str(job_id): claim for job_id, claim in connection.execute("SELECT id, claim FROM x_jobs.all_jobs")}
    settles = Settles(worked, claims)

    enqueued = one("SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'digest'")
    stored = one("SELECT count(*) FROM lines")
    done = one("SELECT count(*) FROM x_jobs.all_jobs WHERE state = 'done'")
    redelivered = one("SELECT count(*) FROM x_jobs.all_jobs WHERE claim > 1")
    lost = one(
        """SELECT count(*) FROM unnest(%s::integer[]) AS wanted
            WHERE NOT EXISTS (SELECT FROM lines WHERE no = wanted)
               OR NOT EXISTS (SELECT FROM effects WHERE line = wanted)
               OR NOT EXISTS (SELECT FROM x_jobs.all_jobs WHERE idempotency_key = 'line:' || wanted AND state = 'done')""",
        sorted(committed),
    )
    doubled = one("SELECT count(*) FROM (SELECT FROM effects GROUP BY line HAVING count(*) > 1) AS twice")
    stale = one("SELECT count(*) FROM effects e JOIN x_jobs.all_jobs j ON j.id = e.job_id WHERE e.claim <> j.claim")
    ghosts = one(
        """SELECT (SELECT count(*) FROM lines WHERE no = ANY (%s)) + (SELECT count(*) FROM effects WHERE line = ANY (%s))
                + (SELECT count(*) FROM x_jobs.all_jobs WHERE id = ANY (%s::uuid[]))""",
        list(rolled_back), list(rolled_back), list(rolled_back.values()),
    )
    wrong = sum(result != digest(lines[line - 1])
                for line, result in connection.execute("SELECT line, digest FROM effects").fetchall())
    median, most = connection.execute(
        """SELECT p[1], p[2]
             FROM (SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY
                              extract(epoch FROM e.started_at - pg_xact_commit_timestamp(l.xmin)) * 1000) AS p
                     FROM effects e JOIN lines l ON l.no = e.line WHERE e.claim = 1) AS delays"""
    ).fetchone()

    rows = [
        ("lines of the file", len(lines), source, len(committed) + len(rolled_back) == len(lines)),
        ("enqueued", enqueued, f"business rows {stored}, commits in the producer's log {len(committed)}",
         enqueued == stored == len(committed) > 0),
        ("rolled back on purpose", len(rolled_back), f"rows or jobs they left behind: {ghosts}",
         len(rolled_back) > 0 and ghosts == 0),
        ("done", done, f"acks in the workers' logs {settles.acked}", done == enqueued),
        ("redelivered", redelivered, f"seen in the workers' logs {settles.seen_again}",
         redelivered >= settles.seen_again > 0),
        ("held by the killed worker", settles.left_by("doomed"), f"done by others {settles.taken_over('doomed')}",
         settles.left_by("doomed") == settles.taken_over("doomed") > 0),
        ("late settles refused", settles.late_refused, "", settles.late_refused > 0),
        ("late settles that landed", settles.late_landed, f"effects under a claim that was not the last: {stale}",
         settles.late_landed == 0 and stale == 0),
        ("rightful settles refused", settles.rightful_refused, "", settles.rightful_refused == 0),
        ("claims handed out twice", settles.handed_out_twice, "", settles.handed_out_twice == 0),
        ("lost", lost, "", lost == 0),
        ("doubled effects", doubled, "", doubled == 0),
        ("wrong effects", wrong, "", wrong == 0),
        ("leases renewed", settles.renewed, f"jobs that outlived a lease by renewing it: {settles.outlived}", True),
    ]
    print("Report (from SQL, and from the clients' own logs)")
    for label, number, note, right in rows:
        print(f"  {label:26}{number:7}   {note}{'' if right else '   <-- WRONG'}".rstrip())
    if median is not None:
        print(f"  commit to start           median {median:.1f} ms, 99 % {most:.1f} ms")
    for trouble in troubles:
        print(f"  WRONG: {trouble}")
    right = all(row[3] for row in rows) and not troubles and median is not None
    print("The report is right." if right else "The report is NOT right.")
    return 0 if right else 1


class Settles:
    """What the workers' logs say about claims and settles, judged by the last claim that the database knows of."""

    def __init__(self, entries, last_claims):
        self.entries = entries
        self.last_claims = last_claims
        handed_out = Counter()
        claims_seen = defaultdict(set)
        for entry in entries:
            if entry["event"] == "claimed":
                handed_out[entry["job"], entry["claim"]] += 1
                claims_seen[entry["job"]].add(entry["claim"])
        acked = [entry for entry in entries if entry["event"] == "acked"]
        refused = [entry for entry in entries if entry["event"] == "refused"]
        newest = {job: max(claims) for job, claims in claims_seen.items()}
        is_last = lambda entry: entry["claim"] == last_claims.get(entry["job"], newest.get(entry["job"]))
        self.acked = len(acked)
        self.late_landed = sum(not is_last(entry) for entry in acked)
        self.late_refused = sum(not is_last(entry) for entry in refused)
        self.rightful_refused = sum(is_last(entry) for entry in refused)
        self.handed_out_twice = sum(count > 1 for count in handed_out.values())
        self.seen_again = sum(len(claims) > 1 for claims in claims_seen.values())
        self.renewed = sum(entry["event"] == "renewed" for entry in entries)
        self.outlived = sum(entry["seconds"] > VISIBILITY for entry in acked)

    def _left(self, worker):
        """(job, claim) of what the worker held to its end."""
        of = lambda *events: {(entry["job"], entry["claim"]) for entry in self.entries
                              if entry["worker"] == worker and entry["event"] in events}
        return of("claimed") - of("acked", "refused", "failed", "released", "stopped")

    def left_by(self, worker):
        return len(self._left(worker))

    def taken_over(self, worker):
        done = {entry["job"] for entry in self.entries if entry["event"] == "acked" and entry["worker"] != worker}
        return sum(job in done and self.last_claims.get(job, 0) > claim for job, claim in self._left(worker))


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
