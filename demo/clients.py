"""The demo's producer and workers. Each keeps a log of its own outside the database."""

import hashlib
import json
import os
import random
import time
from datetime import datetime, timezone
from pathlib import Path

import psycopg
from psycopg.types.json import Jsonb
from worker import Worker

SOURCES = [
    "/usr/share/zoneinfo/tzdata.zi",
    "/usr/share/zoneinfo/zone1970.tab",
    "/var/lib/dpkg/status",
    "/usr/share/dict/words",
    "/etc/services",
]
LEAST_LINES = 2000
ROLLED_BACK = 0.10  # the share of the producer's transactions that end in ROLLBACK

WORKERS = ["steady-1", "steady-2", "forgetful", "doomed"]

VISIBILITY = 2.0  # seconds; short, so that a lapse is seen within the demo
# What is staged, by the share of the lines that are through; far enough apart that two workers go on at any time.
LAPSES = (0.10, 0.30, 0.50)  # the forgetful worker lets the lease of one of its jobs lapse, and settles late
DOOM = 0.70  # the doomed worker begins a job that it will not live to finish
LONG = (0.20, 0.40, 0.60, 0.90)  # these jobs take longer than their lease and live on renewals
LONG_SECONDS = 2.5
DOOM_SECONDS = 30.0
# A redelivered job is worked slowly, so that the worker that lost it settles late while the new one still holds it.
AGAIN_SECONDS = 0.5
ROUNDS = 400


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


class DemoWorker(Worker):
    """The worker of the examples, with a log on disk. One of the four forgets a lease now and then, one is doomed."""

    def __init__(self, options):
        super().__init__(
            options.conninfo, ["lines"], visibility=VISIBILITY, wait=2.0, grace=10.0, worker_id=options.name
        )
        self.log = Log(options.folder / f"{options.name}.log")
        self.lapses = [int(options.lines * share) for share in LAPSES] if options.name == "forgetful" else []
        self.doom = int(options.lines * DOOM) if options.name == "doomed" else None
        self.long = {int(options.lines * share) for share in LONG}
        self.forgotten = None
        self.handler("digest")(self.digest_line)

    def report(self, event, job, **facts):
        self.log.write(
            event=event, job=str(job.id), claim=job.claim, attempt=job.attempt, line=job.input["line"], **facts
        )

    def digest_line(self, job):
        started_at = datetime.now(timezone.utc)
        line, text = job.input["line"], job.input["text"]
        seconds = 0.0
        if job.attempt > 1:
            seconds = AGAIN_SECONDS
        elif line in self.long:
            seconds = LONG_SECONDS
        elif self.lapses and line >= self.lapses[0]:
            self.lapses.pop(0)
            self.let_lease_lapse(job)
        elif self.doom and line >= self.doom:
            self.report("doomed", job)
            seconds = DOOM_SECONDS
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
