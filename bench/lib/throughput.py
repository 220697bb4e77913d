"""Comparisons of rates: x_jobs, what it cannot be faster than, and the peers, in interleaved blocks.

Each block runs in a fresh copy of a database with the same backlog, read into memory, after a checkpoint. What is counted
is what the tables say afterwards, divided by pgbench's time. Of each peer three settings are tried first, with eight
clients; the fastest takes part."""
import dataclasses
import typing

from . import stores
from .cluster import HERE, say
from .figures import ratios, spread

START = {"n": "0", "id": "0", "claim": "0", "held": "{}"}
NOBODY = "00000000-0000-0000-0000-000000000000"
NOT_KEPT = {"x_jobs.retention": "0"}
CUSTOM = {"plan_cache_mode": "force_custom_plan"}


@dataclasses.dataclass(frozen=True)
class Setting:
    """One way to run a variant."""
    label: str
    script: str
    mode: str = "prepared"
    database: tuple = ()    # settings of the database


@dataclasses.dataclass(frozen=True)
class Variant:
    key: str
    label: str
    store: stores.Store
    settings: tuple
    peer: typing.Optional[str] = None       # the package, for a peer


@dataclasses.dataclass(frozen=True)
class Comparison:
    what: str
    clients: str                            # the attribute of Sizes that says with how many
    jobs: int                               # of one call
    backlog: typing.Optional[str]           # the attribute of Sizes; None: it enqueues
    variants: tuple


def ours(script, key="x_jobs", label="x_jobs", **options):
    return Variant(key, label, stores.X_JOBS, (Setting("", f"scripts/{script}.x_jobs.sql", **options),))


def floor(script, label):
    return Variant("by_id", label, stores.PLAIN, (Setting("", f"scripts/{script}.by_id.sql"),))


def kept_and_not(script, verb):
    return (ours(script, label=f"x_jobs: {verb}"),
            ours(script, "x_jobs_not_kept", f"x_jobs: {verb}, history not kept", database=tuple(NOT_KEPT.items())))


def three_plans(script, prepared="prepared"):
    """The same statements, prepared (generic plans), prepared (a plan for each call), and not prepared."""
    return (Setting(prepared, script), Setting("prepared, a plan for each call", script, database=tuple(CUSTOM.items())),
            Setting("not prepared", script, mode="extended"))


def textbook(script, second=None):
    path = f"peers/textbook/{script}.sql"
    if second is None:
        settings = three_plans(path)
    else:
        settings = (Setting("search in a subselect", path), Setting(f"search in a {second}", f"peers/textbook/{script}.{second}.sql"),
                    Setting("search in a subselect, not prepared", path, mode="extended"))
    return Variant("textbook", "textbook SKIP LOCKED queue", stores.PLAIN, settings)


def graphile(script, second=None):
    path = f"peers/graphile-worker/{script}.sql"
    settings = three_plans(path, "preparedStatements: true")
    if second is not None:
        settings = (settings[0], settings[2], Setting("add_jobs of one", f"peers/graphile-worker/{script}.{second}.sql"))
    return Variant("graphile_worker", "graphile-worker", stores.GRAPHILE, settings, peer="graphile-worker")


def pg_boss(script, options=(), second=None):
    path = f"peers/pg-boss/{script}.sql"
    if options:
        settings = (Setting("as it comes", path, mode="extended"),
                    Setting("priority: false, prepared", f"peers/pg-boss/{script}.no_priority.sql"),
                    Setting("priority: false, ignoreStartAfter: true, prepared",
                            f"peers/pg-boss/{script}.no_priority_no_delay.sql"))
    elif second:
        settings = (Setting("send, as it comes", path, mode="extended"), Setting("send, prepared", path),
                    Setting("insert of one, prepared", f"peers/pg-boss/{script}.{second}.sql"))
    else:
        settings = three_plans(path)
    return Variant("pg_boss", "pg-boss", stores.PG_BOSS, settings, peer="pg-boss")


def pgq(script, others=()):
    path = f"peers/pgq/{script}.sql"
    settings = three_plans(path)
    if others:
        settings = (Setting("three transactions", path),
                    *(Setting(name.replace("_", " "), f"peers/pgq/{script}.{name}.sql") for name in others))
    return Variant("pgq", "PgQ", stores.PGQ, settings, peer="pgq")


CLAIM_PEERS = (textbook("claim_ack", "join"), graphile("claim_ack"), pg_boss("claim_ack", options=True))

COMPARISONS = {
    "enqueue": Comparison("one job per transaction", "clients", 1, None, (
        ours("enqueue", label="x_jobs: enqueue with a key"),
        Variant("insert_key", "INSERT, primary key only", stores.INSERT_KEY, (Setting("", "scripts/enqueue.insert_key.sql"),)),
        Variant("insert_three", "INSERT, the same three indexes", stores.INSERT_THREE,
                (Setting("", "scripts/enqueue.insert_three.sql"),)),
        textbook("enqueue"), graphile("enqueue", "many"), pg_boss("enqueue", second="many"), pgq("enqueue"))),
    "enqueue_1000": Comparison("1000 jobs per transaction", "clients", 1000, None, (
        ours("enqueue_1000", label="x_jobs: enqueue_many with keys"),
        Variant("insert_key", "INSERT of 1000 rows, primary key only", stores.INSERT_KEY,
                (Setting("", "scripts/enqueue_1000.insert_key.sql"),)),
        Variant("insert_three", "INSERT of 1000 rows, the same three indexes", stores.INSERT_THREE,
                (Setting("", "scripts/enqueue_1000.insert_three.sql"),)),
        textbook("enqueue_1000"), graphile("enqueue_1000"), pg_boss("enqueue_1000"), pgq("enqueue_1000"))),
    "claim_ack": Comparison("claim one, settle it, two transactions", "claim_clients", 1, "backlog", (
        *kept_and_not("claim_ack", "claim, ack"), floor("claim_ack", "UPDATE by id, DELETE by id, no search"), *CLAIM_PEERS)),
    "exchange": Comparison("settle one and claim the next, one transaction", "clients", 1, "backlog", (
        *kept_and_not("exchange", "exchange"),
        floor("exchange", "DELETE and UPDATE by id in one statement, no search"),
        Variant("skip_locked", "DELETE and UPDATE of a SKIP LOCKED search in one statement", stores.PLAIN,
                (Setting("", "peers/textbook/exchange.sql"),)),
        *CLAIM_PEERS)),
    "claim_settle_100": Comparison("claim 100, settle them, two transactions", "batch_clients", 100, "batch_backlog", (
        *kept_and_not("claim_settle_100", "claim, settle"),
        floor("claim_settle_100", "UPDATE by id, DELETE by id, no search"),
        textbook("claim_settle_100", "join"), graphile("claim_settle_100"), pg_boss("claim_settle_100", options=True),
        pgq("claim_settle_100", ("one_transaction", "cursor")))),
    "exchange_100": Comparison("settle 100 and claim the next 100, one transaction", "batch_clients", 100, "batch_backlog", (
        *kept_and_not("exchange_100", "exchange"),
        floor("exchange_100", "DELETE and UPDATE by id in one statement, no search"),
        Variant("skip_locked", "DELETE and UPDATE of a SKIP LOCKED search in one statement", stores.PLAIN,
                (Setting("", "peers/textbook/exchange_100.sql"),)))),
}


class Throughput:
    """Runs one comparison."""

    def __init__(self, cluster, all_stores, sizes, name):
        self.cluster = cluster
        self.stores = all_stores
        self.sizes = sizes
        self.name = name
        self.comparison = COMPARISONS[name]
        self.backlog = getattr(sizes, self.comparison.backlog) if self.comparison.backlog else 0
        self.variants = [variant for variant in self.comparison.variants
                         if variant.peer is None or variant.peer in all_stores.versions]

    def block(self, variant, setting, clients, limit):
        """One measured block in a fresh database; answers its figures."""
        store, jobs_of_a_call = variant.store, self.comparison.jobs
        with self.cluster.database("bench_block", self.stores.template(store, self.backlog), dict(setting.database)) as database:
            before = self.stores.live(database, store)
            variables = {**START, "clients": str(clients), "id": NOBODY if store is stores.X_JOBS else "0",
                         **self.stores.variables(store)}
            processed, tps, latency = self.cluster.pgbench(database, HERE / setting.script, clients, limit, variables,
                                                           setting.mode)
            if self.comparison.backlog:
                jobs = before - self.stores.live(database, store)
                self.check_backlog(database, variant, before, jobs)
            else:
                jobs = self.stores.made(database, store) - before
                if jobs < processed * jobs_of_a_call:
                    raise RuntimeError(f"{self.name}.{variant.key}: {processed} transactions left only {jobs} rows")
            elapsed = processed / tps
            return {"comparison": self.name, "variant": variant.key, "setting": setting.label, "clients": clients,
                    "seconds": round(elapsed, 3), "jobs": jobs, "transactions": processed, "rate": round(jobs / elapsed, 1),
                    "latency_ms": latency, "backlog": before}

    def check_backlog(self, database, variant, before, jobs):
        what = f"{self.name}.{variant.key}"
        if before - jobs < before / 50:
            raise RuntimeError(f"{what}: a backlog of {before} did not last")
        if jobs <= 0:
            raise RuntimeError(f"{what}: no job was worked off")
        if variant.store is stores.X_JOBS:
            kept = int(self.cluster.sql(database, "SELECT count(*) FROM _x_jobs.history WHERE state = 'done'"))
            wanted = 0 if variant.key == "x_jobs_not_kept" else jobs
            if kept != wanted:
                raise RuntimeError(f"{what}: {jobs} jobs left the queue, {kept} are kept as done instead of {wanted}")

    def seconds(self, rate):
        """How long a block lasts: what BENCH_SECONDS says, or as long as the backlog is sure to last."""
        if not self.backlog:
            return self.sizes.seconds
        return max(1, min(self.sizes.seconds, int(self.backlog * 0.8 / rate)))

    def try_settings(self, variant, clients):
        """A short block with each setting; what another comparison has tried already is not tried again."""
        tried = self.stores.tried
        key = variant.settings, clients, self.backlog
        if key not in tried:
            limit = self.sizes.limit(self.sizes.trial_seconds)
            tried[key] = [self.block(variant, setting, clients, limit) for setting in variant.settings]
        return tried[key]

    def choose(self):
        """The best of three settings for each peer, and how fast each variant is about."""
        clients = max(getattr(self.sizes, self.comparison.clients)[:2])
        trials, chosen, fast = [], {}, {}
        for variant in self.variants:
            tried = self.try_settings(variant, clients)
            best = max(range(len(tried)), key=lambda n: tried[n]["rate"])
            chosen[variant.key], fast[variant.key] = variant.settings[best], tried[best]["rate"]
            if len(tried) > 1:
                trials += tried
                say(f"{self.name:18} {variant.key}: {variant.settings[best].label}")
        return trials, chosen, fast

    def measure(self):
        trials, chosen, fast = self.choose()
        blocks = []
        for clients in getattr(self.sizes, self.comparison.clients):
            for number in range(self.sizes.rounds):
                for variant in self.variants:
                    limit = self.sizes.limit(self.seconds(fast[variant.key]))
                    block = self.block(variant, chosen[variant.key], clients, limit)
                    blocks.append({**block, "round": number})
                    say(f"{self.name:18} {clients:2} clients  round {number + 1}  {variant.key:16} {block['rate']:12,.0f} jobs/s")
        return {"rows": self.summarise(blocks), "settings": {key: setting.label for key, setting in chosen.items()},
                "blocks": blocks, "trials": trials}

    def summarise(self, blocks):
        """Per number of clients and variant: the spread of rates, and of the ratio of each x_jobs variant to it."""
        rows = []
        for clients in getattr(self.sizes, self.comparison.clients):
            rates = {variant.key: [block["rate"] for block in blocks
                                   if (block["variant"], block["clients"]) == (variant.key, clients)]
                     for variant in self.variants}
            for variant in self.variants:
                row = {"clients": clients, "variant": variant.key, "label": variant.label, "peer": variant.peer,
                       "rate": spread(rates[variant.key]), "ratio": ratios(rates["x_jobs"], rates[variant.key])}
                if "x_jobs_not_kept" in rates:
                    row["ratio_not_kept"] = ratios(rates["x_jobs_not_kept"], rates[variant.key])
                rows.append(row)
        return rows
