#!/usr/bin/python3
"""A random mix of all verbs from eight client processes, and then every invariant checked from their records.

If this failed: jobs could be lost, handed out twice, settled by somebody who no longer holds them, or counted wrongly
when several clients meet on them.

X_JOBS_PROPERTY_SECONDS (60) says for how long, X_JOBS_PROPERTY_SEED repeats a run's choices (not its timing).
"""

import multiprocessing
import os
import random
import sys
import time
import traceback

import psycopg
from checks import (Findings, History, attempt_differences, damaged_indexes, duplicate_keys, stored_jobs, strangers,
                    tally_differences)
from cluster import Cluster
from model import Event, explain
from session import TABLES, ConnectionGone, Refused, Session, instant, lease_of, seconds
from tap import Tap

CLIENTS = 8
QUEUES = ["default", "mail", "toString", "größe"]
NAMES = ["resize", "invoice", "constructor"]
TENANTS = [None, "", "acme"]
KEYS = 25
# The first part of the time has single statements only: in it no deadlock may occur at all.
SINGLE_SHARE = 0.3
POISON = 120


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
        own = [lease_of(step) for op in self.session.tx["ops"] if "error" not in op and not op.get("undone")
               for step in op["steps"] if step["step"] == "claimed"]
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
        options = {"queue": dice.choice(QUEUES), "tenant": dice.choice(TENANTS), "max_attempts": dice.randint(1, 4),
                   "priority": dice.choice([None, None, 0, 5, 9]), "key": self.key(), "on_conflict": self.conflict()}
        timing = dice.random()
        if timing < 0.2:
            options["delay"] = dice.uniform(0, 1.5)
        elif timing < 0.3:
            options["run_at"] = instant() + round(dice.uniform(-2e6, 1.5e6))
        form = dice.random()
        if form < 0.12:
            options.update(key=None, on_conflict="dedupe")
            if dice.random() < 0.5:
                options["expires_at"] = instant() + round(dice.uniform(0, 2e6))
        elif form < 0.2:
            options.update(own_id=self.own_id(), tags=["own id"])
        self.session.enqueue(dice.choice(NAMES), self.token(), **options)

    def own_id(self):
        """A new id, or one that was given before: then the job that has it is answered."""
        given = self.own_ids[-10:] + [str(step["job"]) for op in self.session.tx["ops"]
                                      if "error" not in op and not op.get("undone")
                                      for step in op["steps"] if step.get("own")]
        return self.dice.choice(given) if given and self.dice.random() < 0.4 else str(self.session.new_id())

    def enqueue_many(self):
        count = self.dice.randint(1, 8)
        mixed = self.dice.random() < 0.5
        keys = [None if mixed and self.dice.random() < 0.2 else self.key() for _ in range(count)]
        self.session.enqueue_many(
            self.dice.choice(NAMES), [self.token() for _ in range(count)], keys, tenant=self.dice.choice(TENANTS),
            queue=self.dice.choice(QUEUES), max_attempts=self.dice.randint(1, 4),
            on_conflict=self.draw([("dedupe", 4), ("replace", 1)]), mixed=mixed)

    def claim(self):
        dice = self.dice
        self.session.claim(
            self.queues(), max_jobs=dice.randint(0, 6), visibility=self.visibility(),
            wait=dice.choice([0, 0, 0, 0, 0.05, 0.2]), names=dice.choice([None] * 9 + [NAMES[:2]]),
            durable=dice.random() < 0.95)

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
            self.lease(), delay=self.dice.choice([0, 0, 0.3]), error=self.dice.choice([None, "refused by the client"]),
            counts=self.dice.random() < 0.6, park=self.dice.random() < 0.25, dead_letter=flags < 0.15,
            fail=0.10 < flags < 0.25, duration=self.duration())

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
        self.session.exchange(self.settlements(["ack", "ack", "ack", "nack", "release", "dead_letter"]), self.queues(),
                              max_jobs=self.dice.randint(0, 4), visibility=self.visibility())

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
        rows = self.session.read("jobs", "SELECT id, tags, state FROM x_jobs.jobs(queue => %s, max => 30)",
                                 [self.dice.choice([None, *QUEUES])])
        for row in self.dice.sample(rows, min(8, len(rows))):
            self.learn(str(row["id"]), "own id" not in (row["tags"] or []))
        verb, sql, parameters = self.dice.choice([
            ("stats", "SELECT * FROM x_jobs.stats()", None),
            ("dead_letters", "SELECT id FROM x_jobs.dead_letters(20)", None),
            ("paused", "SELECT * FROM x_jobs.paused()", None),
            ("job", "SELECT * FROM x_jobs.job(%s)", [self.job_id()]),
            ("attempts", "SELECT * FROM x_jobs.attempts(%s)", [self.job_id()]),
        ])
        self.session.read(verb, sql, parameters)

    def wait(self):
        self.session.read("wait", "CALL x_jobs.wait(%s, %s)", [self.queues(), seconds(0.05)])

    VERBS = [(enqueue, 16), (enqueue_many, 3), (claim, 22), (heartbeat, 6), (heartbeat_many, 3), (progress, 2), (ack, 13),
             (nack, 6), (fail, 5), (release, 3), (settle, 4), (exchange, 5), (cancel, 3), (requeue, 4), (remove, 2),
             (promote, 2), (pause, 0.4), (resume, 1.2), (look_around, 2)]
    ALONE = [(maintain, 0.4), (wait, 1)]
    TOGETHER = [(guard, 6), (interrupted_claim, 3)]


def client_process(*arguments):
    try:
        Client(*arguments).run()
    except BaseException:
        traceback.print_exc()
        sys.exit(1)


def bury_process(conninfo, number, folder, barrier):
    """One of eight that meet lapsed final attempts: each claim buries some and hands out none of them."""
    session = Session(conninfo, number, folder)
    session.connect()
    barrier.wait()
    empty = 0
    while empty < 3:
        session.begin(implicit=True)
        empty = 0 if session.claim(["poison"], max_jobs=7) else empty + 1
        session.commit()


def in_processes(target, arguments):
    """Runs the target once for each tuple of arguments, all at once; answers whether all ended well."""
    processes = [multiprocessing.Process(target=target, args=each) for each in arguments]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return all(process.exitcode == 0 for process in processes)


def bury(conninfo, folder):
    """Lets the leases of jobs with one attempt lapse and has eight sessions claim at once."""
    session = Session(conninfo, 50, folder)
    session.connect()
    for number in range(POISON):
        session.begin(implicit=True)
        session.enqueue("poison", f"50-{number}", key=f"poison {number}", queue="poison", max_attempts=1)
        session.commit()
    session.begin(implicit=True)
    claimed = session.claim(["poison"], max_jobs=POISON, visibility=0)
    session.commit()
    barrier = multiprocessing.Barrier(CLIENTS)
    # A burial takes a slot of the claim's limit, so a pass that hands out nothing may have buried seven.
    for _ in range(POISON):
        in_processes(bury_process, [(conninfo, 60 + number, folder, barrier) for number in range(CLIENTS)])
        left = session.send("SELECT count(*) AS left FROM _x_jobs.jobs WHERE queue = 'poison'")[0]["left"]
        if left == 0:
            break
    late = 0
    for row in claimed:
        session.begin(implicit=True)
        late += session.ack({"id": row["id"], "claim": row["claim"], "worker": session.worker})
        session.commit()
    return len(claimed), left, late


def drain(conninfo, folder, patience=50):
    """Claims and acks whatever is left; answers the rows that no claim finds although they are due."""
    session = Session(conninfo, 70, folder)
    session.connect()
    for queue in QUEUES:
        session.begin(implicit=True)
        session.resume(queue)
        session.commit()
    give_up = time.monotonic() + patience
    while True:
        session.begin(implicit=True)
        rows = session.claim(QUEUES, max_jobs=50, visibility=20)
        session.commit()
        leases = [({"id": str(row["id"]), "claim": row["claim"], "worker": session.worker}, "ack", 0) for row in rows]
        if leases:
            session.begin(implicit=True)
            session.settle(leases)
            session.commit()
            continue
        left = session.send("SELECT * FROM _x_jobs.jobs")
        if not left or time.monotonic() > give_up:
            return [str(row) for row in left]
        time.sleep(0.05)


def plant(tap):
    """The model must see what it is there to see: small histories with one fault each."""
    def made(at):
        return Event(at, at, ({"step": "inserted", "state": "ready", "due": at, "max_attempts": 3},))

    def claimed(at, claim, worker="a", lease=100):
        return Event(at, at, ({"step": "claimed", "claim": claim, "attempt": claim, "max_attempts": 3, "worker": worker,
                               "durable": True, "claimed_at": at, "visible_at": at + lease},))

    def acked(start, end, claim, worker="a"):
        return Event(start, end, ({"step": "settled", "claim": claim, "worker": worker, "target": "done", "counted": True},))

    def ends(state, claim, attempt):
        return Event(10_000, 10_000, ({"step": "in state", "states": [state], "answer_claim": claim,
                                       "answer_attempt": attempt},))

    ends_done = ends("done", 1, 1)
    right = {
        "a claim and its ack": [made(1), claimed(2, 1), acked(3, 4, 1), ends_done],
        "an ack after the lapse": [made(1), claimed(2, 1, lease=5), acked(50, 60, 1), ends_done],
        "a redelivery that overtakes a slow ack": [made(1), claimed(2, 1, lease=5), claimed(20, 2, "b"),
                                                   acked(15, 30, 2, "b"), ends("done", 2, 2)],
        "a burial": [made(1), claimed(2, 1, lease=1), claimed(10, 2, lease=1), claimed(20, 3, lease=1), ends("dead", 3, 3)],
    }
    wrong = {
        "a lost job": [made(1), ends("absent", 1, 1)],
        "a job held twice": [made(1), claimed(2, 1), claimed(20, 2, "b"), acked(30, 30, 2, "b"), ends("done", 2, 2)],
        "an ordinal given twice": [made(1), claimed(2, 1, lease=5), claimed(20, 1, "b"), acked(30, 30, 1, "b"), ends_done],
        "a stale ack that landed": [made(1), claimed(2, 1, lease=5), claimed(20, 2, "b"), acked(30, 30, 1),
                                    ends("done", 2, 2)],
        "two acks that landed": [made(1), claimed(2, 1), acked(3, 4, 1), acked(5, 6, 1), ends_done],
        "a finished job that is claimed": [made(1), claimed(2, 1, lease=5), acked(10, 10, 1), claimed(20, 2, "b"),
                                           ends("running", 2, 2)],
        "an attempt too many": [made(1), claimed(2, 1, lease=1), claimed(10, 2, lease=1), claimed(20, 3, lease=1),
                                claimed(30, 4, lease=1), ends("running", 4, 4)],
    }
    tap.none([name for name, events in right.items() if explain(events)[0] is None]
             + [name for name, events in wrong.items() if explain(events)[0] is not None],
             "the model accepts right histories and refuses planted faults")


def main():
    duration = float(os.environ.get("X_JOBS_PROPERTY_SECONDS", "60"))
    seed = os.environ.get("X_JOBS_PROPERTY_SEED") or str(random.SystemRandom().randrange(10**9))
    tap = Tap()
    tap.say(f"X_JOBS_PROPERTY_SEED={seed} X_JOBS_PROPERTY_SECONDS={duration:g}")
    plant(tap)
    cluster = Cluster("random-verbs", 5522)
    try:
        cluster.start()
        with cluster.connect(row_factory=psycopg.rows.dict_row) as connection:
            connection.execute("CREATE EXTENSION x_jobs")
            connection.execute(TABLES)
            judge(tap, cluster, connection, seed, duration)
        cluster.stop()
    finally:
        cluster.remove()
    tap.end()


def judge(tap, cluster, connection, seed, duration):
    folder = cluster.folder
    single_until = time.time() + duration * SINGLE_SHARE
    until = time.time() + duration
    ended_well = in_processes(client_process, [(cluster.conninfo, number, folder, seed, single_until, until)
                                               for number in range(1, CLIENTS + 1)])
    poisoned, unburied, late = bury(cluster.conninfo, folder)
    left = drain(cluster.conninfo, folder)

    history = History(folder)
    rows = stored_jobs(connection)
    findings = Findings(history, rows)
    operations = sum(len(tx["ops"]) for tx in history.txs)
    tap.say(f"{CLIENTS} clients, {len(history.txs)} transactions ({len(history.committed)} committed), {operations} calls, "
            f"{len(findings.inserted)} jobs, {len(findings.claims)} claims, {sum(findings.burials.values())} burials")

    tap.ok(ended_well and operations > 50 * duration, "eight clients ran the mix of all verbs to its end",
           [f"{operations} calls"])
    tap.none(history.unexpected(), "ERR-1: no error but those that the contract names")
    tap.none(list(history.deadlocks(int(single_until * 1e6))), "C-078: no deadlock between single calls")
    tap.none(cluster.log_lines("PANIC", "terminated by signal", "TRAP:", "WARNING:  "),
             "no backend crashed, and the server's log holds no warning")
    tap.none(findings.undecided, "every job's record fits the life that the model allows (CLAIM-9 ACK-3 NACK-3 NACK-4 "
                                 "HB-3 OPW-3 CANCEL-1 X-19)")
    tap.none(findings.handed_out_twice(), "X-10 CLAIM-12: each (job, claim) was handed out once")
    tap.none(findings.ordinals(), "X-10 ROW-3: the ordinals of a job only rise")
    tap.none(findings.two_live_leases(), "CLAIM-12 HB-3: no job was held by two live leases at once")
    tap.none(findings.stale_settles(), "C-029 ACK-8 NACK-2 HB-6: no settle landed under a claim that was no longer the last")
    tap.none(findings.settled_twice(), "C-029 ACK-6 NACK-14: no claim was settled twice")
    tap.none(findings.claim_rows(), "CLAIM-5 CLAIM-8 CLAIM-9: claimed rows are due, in order, leased as asked, and their own")
    tap.none(findings.claims_from_paused(), "CLAIM-13 CLAIM-14: nothing was claimed from a paused queue")
    tap.none(findings.lost_and_found(), "C-037 ENQ-1: no committed job is lost, and no row came from nowhere")
    tap.none(list(findings.two_live_jobs()) + duplicate_keys(connection),
             "ENQ-2 ENQ-3 ENQ-16 C-082: never two live jobs of one (name, tenant, key)")
    tap.none(findings.wrong_answers(), "ENQ-5 ENQ-6 ENQ-7: no enqueue was answered with another name's or tenant's job")
    tap.none(list(findings.leaked_inputs()) + list(strangers(history, connection)),
             "X-20: transactions that aborted, or whose guard failed, left nothing behind")
    tap.none(findings.repeated_ids(), "ROW-5: ids are unique over live and finished rows")
    tap.none(tally_differences(findings, connection),
             "ACK-4 NACK-10 NACK-11 BURY-5 CNT-8 CNT-9 OPW-14: tallies equal the settles that the clients saw land")
    tap.none(attempt_differences(findings, connection), "attempts hold one row for each failed attempt")
    tap.ok(poisoned == POISON and unburied == 0, "BURY-1 BURY-6: eight sessions bury every lapsed final attempt",
           [f"{poisoned} of {POISON} were claimed, {unburied} are still there"])
    poison = [row for row in findings.rows.values() if row["name"] == "poison"]
    tap.none([str(row) for row in poison if (row["state"], row["reason"], row["attempt"]) != ("dead", "lease-lapsed", 1)]
             + [f"{findings.burials[str(row['id'])]} burials of {row['id']}" for row in poison
                if findings.burials.get(str(row["id"])) != 1],
             "BURY-9 BURY-3: eight sessions bury each row exactly once")
    tap.ok(late == 0, "BURY-10: no late ack landed on a buried row", [f"{late} landed"])
    tap.none(left, "WAKE-12: the claim finds everything that is due: nothing was left waiting")
    tap.none(findings.starved(), "CLAIM-5 CLAIM-7: no due job was passed over by claim after claim")
    tap.none(damaged_indexes(connection), "tables and indexes are sound (amcheck)")


if __name__ == "__main__":
    main()
