"""The invariants, checked from the clients' records and from the rows that the database holds in the end.

Nothing here asks the library under test what it thinks: the record says what clients were told and when, the rows say
what is stored, and model.py says which of that can be true together.
"""

from bisect import bisect_left
from collections import Counter, defaultdict

from history import ENDING, standing
from model import LIVE, NEVER, Event, explain


def _lives(passages):
    """The intervals in which a job was surely live: (since, until)."""
    since = None
    for passage in passages:
        # Of a hidden end it is only known when it came at the earliest.
        ended = min((hidden.earliest for hidden in passage.ends()), default=passage.event.start)
        live = passage.after.state in LIVE
        if since is not None and (passage.ends() or not live):
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
        elif life.state in LIVE and life.state != "running" and not life.vague:
            since = max(passage.event.end, life.due) + margin
        else:
            continue
        until = min(following.event.start, life.expires if life.claim == 0 else NEVER)
        if since < until < NEVER:
            yield since, until


def _surely_open(acts, start, end):
    """Whether no pause was in force: each that began before the end was surely lifted before the start."""
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
        self.burials = {
            job: sum(hidden.kind == "buried" for passage in passages for hidden in passage.hidden)
            for job, passages in self.passages.items()
        }

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
            if any(
                step["step"] != "not held" and step.get("states") != ["absent"]
                for event in events[job]
                for step in event.steps
            ):
                self.undecided.append(f"job {job} was seen by {events[job][0].origin}, but nobody made it")
        return passages

    # -- leases ------------------------------------------------------------------------------------------------------

    def handed_out_twice(self):
        counted = Counter((step["job"], step["claim"]) for _, _, step in self.claims)
        return [
            f"job {job} claim {claim} was handed out {count} times"
            for (job, claim), count in counted.items()
            if count > 1
        ]

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
                    yield (
                        f"job {job}: {second['worker']} got claim {second['claim']} {lease - moment} us before the "
                        f"lease of {first['worker']}, claim {first['claim']}, ended"
                    )

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

    def guards_without_a_hold(self):
        """Guarded transactions that committed although their claim had surely been lost before they began to."""
        losses = defaultdict(list)  # job -> (when it was over, the first claim that it left standing)
        for tx, _, step in self.history.done("claimed"):
            losses[step["job"]].append((tx["end"], step["claim"]))
        for tx, _, step in self.history.done(*ENDING):
            ended = step["claim"] if step["step"] == "settled" else step["answer_claim"] or 0
            losses[step["job"]].append((tx["end"], ended + 1))
        for tx, _, guard in self.history.done("guarded"):
            if any(end < tx["intent"] and guard["claim"] < first for end, first in losses[guard["job"]]):
                yield (
                    f"client {tx['client']} tx {tx['tx']} committed under claim {guard['claim']} of job "
                    f"{guard['job']}, which was lost before"
                )

    def settled_twice(self):
        counted = Counter((step["job"], step["claim"]) for _, _, step in self.history.done("settled"))
        return [
            f"job {job} claim {claim} was settled {count} times" for (job, claim), count in counted.items() if count > 1
        ]

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
                order = [
                    (step["priority"], step["run_at"], step["job"]) for step in op["steps"] if step["step"] == "claimed"
                ]
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
                    resumed = any(
                        end >= pause_start and start <= op["end"] for start, end in acts[step["queue"], "resume"]
                    )
                    if not resumed:
                        yield (
                            f"client {tx['client']} tx {tx['tx']} claimed job {step['job']} of the paused "
                            f"queue {step['queue']}"
                        )
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
                used = (
                    sum(earliest <= until and since <= latest for earliest, latest in hidden) if spared > slack else 0
                )
                if spared > slack + used:
                    yield (
                        f"job {job} of queue {queue} was claimable for {until - since} us while claims of its queue "
                        f"could have taken {spared} jobs more; {used} burials and expiries at most"
                    )

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
        return [
            (hidden.earliest, passage.event.end)
            for passages in self.passages.values()
            for passage in passages
            for hidden in passage.ends()
        ]

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
        """Job -> rows of attempts that failed or lapsed, for jobs that the model explains and nobody removed."""
        counted = Counter()
        for job, passages in self.passages.items():
            counted[job] += sum(
                hidden.kind in ("buried", "lapsed") for passage in passages for hidden in passage.hidden
            )
        for _, _, step in self.history.done("settled"):
            counted[step["job"]] += step["attempt_row"]
        return {job: count for job, count in counted.items() if count and job in self.passages and job in self.rows}
