"""Every verb of x_jobs as a client calls it, with what its answer means in the words of model.py: one method for each
verb, hence the length."""

from instants import instant, microseconds, seconds, timestamp
from psycopg.types.json import Jsonb


class Verbs:
    """The verbs of a Session, which provides call(), send(), the open transaction and the worker's id."""

    def new_id(self):
        return self.send("SELECT x_jobs.new_id() AS id")[0]["id"]

    def enqueue(
        self,
        name,
        token,
        *,
        key=None,
        tenant=None,
        queue="default",
        delay=0.0,
        run_at=None,
        priority=None,
        max_attempts=3,
        on_conflict="dedupe",
        expires_at=None,
        tags=None,
        own_id=None,
    ):
        due = run_at or self.tx["begin"] + round(delay * 1e6)
        facts = {"name": name, "tenant": tenant or "", "key": key, "queue": queue, "token": token}

        def steps(rows, start):
            row = rows[0]
            if not row["deduped"]:
                return [
                    {
                        "job": row["id"],
                        "step": "inserted",
                        "state": self._first_state(run_at, delay, start),
                        "due": due,
                        "max_attempts": max_attempts,
                        "expires": expires_at,
                        "own": own_id is not None,
                        **facts,
                    }
                ]
            if own_id is not None and str(row["id"]) == str(own_id):
                return [{"job": row["id"], "step": "exists"}]
            replaced = {"due": due, "token": token} if on_conflict == "replace" else {}
            return [{"job": row["id"], "step": "replaced" if replaced else "live", "expect": facts, **replaced}]

        def duplicate(refusal):
            return [{"job": _named_id(refusal.detail), "step": "live", "expect": facts}]

        return self.call(
            "enqueue",
            """SELECT id, run_id, deduped
                 FROM x_jobs.enqueue(%s, input => %s, idempotency_key => %s, tenant_id => %s, queue => %s, delay => %s,
                                     run_at => %s, priority => %s, max_attempts => %s, on_conflict => %s,
                                     expires_at => %s, tags => %s::text[], dedupe => %s, id => %s)""",
            [
                name,
                Jsonb({"token": token}),
                key,
                tenant,
                queue,
                seconds(delay) if run_at is None else None,
                timestamp(run_at),
                priority,
                max_attempts,
                on_conflict,
                timestamp(expires_at),
                tags,
                key is not None,
                own_id,
            ],
            steps,
            {"XJ003": duplicate},
        )[0]

    def _first_state(self, run_at, delay, start):
        """`delayed` if the job was due later than the call, `ready` if not, `waiting` where the record cannot tell."""
        if run_at is None and delay == 0:
            return "ready"
        earliest = run_at or self.tx["begin"] + round(delay * 1e6)
        latest = run_at or self.tx.get("begun", instant()) + round(delay * 1e6)
        return "delayed" if earliest > instant() else "ready" if latest <= start else "waiting"

    def enqueue_many(
        self, name, tokens, keys, *, tenant=None, queue="default", max_attempts=3, on_conflict="dedupe", mixed=False
    ):
        """Both forms; `mixed` calls the one that takes x_jobs.new_job[]."""
        due = self.tx["begin"]

        def steps(rows, _start):
            made = []
            for row, token, key in zip(rows, tokens, keys):
                facts = {"name": name, "tenant": tenant or "", "key": key, "queue": queue, "token": token}
                if not row["deduped"]:
                    made.append(
                        {
                            "job": row["id"],
                            "step": "inserted",
                            "state": "ready",
                            "due": due,
                            "max_attempts": max_attempts,
                            **facts,
                        }
                    )
                elif on_conflict == "replace":
                    made.append({"job": row["id"], "step": "replaced", "due": due, "token": token, "expect": facts})
                else:
                    made.append({"job": row["id"], "step": "live", "expect": facts})
            # A batch is worked in an order of its own, but answered in the caller's: what it made comes first.
            return sorted(made, key=lambda step: step["step"] != "inserted")

        if mixed:
            jobs = [
                {
                    "name": name,
                    "input": {"token": token},
                    "idempotency_key": key,
                    "tenant_id": tenant,
                    "queue": queue,
                    "max_attempts": max_attempts,
                    "on_conflict": on_conflict,
                    "dedupe": key is not None,
                }
                for token, key in zip(tokens, keys)
            ]
            sql = """SELECT ordinal, id, deduped FROM x_jobs.enqueue_many(
                         ARRAY(SELECT j FROM jsonb_populate_recordset(NULL::x_jobs.new_job, %s) AS j))"""
            parameters = [Jsonb(jobs)]
        else:
            sql = """SELECT ordinal, id, deduped
                       FROM x_jobs.enqueue_many(%s, %s::jsonb[], %s::text[], tenant_id => %s, queue => %s,
                                                max_attempts => %s, on_conflict => %s)"""
            parameters = [
                name,
                [Jsonb({"token": token}) for token in tokens],
                keys,
                tenant,
                queue,
                max_attempts,
                on_conflict,
            ]
        return self.call("enqueue_many", sql, parameters, steps)

    def claim(self, queues, *, max_jobs=1, visibility=30.0, wait=0.0, names=None, durable=True):
        return self.call(
            "claim",
            "SELECT * FROM x_jobs.claim(%s, %s, %s, %s, %s, %s, %s)",
            [queues, self.worker, max_jobs, seconds(visibility), seconds(wait), names, durable],
            lambda rows, _start: self._claimed(rows, queues, visibility, durable),
            {"57014": lambda _refusal: []},
            queues=queues,
            asked=max_jobs,
            narrowed=names is not None,
        )

    def _claimed(self, rows, queues, visibility, durable):
        return [
            {
                "job": row["id"],
                "step": "claimed",
                "claim": row["claim"],
                "attempt": row["attempt"],
                "max_attempts": row["max_attempts"],
                "worker": row["worker_id"],
                "durable": durable,
                "claimed_at": microseconds(row["claimed_at"]),
                "visible_at": microseconds(row["visible_at"]),
                "run_at": microseconds(row["run_at"]),
                "priority": row["priority"],
                "queues": queues,
                "queue": row["queue"],
                "visibility": round(visibility * 1e6),
                "token": row["input"]["token"],
                "key": row["idempotency_key"],
                "name": row["name"],
                "tenant": row["tenant_id"] or "",
                "final": row["final_attempt"],
            }
            for row in rows
        ]

    def heartbeat(self, held, visibility=30.0):
        def steps(rows, start):
            return [self._renewed(held, rows[0]["landed"], start, visibility)]

        return self.call(
            "heartbeat",
            "SELECT x_jobs.heartbeat(%s, %s, %s, %s) AS landed",
            [held["id"], held["worker"], held["claim"], seconds(visibility)],
            steps,
        )[0]["landed"]

    def heartbeat_many(self, leases, visibility=30.0):
        """Leases of this worker only: the call takes one worker id."""

        def steps(rows, start):
            answers = {row["id"]: row["held"] for row in rows}
            return [self._renewed(lease, answers[lease["id"]], start, visibility) for lease in leases]

        return self.call(
            "heartbeat_many",
            "SELECT id, held FROM x_jobs.heartbeat_many(%s::uuid[], %s, %s::bigint[], %s)",
            [[lease["id"] for lease in leases], self.worker, [lease["claim"] for lease in leases], seconds(visibility)],
            steps,
        )

    @staticmethod
    def _renewed(lease, landed, start, visibility):
        step = {"job": lease["id"], "claim": lease["claim"], "worker": lease["worker"]}
        if not landed:
            return {**step, "step": "not held"}
        return {**step, "step": "renewed", "lease": start + round(visibility * 1e6)}

    def progress(self, held):
        return self.call(
            "progress",
            "SELECT x_jobs.progress(%s, %s, %s, 1, 2, 'half') AS landed",
            [held["id"], held["worker"], held["claim"]],
            lambda rows, _start: [
                {
                    "job": held["id"],
                    "claim": held["claim"],
                    "worker": held["worker"],
                    "step": "held" if rows[0]["landed"] else "not held",
                }
            ],
        )

    def guard(self, held):
        """Guards the transaction, and writes a business row that must not survive a lost lease."""
        step = {"job": held["id"], "claim": held["claim"], "worker": held["worker"]}
        self.call(
            "guard",
            "SELECT x_jobs.guard(%s, %s, %s)",
            [held["id"], held["worker"], held["claim"]],
            lambda _rows, _start: [{**step, "step": "guarded"}],
            {"XJ102": lambda _refusal: [{**step, "step": "not held"}]},
        )
        self.send(
            "INSERT INTO notes (client, tx, job_id, claim) VALUES (%s, %s, %s, %s)",
            [self.number, self.tx["tx"], held["id"], held["claim"]],
        )

    def ack(self, held, duration=0.0):
        rows = self.call(
            "ack",
            "SELECT x_jobs.ack(%s, %s, %s, result => %s, duration => %s) AS landed",
            [held["id"], held["worker"], held["claim"], Jsonb({"by": self.worker}), seconds(duration)],
            lambda rows, start: [_settled(held, "ack", rows[0]["landed"], start, duration=duration)],
        )
        return rows[0]["landed"]

    def nack(
        self, held, *, delay=0.0, error=None, counts=True, park=False, dead_letter=False, fail=False, duration=0.0
    ):
        options = {
            "delay": delay,
            "counts": counts,
            "park": park,
            "dead_letter": dead_letter,
            "fail": fail,
            "duration": duration,
        }
        rows = self.call(
            "nack",
            """SELECT x_jobs.nack(%s, %s, %s, delay => %s, error => %s, counts_as_attempt => %s, park => %s,
                                  dead_letter => %s, fail => %s, duration => %s) AS landed""",
            [
                held["id"],
                held["worker"],
                held["claim"],
                seconds(delay),
                error,
                counts,
                park,
                dead_letter,
                fail,
                seconds(duration),
            ],
            lambda rows, start: [_settled(held, "nack", rows[0]["landed"], start, **options)],
        )
        return rows[0]["landed"]

    def fail(self, held, *, error="failed on purpose", code=None, duration=0.0):
        rows = self.call(
            "fail",
            "SELECT landed, outcome, retry_at FROM x_jobs.fail(%s, %s, %s, %s, code => %s, duration => %s)",
            [held["id"], held["worker"], held["claim"], error, code, seconds(duration)],
            lambda rows, start: [
                _settled(
                    held,
                    "fail",
                    rows[0]["landed"],
                    start,
                    outcome=rows[0]["outcome"],
                    retry_at=microseconds(rows[0]["retry_at"]),
                    duration=duration,
                )
            ],
        )
        return rows[0]["landed"]

    def release(self, held, delay=0.0):
        rows = self.call(
            "release",
            "SELECT x_jobs.release(%s, %s, %s, delay => %s) AS landed",
            [held["id"], held["worker"], held["claim"], seconds(delay)],
            lambda rows, start: [_settled(held, "release", rows[0]["landed"], start, delay=delay)],
        )
        return rows[0]["landed"]

    SETTLEMENTS = "ARRAY(SELECT s FROM jsonb_populate_recordset(NULL::x_jobs.settlement, %s) AS s)"

    def settle(self, settlements):
        """A list of (lease, verb, duration), all of this worker."""

        def steps(rows, start):
            return _in_id_order(
                settlements,
                [
                    _settled(lease, verb, row["landed"], start, outcome=row["outcome"], duration=duration)
                    for row, (lease, verb, duration) in zip(rows, settlements)
                ],
            )

        return self.call(
            "settle",
            f"SELECT ordinal, id, landed, outcome FROM x_jobs.settle({self.SETTLEMENTS}, %s)",
            [_settlements(settlements), self.worker],
            steps,
        )

    def exchange(self, settlements, queues, *, max_jobs=1, visibility=30.0):
        """No `fail` among the settlements: an exchange does not tell whether it meant a retry or a dead letter."""

        def steps(rows, start):
            lost = [row["id"] for row in rows if row["status"] == "lost"]
            made = []
            # A settlement that is named twice has one `lost` row for each time that it did not land.
            for lease, verb, duration in reversed(settlements):
                landed = lease["id"] not in lost
                if not landed:
                    lost.remove(lease["id"])
                made.append(_settled(lease, verb, landed, start, duration=duration))
            made = _in_id_order(settlements, made[::-1])
            return made + self._claimed([row for row in rows if row["status"] == "claimed"], queues, visibility, True)

        rows = self.call(
            "exchange",
            f"SELECT * FROM x_jobs.exchange({self.SETTLEMENTS}, %s, %s, %s, %s)",
            [_settlements(settlements), queues, self.worker, max_jobs, seconds(visibility)],
            steps,
        )
        return [row for row in rows if row["status"] == "claimed"]

    def cancel(self, job_id, reason=None):
        return self.call(
            "cancel",
            "SELECT * FROM x_jobs.cancel(%s, %s)",
            [job_id, reason],
            lambda rows, _start: [_answer(job_id, rows, "cancelled")],
            {"XJ006": lambda refusal: [_in_state(job_id, refusal)]},
        )

    def requeue(self, job_id):
        return self.call(
            "requeue",
            "SELECT * FROM x_jobs.requeue(%s)",
            [job_id],
            lambda rows, _start: [_answer(job_id, rows, "requeued")],
            {
                "XJ003": lambda _refusal: [
                    {"job": job_id, "step": "in state", "states": ["done", "failed", "dead", "cancelled"]}
                ],
                "XJ005": lambda _refusal: [{"job": job_id, "step": "in state", "states": ["absent"]}],
                "XJ007": lambda refusal: [_in_state(job_id, refusal)],
            },
        )

    def remove(self, job_id):
        return self.call(
            "remove",
            "SELECT * FROM x_jobs.remove(%s)",
            [job_id],
            lambda rows, _start: [_answer(job_id, rows, "removed")],
            {"XJ008": lambda _refusal: [{"job": job_id, "step": "in state", "states": ["running"]}]},
        )

    def promote(self, job_id):
        return self.call(
            "promote",
            "SELECT * FROM x_jobs.promote(%s)",
            [job_id],
            lambda rows, _start: [_answer(job_id, rows, "promoted")],
            {"XJ009": lambda refusal: [_in_state(job_id, refusal)]},
        )

    def pause(self, queue):
        self.call(
            "pause", "SELECT x_jobs.pause_queue(%s, 'by the test')", [queue], lambda _rows, _start: [], queue=queue
        )

    def resume(self, queue):
        self.call("resume", "SELECT x_jobs.resume_queue(%s)", [queue], lambda _rows, _start: [], queue=queue)

    def maintain(self):
        return self.call("maintain", "SELECT * FROM x_jobs.maintain()", None, lambda _rows, _start: [])

    def read(self, verb, sql, parameters=None):
        """A verb that only reads; its answer is not judged here."""
        return self.call(verb, sql, parameters, lambda _rows, _start: [])


def lease_of(step):
    """What a worker keeps of a claimed job."""
    return {
        "id": step["job"],
        "claim": step["claim"],
        "worker": step["worker"],
        "visible_at": step["visible_at"],
        "queue": step["queue"],
        "key": step["key"],
    }


def _named_id(detail):
    """The id that a detail of the form `X_JOB_DUPLICATE: Job <id> of ...` names."""
    return detail.split("Job ", 1)[1].split()[0]


def _in_state(job_id, refusal):
    """The state that a detail of the form `X_...: The job is <state>.` names."""
    state = refusal.detail.rsplit(" ", 1)[1].rstrip(".")
    return {"job": job_id, "step": "in state", "states": ["absent"] if state == "missing" else [state]}


def _answer(job_id, rows, step):
    row = rows[0] if rows else {"id": None}
    if row["id"] is None:
        return {"job": job_id, "step": "in state", "states": ["absent"]}
    return {
        "job": job_id,
        "step": step,
        "answer_state": row["state"],
        "answer_claim": row["claim"],
        "answer_attempt": row["attempt"],
    }


def _settlements(settlements):
    return Jsonb(
        [
            {
                "id": str(lease["id"]),
                "claim": lease["claim"],
                "verb": verb,
                "error": "settled on purpose",
                "duration": f"{duration} seconds",
            }
            for lease, verb, duration in settlements
        ]
    )


def _in_id_order(settlements, steps):
    """The order in which a batch is worked: by id, equal ids in the order given."""
    return [step for _, step in sorted(zip(settlements, steps), key=lambda pair: str(pair[0][0]["id"]))]


def _settled(
    lease,
    verb,
    landed,
    start,
    *,
    outcome=None,
    retry_at=None,
    delay=0.0,
    counts=True,
    park=False,
    dead_letter=False,
    fail=False,
    duration=0.0,
):
    """The step of one settlement: target state, what it does to the attempt, the tally and the attempts."""
    step = {"job": lease["id"], "claim": lease["claim"], "worker": lease["worker"]}
    if not landed:
        return {**step, "step": "not held", "verb": verb}
    step.update(
        step="settled",
        verb=verb,
        counted=True,
        milliseconds=round(duration * 1000),
        attempt_row=True,
        due=start + round(delay * 1e6),
    )
    if verb == "ack":
        step.update(target="done", tally="d", attempt_row=False)
    elif verb == "dead_letter":
        step.update(target="dead", tally="x")
    elif verb == "release":
        step.update(target="ready", tally=None, counted=False, attempt_row=False)
    elif verb == "fail" and outcome == "retried":
        # A batch does not tell when: at half the first delay at the earliest.
        step.update(target="ready", tally="r", exhausted=False, due=retry_at or start + 500_000, vague=retry_at is None)
    elif verb == "fail":
        step.update(target="dead", tally="x", exhausted=True)
    elif dead_letter:
        step.update(target="dead", tally="x", counted=counts)
    elif fail:
        step.update(target="failed", tally="f", counted=counts)
    else:
        step.update(
            target="suspended" if park else "ready",
            counted=counts,
            tally="r" if counts and not park else None,
            attempt_row=counts and not park,
        )
    return step
