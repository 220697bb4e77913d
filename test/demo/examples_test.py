#!/usr/bin/python3
"""The examples do what their README and their comments say, as processes on a real server.

If this failed: strangers would copy a worker that loses jobs on SIGTERM, works on without a lease or stores an effect
that it had no right to.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
sys.path[:0] = [str(EXAMPLES / "python"), str(ROOT / "test" / "property")]

import psycopg
from cluster import Cluster
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from tap import Tap
from worker import RetryLater, Unworkable, Worker

PATIENCE = 30.0
# What handlers did, written outside their transactions, so that it stays when those are rolled back.
TRACES = """
    CREATE TABLE traces (job_id uuid NOT NULL, what text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
    CREATE TABLE effects (job_id uuid NOT NULL);
"""


# -- the worker process: the example's Worker with handlers for the test ----------------------------------------------


def work(options):
    worker = Worker(
        options.conninfo,
        [options.queue],
        batch=options.batch,
        visibility=options.visibility,
        grace=options.grace,
        wait=0.5,
        worker_id=options.name,
    )

    def trace(job, what):
        with psycopg.connect(options.conninfo, autocommit=True) as connection:
            connection.execute("INSERT INTO traces (job_id, what) VALUES (%s, %s)", [job.id, what])

    @worker.handler("sleep")
    def sleep(job):
        job.connection.execute("INSERT INTO effects (job_id) VALUES (%s)", [job.id])
        trace(job, "begun")
        try:
            if job.input.get("in_database"):
                job.connection.execute("SELECT pg_sleep(%s)", [job.input["seconds"]])
            else:
                time.sleep(job.input["seconds"])
        except Exception:
            # A handler that swallows everything it may swallow must be stopped all the same.
            trace(job, "swallowed")
            raise
        except BaseException:
            trace(job, "stopped")
            raise
        trace(job, "ended")

    @worker.handler("fail")
    def fail(_job):
        raise ValueError("no such thing: \x00 and \ud800")

    @worker.handler("later")
    def later(_job):
        raise RetryLater("come back", 600)

    @worker.handler("unworkable")
    def unworkable(_job):
        raise Unworkable("nonsense")

    @worker.handler("broken write")
    def broken_write(job):
        job.connection.execute("INSERT INTO effects (job_id) VALUES (%s)", [job.id])
        job.connection.execute("INSERT INTO effects (job_id) VALUES (NULL)")

    worker.run()


# -- the test ----------------------------------------------------------------------------------------------------------


class Scene:
    """A server, the processes started on it, and questions to it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.connection = cluster.connect(row_factory=dict_row)
        self.processes = []

    def start(self, *command, **environment):
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        )
        self.processes.append(process)
        return process

    def worker(self, name, queue, **options):
        arguments = [f"--{key}={value}" for key, value in options.items()]
        return self.start(
            sys.executable,
            __file__,
            "work",
            "--conninfo",
            self.cluster.conninfo,
            "--name",
            name,
            "--queue",
            queue,
            *arguments,
        )

    def enqueue(self, name, queue, **enqueued):
        return self.connection.execute(
            "SELECT id FROM x_jobs.enqueue(%s, input => %s, dedupe => false, queue => %s)",
            [name, Jsonb(enqueued), queue],
        ).fetchone()["id"]

    def job(self, job_id):
        return self.connection.execute("SELECT * FROM x_jobs.all_jobs WHERE id = %s", [job_id]).fetchone()

    def traces(self, job_id):
        rows = self.connection.execute("SELECT what FROM traces WHERE job_id = %s ORDER BY at", [job_id])
        return [row["what"] for row in rows]

    def effects(self, job_id):
        return self.connection.execute("SELECT FROM effects WHERE job_id = %s", [job_id]).rowcount

    def count(self, query):
        return self.connection.execute(query).fetchone()["count"]

    @staticmethod
    def wait(condition, patience=PATIENCE):
        """Whether the condition came true in time."""
        give_up = time.monotonic() + patience
        while time.monotonic() < give_up:
            if condition():
                return True
            time.sleep(0.02)
        return bool(condition())

    def ends(self, process, patience=PATIENCE):
        """The exit code of the process, or None if it does not end in time."""
        try:
            return process.wait(patience)
        except subprocess.TimeoutExpired:
            return None

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        self.connection.close()


def shop(tap, scene):
    """The producer and the worker as the README runs them."""
    scene.connection.execute((EXAMPLES / "shop.sql").read_text(encoding="utf-8"))
    worker = scene.start(sys.executable, EXAMPLES / "python" / "worker.py", scene.cluster.conninfo, "--queue", "mail")
    producer = scene.start(sys.executable, EXAMPLES / "python" / "producer.py", scene.cluster.conninfo, "--orders", "5")
    tap.ok(scene.ends(producer) == 0 and scene.count("SELECT count(*) FROM orders") == 5, "the producer places orders")
    receipts = lambda: scene.count("SELECT count(*) FROM receipts JOIN orders ON id = order_id")
    done = lambda: scene.count("SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'send_receipt' AND state = 'done'")
    tap.ok(
        scene.wait(lambda: receipts() == done() == 5),
        "WORK-8: the worker writes each receipt once and acks its job",
        [f"{receipts()} receipts, {done()} done"],
    )
    worker.terminate()
    tap.ok(scene.ends(worker, 10) == 0, "WORK-10: SIGTERM ends a waiting worker at once and well")


def shell(tap, scene):
    """The worker in bash."""
    good = scene.enqueue("say", "shell", text="hello")
    scene.enqueue("say", "shell", text="fail")
    command = 'read -r input; echo "$input" >&2; case $input in *fail*) exit 3;; esac'
    worker = scene.start(
        EXAMPLES / "bash" / "worker.sh",
        "shell",
        "bash",
        "-c",
        command,
        PGHOST=str(scene.cluster.folder),
        PGPORT=str(scene.cluster.port),
        PGUSER="postgres",
        PGDATABASE="postgres",
    )
    tap.ok(scene.wait(lambda: scene.job(good)["state"] == "done"), "the worker in bash acks what its command did")
    failed = lambda: scene.count(
        "SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'shell' AND last_error LIKE '%fail%' "
        "AND last_error_code = '3'"
    )
    tap.ok(scene.wait(lambda: failed() == 1), "and records what its command said when it failed")
    worker.terminate()
    tap.ok(scene.ends(worker) == 0, "and ends on SIGTERM")


def failures(tap, scene):
    worker = scene.worker("failing", "failing")
    jobs = {name: scene.enqueue(name, "failing") for name in ("fail", "later", "unworkable", "broken write")}
    ended = lambda name: scene.job(jobs[name])["last_error"] is not None
    tap.ok(scene.wait(lambda: all(ended(name) for name in jobs)), "every failure of a handler is recorded")
    rows = {name: scene.job(job_id) for name, job_id in jobs.items()}
    tap.ok(
        rows["fail"]["state"] == "ready"
        and "no such thing" in rows["fail"]["last_error"]
        and rows["fail"]["last_error_code"] == "ValueError"
        and "Traceback" in rows["fail"]["last_error_stack"],
        "WORK-3: an exception becomes a retry with its text, code and stack",
        [str(rows["fail"])],
    )
    wait = scene.connection.execute(
        "SELECT extract(epoch FROM %s - now()) AS wait", [rows["later"]["run_at"]]
    ).fetchone()
    tap.ok(
        rows["later"]["state"] in ("ready", "delayed") and wait["wait"] > 500, "RetryLater states the wait", [str(wait)]
    )
    tap.ok(rows["unworkable"]["state"] == "dead", "Unworkable makes a dead letter at once", [str(rows["unworkable"])])
    tap.ok(
        rows["broken write"]["last_error_code"] == "23502" and scene.effects(jobs["broken write"]) == 0,
        "a database error is recorded by its SQLSTATE, and what the handler wrote is rolled back",
    )
    worker.terminate()
    tap.ok(scene.ends(worker) == 0, "and the worker lives on")


def leases(tap, scene):
    workers = [scene.worker(f"leasing-{number}", "leasing", visibility=1) for number in (1, 2)]
    long = scene.enqueue("sleep", "leasing", seconds=4)
    tap.ok(scene.wait(lambda: scene.job(long)["state"] == "done"), "a handler may outlast its lease")
    tap.ok(
        scene.job(long)["claim"] == 1 and scene.traces(long) == ["begun", "ended"],
        "HB-7 WORK-25 C-031: renewed on a third of its lease, no other worker claims it",
        [str(scene.traces(long))],
    )
    for in_database in (False, True):
        where = "in the database" if in_database else "in Python"
        job_id = scene.enqueue("sleep", "leasing", seconds=600, in_database=in_database)
        scene.wait(lambda: scene.traces(job_id) == ["begun"])
        scene.connection.execute("SELECT x_jobs.cancel(%s, 'not wanted')", [job_id])
        tap.ok(
            scene.wait(lambda: scene.traces(job_id) == ["begun", "stopped"], 10),
            f"HB-5 CANCEL-4 WORK-25: a handler that waits {where} is stopped by the heartbeat that answers false",
            [str(scene.traces(job_id))],
        )
        tap.ok(
            scene.job(job_id)["state"] == "cancelled" and scene.effects(job_id) == 0,
            f"and what it wrote before is rolled back ({where})",
        )
    after = [scene.enqueue("sleep", "leasing", seconds=0) for _ in range(4)]
    tap.ok(scene.wait(lambda: all(scene.job(job_id)["state"] == "done" for job_id in after)), "the workers work on")
    lingering = lambda: scene.count(
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(%' AND state = 'active' "
        "AND pid <> pg_backend_pid()"
    )
    tap.ok(scene.wait(lambda: lingering() == 0, 10), "and the statement of the stopped handler was cancelled")
    for worker in workers:
        worker.terminate()
    tap.ok([scene.ends(worker) for worker in workers] == [0, 0], "and end well")


def drains(tap, scene):
    patient = scene.worker("patient", "patient", batch=3, grace=20)
    jobs = [scene.enqueue("sleep", "patient", seconds=2) for _ in range(3)]
    claimed = lambda: scene.count("SELECT count(*) FROM x_jobs.jobs(queue => 'patient', state => 'running')")
    begun = lambda: [job_id for job_id in jobs if scene.traces(job_id)]
    scene.wait(lambda: begun() and claimed() == 3)
    running = begun()
    patient.terminate()
    tap.ok(scene.ends(patient) == 0, "WORK-10: after SIGTERM the running handler may end")
    rows = [scene.job(job_id) for job_id in jobs]
    tap.ok([row["state"] for row in rows if row["id"] in running] == ["done"] * len(running), "and its job is acked")
    tap.ok(
        all(row["state"] == "ready" and row["attempt"] == 0 for row in rows if row["id"] not in running)
        and len(running) < 3,
        "WORK-12: what had not begun is handed back at once, uncounted",
        [str(row) for row in rows],
    )

    hasty = scene.worker("hasty", "hasty", grace=3)
    job_id = scene.enqueue("sleep", "hasty", seconds=600)
    scene.wait(lambda: scene.traces(job_id) == ["begun"])
    began = time.monotonic()
    hasty.terminate()
    tap.ok(
        scene.ends(hasty, 15) == 0,
        "WORK-10: a handler that does not end is stopped before the grace is over",
        [f"{time.monotonic() - began:.1f} s"],
    )
    row = scene.job(job_id)
    tap.ok(
        row["state"] == "ready"
        and row["attempt"] == 0
        and row["last_error"]
        and scene.effects(job_id) == 0
        and scene.traces(job_id) == ["begun", "stopped"],
        "WORK-4: its job is handed back uncounted with the reason, and what it wrote is rolled back",
        [str(row)],
    )


def outages(tap, scene):
    """A worker that is killed, and a server that goes away."""
    killed = scene.worker("killed", "outage", visibility=2)
    job_id = scene.enqueue("sleep", "outage", seconds=3)
    scene.wait(lambda: scene.traces(job_id) == ["begun"])
    os.killpg(killed.pid, signal.SIGKILL)
    heir = scene.worker("heir", "outage", visibility=2)
    tap.ok(
        scene.wait(lambda: scene.job(job_id)["state"] == "done")
        and scene.job(job_id)["claim"] == 2
        and scene.effects(job_id) == 1,
        "WORK-26 C-037: the job of a killed worker is done by another, with one effect",
    )
    scene.connection.close()
    scene.cluster.stop()
    scene.cluster.start()
    scene.connection = scene.cluster.connect(row_factory=dict_row)
    job_id = scene.enqueue("sleep", "outage", seconds=0)
    tap.ok(scene.wait(lambda: scene.job(job_id)["state"] == "done"), "a worker outlives a restart of the server")
    heir.terminate()
    tap.ok(scene.ends(heir) == 0, "and still drains on SIGTERM")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("role", nargs="?", choices=["work"])
    parser.add_argument("--conninfo")
    parser.add_argument("--name")
    parser.add_argument("--queue")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--visibility", type=float, default=30)
    parser.add_argument("--grace", type=float, default=30)
    options = parser.parse_args()
    if options.role == "work":
        work(options)
        return
    tap = Tap()
    cluster = Cluster("examples", 5525)
    try:
        cluster.start()
        with cluster.connect() as connection:
            connection.execute("CREATE EXTENSION x_jobs")
            connection.execute(TRACES)
        scene = Scene(cluster)
        try:
            for act in (shop, shell, failures, leases, drains, outages):
                act(tap, scene)
        finally:
            scene.close()
        cluster.stop()
    finally:
        cluster.remove()
    tap.end()


if __name__ == "__main__":
    main()
