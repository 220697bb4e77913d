"""The marks: what is to be reached, read off what was measured."""
import dataclasses
import typing

CLAIM_PEERS = ("textbook", "graphile_worker", "pg_boss")
LABELS = {"textbook": "textbook SKIP LOCKED", "graphile_worker": "graphile-worker", "pg_boss": "pg-boss", "pgq": "PgQ"}


@dataclasses.dataclass(frozen=True)
class Mark:
    what: str
    against: str
    reach: float
    at_least: bool
    figures: dict               # median, least, most
    strict: bool = False        # the mark itself is not enough
    unit: str = ""
    note: str = ""

    @property
    def reached(self):
        # A ratio is judged as it is shown: with two digits.
        value, reach = round(self.figures["median"], 2), self.reach
        if self.strict:
            return value > reach if self.at_least else value < reach
        return value >= reach if self.at_least else value <= reach

    @property
    def share(self):
        """How much of the mark is reached, 1 being all of it; median, least, most."""
        def share(value):
            if self.at_least:
                return value / self.reach if self.reach else 1
            return self.reach / value if value else 4
        figures = self.figures
        ends = sorted(share(figures[name]) for name in ("least", "most"))
        return share(figures["median"]), ends[0], ends[1]


def single(value):
    return {"median": value, "least": value, "most": value}


class Table:
    """The rows of one comparison of rates."""

    def __init__(self, measured):
        self.rows = {(row["variant"], row["clients"]): row for row in measured["rows"]}
        self.clients = sorted({row["clients"] for row in measured["rows"]})

    def ratio(self, variant, clients, kept=True):
        return self.rows[variant, clients]["ratio" if kept else "ratio_not_kept"]

    def best(self, peers, clients):
        there = [peer for peer in peers if (peer, clients) in self.rows]
        return max(there, key=lambda peer: self.rows[peer, clients]["rate"]["median"])


def counted(clients):
    return "1 client" if clients == 1 else f"{clients} clients"


def of_enqueue(measured):
    table = Table(measured)
    for clients in table.clients:
        what = f"enqueue, one per transaction, {counted(clients)}"
        yield Mark(what, "INSERT, primary key only", 0.9 if clients == 1 else 0.8, True, table.ratio("insert_key", clients))
        yield Mark(what, "INSERT, the same three indexes", 0.95, True, table.ratio("insert_three", clients))
        best = table.best((*CLAIM_PEERS, "pgq"), clients)
        yield Mark(what, f"the fastest peer: {LABELS[best]}", 1, True, table.ratio(best, clients), strict=True)


def of_enqueue_1000(measured):
    table = Table(measured)
    for clients in table.clients:
        what = f"enqueue_many of 1,000, {counted(clients)}"
        yield Mark(what, "INSERT of 1,000 rows, primary key only", 0.4, True, table.ratio("insert_key", clients))
        yield Mark(what, "INSERT of 1,000 rows, the same three indexes", 0.9, True, table.ratio("insert_three", clients))


def of_claim_ack(measured):
    table = Table(measured)
    for clients in table.clients:
        what = f"claim 1 + ack 1, {counted(clients)}"
        against = "UPDATE by id + DELETE by id"
        yield Mark(f"{what}, history not kept", against, 0.9, True, table.ratio("by_id", clients, kept=False))
        yield Mark(f"{what}, kept", against, 0.75, True, table.ratio("by_id", clients))
        best = table.best(CLAIM_PEERS, clients)
        yield Mark(f"{what}, history not kept", f"the best peer: {LABELS[best]}", 1.4, True,
                   table.ratio(best, clients, kept=False))


def of_exchange(measured):
    table = Table(measured)
    clients = table.clients[-1]
    best = table.best(CLAIM_PEERS, clients)
    for kept in (False, True):
        yield Mark(f"exchange of one job, {counted(clients)}, history {'kept' if kept else 'not kept'}",
                   f"claim + complete of the best peer: {LABELS[best]}", 2, True, table.ratio(best, clients, kept))


def of_claim_settle_100(measured):
    table = Table(measured)
    clients = table.clients[-1]
    what = f"claim 100 + settle 100, {counted(clients)}"
    against = "UPDATE + DELETE of 100 by id"
    yield Mark(f"{what}, history not kept", against, 0.7, True, table.ratio("by_id", clients, kept=False))
    yield Mark(f"{what}, kept", against, 0.5, True, table.ratio("by_id", clients))
    best = table.best(CLAIM_PEERS, clients)
    yield Mark(f"{what}, history not kept", f"the best peer that acknowledges each job: {LABELS[best]}", 1, True,
               table.ratio(best, clients, kept=False), strict=True)


def of_steady(measured):
    window = measured["window"]
    what = f"last {window} s of a run at {measured['rate']} jobs/s, horizon pinned"
    for kind, name, rate, latency in (("steady", what, 1.0, 1.2), ("late", f"{what}, late producers", 0.95, 1.5)):
        run = measured["runs"][kind]
        against = f"its first {window} s"
        note = f"{run['first']['rate']:,.0f} and {run['last']['rate']:,.0f} jobs/s"
        yield Mark(f"{name}: claim rate", against, rate, True, single(run["rate_ratio"]), note=note)
        note = f"{run['first']['p99_us'] / 1000:.2f} and {run['last']['p99_us'] / 1000:.2f} ms"
        yield Mark(f"{name}: 99 % latency", against, latency, False, single(run["p99_ratio"]), note=note)


def of_dead_rows(measured):
    textbook = measured["ratios"]["textbook"]["median"]
    yield Mark(f"maximal rate after {measured['dead']:,} dead rows, pinned", "pinned, without them", 0.9, True,
               measured["ratios"]["dead"], note=f"textbook queue: {textbook:.2f}")
    yield Mark("maximal rate with a job outstanding and heartbeating", "without it", 0.95, True, measured["ratios"]["held"])


def of_backlog(measured):
    few = measured["contents"]["few"]["ready"]
    for name, ratio in measured["ratios"].items():
        content = measured["contents"][name]
        beside = f" beside {content['delayed']:,} delayed" if content["delayed"] else ""
        yield Mark(f"latency of a claim, {content['ready']:,} ready{beside}", f"{few:,} ready", 1.2, False, ratio,
                   note=f"{measured['median_us'][name]['median']:,.0f} us")


def of_empty(measured):
    names = {"one_queue": "one queue", "four_queues": "four queues"}
    for clients, by_name in measured["ratios"].items():
        for name, ratio in by_name.items():
            yield Mark(f"claim on {names[name]}, empty, {counted(int(clients))}", "SELECT 1", 0.8, True, ratio)
    for name, buffers in measured["buffers"].items():
        yield Mark(f"claim on {names[name]}, empty", "", 0, False, single(buffers), unit="buffers touched")


def of_wait_latency(measured):
    for row in measured["rows"]:
        if row["mode"] == "listen":
            continue
        workers = "1 worker waits" if row["waiters"] == 1 else f"{row['waiters']:,} workers wait"
        durable = "claims durable" if row["durable"] else "claims not durable"
        for name, label in (("median", "median"), ("p99", "99 %")):
            note = f"{row[f'{name}_from_commit_us']['median']:,.0f} us"
            yield Mark(f"commit to {measured['modes'][row['mode']]}: {label}, {workers}, {durable}", "LISTEN/NOTIFY + claim",
                       1.0 if row["durable"] else 0.5, False, row[f"{name}_from_commit_us_ratio"], note=note)


def of_idle_waiters(measured):
    for mode, spread in measured["switches"].items():
        what = f"{measured['waiters']:,} idle waiters in {'claim' if mode == 'claim' else 'CALL wait'}"
        yield Mark(what, "", 1, False, spread, unit="switches a second each")
        # The table of marks says "near zero".
        yield Mark(what, "", 0.05, False, measured["cpu_share"][mode], unit="of a core for all")


def of_wal(measured):
    for name, reach in (("not_kept", 1.6), ("kept", 2.3)):
        yield Mark(f"WAL of a job's life, history {name.replace('_', ' ')}", "INSERT + UPDATE + DELETE, primary key only", reach,
                   False, measured["ratios"][name], note=f"{measured['bytes'][name]['median']:,.0f} bytes")


def of_crash(measured):
    note = f"the claim alone {measured['claim_s']['median'] * 1000:,.0f} ms"
    yield Mark(f"first claim after a crash: connect and claim; {measured['live']:,} ready, {measured['running']:,} running,"
               f" {measured['dead']:,} dead rows pinned", "", 1, False, measured["connect_and_claim_s"], strict=True, unit="s",
               note=note)


READERS = {
    "enqueue": of_enqueue, "enqueue_1000": of_enqueue_1000, "claim_ack": of_claim_ack, "exchange": of_exchange,
    "claim_settle_100": of_claim_settle_100, "steady": of_steady, "dead_rows": of_dead_rows, "backlog": of_backlog,
    "empty": of_empty, "wait_latency": of_wait_latency, "idle_waiters": of_idle_waiters, "wal": of_wal, "crash": of_crash,
}


def read(measured) -> typing.List[Mark]:
    return [mark for name, reader in READERS.items() if name in measured for mark in reader(measured[name])]
