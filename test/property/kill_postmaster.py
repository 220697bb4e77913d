#!/usr/bin/python3
"""kill -9 of the whole server at random moments under eight clients, and then every invariant checked against what the
clients had on disk before and after each of their commits.

If this failed: a crash of the server could lose a committed job, run one twice to its end, bring back a claim's token,
or leave something of a transaction that never committed.

Each order is a business row with its job; working it writes one row of `effects` in the transaction of the ack. Neither
table of effects nor anything else keeps a second effect from being stored: the fence alone does.

X_JOBS_PROPERTY_SEED repeats a run's choices; X_JOBS_PROPERTY_KILLS (22) says how often the server is killed.
"""

import multiprocessing
import os
import random
import sys
import time
import traceback

import psycopg
from checks import Findings
from cluster import Cluster
from history import History
from instants import instant
from session import TABLES, ConnectionGone, Session
from stored import attempt_differences, damaged_indexes, duplicate_keys, stored_jobs, strangers, tally_differences
from tap import Tap
from verbs import lease_of

CLIENTS = 8
LEAST_KILLS = 20
# Ordinary jobs, jobs with one attempt (at most once), and jobs whose claims need not survive a crash.
QUEUES = ["work", "once", "swift"]
ENDLESS = 1000

ORDERS = """
    CREATE TABLE orders (key text PRIMARY KEY);
    CREATE TABLE effects (key text NOT NULL, job_id uuid NOT NULL, claim bigint NOT NULL, worker text NOT NULL);
"""


class Client:
    """Places orders and works them, on and on, over every crash."""

    def __init__(self, conninfo, number, folder, seed, stop):
        self.dice = random.Random(f"{seed}/{number}")
        self.session = Session(conninfo, number, folder, durable=True)
        self.stop = stop
        self.orders = 0
        self.placing = None  # the key of the order whose commit was sent last
        self.again = None  # that key, if its commit was lost: to be placed again
        self.held = []
        self.late = []  # leases to be settled after they lapsed

    def run(self):
        self.session.connect()
        while not self.stop.is_set():
            act = self.dice.choices(
                [self.order, self.claim, self.swift_claim, self.work, self.work_late, self.exchange, self.maintain],
                [30, 18, 6, 40, 10, 5, 0.3],
            )[0]
            try:
                act()
            except ConnectionGone:
                committed = self.session.recover()
                if committed:
                    self.remember()
                elif act == self.order:
                    self.again = self.placing
        self.session.connection.close()

    def begin(self):
        self.session.begin(witness=True)

    def commit(self):
        """Ends the transaction and keeps the leases that it took."""
        if self.session.commit():
            self.remember()

    def remember(self):
        for op in self.session.last["ops"]:
            for step in op.get("steps", []) if "error" not in op and not op.get("undone") else []:
                if step["step"] == "claimed":
                    # Some are kept until their lease is over, and settled late.
                    (self.late if self.dice.random() < 0.15 else self.held).append(lease_of(step))

    def place(self, key, queue):
        """One order: its row and its job."""
        self.session.send("INSERT INTO orders (key) VALUES (%s)", [key])
        self.session.enqueue(
            "order", f"token of {key}", key=key, queue=queue, max_attempts=1 if queue == "once" else ENDLESS
        )

    def order(self):
        key, self.again = self.again, None
        if key is None:
            self.orders += 1
            key = f"{self.session.number}-{self.orders}"
        self.placing = None
        self.begin()
        queue = self.dice.choices(QUEUES, [70, 15, 15])[0]
        if self.dice.random() < 0.1:
            # A savepoint that is undone leaves neither the order nor its job.
            self.session.savepoint()
            self.place(f"{key} undone", queue)
            self.session.rollback_to_savepoint()
        self.place(key, queue)
        if self.dice.random() < 0.12:
            self.session.rollback()
        else:
            self.placing = key
            self.commit()

    def visibility(self):
        return self.dice.choice([0.3, 1.0, 2.0, 5.0])

    def claim(self):
        self.begin()
        self.session.claim(
            ["work", "once"],
            max_jobs=self.dice.randint(1, 4),
            visibility=self.visibility(),
            wait=self.dice.choice([0, 0, 0.1]),
        )
        self.commit()

    def swift_claim(self):
        # By itself in its transaction, or the commit would wait for its record anyway.
        self.session.begin(implicit=True)
        self.session.claim(["swift"], max_jobs=2, visibility=self.visibility(), durable=self.dice.random() < 0.3)
        self.commit()

    def work(self):
        if not self.held:
            return
        lease = self.held.pop(self.dice.randrange(len(self.held)))
        choice = self.dice.random()
        if choice < 0.15:
            self.begin()
            if self.session.heartbeat(lease, self.visibility()):
                self.held.append(lease)
            self.commit()
        elif choice < 0.25:
            self.begin()
            if lease["queue"] == "once":
                self.session.heartbeat(lease)
            else:
                self.session.nack(lease, counts=self.dice.random() < 0.5, error="handed back")
            self.commit()
        else:
            self.finish(lease)

    def work_late(self):
        lapsed = [lease for lease in self.late if lease["visible_at"] < instant()]
        if lapsed:
            self.late.remove(lapsed[0])
            self.finish(lapsed[0])

    def finish(self, *leases):
        """The effects and the acks in one transaction; if one lease is lost, nothing of it."""
        self.begin()
        self.write_effects(leases)
        if len(leases) == 1:
            landed = self.session.ack(leases[0])
        else:
            landed = all(row["landed"] for row in self.session.settle([(lease, "ack", 0) for lease in leases]))
        if landed:
            self.commit()
        else:
            self.session.rollback()

    def write_effects(self, leases):
        for lease in leases:
            self.session.send(
                "INSERT INTO effects (key, job_id, claim, worker) VALUES (%s, %s, %s, %s)",
                [lease["key"], lease["id"], lease["claim"], lease["worker"]],
            )

    def exchange(self):
        """Settles two at once and takes the next; all of it stands or falls together."""
        leases, self.held = self.held[:2], self.held[2:]
        self.begin()
        self.write_effects(leases)
        self.session.exchange(
            [(lease, "ack", 0) for lease in leases], ["work"], max_jobs=2, visibility=self.visibility()
        )
        if any(step["step"] == "not held" for step in self.session.tx["ops"][-1]["steps"]):
            self.session.rollback()
        else:
            self.commit()

    def maintain(self):
        self.session.begin(implicit=True)
        self.session.maintain()
        self.commit()


def client_process(*arguments):
    try:
        Client(*arguments).run()
    except BaseException:
        traceback.print_exc()
        sys.exit(1)


def kill_again_and_again(cluster, dice, kills):
    """Lets the clients work for a while, kills the server, starts it; answers the moments of the kills."""
    moments = []
    for _ in range(kills):
        time.sleep(dice.uniform(0.5, 3.5))
        moments.append(instant())
        cluster.kill(children_too=dice.random() < 0.5)
        cluster.start()
    return moments


def drain(client, patience=50):
    """Works off what is left once the leases of the dead have lapsed; gives up when no job came for too long."""
    client.session.connect()
    give_up = time.monotonic() + patience
    while time.monotonic() < give_up and client.session.send("SELECT 1 FROM _x_jobs.jobs LIMIT 1"):
        client.session.begin(implicit=True)
        client.session.claim(QUEUES, max_jobs=50, visibility=20)
        claimed = [lease_of(step) for op in client.session.tx["ops"] for step in op["steps"]]
        client.session.commit()
        if claimed:
            client.finish(*claimed)
            give_up = time.monotonic() + patience
        else:
            time.sleep(0.05)
    client.session.connection.close()


def interrupted(history, moments):
    """How many of the kills met a transaction that was open or being committed."""
    return sum(any(tx["begin"] <= moment <= tx["end"] for tx in history.txs) for moment in moments)


def wrong_orders(history, connection):
    """Orders, their jobs and their effects, held against the record."""
    placed, refused = {}, set()
    for tx in history.txs:
        for op in tx["ops"]:
            for step in op.get("steps", []):
                if step["step"] == "inserted":
                    if tx["outcome"] == "committed" and not op.get("undone"):
                        placed[step["key"]] = step
                    else:
                        refused.add(step["key"])
    refused -= placed.keys()
    rows = connection.execute(
        """SELECT key, (SELECT count(*) FROM effects e WHERE e.key = o.key) AS effects,
                  (SELECT count(*) FROM x_jobs.all_jobs j WHERE j.idempotency_key = o.key) AS jobs,
                  (SELECT max(j.state) FROM x_jobs.all_jobs j WHERE j.idempotency_key = o.key) AS state,
                  (SELECT max(j.reason) FROM x_jobs.all_jobs j WHERE j.idempotency_key = o.key) AS reason,
                  (SELECT count(*) FROM effects e JOIN x_jobs.all_jobs j ON j.id = e.job_id
                    WHERE e.key = o.key AND e.claim <> j.claim) AS stale
             FROM orders o"""
    ).fetchall()
    stored = {row["key"]: row for row in rows}
    lost = [f"order {key} was committed and is gone" for key in placed.keys() - stored.keys()]
    ghosts = [f"order {key} is stored, which never committed" for key in stored.keys() - placed.keys()]
    strays = connection.execute(
        """SELECT idempotency_key AS key FROM x_jobs.all_jobs WHERE idempotency_key NOT IN (SELECT key FROM orders)
           UNION ALL SELECT key FROM effects WHERE key NOT IN (SELECT key FROM orders)"""
    ).fetchall()
    ghosts += [f"a job or an effect of {row['key']} has no order" for row in strays]
    wrong = []
    for key in placed.keys() & stored.keys():
        row = stored[key]
        live = row["state"] in ("ready", "delayed", "running", "suspended")
        dead = placed[key]["queue"] == "once" and (row["state"], row["reason"]) == ("dead", "lease-lapsed")
        if row["jobs"] != 1 or not (live or dead or row["state"] == "done"):
            wrong.append(f"order {key}: {row['jobs']} jobs, state {row['state']}, reason {row['reason']}")
        if row["effects"] != (row["state"] == "done") or row["stale"]:
            wrong.append(
                f"order {key}: state {row['state']}, {row['effects']} effects, {row['stale']} under a stale claim"
            )
    return lost, ghosts, wrong, len(placed), len(refused)


def main():
    kills = int(os.environ.get("X_JOBS_PROPERTY_KILLS", "22"))
    seed = os.environ.get("X_JOBS_PROPERTY_SEED") or str(random.SystemRandom().randrange(10**9))
    tap = Tap()
    tap.say(f"X_JOBS_PROPERTY_SEED={seed} X_JOBS_PROPERTY_KILLS={kills}")
    # What the killed server wrote is in the kernel's hands; syncing it file by file would take most of the time.
    cluster = Cluster("kill-postmaster", 5524, recovery_init_sync_method="syncfs")
    # The records lie outside the cluster.
    records = cluster.folder / "records"
    records.mkdir()
    try:
        cluster.start()
        with cluster.connect() as connection:
            connection.execute("CREATE EXTENSION x_jobs")
            connection.execute(TABLES + ORDERS)
        stop = multiprocessing.Event()
        clients = [
            multiprocessing.Process(target=client_process, args=(cluster.conninfo, number, records, seed, stop))
            for number in range(1, CLIENTS + 1)
        ]
        for client in clients:
            client.start()
        try:
            moments = kill_again_and_again(cluster, random.Random(seed), kills)
        finally:
            stop.set()
            for client in clients:
                client.join()
        drain(Client(cluster.conninfo, 70, records, seed, stop))
        with cluster.connect(row_factory=psycopg.rows.dict_row) as connection:
            judge(tap, cluster, connection, History(records), moments, all(client.exitcode == 0 for client in clients))
        cluster.stop()
    finally:
        cluster.remove()
    tap.end()


def judge(tap, cluster, connection, history, moments, ended_well):
    # What is said of a claim that need not survive a crash cannot be said of its row.
    firm = lambda step: step["queue"] != "swift"
    findings = Findings(history, stored_jobs(connection), modelled=firm)
    lost, ghosts, wrong, placed, refused = wrong_orders(history, connection)
    lost_answers = sum(tx.get("lost", False) for tx in history.txs)
    tap.say(
        f"{len(moments)} kills, {interrupted(history, moments)} of them inside a transaction; {placed} orders, "
        f"{refused} rolled back or lost, {len(findings.claims)} claims, {len(history.done('settled'))} settles, "
        f"{lost_answers} answers to COMMIT lost and looked up"
    )
    tap.ok(
        ended_well and len(moments) >= LEAST_KILLS and interrupted(history, moments) >= LEAST_KILLS * 3 // 4,
        "eight clients lived through twenty kills of the server, most of them inside a transaction",
    )
    tap.none(history.unexpected(), "ERR-1: no error but the loss of the connection")
    tap.none(cluster.log_lines("PANIC", "TRAP:"), "the server recovered each time without a word of panic")
    tap.none(lost + list(findings.lost_and_found()), "C-037: every committed order and its job survived")
    tap.none(
        ghosts + list(findings.leaked_inputs()) + list(strangers(history, connection)),
        "C-037: orders that aborted, or whose commit never came, left nothing",
    )
    tap.none(
        wrong, "C-029 C-037 BURY-1: each order's job is done with one effect, dead after its only attempt, or live"
    )
    tap.none(
        [str(row) for row in connection.execute("SELECT * FROM _x_jobs.jobs")],
        "WAKE-12: the claim found everything after the last start: nothing was left waiting",
    )
    tap.none(findings.undecided, "every job's record fits the life that the model allows, over every crash")
    tap.none(
        findings.handed_out_twice(),
        "X-10 CLAIM-12: each (job, claim) was handed out once, claims lost in a crash " "included",
    )
    tap.none(findings.ordinals(firm), "X-10 ROW-3: the ordinals of a job only rise")
    tap.none(
        findings.two_live_leases(lambda step: step["durable"]),
        "CLAIM-12 HB-4: no job was held by two live leases at once, as the workers saw it",
    )
    tap.none(findings.stale_settles(firm), "C-029 ACK-8: no settle landed under a claim that was no longer the last")
    tap.none(findings.settled_twice(), "C-029 ACK-6: no claim was settled twice")
    tap.none(list(findings.two_live_jobs()) + duplicate_keys(connection), "ENQ-2 ENQ-3: never two live jobs of one key")
    tap.none(tally_differences(findings, connection), "ACK-4 BURY-5 CNT-8: tallies equal the settles that committed")
    tap.none(attempt_differences(findings, connection), "attempts hold one row for each attempt that failed or lapsed")
    tap.none(findings.repeated_ids(), "ROW-5: ids are unique over live and finished rows")
    tap.none(findings.starved(), "CLAIM-5 CLAIM-7: no due job was passed over by claim after claim")
    tap.none(damaged_indexes(connection), "tables and indexes are sound (amcheck)")


if __name__ == "__main__":
    main()
