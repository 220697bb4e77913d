"""What the database holds in the end, and where it differs from the findings."""

from collections import Counter

from history import standing


COUNTS_BY_NAME = """
    SELECT name, outcome, sum(count)::bigint AS count
      FROM (SELECT name, outcome::text, count(*) FROM _x_jobs.tally GROUP BY 1, 2
            UNION ALL
            SELECT name, o.outcome, o.count
              FROM _x_jobs.counters,
                   LATERAL (VALUES ('d', done), ('f', failed), ('x', dead), ('r', retried)) AS o (outcome, count))
           AS counted (name, outcome, count)
     GROUP BY 1, 2 HAVING sum(count) > 0
"""
DURATIONS_BY_NAME = """
    SELECT name, sum(ms)::bigint AS ms
      FROM (SELECT name, duration_ms FROM _x_jobs.tally UNION ALL SELECT name, duration_ms FROM _x_jobs.counters)
           AS counted (name, ms)
     GROUP BY 1 HAVING sum(ms) > 0
"""
COUNTS_BY_QUEUE = """
    SELECT queue, outcome, sum(count)::bigint AS count
      FROM (SELECT queue, outcome::text, count(*) FROM _x_jobs.tally WHERE outcome <> 'r' GROUP BY 1, 2
            UNION ALL
            SELECT queue, o.outcome, o.count
              FROM _x_jobs.queue_totals, LATERAL (VALUES ('d', done), ('f', failed), ('x', dead)) AS o (outcome, count))
           AS counted (queue, outcome, count)
     GROUP BY 1, 2 HAVING sum(count) > 0
"""


def stored_jobs(connection):
    return connection.execute(
        """SELECT id, state, claim, attempt, name, queue, tenant_id, idempotency_key, input ->> 'token' AS token, reason
             FROM x_jobs.all_jobs"""
    ).fetchall()


def stored_tallies(connection):
    """The same two mappings as Findings.expected_tallies, from tally rows and from what was rolled up."""
    # The duration of a rolled-up bucket is one sum over its outcomes, so durations are compared by name only.
    names = {(row["name"], row["outcome"]): row["count"] for row in connection.execute(COUNTS_BY_NAME)}
    durations = {row["name"]: row["ms"] for row in connection.execute(DURATIONS_BY_NAME)}
    queues = {(row["queue"], row["outcome"]): row["count"] for row in connection.execute(COUNTS_BY_QUEUE)}
    return names, durations, queues


def differences(expected, stored):
    """Entries of two mappings that differ, in words."""
    return [
        f"{key}: expected {expected.get(key, 0)}, stored {stored.get(key, 0)}"
        for key in sorted(expected.keys() | stored.keys(), key=str)
        if expected.get(key, 0) != stored.get(key, 0)
    ]


def tally_differences(findings, connection):
    expected_names, expected_queues = findings.expected_tallies()
    names, durations, queues = stored_tallies(connection)
    expected_durations = Counter()
    for (name, _), (_, milliseconds) in expected_names.items():
        expected_durations[name] += milliseconds
    wanted_queues = {key: count for key, count in expected_queues.items() if key[1] != "r"}
    return (
        differences({key: count for key, (count, _) in expected_names.items()}, names)
        + differences({name: ms for name, ms in expected_durations.items() if ms}, durations)
        + differences(wanted_queues, queues)
    )


def attempt_differences(findings, connection):
    expected = findings.expected_attempts()
    stored = {
        str(row["job_id"]): row["count"]
        for row in connection.execute("SELECT job_id, count(*) FROM _x_jobs.attempts GROUP BY job_id")
    }
    judged = findings.passages.keys() & findings.rows.keys()
    return differences(expected, {job: count for job, count in stored.items() if job in judged})


def damaged_indexes(connection):
    """What amcheck says about the tables and indexes of the extension."""
    connection.execute("CREATE EXTENSION IF NOT EXISTS amcheck")
    relations = connection.execute(
        """SELECT c.oid::regclass::text AS name, c.relkind FROM pg_class c
            WHERE c.relnamespace = '_x_jobs'::regnamespace AND c.relkind IN ('r', 'i') ORDER BY c.relname"""
    ).fetchall()
    for relation in relations:
        try:
            if relation["relkind"] == "i":
                connection.execute("SELECT bt_index_check(%s::regclass, heapallindexed => true)", [relation["name"]])
            else:
                for row in connection.execute("SELECT * FROM verify_heapam(%s::regclass)", [relation["name"]]):
                    yield f"{relation['name']}: {row}"
        except connection.Error as error:
            yield f"{relation['name']}: {error}"


def duplicate_keys(connection):
    """Keys with more than one live row, read from the table and not from the index that forbids it."""
    with connection.transaction():
        connection.execute(
            "SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; "
            "SET LOCAL enable_bitmapscan = off"
        )
        return [
            str(row)
            for row in connection.execute(
                """SELECT name, tenant_id, idempotency_key, count(*) FROM _x_jobs.jobs
                WHERE idempotency_key IS NOT NULL GROUP BY 1, 2, 3 HAVING count(*) > 1"""
            )
        ]


def strangers(history, connection):
    """Business rows of transactions that did not commit, and committed ones that are missing."""
    wrote = {(tx["client"], tx["tx"]) for tx in history.committed for op in standing(tx) if op["verb"] == "guard"}
    stored = {(row["client"], row["tx"]) for row in connection.execute("SELECT client, tx FROM notes")}
    yield from (f"client {client} tx {tx} did not commit, its business row is there" for client, tx in stored - wrote)
    yield from (f"client {client} tx {tx} committed, its business row is missing" for client, tx in wrote - stored)
    witnessed = {(row["client"], row["tx"]) for row in connection.execute("SELECT client, tx FROM witness")}
    told = {(tx["client"], tx["tx"]) for tx in history.committed if tx["witness"]}
    yield from (f"client {client} tx {tx} was told of its commit, which is gone" for client, tx in told - witnessed)
    yield from (f"client {client} tx {tx} was told of its abort, which committed" for client, tx in witnessed - told)
