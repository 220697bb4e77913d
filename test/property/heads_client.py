"""A client that does everything that opens and closes places of a queue, at random: verbs, savepoints, rollbacks, two-phase
commit, lapses, other clocks, rows by hand, and backends that are killed. It asserts nothing: heads.py looks at what is
left when all have stopped."""

import random
import time

import psycopg

QUEUES = ["alpha", "beta", "gamma", "delta"]
NAMES = ["mail", "scan"]
# What may happen to a call among such neighbours: lock and statement timeouts, deadlocks, serialization failures, a
# backend that was terminated, refusals of the library, two jobs of one key.
EXPECTED = {"55P03", "57014", "40P01", "40001", "57P01", "23505"}


class HeadsClient:
    def __init__(self, conninfo, number, seed, until, wide):
        self.conninfo = conninfo
        self.number = number
        self.random = random.Random(f"{seed}/{number}")
        self.until = until
        # Whether it also does what has every place opened, and so hides whatever was lost before.
        self.wide = wide
        self.worker = f"worker {number}"
        self.held = []
        self.calls = 0
        self.transactions = 0
        self.unexpected = []
        self.connection = None

    def run(self):
        """Until the time is up; answers how many calls it made and what went wrong in ways that it may not."""
        while time.time() < self.until:
            try:
                if self.connection is None or self.connection.closed:
                    self.connect()
                self.transaction()
                self.transactions += 1
            except psycopg.Error as error:
                self.refused(error)
        if self.connection is not None:
            self.connection.close()
        return self.calls, self.unexpected

    def connect(self):
        self.connection = psycopg.connect(self.conninfo, autocommit=True, application_name="heads client")
        self.connection.execute("SET statement_timeout = '20s'; SET lock_timeout = '2s'; SET client_min_messages = warning")

    def refused(self, error):
        if not (self.connection is None or self.connection.closed):
            try:
                self.connection.execute("ROLLBACK")
            except psycopg.Error:
                self.connection.close()
            if error.sqlstate not in EXPECTED and not (error.sqlstate or "").startswith("XJ"):
                self.unexpected.append(f"{error.sqlstate}: {error}")

    # -- transactions ------------------------------------------------------------------------------------------------

    def transaction(self):
        if self.random.random() < 0.4:
            self.step()
            return
        self.execute("BEGIN ISOLATION LEVEL " + self.random.choice(["READ COMMITTED"] * 8 + ["REPEATABLE READ"]))
        if self.random.random() < 0.1:
            self.execute("SET LOCAL x_jobs.test_clock_offset = %s" % self.random.choice([-3_600_000, -500, 500, 3_600_000]))
        depth = 0
        for _ in range(self.random.randint(1, 6)):
            choice = self.random.random()
            if choice < 0.25 and depth < 4:
                depth += 1
                self.execute(f"SAVEPOINT s{depth}")
            elif choice < 0.4 and depth:
                depth = self.random.randint(1, depth)
                self.execute(f"ROLLBACK TO s{depth}")
            elif choice < 0.5 and depth:
                depth = self.random.randint(1, depth)
                self.execute(f"RELEASE s{depth}")
                depth -= 1
            else:
                self.step()
            if self.random.random() < 0.2:
                time.sleep(self.random.random() * 0.05)
        self.end()

    def end(self):
        choice = self.random.random()
        if choice < 0.5:
            self.execute("COMMIT")
        elif choice < 0.8 or choice < 0.95 and not self.wide:
            self.execute("ROLLBACK")
        elif choice < 0.95:
            name = f"{self.number} {self.transactions} {self.random.random()}"
            self.execute(f"PREPARE TRANSACTION '{name}'")
            time.sleep(self.random.random() * 0.1)
            self.execute(self.random.choice(["COMMIT", "ROLLBACK"]) + f" PREPARED '{name}'")
        else:
            self.connection.close()

    def execute(self, sql, parameters=None):
        self.calls += 1
        cursor = self.connection.execute(sql, parameters)
        return cursor.fetchall() if cursor.description else []

    # -- verbs -------------------------------------------------------------------------------------------------------

    def step(self):
        steps = [
            (self.enqueue, 20),
            (self.enqueue_many, 2),
            (self.claim, 30),
            (self.settle, 40),
            (self.heartbeat, 4),
            (self.operate, 8),
            (self.requeue, 4),
            (self.pause, 1),
            (self.by_hand, 3 if self.wide else 0),
            (self.lock, 3),
            (self.kill, 1),
        ]
        self.random.choices([step for step, _ in steps], [weight for _, weight in steps])[0]()

    def queue(self):
        return self.random.choice(QUEUES)

    def priority(self):
        return self.random.choice([5] * 6 + list(range(10)))

    def when(self):
        """A due time as SQL: long past, a moment ago, now, soon, or far away."""
        return self.random.choice(
            [
                f"clock_timestamp() - interval '{self.random.randint(0, 3600)} s'",
                f"clock_timestamp() - interval '{self.random.randint(0, 1000)} ms'",
                "NULL",
                "NULL",
                f"clock_timestamp() + interval '{self.random.randint(0, 1500)} ms'",
                "clock_timestamp() + interval '30 min'",
            ]
        )

    def enqueue(self):
        key = f"k{self.random.randint(1, 300)}"
        self.execute(
            f"SELECT x_jobs.enqueue(%s, idempotency_key => %s, queue => %s, priority => %s, max_attempts => %s, "
            f"on_conflict => %s, run_at => {self.when()})",
            [
                self.random.choice(NAMES),
                key,
                self.queue(),
                self.priority(),
                self.random.choice([2, 1000, 1000, 1000]),
                self.random.choice(["dedupe", "dedupe", "replace"]),
            ],
        )

    def enqueue_many(self):
        self.execute(
            "SELECT x_jobs.enqueue_many(array_agg(jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', "
            "'mail', 'queue', %s::text, 'dedupe', false, 'max_attempts', 1000, 'priority', floor(random() * 10), 'run_at', "
            "clock_timestamp() - random() * interval '1 h')))) FROM generate_series(1, %s)",
            [self.queue(), self.random.randint(1, 20)],
        )

    def claim(self):
        queues = self.random.sample(QUEUES, self.random.randint(1, 3))
        rows = self.execute(
            "SELECT id, claim FROM x_jobs.claim(%s, %s, %s, visibility_timeout => %s, names => %s, wait => %s)",
            [
                queues,
                self.worker,
                self.random.choice([1, 1, 1, 2, 5, 20]),
                self.random.choice(["0", "30 ms", "300 ms", "1 min", "1 h"]),
                self.random.choice([None, None, None, [self.random.choice(NAMES)]]),
                self.random.choice(["0", "0", "0", "60 ms"]),
            ],
        )
        self.held = (self.held + rows)[-60:]

    def settle(self):
        for _ in range(min(len(self.held), self.random.randint(1, 5))):
            job, claim = self.held.pop(self.random.randrange(len(self.held)))
            delay = self.random.choice(["0", "0", "200 ms", "30 min"])
            verb = self.random.random()
            lease = [job, self.worker, claim]
            if verb < 0.55:
                self.execute("SELECT x_jobs.ack(%s, %s, %s)", lease)
            elif verb < 0.75:
                self.execute("SELECT x_jobs.nack(%s, %s, %s, delay => %s)", [*lease, delay])
            elif verb < 0.85:
                self.execute("SELECT x_jobs.release(%s, %s, %s, delay => %s)", [*lease, delay])
            elif verb < 0.9:
                self.execute("SELECT x_jobs.nack(%s, %s, %s, delay => %s, park => true)", [*lease, delay])
            elif verb < 0.95:
                self.execute("SELECT x_jobs.fail(%s, %s, %s, 'no', retry_after => %s)", [*lease, delay])
            else:
                self.execute(
                    "SELECT x_jobs.exchange(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement, jsonb_build_object("
                    "'id', %s::text, 'claim', %s::bigint, 'verb', 'release'))], %s, %s, visibility_timeout => '200 ms')",
                    [str(job), claim, [self.queue()], self.worker],
                )

    def heartbeat(self):
        if self.held:
            job, claim = self.random.choice(self.held)
            self.execute(
                "SELECT x_jobs.heartbeat(%s, %s, %s, %s)",
                [job, self.worker, claim, self.random.choice(["0", "100 ms", "1 h", "1 h"])],
            )

    def some_job(self, table="_x_jobs.jobs"):
        rows = self.execute(f"SELECT id FROM {table} ORDER BY random() LIMIT 1")
        return rows[0][0] if rows else None

    def operate(self):
        job = self.some_job()
        if job is not None:
            verb = self.random.choice(["cancel", "remove", "promote", "promote"])
            self.execute(f"SELECT x_jobs.{verb}(%s)", [job])

    def requeue(self):
        job = self.some_job("_x_jobs.history")
        if job is not None:
            self.execute("SELECT x_jobs.requeue(%s)", [job])

    def pause(self):
        queue = self.queue()
        self.execute(self.random.choice(["SELECT x_jobs.pause_queue(%s)", "SELECT x_jobs.resume_queue(%s)"]), [queue])

    def by_hand(self):
        job = self.some_job()
        if job is not None:
            self.execute(
                self.random.choice(
                    [
                        "UPDATE _x_jobs.jobs SET run_at = clock_timestamp() - random() * interval '1 h' WHERE id = %s",
                        "UPDATE _x_jobs.jobs SET priority = floor(random() * 10) WHERE id = %s",
                        "DELETE FROM _x_jobs.jobs WHERE id = %s",
                    ]
                ),
                [job],
            )

    def lock(self):
        self.execute(
            "SELECT FROM _x_jobs.jobs WHERE queue = %s ORDER BY random() LIMIT 5 FOR UPDATE SKIP LOCKED", [self.queue()]
        )

    def kill(self):
        self.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'heads client' "
            "AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1"
        )
