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
from checks import Findings
from cluster import Cluster
from history import History
from planted import plant
from random_client import QUEUES, Client
from session import TABLES, Session
from stored import attempt_differences, damaged_indexes, duplicate_keys, stored_jobs, strangers, tally_differences
from tap import Tap

CLIENTS = 8
# The first part of the time has single statements only: in it no deadlock may occur at all.
SINGLE_SHARE = 0.3
POISON = 120


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
    ended_well = in_processes(
        client_process,
        [(cluster.conninfo, number, folder, seed, single_until, until) for number in range(1, CLIENTS + 1)],
    )
    poisoned, unburied, late = bury(cluster.conninfo, folder)
    left = drain(cluster.conninfo, folder)

    history = History(folder)
    rows = stored_jobs(connection)
    findings = Findings(history, rows)
    operations = sum(len(tx["ops"]) for tx in history.txs)
    tap.say(
        f"{CLIENTS} clients, {len(history.txs)} transactions ({len(history.committed)} committed), {operations} calls, "
        f"{len(findings.inserted)} jobs, {len(findings.claims)} claims, {sum(findings.burials.values())} burials"
    )

    tap.ok(
        ended_well and operations > 50 * duration,
        "eight clients ran the mix of all verbs to its end",
        [f"{operations} calls"],
    )
    tap.none(history.unexpected(), "ERR-1: no error but those that the contract names")
    tap.none(list(history.deadlocks(int(single_until * 1e6))), "C-078: no deadlock between single calls")
    tap.none(
        cluster.log_lines("PANIC", "terminated by signal", "TRAP:", "WARNING:  "),
        "no backend crashed, and the server's log holds no warning",
    )
    tap.none(
        findings.undecided,
        "every job's record fits the life that the model allows (CLAIM-9 ACK-3 NACK-3 NACK-4 "
        "HB-3 OPW-3 CANCEL-1 X-19)",
    )
    tap.none(findings.handed_out_twice(), "X-10 CLAIM-12: each (job, claim) was handed out once")
    tap.none(findings.ordinals(), "X-10 ROW-3: the ordinals of a job only rise")
    tap.none(findings.two_live_leases(), "CLAIM-12 HB-3: no job was held by two live leases at once")
    tap.none(
        findings.stale_settles(), "C-029 ACK-8 NACK-2 HB-6: no settle landed under a claim that was no longer the last"
    )
    tap.none(findings.guards_without_a_hold(), "X-20: no guarded transaction committed after its claim was lost")
    tap.none(findings.settled_twice(), "C-029 ACK-6 NACK-14: no claim was settled twice")
    tap.none(
        findings.claim_rows(), "CLAIM-5 CLAIM-8 CLAIM-9: claimed rows are due, in order, leased as asked, and their own"
    )
    tap.none(findings.claims_from_paused(), "CLAIM-13 CLAIM-14: nothing was claimed from a paused queue")
    tap.none(findings.lost_and_found(), "C-037 ENQ-1: no committed job is lost, and no row came from nowhere")
    tap.none(
        list(findings.two_live_jobs()) + duplicate_keys(connection),
        "ENQ-2 ENQ-3 ENQ-16 C-082: never two live jobs of one (name, tenant, key)",
    )
    tap.none(findings.wrong_answers(), "ENQ-5 ENQ-6 ENQ-7: no enqueue was answered with another name's or tenant's job")
    tap.none(
        list(findings.leaked_inputs()) + list(strangers(history, connection)),
        "X-20: transactions that aborted, or whose guard failed, left nothing behind",
    )
    tap.none(findings.repeated_ids(), "ROW-5: ids are unique over live and finished rows")
    tap.none(
        tally_differences(findings, connection),
        "ACK-4 NACK-10 NACK-11 BURY-5 CNT-8 CNT-9 OPW-14: tallies equal the settles that the clients saw land",
    )
    tap.none(attempt_differences(findings, connection), "attempts hold one row for each attempt that failed or lapsed")
    tap.ok(
        poisoned == POISON and unburied == 0,
        "BURY-1 BURY-6: eight sessions bury every lapsed final attempt",
        [f"{poisoned} of {POISON} were claimed, {unburied} are still there"],
    )
    poison = [row for row in findings.rows.values() if row["name"] == "poison"]
    tap.none(
        [str(row) for row in poison if (row["state"], row["reason"], row["attempt"]) != ("dead", "lease-lapsed", 1)]
        + [
            f"{findings.burials[str(row['id'])]} burials of {row['id']}"
            for row in poison
            if findings.burials.get(str(row["id"])) != 1
        ],
        "BURY-9 BURY-3: eight sessions bury each row exactly once",
    )
    tap.ok(late == 0, "BURY-10: no late ack landed on a buried row", [f"{late} landed"])
    tap.none(left, "WAKE-12: the claim finds everything that is due: nothing was left waiting")
    tap.none(findings.starved(), "CLAIM-5 CLAIM-7: no due job was passed over by claim after claim")
    tap.none(damaged_indexes(connection), "tables and indexes are sound (amcheck)")


if __name__ == "__main__":
    main()
