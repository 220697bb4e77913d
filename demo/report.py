"""The demo's report: what the database holds, compared with what the clients logged."""

from collections import Counter, defaultdict

from clients import VISIBILITY, WORKERS, digest, read_log


def report(connection, options, source, lines, troubles):
    """Prints the numbers and whether they are right; answers the exit code."""
    one = lambda query, *arguments: connection.execute(query, arguments).fetchone()[0]
    produced = read_log(options.folder / "producer.log")
    committed = {entry["line"] for entry in produced if entry["event"] == "committed"}
    rolled_back = {entry["line"]: entry["job"] for entry in produced if entry["event"] == "rolled back"}
    worked = [{"worker": name, **entry} for name in WORKERS for entry in read_log(options.folder / f"{name}.log")]
    claims = {str(job_id): claim for job_id, claim in connection.execute("SELECT id, claim FROM x_jobs.all_jobs")}
    settles = Settles(worked, claims)

    enqueued = one("SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'digest'")
    stored = one("SELECT count(*) FROM lines")
    done = one("SELECT count(*) FROM x_jobs.all_jobs WHERE state = 'done'")
    redelivered = one("SELECT count(*) FROM x_jobs.all_jobs WHERE claim > 1")
    lost = one(
        """SELECT count(*) FROM unnest(%s::integer[]) AS wanted
            WHERE NOT EXISTS (SELECT FROM lines WHERE no = wanted)
               OR NOT EXISTS (SELECT FROM effects WHERE line = wanted)
               OR NOT EXISTS (SELECT FROM x_jobs.all_jobs
                              WHERE idempotency_key = 'line:' || wanted AND state = 'done')""",
        sorted(committed),
    )
    doubled = one("SELECT count(*) FROM (SELECT FROM effects GROUP BY line HAVING count(*) > 1) AS twice")
    stale = one("SELECT count(*) FROM effects e JOIN x_jobs.all_jobs j ON j.id = e.job_id WHERE e.claim <> j.claim")
    ghosts = one(
        """SELECT (SELECT count(*) FROM lines WHERE no = ANY (%s))
                + (SELECT count(*) FROM effects WHERE line = ANY (%s))
                + (SELECT count(*) FROM x_jobs.all_jobs WHERE id = ANY (%s::uuid[]))""",
        list(rolled_back),
        list(rolled_back),
        list(rolled_back.values()),
    )
    wrong = sum(
        result != digest(lines[line - 1])
        for line, result in connection.execute("SELECT line, digest FROM effects").fetchall()
    )
    median, most = connection.execute(
        """SELECT p[1], p[2]
             FROM (SELECT percentile_cont(ARRAY[0.5, 0.99]) WITHIN GROUP (ORDER BY
                              extract(epoch FROM e.started_at - pg_xact_commit_timestamp(l.xmin)) * 1000) AS p
                     FROM effects e JOIN lines l ON l.no = e.line WHERE e.claim = 1) AS delays"""
    ).fetchone()

    rows = [
        ("lines of the file", len(lines), source, len(committed) + len(rolled_back) == len(lines)),
        (
            "enqueued",
            enqueued,
            f"business rows {stored}, commits in the producer's log {len(committed)}",
            enqueued == stored == len(committed) > 0,
        ),
        (
            "rolled back on purpose",
            len(rolled_back),
            f"rows or jobs they left behind: {ghosts}",
            len(rolled_back) > 0 and ghosts == 0,
        ),
        ("done", done, f"acks in the workers' logs {settles.acked}", done == enqueued),
        (
            "redelivered",
            redelivered,
            f"seen in the workers' logs {settles.seen_again}",
            redelivered >= settles.seen_again > 0,
        ),
        (
            "held by the killed worker",
            settles.left_by("doomed"),
            f"done by others {settles.taken_over('doomed')}",
            settles.left_by("doomed") == settles.taken_over("doomed") > 0,
        ),
        ("late settles refused", settles.late_refused, "", settles.late_refused > 0),
        (
            "late settles that landed",
            settles.late_landed,
            f"effects under a claim that was not the last: {stale}",
            settles.late_landed == 0 and stale == 0,
        ),
        ("rightful settles refused", settles.rightful_refused, "", settles.rightful_refused == 0),
        ("claims handed out twice", settles.handed_out_twice, "", settles.handed_out_twice == 0),
        ("lost", lost, "", lost == 0),
        ("doubled effects", doubled, "", doubled == 0),
        ("wrong effects", wrong, "", wrong == 0),
        ("leases renewed", settles.renewed, f"jobs that outlived a lease by renewing it: {settles.outlived}", True),
    ]
    print("Report (from SQL, and from the clients' own logs)")
    for label, number, note, right in rows:
        print(f"  {label:26}{number:7}   {note}{'' if right else '   <-- WRONG'}".rstrip())
    if median is not None:
        print(f"  commit to start           median {median:.1f} ms, 99 % {most:.1f} ms")
    for trouble in troubles:
        print(f"  WRONG: {trouble}")
    right = all(row[3] for row in rows) and not troubles and median is not None
    print("The report is right." if right else "The report is NOT right.")
    return 0 if right else 1


class Settles:
    """What the workers' logs say about claims and settles, judged by the last claim that the database knows of."""

    def __init__(self, entries, last_claims):
        self.entries = entries
        self.last_claims = last_claims
        handed_out = Counter()
        claims_seen = defaultdict(set)
        for entry in entries:
            if entry["event"] == "claimed":
                handed_out[entry["job"], entry["claim"]] += 1
                claims_seen[entry["job"]].add(entry["claim"])
        acked = [entry for entry in entries if entry["event"] == "acked"]
        refused = [entry for entry in entries if entry["event"] == "refused"]
        newest = {job: max(claims) for job, claims in claims_seen.items()}
        is_last = lambda entry: entry["claim"] == last_claims.get(entry["job"], newest.get(entry["job"]))
        self.acked = len(acked)
        self.late_landed = sum(not is_last(entry) for entry in acked)
        self.late_refused = sum(not is_last(entry) for entry in refused)
        self.rightful_refused = sum(is_last(entry) for entry in refused)
        self.handed_out_twice = sum(count > 1 for count in handed_out.values())
        self.seen_again = sum(len(claims) > 1 for claims in claims_seen.values())
        self.renewed = sum(entry["event"] == "renewed" for entry in entries)
        self.outlived = sum(entry["seconds"] > VISIBILITY for entry in acked)

    def _left(self, worker):
        """(job, claim) of what the worker held to its end."""
        of = lambda *events: {
            (entry["job"], entry["claim"])
            for entry in self.entries
            if entry["worker"] == worker and entry["event"] in events
        }
        return of("claimed") - of("acked", "refused", "failed", "released", "stopped")

    def left_by(self, worker):
        return len(self._left(worker))

    def taken_over(self, worker):
        done = {entry["job"] for entry in self.entries if entry["event"] == "acked" and entry["worker"] != worker}
        return sum(job in done and self.last_claims.get(job, 0) > claim for job, claim in self._left(worker))
