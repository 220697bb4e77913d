"""The invariants, checked from the clients' records and from what the database holds in the end.

Nothing here asks the library under test what it thinks: the record says what clients were told and when, the tables say
what is stored, and model.py says which of that can be true together.
"""

import json
from bisect import bisect_left
from collections import Counter, defaultdict

from model import LIVE, LOOKS, NEVER, Event, explain

ENDING = {"settled", "cancelled", "removed"}


class History:
    """All transactions of all clients."""

    def __init__(self, folder):
        self.txs = []
        for path in sorted(folder.glob("client-*.log")):
            txs = {}
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                txs[entry["tx"]] = entry
            self.txs.extend(txs.values())
        self.committed = [tx for tx in self.txs if tx.get("outcome") == "committed"]
        self.aborted = [tx for tx in self.txs if tx.get("outcome") == "aborted"]

    def done(self, *steps):
        """(transaction, operation, step) of everything of these kinds that committed, in the order of its calls."""
        found = [(tx, op, step) for tx in self.committed for op in standing(tx) for step in op["steps"]
                 if not steps or step["step"] in steps]
        return sorted(found, key=lambda entry: entry[1]["start"])

    def unexpected(self):
        """Errors that no rule allows where they happened."""
        for tx in self.txs:
            if "outcome" not in tx:
                yield f"client {tx['client']} left transaction {tx['tx']} without an outcome"
            for op in tx["ops"]:
                if "error" in op and not op.get("expected") and not _allowed(tx, op["error"]):
                    yield f"client {tx['client']} tx {tx['tx']} {op['verb']}: {op['error']} {op.get('message')}"
            error = tx.get("commit_error")
            guarded = any(op["verb"] == "guard" for op in tx["ops"])
            if error and not (error == "XJ102" and guarded) and not _allowed(tx, error):
                yield f"client {tx['client']} tx {tx['tx']} COMMIT: {error}"

    def deadlocks(self, before):
        """Deadlocks of the time when every transaction was one statement."""
        for tx in self.txs:
            for op in tx["ops"]:
                if op.get("error") == "40P01" and op["end"] < before:
                    yield f"client {tx['client']} {op['verb']}: {op.get('message')}"

    def events(self):
        """Job id -> what was done to it and seen of it, one Event for each transaction."""
        events = defaultdict(list)
        for tx in self.txs:
            for job, event in _events_of(tx):
                events[job].append(event)
        return events


def standing(tx):
    """The operations that stand: not undone by a savepoint, not refused."""
    return [op for op in tx["ops"] if "steps" in op and "error" not in op and not op.get("undone")]


def _allowed(tx, error):
    # Who locks in an order of his own choosing may meet a deadlock, and at these levels a conflict.
    return not tx["implicit"] and (error == "40P01" or (error == "40001" and tx["isolation"] != "READ COMMITTED"))


def _events_of(tx):
    origin = f"client {tx['client']} tx {tx['tx']}"
    if tx["implicit"] and tx.get("outcome") == "aborted":
        for op in tx["ops"]:
            for step in op["steps"] if op.get("expected") else []:
                yield step["job"], Event(op["start"], op["end"], (step,), origin)
        return
    guards = [step for op in standing(tx) for step in op["steps"] if step["step"] == "guarded"]
    if tx.get("commit_error") == "XJ102" and len(guards) == 1:
        if not any(step["job"] == guards[0]["job"] and step["step"] not in LOOKS | {"guarded"}
                   for op in standing(tx) for step in op["steps"]):
            yield guards[0]["job"], Event(tx["intent"], tx["end"], ({**guards[0], "step": "not held"},), origin)
    if tx.get("outcome") != "committed":
        return
    acts = {}  # job -> (start, steps) from the first act on it
    for op in standing(tx):
        for step in op["steps"]:
            job = step["job"]
            if step["step"] == "guarded":
                continue
            if job in acts:
                acts[job][1].append(step)
            elif step["step"] in LOOKS:
                yield job, Event(op["start"], op["end"], (step,), origin)
            else:
                acts[job] = (op["start"], [step])
    for guard in guards:
        start, steps = acts.get(guard["job"], (tx["intent"], []))
        # The transaction's own settle counts as held; who also ends the job by other means is not judged here.
        if not any(step["step"] in ENDING | {"requeued"} for step in steps):
            acts[guard["job"]] = (start, steps + [{**guard, "step": "held"}])
    for job, (start, steps) in acts.items():
        yield job, Event(start, tx["end"], tuple(steps), origin)


def _lives(passages):
    """The intervals in which a job was surely live: (since, until)."""
    since = None
    for passage in passages:
        # Of a hidden end it is only known when it came at the earliest.
        ended = min((hidden.earliest for hidden in passage.hidden), default=passage.event.start)
        live = passage.after.state in LIVE
        if since is not None and (passage.hidden or not live):
            if since < ended:
                yield since, ended
            since = None
        if since is None and live:
            since = passage.event.end
    if since is not None:
        yield since, NEVER


def _claimable(passages, margin=500_000):
    """The intervals in which a claim had to find the job: (since, until). The margin covers what the record does not
    know to the microsecond, such as when a renewed lease ends."""
    for passage, following in zip(passages, passages[1:]):
        life = passage.after
        if life.state == "running" and life.attempt < life.max_attempts:
            since = max(passage.event.end, life.lease) + margin
        elif life.state in LIVE and life.state != "running":
            since = max(passage.event.end, life.due) + margin
        else:
            continue
        until = min(following.event.start, life.expires if life.attempt == 0 else NEVER)
        if since < until < NEVER:
            yield since, until


def _surely_open(acts, start, end):
    """Whether no pause can have been in force: none began before the end that was not surely lifted before the start."""
    lifted = max((begin for verb, begin, finish in acts if verb == "resume" and finish < start), default=0)
    return not any(verb == "pause" and begin <= end and finish >= lifted for verb, begin, finish in acts)


class Findings:
    """What the checks found, by invariant."""

    def __init__(self, history, rows, modelled=lambda made: True):
        """`modelled` says by its insertion whether a job is held against the model."""
        self.history = history
        self.modelled = modelled
        self.rows = {str(row["id"]): row for row in rows}
        self.rows_read = len(rows)
        self.claims = history.done("claimed")
        self.inserted = {step["job"]: step for _, _, step in history.done("inserted")}
        self.undecided = []
        self.passages = self._explain_all()
        self.burials = {job: sum(hidden.kind == "buried" for passage in passages for hidden in passage.hidden)
                        for job, passages in self.passages.items()}

    def _explain_all(self):
        events = self.history.events()
        passages = {}
        for job, made in self.inserted.items():
            if not self.modelled(made):
                continue
            row = self.rows.get(job)
            last = {"job": job, "step": "in state", "states": [row["state"] if row else "absent"]}
            if row:
                last.update(answer_claim=row["claim"], answer_attempt=row["attempt"])
            found, why = explain(events[job] + [Event(NEVER, NEVER, (last,), "the database in the end")])
            if found is None:
                self.undecided.append(f"job {job}: {why}")
            else:
                passages[job] = found
        for job in events.keys() - self.inserted.keys():
            if any(step["step"] != "not held" and step.get("states") != ["absent"]
                   for event in events[job] for step in event.steps):
                self.undecided.append(f"job {job} was seen by {events[job][0].origin}, but nobody made it")
        return passages

    # -- leases ------------------------------------------------------------------------------------------------------

    def handed_out_twice(self):
        counted = Counter((step["job"], step["claim"]) for _, _, step in self.claims)
        return [f"job {job} claim {claim} was handed out {count} times" for (job, claim), count in counted.items() if count > 1]

    def ordinals(self, trusted=lambda step: True):
        """Ordinals that do not rise from claim to claim; `trusted` says of which claims it is asked."""
        last = {}
        for _, _, step in sorted(self.claims, key=lambda entry: entry[2]["claimed_at"]):
            job, claim = step["job"], step["claim"]
            if not trusted(step):
                continue
            if claim <= last.get(job, 0):
                yield f"job {job}: claim {claim} came after claim {last[job]}"
            last[job] = claim

    def two_live_leases(self, trusted=lambda step: True):
        """Claims that came while an earlier claim's lease, as its worker knew it, had neither lapsed nor ended."""
        renewals, endings = defaultdict(list), defaultdict(list)
        for _, op, step in self.history.done("renewed"):
            renewals[step["job"], step["claim"]].append((op["start"], step["lease"]))
        for _, op, step in self.history.done(*ENDING):
            endings[step["job"]].append(op["start"])
        chain = defaultdict(list)
        for _, _, step in self.claims:
            chain[step["job"]].append(step)
        for job, steps in chain.items():
            steps.sort(key=lambda step: step["claimed_at"])
            for first, second in zip(steps, steps[1:]):
                moment = second["claimed_at"]
                lease = first["visible_at"]
                for start, renewed in renewals[job, first["claim"]]:
                    lease = renewed if start <= moment else lease
                ended = any(first["claimed_at"] <= start <= moment for start in endings[job])
                if moment < lease and not ended and trusted(first):
                    yield (f"job {job}: {second['worker']} got claim {second['claim']} {lease - moment} us before the lease "
                           f"of {first['worker']}, claim {first['claim']}, ended")

    def stale_settles(self, trusted=lambda step: True):
        """Settles that landed although a later claim had been handed out before they were called."""
        handed_out = defaultdict(list)
        for tx, _, step in self.claims:
            if trusted(step):
                handed_out[step["job"]].append((tx["end"], step["claim"]))
        for _, op, step in self.history.done("settled"):
            later = [claim for end, claim in handed_out[step["job"]] if claim > step["claim"] and end < op["start"]]
            if later:
                yield f"job {step['job']}: {step['verb']} under claim {step['claim']} landed after claim {max(later)}"

    def settled_twice(self):
        counted = Counter((step["job"], step["claim"]) for _, _, step in self.history.done("settled"))
        return [f"job {job} claim {claim} was settled {count} times" for (job, claim), count in counted.items() if count > 1]

    def claim_rows(self):
        """What a claimed row carries."""
        for _, op, step in self.claims:
            made = self.inserted.get(step["job"])
            wrong = []
            if step["claimed_at"] < step["run_at"]:
                wrong.append("handed out before it was due")
            if step["visible_at"] - step["claimed_at"] != step["visibility"]:
                wrong.append(f"lease of {step['visible_at'] - step['claimed_at']} us")
            if step["queue"] not in step["queues"]:
                wrong.append(f"queue {step['queue']} was not asked for")
            if step["final"] != (step["attempt"] >= step["max_attempts"]):
                wrong.append("final_attempt")
            if made and any(made[field] != step[field] for field in ("name", "tenant", "key", "queue")):
                wrong.append("another job's name, tenant, key or queue")
            if wrong:
                yield f"job {step['job']} claim {step['claim']}: {', '.join(wrong)}"
        for tx in self.history.committed:
            for op in standing(tx):
                order = [(step["priority"], step["run_at"], step["job"]) for step in op["steps"] if step["step"] == "claimed"]
                if order != sorted(order):
                    yield f"client {tx['client']} tx {tx['tx']}: rows out of (priority, run_at, id) order: {order}"

    def claims_from_paused(self):
        """Claims that handed out a job of a queue which was paused, and surely not resumed, before they were called."""
        acts = defaultdict(list)
        for tx in self.history.committed:
            for op in standing(tx):
                if op["verb"] in ("pause", "resume"):
                    acts[op["queue"], op["verb"]].append((op["start"], tx["end"]))
        for tx, op, step in self.claims:
            for pause_start, pause_end in acts[step["queue"], "pause"]:
                if pause_end < op["start"]:
                    resumed = any(end >= pause_start and start <= op["end"] for start, end in acts[step["queue"], "resume"])
                    if not resumed:
                        yield f"client {tx['client']} tx {tx['tx']} claimed job {step['job']} of the paused queue {step['queue']}"
                        break

    def starved(self, slack=20):
        """Jobs that were due and untouched while claims of their queue came back with room to spare, again and again:
        more room than burials and expiries can account for."""
        claims, starts, touched, hidden = self._short_claims(), {}, self._touched(), self._hidden_windows()
        for queue, calls in claims.items():
            starts[queue] = [start for start, _, _ in calls]
        for job, passages in self.passages.items():
            queue = self.inserted[job]["queue"]
            for since, until in _claimable(passages):
                first = bisect_left(starts.get(queue, []), since)
                spared = 0
                for start, end, room in claims[queue][first:]:
                    if start >= until:
                        break
                    if end < until and not any(begin <= end and start <= finish for begin, finish in touched[job]):
                        spared += room
                used = sum(earliest <= until and since <= latest for earliest, latest in hidden) if spared > slack else 0
                if spared > slack + used:
                    yield (f"job {job} of queue {queue} was claimable for {until - since} us while claims of its queue could "
                           f"have taken {spared} jobs more; {used} burials and expiries at most")

    def _short_claims(self):
        """Queue -> (start, end, room) of calls that asked for more jobs than they were given."""
        pauses = defaultdict(list)
        for tx in self.history.committed:
            for op in standing(tx):
                if op["verb"] in ("pause", "resume"):
                    pauses[op["queue"]].append((op["verb"], op["start"], tx["end"]))
        claims = defaultdict(list)
        for tx in self.history.committed:
            for op in standing(tx):
                given = sum(step["step"] == "claimed" for step in op["steps"])
                if op["verb"] == "claim" and not op["narrowed"] and op["asked"] > given:
                    for queue in op["queues"]:
                        if _surely_open(pauses[queue], op["start"], op["end"]):
                            claims[queue].append((op["start"], op["end"], op["asked"] - given))
        for calls in claims.values():
            calls.sort()
        return claims

    def _touched(self):
        """Job -> when a transaction was open that did something to it, whatever came of it."""
        touched = defaultdict(list)
        for tx in self.history.txs:
            for job in {step["job"] for op in tx["ops"] for step in op.get("steps", [])}:
                touched[job].append((tx["begin"], tx["end"]))
        return touched

    def _hidden_windows(self):
        return [(hidden.earliest, passage.event.end) for passages in self.passages.values() for passage in passages
                for hidden in passage.hidden]

    # -- jobs --------------------------------------------------------------------------------------------------------

    def lost_and_found(self):
        """Committed jobs that are nowhere, and rows that no committed enqueue made."""
        removed = {step["job"] for _, _, step in self.history.done("removed")}
        for job in self.inserted.keys() - self.rows.keys() - removed:
            yield f"job {job} was committed and is neither live nor finished nor removed"
        for job in self.rows.keys() - self.inserted.keys():
            yield f"job {job} is in the tables and no committed enqueue made it"

    def repeated_ids(self):
        return [] if self.rows_read == len(self.rows) else [f"{self.rows_read} rows have {len(self.rows)} ids"]

    def two_live_jobs(self):
        """Jobs of one (name, tenant, key) whose lives surely overlapped."""
        spans = defaultdict(list)
        for job, passages in self.passages.items():
            made = self.inserted[job]
            if made["key"] is not None:
                for since, until in _lives(passages):
                    spans[made["name"], made["tenant"], made["key"]].append((since, until, job))
        for key, lives in spans.items():
            lives.sort()
            latest = lives[0]
            for life in lives[1:]:
                if life[0] < latest[1] and life[2] != latest[2]:
                    yield f"jobs {latest[2]} and {life[2]} of {key} were live at once for {latest[1] - life[0]} us"
                latest = max(latest, life, key=lambda span: span[1])

    def wrong_answers(self):
        """Enqueues that were answered with a job of another name, tenant or key."""
        for tx, _, step in self.history.done("live", "replaced"):
            made, asked = self.inserted.get(step["job"]), step.get("expect")
            if made and asked and any(made[field] != asked[field] for field in ("name", "tenant", "key")):
                yield f"client {tx['client']} tx {tx['tx']} asked for {asked} and was given {made}"

    def leaked_inputs(self):
        """Inputs of transactions that did not commit, as seen by a claim or in the tables."""
        given = defaultdict(set)
        for _, _, step in self.history.done("inserted", "replaced"):
            given[step["job"]].add(step["token"])
        for _, _, step in self.claims:
            if step["token"] not in given[step["job"]]:
                yield f"job {step['job']} claim {step['claim']} carried input {step['token']}, which nobody committed"
        for job, row in self.rows.items():
            if row["token"] not in given[job]:
                yield f"job {job} is stored with input {row['token']}, which nobody committed"

    # -- counts ------------------------------------------------------------------------------------------------------

    def expected_tallies(self):
        """(name, outcome) -> (count, milliseconds), and (queue, outcome) -> count, as the record has them."""
        names, queues = defaultdict(lambda: [0, 0]), Counter()
        for _, _, step in self.history.done("settled"):
            if step["tally"] and step["job"] in self.inserted:
                self._count(names, queues, step["job"], step["tally"], 1, step["milliseconds"])
        for job, burials in self.burials.items():
            if burials:
                self._count(names, queues, job, "x", burials, 0)
        return {key: tuple(value) for key, value in names.items()}, dict(queues)

    def _count(self, names, queues, job, outcome, count, milliseconds):
        made = self.inserted[job]
        names[made["name"], outcome][0] += count
        names[made["name"], outcome][1] += milliseconds
        queues[made["queue"], outcome] += count

    def expected_attempts(self):
        """Job -> rows of failed attempts, for jobs that were never removed."""
        counted = Counter({job: burials for job, burials in self.burials.items() if burials})
        for _, _, step in self.history.done("settled"):
            counted[step["job"]] += step["attempt_row"]
        removed = {step["job"] for _, _, step in self.history.done("removed")}
        return {job: count for job, count in counted.items() if count and job not in removed}


# -- what the database holds ---------------------------------------------------------------------------------------------


def stored_jobs(connection):
    return connection.execute(
        """SELECT id, state, claim, attempt, name, queue, tenant_id, idempotency_key, input ->> 'token' AS token, reason
             FROM x_jobs.all_jobs"""
    ).fetchall()


def stored_tallies(connection):
    """The same two mappings as Findings.expected_tallies, from tally rows and from what was rolled up."""
    # The duration of a rolled-up bucket is one sum over its outcomes, so durations are compared by name only.
    names = {(row["name"], row["outcome"]): row["count"] for row in connection.execute(
        """SELECT name, outcome, sum(count)::bigint AS count
             FROM (SELECT name, outcome::text, count(*) FROM _x_jobs.tally GROUP BY 1, 2
                   UNION ALL
                   SELECT name, o.outcome, o.count FROM _x_jobs.counters,
                          LATERAL (VALUES ('d', done), ('f', failed), ('x', dead), ('r', retried)) AS o (outcome, count))
                  AS counted (name, outcome, count)
            GROUP BY 1, 2 HAVING sum(count) > 0"""
    )}
    durations = {row["name"]: row["ms"] for row in connection.execute(
        """SELECT name, sum(ms)::bigint AS ms
             FROM (SELECT name, duration_ms FROM _x_jobs.tally UNION ALL SELECT name, duration_ms FROM _x_jobs.counters)
                  AS counted (name, ms)
            GROUP BY 1 HAVING sum(ms) > 0"""
    )}
    queues = {(row["queue"], row["outcome"]): row["count"] for row in connection.execute(
        """SELECT queue, outcome, sum(count)::bigint AS count
             FROM (SELECT queue, outcome::text, count(*) FROM _x_jobs.tally WHERE outcome <> 'r' GROUP BY 1, 2
                   UNION ALL
                   SELECT queue, o.outcome, o.count FROM _x_jobs.queue_totals,
                          LATERAL (VALUES ('d', done), ('f', failed), ('x', dead)) AS o (outcome, count))
                  AS counted (queue, outcome, count)
            GROUP BY 1, 2 HAVING sum(count) > 0"""
    )}
    return names, durations, queues


def differences(expected, stored):
    """Entries of two mappings that differ, in words."""
    return [f"{key}: expected {expected.get(key, 0)}, stored {stored.get(key, 0)}"
            for key in sorted(expected.keys() | stored.keys(), key=str) if expected.get(key, 0) != stored.get(key, 0)]


def tally_differences(findings, connection):
    expected_names, expected_queues = findings.expected_tallies()
    names, durations, queues = stored_tallies(connection)
    expected_durations = Counter()
    for (name, _), (_, milliseconds) in expected_names.items():
        expected_durations[name] += milliseconds
    wanted_queues = {key: count for key, count in expected_queues.items() if key[1] != "r"}
    return (differences({key: count for key, (count, _) in expected_names.items()}, names)
            + differences({name: ms for name, ms in expected_durations.items() if ms}, durations)
            + differences(wanted_queues, queues))


def attempt_differences(findings, connection):
    expected = findings.expected_attempts()
    stored = {str(row["job_id"]): row["count"] for row in connection.execute(
        "SELECT job_id, count(*) FROM _x_jobs.attempts GROUP BY job_id")}
    removed = stored.keys() - findings.rows.keys()
    return differences(expected, {job: count for job, count in stored.items() if job not in removed})


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
        connection.execute("SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; "
                           "SET LOCAL enable_bitmapscan = off")
        return [str(row) for row in connection.execute(
            """SELECT name, tenant_id, idempotency_key, count(*) FROM _x_jobs.jobs
                WHERE idempotency_key IS NOT NULL GROUP BY 1, 2, 3 HAVING count(*) > 1""")]


def strangers(history, connection):
    """Business rows of transactions that did not commit, and committed ones that are missing."""
    wrote = {(tx["client"], tx["tx"]) for tx in history.committed
             for op in standing(tx) if op["verb"] == "guard"}
    stored = {(row["client"], row["tx"]) for row in connection.execute("SELECT client, tx FROM notes")}
    yield from (f"client {client} tx {tx} did not commit, its business row is there" for client, tx in stored - wrote)
    yield from (f"client {client} tx {tx} committed, its business row is missing" for client, tx in wrote - stored)
    witnessed = {(row["client"], row["tx"]) for row in connection.execute("SELECT client, tx FROM witness")}
    told = {(tx["client"], tx["tx"]) for tx in history.committed if tx["witness"]}
    yield from (f"client {client} tx {tx} was told of its commit, which is gone" for client, tx in told - witnessed)
    yield from (f"client {client} tx {tx} was told of its abort, which committed" for client, tx in witnessed - told)
