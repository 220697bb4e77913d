#!/usr/bin/python3
"""Random clients open and close the places of four queues; at each quiet point the heads are held against the table.

If this failed: a job could be claimed, and no claim would ever look where it stands. The net under the heads
(x_jobs.rescan_interval) is off, so nothing but the heads finds anything.

X_JOBS_PROPERTY_SECONDS (40) says for how long, X_JOBS_PROPERTY_SEED repeats a run's choices (not its timing).
"""

import multiprocessing
import os
import random
import sys
import time
import traceback

from cluster import Cluster
from heads_client import QUEUES, HeadsClient
from tap import Tap

CLIENTS = 6
ROUNDS = 5

# What a claim that looked everywhere would take, or end.
CLAIMABLE = """
    SELECT j.id::text, j.queue, j.priority, j.run_at, j.state, j.visible_at FROM _x_jobs.jobs AS j
     WHERE NOT j.blocked AND j.run_at <= %s
       AND (j.state IN ('ready', 'delayed', 'suspended') OR j.state = 'running' AND j.visible_at <= %s)
"""
NOT_IN_AN_OPEN_PLACE = f"""
    SELECT c.* FROM ({CLAIMABLE}) AS c WHERE EXISTS (SELECT FROM _x_jobs.open_places() AS p WHERE p.queue = c.queue)
       AND NOT EXISTS (SELECT FROM _x_jobs.open_places() AS p WHERE p.queue = c.queue
                          AND (c.priority, c.run_at, c.id::uuid) >= (p.begin_priority, p.begin_run_at, p.begin_id)
                          AND (c.priority, c.run_at, c.id::uuid) < (p.end_priority, p.end_run_at, p.end_id))
"""


def client_process(conninfo, number, seed, until, wide, results):
    try:
        results.put(HeadsClient(conninfo, number, seed, until, wide).run())
    except BaseException:
        traceback.print_exc()
        results.put((0, ["a client broke off"]))
        sys.exit(1)


def let_run(conninfo, seed, until, wide):
    """Runs the clients until the time is up; answers how many calls they made, and what they should not have met."""
    results = multiprocessing.Queue()
    processes = [
        multiprocessing.Process(target=client_process, args=(conninfo, number, seed, until, wide, results))
        for number in range(1, CLIENTS + 1)
    ]
    for process in processes:
        process.start()
    answers = [results.get() for _ in processes]
    for process in processes:
        process.join()
    return sum(calls for calls, _ in answers), [line for _, lines in answers for line in lines]


def quiet(connection, chance):
    """Ends what the clients left behind: prepared transactions, backends of broken connections, pauses."""
    give_up = time.monotonic() + 30
    while connection.execute("SELECT FROM pg_stat_activity WHERE application_name = 'heads client'").rowcount:
        if time.monotonic() > give_up:
            raise RuntimeError("a backend without a client does not end")
        time.sleep(0.02)
    for (name,) in connection.execute("SELECT gid FROM pg_prepared_xacts ORDER BY gid").fetchall():
        connection.execute(chance.choice(["COMMIT", "ROLLBACK"]) + f" PREPARED '{name}'")
    for queue in QUEUES:
        connection.execute("SELECT x_jobs.resume_queue(%s)", [queue])


def now(connection):
    return connection.execute("SELECT clock_timestamp()").fetchone()[0]


def drain(connection, chance):
    """Claims until nothing comes any more; answers the ids that came, and an instant at which nothing was left."""
    found = set()
    empty = 0
    while empty < 3:
        instant = now(connection)
        rows = connection.execute(
            "SELECT id::text, claim FROM x_jobs.claim(%s, 'drain', %s, visibility_timeout => '2 h')",
            [QUEUES, chance.choice([1, 7, 50, 400])],
        ).fetchall()
        # A claim that ends rows instead of handing them out may have had enough of it.
        ended = connection.execute("SELECT count(*) FROM (" + CLAIMABLE + ") AS c", [instant, instant]).fetchone()[0]
        empty = 0 if rows else empty + 1
        found.update(rows)
        if not rows and ended == 0:
            break
    return found, instant


def give_back(connection, chance, found):
    for job, claim in sorted(found):
        connection.execute(
            chance.choice(["SELECT x_jobs.ack(%s, 'drain', %s)", "SELECT x_jobs.release(%s, 'drain', %s)"]), [job, claim]
        )


def judge(tap, connection, chance, title, places):
    # A look at an empty queue opens what has lapsed.
    connection.execute("SELECT x_jobs.claim(ARRAY['nothing'], 'judge')")
    instant = now(connection)
    # Leases that lapse between the two are told by the next claim only.
    connection.execute("SELECT x_jobs.claim(ARRAY['nothing'], 'judge')")
    wanted = connection.execute(CLAIMABLE, [instant, instant]).fetchall()
    if places:
        lost = connection.execute(NOT_IN_AN_OPEN_PLACE, [instant, instant]).fetchall()
        tap.none([str(row) for row in lost], f"{title}: each of {len(wanted)} claimable jobs lies in an open place")
    found, since = drain(connection, chance)
    left = connection.execute(CLAIMABLE, [since, since]).fetchall()
    tap.none([str(row) for row in left], f"{title}: the claims leave nothing claimable behind")
    ids = {job for job, _ in found}
    # Ended by the claims: burials and expiries.
    ended = {row[0] for row in connection.execute("SELECT id::text FROM _x_jobs.history").fetchall()}
    missed = [str(row) for row in wanted if row[0] not in ids and row[0] not in ended]
    tap.none(missed, f"{title}: the claims find all of them")
    strangers = ids - {row[0] for row in connection.execute(
        "SELECT id::text FROM _x_jobs.jobs WHERE claimed_by = 'drain' AND state = 'running'").fetchall()}
    tap.none(sorted(strangers), f"{title}: and hold what they found")
    give_back(connection, chance, found)
    return len(wanted)


def main():
    duration = float(os.environ.get("X_JOBS_PROPERTY_SECONDS", "40"))
    seed = os.environ.get("X_JOBS_PROPERTY_SEED") or str(random.SystemRandom().randrange(10**9))
    chance = random.Random(seed)
    tap = Tap()
    tap.say(f"X_JOBS_PROPERTY_SEED={seed} X_JOBS_PROPERTY_SECONDS={duration:g}")
    # Room for everything, then hardly any: more queues than slots, more leases than entries.
    for title, settings in (("room", {}), ("no room", {"x_jobs.max_queues": "2", "x_jobs.max_leases": "16"})):
        cluster = Cluster("heads", 5523, **{"x_jobs.rescan_interval": "0", "fsync": "off", **settings})
        try:
            cluster.start()
            play(tap, cluster, chance, f"{seed}/{title}", title, duration / 2)
            cluster.stop()
        finally:
            cluster.remove()
    tap.end()


def play(tap, cluster, chance, seed, title, duration):
    with cluster.connect() as connection:
        connection.execute("CREATE EXTENSION x_jobs")
    calls, unexpected, judged = 0, [], 0
    for number in range(ROUNDS):
        if number == ROUNDS - 2:
            cluster.kill(children_too=True)
            cluster.start()
        # Two-phase commit and rows by hand open every place again: not in every round.
        more, lines = let_run(cluster.conninfo, f"{seed}/{number}", time.time() + duration / ROUNDS, number % 2 == 1)
        calls += more
        unexpected += lines
        with cluster.connect() as connection:
            quiet(connection, chance)
            judged += judge(tap, connection, chance, f"{title}, round {number + 1}", not title.startswith("no"))
    tap.ok(calls > 40 * duration and judged > 0, f"{title}: the clients made {calls} calls, and {judged} jobs were looked for")
    tap.none(unexpected, f"{title}: no error but those that such neighbours cause")
    tap.none(
        cluster.log_lines("PANIC", "terminated by signal 6", "terminated by signal 11", "TRAP:"),
        f"{title}: no backend crashed",
    )


if __name__ == "__main__":
    main()
