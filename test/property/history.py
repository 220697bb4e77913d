"""The clients' records, read back: what committed, what was refused, and what was done to each job and seen of it."""

import json
from collections import defaultdict
from itertools import takewhile

from model import LOOKS, Event

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
        found = [
            (tx, op, step)
            for tx in self.committed
            for op in standing(tx)
            for step in op["steps"]
            if not steps or step["step"] in steps
        ]
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
        if not any(
            step["job"] == guards[0]["job"] and step["step"] not in LOOKS | {"guarded"}
            for op in standing(tx)
            for step in op["steps"]
        ):
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
        yield job, Event(start, tx["end"], _doubted(steps), origin)


def _doubted(steps):
    """A replacement that met the job running changed and locked nothing: what others did to the job meanwhile may lie
    between it and the transaction's next act on the job. So of those that others follow it is not known what they did."""
    first = len(list(takewhile(lambda step: step["step"] == "replaced", steps[:-1])))
    return tuple({**step, "perhaps": True} if place < first else step for place, step in enumerate(steps))
