"""One job's life as the contract tells it, and the question whether what clients saw of a job fits it.

A client's record of a job is a set of events, each with the interval in which it took effect: from the start of the
call to the end of the commit. `explain` looks for an order of a job's events that real time allows and the model
accepts (a linearization). Two things happen that no client is told: a claim buries a job whose lease lapsed on the
final attempt, and a job that expired before it began is cancelled. The model inserts them where it needs them.

Instants and durations are whole microseconds of the machine's clock, which server and clients share.
"""

from typing import NamedTuple, Optional

LIVE = ("ready", "delayed", "waiting", "running", "suspended")
FINISHED = ("done", "failed", "dead", "cancelled")
# After a replacement the record does not say which of the two it is.
AMBIGUOUS = {"waiting": ("ready", "delayed")}
NEVER = 1 << 62


class Life(NamedTuple):
    """What is known of a job at one moment."""

    state: str = "absent"
    claim: int = 0
    attempt: int = 0
    max_attempts: int = 0
    worker: Optional[str] = None
    lease: int = 0  # the lease lasts at least until then
    due: int = 0  # not claimable before
    expires: int = NEVER
    vague: bool = False  # due at some later time that no answer told
    clocked: bool = False  # an ordinal was taken from the clock once, so they may jump

    def is_in(self, state):
        return self.state == state or state in AMBIGUOUS.get(self.state, ())

    def held_by(self, step):
        return self.state == "running" and self.claim == step["claim"] and self.worker == step["worker"]


class Event(NamedTuple):
    start: int
    end: int
    steps: tuple  # what one transaction did to the job, in order
    origin: str = ""


class Hidden(NamedTuple):
    """What no client was told of, and the earliest moment at which it can have happened. Of the kinds, `lapsed` is the
    end of a lease that was followed by the next claim; `buried` and `expired` end the job."""

    kind: str
    earliest: int


class Passage(NamedTuple):
    """One event in the order found, with the hidden transitions before and within it, and the lives around it."""

    event: Event
    hidden: tuple
    before: Life
    after: Life

    def ends(self):
        """The hidden transitions that ended the job."""
        return [hidden for hidden in self.hidden if hidden.kind != "lapsed"]


# -- what each step makes of the life it meets: a list of possible lives, empty when it does not fit -----------------


def _inserted(life, step):
    if life.state != "absent":
        return []
    return [
        Life(step["state"], max_attempts=step["max_attempts"], due=step["due"], expires=step.get("expires") or NEVER)
    ]


def _live(life, _step):
    return [life] if life.state in LIVE else []


def _exists(life, _step):
    return [life] if life.state != "absent" else []


def _replaced(life, step):
    if life.state not in LIVE:
        return []
    if life.state == "running":
        return [life]
    # A suspended job waits too, and is ready or delayed from then on like any other that is replaced.
    replaced = life._replace(state="waiting", due=step["due"], vague=False)
    return [replaced, life] if step.get("perhaps") else [replaced]


def _claimed(life, step):
    moment = step["claimed_at"]
    if life.state == "running":
        fits = life.lease <= moment and life.attempt < life.max_attempts
    else:
        expired = life.claim == 0 and life.expires <= moment
        fits = life.state in LIVE and life.due <= moment and not expired
    clocked = life.clocked or not step["durable"]
    in_turn = step["claim"] > life.claim if clocked else step["claim"] == life.claim + 1
    if not (fits and in_turn and step["attempt"] == life.attempt + 1 and step["max_attempts"] == life.max_attempts):
        return []
    return [
        life._replace(
            state="running",
            claim=step["claim"],
            attempt=step["attempt"],
            worker=step["worker"],
            lease=step["visible_at"],
            vague=False,
            clocked=clocked,
        )
    ]


def _renewed(life, step):
    return [life._replace(lease=step["lease"])] if life.held_by(step) else []


def _held(life, step):
    return [life] if life.held_by(step) else []


def _not_held(life, step):
    return [] if life.held_by(step) else [life]


def _settled(life, step):
    if not life.held_by(step):
        return []
    if step.get("exhausted") is not None and step["exhausted"] != (life.attempt >= life.max_attempts):
        return []
    attempt = life.attempt if step["counted"] else max(life.attempt - 1, 0)
    return [
        life._replace(
            state=step["target"],
            attempt=attempt,
            worker=None,
            lease=0,
            due=step.get("due", 0),
            vague=step.get("vague", False),
        )
    ]


def _cancelled(life, step):
    if life.state not in LIVE or not _answers(life, step):
        return []
    return [life._replace(state="cancelled", worker=None, lease=0)]


def _requeued(life, step):
    if life.state not in FINISHED or (step["answer_claim"] or 0) != life.claim or step["answer_attempt"] != 0:
        return []
    return [life._replace(state="ready", attempt=0, due=0, vague=False, expires=NEVER, worker=None, lease=0)]


def _removed(life, step):
    if life.state in ("running", "absent") or not life.is_in(step["answer_state"]) or not _answers(life, step):
        return []
    return [Life()]


def _promoted(life, step):
    if life.state not in ("ready", "delayed", "waiting") or not _answers(life, step):
        return []
    return [life._replace(state="ready", due=0, vague=False)]


def _answers(life, step):
    """The row that the verb answered carries the job's claim and attempt."""
    return (step["answer_claim"] or 0) == life.claim and step["answer_attempt"] == life.attempt


def _in_state(life, step):
    fits = any(life.is_in(state) for state in step["states"])
    if fits and "answer_claim" in step:
        fits = _answers(life, step)
    return [life] if fits else []


STEPS = {
    "inserted": _inserted,
    "live": _live,
    "exists": _exists,
    "replaced": _replaced,
    "claimed": _claimed,
    "renewed": _renewed,
    "held": _held,
    "not held": _not_held,
    "settled": _settled,
    "cancelled": _cancelled,
    "requeued": _requeued,
    "removed": _removed,
    "promoted": _promoted,
    "in state": _in_state,
}
# Steps that only look: they hold no lock, so each stands for itself in its own interval.
LOOKS = {"live", "exists", "not held", "in state"}


def _unseen(life, until):
    """What may have become of a life by then without anybody being told: (nothing or a Hidden, the life after it)."""
    yield (), life
    if life.state == "running" and life.attempt >= life.max_attempts and life.lease <= until:
        yield (Hidden("buried", life.lease),), life._replace(state="dead", worker=None)
    if life.state in LIVE and life.state != "running" and life.claim == 0 and life.expires <= until:
        yield (Hidden("expired", life.expires),), life._replace(state="cancelled", worker=None)


def _lapse(life, step):
    """The lapse that a claim of a running job reveals."""
    return (Hidden("lapsed", life.lease),) if step["step"] == "claimed" and life.state == "running" else ()


def _outcomes(life, event):
    """The lives that the event can have made of this one: (hidden transitions, life after)."""
    outcomes = [((), life)]
    for step in event.steps:
        outcomes = [
            (hidden + more + _lapse(met, step), after)
            for hidden, before in outcomes
            for more, met in _unseen(before, event.end)
            for after in STEPS[step["step"]](met, step)
        ]
    return outcomes


def explain(events, budget=50_000):
    """An order of the events that fits the model: (list of Passage, None), or (None, why there is none)."""
    events = sorted(events, key=lambda event: (event.start, event.end))
    everything = (1 << len(events)) - 1
    seen = set()
    furthest = []
    # A depth-first search; each entry: what is left, the life so far, the passages so far (a linked list).
    stack = [(everything, Life(), None, 0)]
    while stack:
        left, life, path, length = stack.pop()
        if not left:
            return _unroll(path), None
        if (left, life) in seen:
            continue
        seen.add((left, life))
        if len(seen) > budget:
            return None, "undecided: too many orders to try"
        if length >= len(furthest):
            furthest = _unroll(path)
        found = []
        for index in _next(events, left):
            event = events[index]
            for hidden, after in _outcomes(life, event):
                passage = Passage(event, hidden, life, after)
                found.append((event.end, (left & ~(1 << index), after, (passage, path), length + 1)))
        # The event that ended first is tried first: it is popped last pushed.
        found.sort(key=lambda entry: entry[0], reverse=True)
        stack.extend(entry for _, entry in found)
    told = {id(passage.event) for passage in furthest}
    stuck = [event for event in events if id(event) not in told][:3]
    life = furthest[-1].after if furthest else Life()
    return None, f"after {len(furthest)} of {len(events)} events, at {life}, none fits of {stuck}"


def _next(events, left):
    """Indexes of the events that may come next: those that began before any other that is left had ended."""
    first_end = None
    candidates = []
    for index, event in enumerate(events):
        if not left >> index & 1:
            continue
        if first_end is not None and event.start > first_end:
            break
        candidates.append(index)
        first_end = event.end if first_end is None else min(first_end, event.end)
    return [index for index in candidates if events[index].start <= first_end]


def _unroll(path):
    passages = []
    while path:
        passage, path = path
        passages.append(passage)
    return passages[::-1]
