"""Small histories with one fault each, to show that the model sees what it is there to see."""

from model import Event, explain


def plant(tap):
    """One test: the model accepts right histories and refuses faulty ones."""

    def made(at):
        return Event(at, at, ({"step": "inserted", "state": "ready", "due": at, "max_attempts": 3},))

    def claimed(at, claim, worker="a", lease=100):
        return Event(
            at,
            at,
            (
                {
                    "step": "claimed",
                    "claim": claim,
                    "attempt": claim,
                    "max_attempts": 3,
                    "worker": worker,
                    "durable": True,
                    "claimed_at": at,
                    "visible_at": at + lease,
                },
            ),
        )

    def acked(start, end, claim, worker="a"):
        return Event(
            start, end, ({"step": "settled", "claim": claim, "worker": worker, "target": "done", "counted": True},)
        )

    def ends(state, claim, attempt, at=10_000):
        return Event(
            at, at, ({"step": "in state", "states": [state], "answer_claim": claim, "answer_attempt": attempt},)
        )

    def handed_back(at, claim, target, due=0, worker="a"):
        step = {"step": "settled", "claim": claim, "worker": worker, "target": target, "counted": True, "due": due}
        return Event(at, at, (step,))

    def replaced(at, due, **facts):
        return Event(at, at, ({"step": "replaced", "due": due, **facts},))

    ends_done = ends("done", 1, 1)
    right = {
        "a claim and its ack": [made(1), claimed(2, 1), acked(3, 4, 1), ends_done],
        "an ack after the lapse": [made(1), claimed(2, 1, lease=5), acked(50, 60, 1), ends_done],
        "a redelivery that overtakes a slow ack": [
            made(1),
            claimed(2, 1, lease=5),
            claimed(20, 2, "b"),
            acked(15, 30, 2, "b"),
            ends("done", 2, 2),
        ],
        "a burial": [
            made(1),
            claimed(2, 1, lease=1),
            claimed(10, 2, lease=1),
            claimed(20, 3, lease=1),
            ends("dead", 3, 3),
        ],
        "a suspended job that is replaced, and is ready": [
            made(1),
            claimed(2, 1),
            handed_back(3, 1, "suspended", due=9_000),
            replaced(4, 4),
            ends("ready", 1, 1, at=5),
            claimed(6, 2),
            ends("running", 2, 2),
        ],
        "a replacement that met a running job, and a claim after the hand-back": [
            made(1),
            claimed(2, 1),
            handed_back(4, 1, "ready"),
            Event(3, 6, (*replaced(3, 9_000, perhaps=True).steps, *claimed(5, 2, "b").steps)),
            ends("running", 2, 2),
        ],
    }
    wrong = {
        "a lost job": [made(1), ends("absent", 1, 1)],
        "a job held twice": [made(1), claimed(2, 1), claimed(20, 2, "b"), acked(30, 30, 2, "b"), ends("done", 2, 2)],
        "an ordinal given twice": [
            made(1),
            claimed(2, 1, lease=5),
            claimed(20, 1, "b"),
            acked(30, 30, 1, "b"),
            ends_done,
        ],
        "a stale ack that landed": [
            made(1),
            claimed(2, 1, lease=5),
            claimed(20, 2, "b"),
            acked(30, 30, 1),
            ends("done", 2, 2),
        ],
        "two acks that landed": [made(1), claimed(2, 1), acked(3, 4, 1), acked(5, 6, 1), ends_done],
        "a finished job that is claimed": [
            made(1),
            claimed(2, 1, lease=5),
            acked(10, 10, 1),
            claimed(20, 2, "b"),
            ends("running", 2, 2),
        ],
        "a suspended job that a replacement did not move": [
            made(1),
            claimed(2, 1),
            handed_back(3, 1, "suspended", due=9_000),
            replaced(4, 4),
            ends("suspended", 1, 1),
        ],
        "a job that is claimed before the time that a replacement gave it": [
            made(1),
            claimed(2, 1),
            handed_back(3, 1, "suspended"),
            replaced(4, 9_000),
            claimed(6, 2),
            ends("running", 2, 2),
        ],
        "an attempt too many": [
            made(1),
            claimed(2, 1, lease=1),
            claimed(10, 2, lease=1),
            claimed(20, 3, lease=1),
            claimed(30, 4, lease=1),
            ends("running", 4, 4),
        ],
    }
    tap.none(
        [name for name, events in right.items() if explain(events)[0] is None]
        + [name for name, events in wrong.items() if explain(events)[0] is not None],
        "the model accepts right histories and refuses planted faults",
    )
