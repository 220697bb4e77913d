"""A client that draws one transaction after the other from all verbs of x_jobs."""

import random
import time

import psycopg
from instants import instant, seconds
from session import ConnectionGone, Refused, Session
from verbs import lease_of

QUEUES = ["default", "mail", "toString", "größe"]
NAMES = ["resize", "invoice", "constructor"]
TENANTS = [None, "", "acme"]
KEYS = 25


class Client:
    """Draws one transaction after the other."""

    def __init__(self, conninfo, number, folder, seed, single_until, until):
        self.dice = random.Random(f"{seed}/{number}")
        self.session = Session(conninfo, number, folder)
        self.terminator = psycopg.connect(conninfo, autocommit=True)
        self.single_until = single_until
        self.until = until
        self.held = []  # leases, stale ones among them: they are tried too
        self.known = []  # ids of jobs
        self.removable = []  # those of them that may be removed: an id given by a caller must not come back
        self.own_ids = []
        self.tokens = 0

    def run(self):
        self.session.connect()
        while time.time() < self.until:
            try:
                if time.time() < self.single_until or self.dice.random() < 0.6:
                    self.single()
                else:
                    self.several()
            except ConnectionGone:
                self.session.recover()
        self.session.connection.close()

    # -- transactions ------------------------------------------------------------------------------------------------

    def single(self):
        self.session.begin(implicit=True)
        verb = self.draw(self.VERBS + self.ALONE)
        try:
            verb(self)
        except Refused:
            self.session.rollback()
        else:
            self.finish(self.session.commit())

    def several(self):
        """Up to five verbs in one transaction, with savepoints, and every way to end it."""
        session, dice = self.session, self.dice
        ending = self.draw([("commit", 70), ("rollback", 14), ("vanish", 4), ("lose", 5), ("prepare", 7)])
        isolation = self.draw([("READ COMMITTED", 70), ("REPEATABLE READ", 15), ("SERIALIZABLE", 15)])
        session.begin(isolation, witness=ending == "lose")
        for _ in range(dice.randint(1, 5)):
            if dice.random() < 0.35:
                session.savepoint()
            try:
                self.draw(self.VERBS + self.TOGETHER)(self)
            except Refused:
                if not session.tx["marks"]:
                    session.rollback()
                    return
                session.rollback_to_savepoint()
            if session.tx["marks"] and dice.random() < 0.4:
                if dice.random() < 0.5:
                    session.rollback_to_savepoint()
                else:
                    session.release_savepoint()
        if ending == "commit":
            self.finish(session.commit())
        elif ending == "rollback":
            session.rollback()
        elif ending == "vanish":
            session.vanish()
        elif ending == "lose":
            self.finish(session.lose_commit(self.terminator if dice.random() < 0.5 else None))
        else:
            self.finish(session.prepare(then_commit=dice.random() < 0.75))

    def finish(self, committed):
        """Learns from a transaction what it made and holds, if it committed."""
        if not committed:
            return
        for op in self.session.last["ops"]:
            if "error" in op or op.get("undone"):
                continue
            for step in op["steps"]:
                if step["step"] == "claimed":
                    self.held.append(lease_of(step))
                elif step["step"] == "inserted":
                    self.learn(step["job"], not step.get("own"))
                    self.own_ids += [step["job"]] if step.get("own") else []
        del self.held[:-40]

    def learn(self, job_id, removable=True):
        self.known.append(job_id)
        if removable:
            self.removable.append(job_id)
        del self.known[:-60], self.removable[:-60]

    # -- draws -------------------------------------------------------------------------------------------------------

    def draw(self, weighted):
        choices, weights = zip(*weighted)
        return self.dice.choices(choices, weights)[0]

    def lease(self):
        """Mostly the newest leases, in this transaction's own claims too; at times an old one, or one that was never
        given."""
        own = [
            lease_of(step)
            for op in self.session.tx["ops"]
            if "error" not in op and not op.get("undone")
            for step in op["steps"]
            if step["step"] == "claimed"
        ]
        leases = self.held + own
        if not leases:
            return {"id": self.session.new_id(), "claim": 1, "worker": self.session.worker}
        newest = leases[-6:] if self.dice.random() < 0.8 else leases
        lease = self.dice.choice(newest)
        if self.dice.random() < 0.04:
            return {**lease, "claim": lease["claim"] + self.dice.choice([-1, 1])}
        if self.dice.random() < 0.03:
            return {**lease, "worker": "worker-99"}
        return lease

    def leases(self):
        """Some different jobs held by this worker, in any order."""
        drawn = {}
        for _ in range(self.dice.randint(1, 6)):
            lease = self.lease()
            if lease["worker"] == self.session.worker:
                drawn[lease["id"]] = lease
        leases = list(drawn.values())
        self.dice.shuffle(leases)
        return leases

    def job_id(self):
        return self.dice.choice(self.known) if self.known else self.session.new_id()

    def token(self):
        self.tokens += 1
        return f"{self.session.number}-{self.session.txs}-{self.tokens}"

    def key(self):
        if self.dice.random() < 0.8:
            return f"key {self.dice.randrange(KEYS)}"
        return f"key {self.token()}"

    def queues(self):
        return self.dice.sample(QUEUES, self.dice.randint(1, 3))

    def visibility(self):
        return self.dice.choice([0, 0.02, 0.2, 0.2, 1.0, 2.5])

    def duration(self):
        return self.dice.choice([0, 0.001, 0.25, 3])

    def conflict(self):
        return self.draw([("dedupe", 7), ("error", 1), ("replace", 2)])

    # -- verbs -------------------------------------------------------------------------------------------------------

    def enqueue(self):
        dice = self.dice
        options = {
            "queue": dice.choice(QUEUES),
            "tenant": dice.choice(TENANTS),
            "max_attempts": dice.randint(1, 4),
            "priority": dice.choice([None, None, 0, 5, 9]),
            "key": self.key(),
            "on_conflict": self.conflict(),
        }
        timing = dice.random()
        if timing < 0.2:
            options["delay"] = dice.uniform(0, 1.5)
        elif timing < 0.3:
            options["run_at"] = instant() + round(dice.uniform(-2e6, 1.5e6))
        form = dice.random()
        if form < 0.12:
            options.update(key=None, on_conflict="dedupe")
        if dice.random() < 0.1:
            options["expires_at"] = instant() + round(dice.uniform(0, 2e6))
        if 0.12 < form < 0.2:
            options.update(own_id=self.own_id(), tags=["own id"])
        self.session.enqueue(dice.choice(NAMES), self.token(), **options)

    def own_id(self):
        """A new id, or one that was given before: then the job that has it is answered."""
        given = self.own_ids[-10:] + [
            str(step["job"])
            for op in self.session.tx["ops"]
            if "error" not in op and not op.get("undone")
            for step in op["steps"]
            if step.get("own")
        ]
        return self.dice.choice(given) if given and self.dice.random() < 0.4 else str(self.session.new_id())

    def enqueue_many(self):
        count = self.dice.randint(1, 8)
        mixed = self.dice.random() < 0.5
        keys = [None if mixed and self.dice.random() < 0.2 else self.key() for _ in range(count)]
        self.session.enqueue_many(
            self.dice.choice(NAMES),
            [self.token() for _ in range(count)],
            keys,
            tenant=self.dice.choice(TENANTS),
            queue=self.dice.choice(QUEUES),
            max_attempts=self.dice.randint(1, 4),
            on_conflict=self.draw([("dedupe", 4), ("replace", 1)]),
            mixed=mixed,
        )

    def claim(self):
        dice = self.dice
        self.session.claim(
            self.queues(),
            max_jobs=dice.randint(0, 6),
            visibility=self.visibility(),
            wait=dice.choice([0, 0, 0, 0, 0.05, 0.2]),
            names=dice.choice([None] * 9 + [NAMES[:2]]),
            durable=dice.random() < 0.95,
        )

    def interrupted_claim(self):
        """A claim that statement_timeout may end while it waits or while it takes rows."""
        # The setting goes with the savepoint, or with the transaction, if the claim is refused.
        self.session.send(f"SET LOCAL statement_timeout = '{self.dice.choice([1, 2, 20])}ms'")
        self.session.claim(self.queues(), max_jobs=6, visibility=self.visibility(), wait=0.1)
        self.session.send("SET LOCAL statement_timeout = '30s'")

    def heartbeat(self):
        self.session.heartbeat(self.lease(), self.visibility())

    def heartbeat_many(self):
        leases = self.leases()
        if leases:
            self.session.heartbeat_many(leases, self.visibility())

    def progress(self):
        self.session.progress(self.lease())

    def guard(self):
        self.session.guard(self.lease())

    def ack(self):
        self.session.ack(self.lease(), self.duration())

    def nack(self):
        flags = self.dice.random()
        self.session.nack(
            self.lease(),
            delay=self.dice.choice([0, 0, 0.3]),
            error=self.dice.choice([None, "refused by the client"]),
            counts=self.dice.random() < 0.6,
            park=self.dice.random() < 0.25,
            dead_letter=flags < 0.15,
            fail=0.10 < flags < 0.25,
            duration=self.duration(),
        )

    def fail(self):
        self.session.fail(self.lease(), code=self.dice.choice([None, "E_UPSTREAM"]), duration=self.duration())

    def release(self):
        self.session.release(self.lease(), self.dice.choice([0, 0, 0.2]))

    def settlements(self, verbs):
        leases = self.leases()
        if leases and self.dice.random() < 0.2:
            leases.append(leases[0])
        return [(lease, self.dice.choice(verbs), self.duration()) for lease in leases]

    def settle(self):
        self.session.settle(self.settlements(["ack", "ack", "ack", "nack", "release", "fail", "dead_letter"]))

    def exchange(self):
        self.session.exchange(
            self.settlements(["ack", "ack", "ack", "nack", "release", "dead_letter"]),
            self.queues(),
            max_jobs=self.dice.randint(0, 4),
            visibility=self.visibility(),
        )

    def cancel(self):
        self.session.cancel(self.job_id(), self.dice.choice([None, "not wanted"]))

    def requeue(self):
        self.session.requeue(self.job_id())

    def remove(self):
        self.session.remove(self.dice.choice(self.removable) if self.removable else self.session.new_id())

    def promote(self):
        self.session.promote(self.job_id())

    def pause(self):
        self.session.pause(self.dice.choice(QUEUES))

    def resume(self):
        self.session.resume(self.dice.choice(QUEUES))

    def maintain(self):
        self.session.maintain()

    def look_around(self):
        """The operator's reads; what they show makes other clients' jobs known to this one."""
        rows = self.session.read(
            "jobs",
            "SELECT id, tags, state FROM x_jobs.jobs(queue => %s, max => 30)",
            [self.dice.choice([None, *QUEUES])],
        )
        for row in self.dice.sample(rows, min(8, len(rows))):
            self.learn(str(row["id"]), "own id" not in (row["tags"] or []))
        verb, sql, parameters = self.dice.choice(
            [
                ("stats", "SELECT * FROM x_jobs.stats()", None),
                ("dead_letters", "SELECT id FROM x_jobs.dead_letters(20)", None),
                ("paused", "SELECT * FROM x_jobs.paused()", None),
                ("job", "SELECT * FROM x_jobs.job(%s)", [self.job_id()]),
                ("attempts", "SELECT * FROM x_jobs.attempts(%s)", [self.job_id()]),
            ]
        )
        self.session.read(verb, sql, parameters)

    def wait(self):
        self.session.read("wait", "CALL x_jobs.wait(%s, %s)", [self.queues(), seconds(0.05)])

    VERBS = [
        (enqueue, 16),
        (enqueue_many, 3),
        (claim, 22),
        (heartbeat, 6),
        (heartbeat_many, 3),
        (progress, 2),
        (ack, 13),
        (nack, 6),
        (fail, 5),
        (release, 3),
        (settle, 4),
        (exchange, 5),
        (cancel, 3),
        (requeue, 4),
        (remove, 2),
        (promote, 2),
        (pause, 0.4),
        (resume, 1.2),
        (look_around, 2),
    ]
    ALONE = [(maintain, 0.4), (wait, 1)]
    TOGETHER = [(guard, 6), (interrupted_claim, 3)]
