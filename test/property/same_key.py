#!/usr/bin/python3
"""Many sessions enqueue one key at the same instant, and enqueuers race the ack of the job that holds the key.

If this failed: a check-then-insert race would let two live jobs share a key, or hand a raw unique violation to callers.
"""

import threading

import psycopg
from cluster import Cluster
from tap import Tap

SESSIONS = 64
ROUNDS = 4
RACES = 150
ENQUEUERS = 4

ENQUEUE = "SELECT id, deduped FROM x_jobs.enqueue('unique', idempotency_key => %s, queue => %s)"
LIVE = "SELECT count(*) FROM _x_jobs.jobs WHERE name = 'unique' AND idempotency_key = %s"


def together(connections, act):
    """Runs act(connection) for each connection in a thread of its own, all at once; answers their results in order."""
    barrier = threading.Barrier(len(connections))
    results = [None] * len(connections)

    def run(index):
        barrier.wait()
        try:
            results[index] = act(connections[index])
        except psycopg.Error as error:
            connections[index].rollback()
            results[index] = error

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def one_key(tap, connections, watcher, level):
    """All sessions have their snapshot before the first of them enqueues; the queue is new in every round."""
    errors, wrong = [], []
    for number in range(ROUNDS):
        key, queue = f"{level.name} {number}", f"queue of {level.name} {number}"

        def enqueue(connection):
            job_id, deduped = connection.execute(ENQUEUE, [key, queue]).fetchone()
            connection.commit()
            return job_id, deduped

        for connection in connections:
            connection.isolation_level = level
            connection.execute("SELECT 1 FROM _x_jobs.jobs LIMIT 1")
        results = together(connections, enqueue)
        failures = [result for result in results if isinstance(result, Exception)]
        errors += [
            f"{failure.sqlstate}: {failure}"
            for failure in failures
            if level is not psycopg.IsolationLevel.SERIALIZABLE or failure.sqlstate != "40001"
        ]
        # Who met a serialization failure tries again, as always at this level.
        for index, result in enumerate(results):
            if isinstance(result, Exception):
                results[index] = enqueue(connections[index])
        ids = {job_id for job_id, _ in results}
        fresh = [job_id for job_id, deduped in results if not deduped]
        live = watcher.execute(LIVE, [key]).fetchone()[0]
        queues = watcher.execute("SELECT count(*) FROM _x_jobs.queues WHERE queue = %s", [queue]).fetchone()[0]
        if not (len(ids) == len(fresh) == live == queues == 1):
            wrong.append(f"round {number}: {len(ids)} ids, {len(fresh)} new, {live} live, {queues} rows of the queue")
    tap.none(
        wrong, f"C-082 ENQ-2: {SESSIONS} sessions, one key, {level.name}: one new job, the others get its id, one queue"
    )
    tap.none(
        errors,
        f"C-082: {SESSIONS} sessions, one key, {level.name}: no session is given an error"
        + (" but to try again" if level is psycopg.IsolationLevel.SERIALIZABLE else ""),
    )


def holder_and_enqueuers(tap, connections, watcher):
    """Four enqueuers against the ack of the job that holds the key."""
    wrong = []
    outcomes = {"before": 0, "after": 0}
    for number in range(RACES):
        key = f"race {number}"
        holder, *enqueuers = connections[: ENQUEUERS + 1]
        held, _ = holder.execute(ENQUEUE, [key, "race"]).fetchone()
        claim = holder.execute("SELECT claim FROM x_jobs.claim(ARRAY['race'], 'holder')").fetchone()[0]
        holder.commit()

        def act(connection):
            if connection is holder:
                answer = connection.execute("SELECT x_jobs.ack(%s, 'holder', %s)", [held, claim]).fetchone()
            else:
                answer = connection.execute(ENQUEUE, [key, "race"]).fetchone()
            connection.commit()
            return answer

        results = together([holder, *enqueuers], act)
        failures = [result for result in results if isinstance(result, Exception)]
        live = watcher.execute(LIVE, [key]).fetchone()[0]
        if failures:
            wrong.append(f"race {number}: {failures}")
            continue
        acked, answers = results[0][0], results[1:]
        fresh = [job_id for job_id, deduped in answers if not deduped]
        # Each was told of the job that was, or of the one that one of them made after it.
        known = all(job_id in [held, *fresh] for job_id, _ in answers)
        if not acked or len(fresh) > 1 or live != len(fresh) or not known or held in fresh:
            wrong.append(f"race {number}: acked {acked}, {len(fresh)} new, {live} live, {answers}")
        outcomes["after" if fresh else "before"] += 1
        watcher.execute("SELECT x_jobs.cancel(id) FROM _x_jobs.jobs WHERE idempotency_key = %s", [key])
    tap.say(f"enqueues before the ack in {outcomes['before']} races, after it in {outcomes['after']}")
    tap.none(
        wrong, f"ENQ-16 ENQ-4: {ENQUEUERS} enqueuers against the holder's ack: each gets an id, never two live jobs"
    )


def main():
    tap = Tap()
    cluster = Cluster("same-key", 5523)
    try:
        cluster.start()
        with cluster.connect() as watcher:
            watcher.execute("CREATE EXTENSION x_jobs")
            connections = [psycopg.connect(cluster.conninfo) for _ in range(SESSIONS)]
            for level in (
                psycopg.IsolationLevel.READ_COMMITTED,
                psycopg.IsolationLevel.REPEATABLE_READ,
                psycopg.IsolationLevel.SERIALIZABLE,
            ):
                one_key(tap, connections, watcher, level)
            for connection in connections:
                connection.isolation_level = None
            holder_and_enqueuers(tap, connections, watcher)
            for connection in connections:
                connection.close()
        tap.none(
            cluster.log_lines("PANIC", "terminated by signal", "TRAP:", "deadlock detected"),
            "C-082: no backend crashed and none met a deadlock",
        )
        cluster.stop()
    finally:
        cluster.remove()
    tap.end()


if __name__ == "__main__":
    main()
