"""What dead rows do to the speed: steady runs while another session pins the xmin horizon, and the rate after many dead
rows, with a textbook queue for contrast."""
import contextlib
import json
import threading

from . import stores
from .cluster import HERE, say
from .figures import ratios, spread
from .packages import build_client

KINDS = {
    "steady": {"store": "x_jobs", "late": "no", "pinned": True},
    # What the machine itself does in such a time.
    "free": {"store": "x_jobs", "late": "no", "pinned": False},
    "late": {"store": "x_jobs", "late": "yes", "pinned": True},
    "textbook": {"store": "textbook", "late": "no", "pinned": True},
}


def steady(bench):
    """Jobs go in and out at one rate for two minutes; a rescan and a lapse of leases fall into it."""
    sizes, cluster = bench.sizes, bench.cluster
    program = build_client(cluster.folder, "steady")
    runs = {}
    for kind, options in KINDS.items():
        # Both nets fall between the two windows: the leases that were left lapse in the middle, a rescan comes every
        # minute from the first claim on, the warming up being 20 s of it.
        settings = {"x_jobs.rescan_interval": f"'{sizes.rescan_seconds} s'"}
        with (cluster.database("bench_steady", "bench_template", settings) as database,
              cluster.pinned(database) if options["pinned"] else contextlib.nullcontext()):
            printed = cluster.run(
                database, program, "--store", options["store"], "--late", options["late"], "--rate", sizes.steady_rate,
                "--warm", sizes.steady_warm, "--seconds", sizes.steady_seconds, "--window", sizes.steady_window,
                "--abandon", sizes.abandoned, "--visibility", sizes.steady_warm + sizes.steady_seconds // 2)
            run = json.loads(printed)
            dead = int(cluster.sql(database, "SELECT max(n_dead_tup) FROM pg_stat_user_tables"
                                   " WHERE relname IN ('jobs', 'plain')"))
        first, last = run["first"], run["last"]
        if not first["rate"]:
            raise RuntimeError(f"steady {kind}: not one job was claimed in the first seconds")
        run["rate_ratio"] = last["rate"] / first["rate"]
        run["p99_ratio"] = last["p99_us"] / first["p99_us"] if last["rate"] else None
        run["dead_rows"] = dead
        runs[kind] = run
        say(f"steady {kind:10} {first['rate']:8.1f} jobs/s at first, {last['rate']:8.1f} at last;"
            f" 99 % {first['p99_us'] / 1000:.2f} ms at first, {last['p99_us'] / 1000:.2f} ms at last")
    return {"runs": runs, "window": sizes.steady_window, "rate": sizes.steady_rate}


class Heartbeat:
    """A worker that holds one job for as long as this lasts and heartbeats every second."""

    def __init__(self, cluster, database):
        self.session = cluster.connect(database)
        self.job = self.session.execute("SELECT id, claim FROM x_jobs.claim('{default}', 'patient')").fetchone()
        self.ended = threading.Event()
        self.lost = False
        self.thread = threading.Thread(target=self.beat)

    def beat(self):
        while not self.ended.wait(1):
            held = self.session.execute("SELECT x_jobs.heartbeat(%s, 'patient', %s)", self.job).fetchone()[0]
            if not held:
                self.lost = True
                return

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.ended.set()
        self.thread.join()
        self.session.close()
        if self.lost and error == (None, None, None):
            raise RuntimeError("the job that was outstanding all the while was lost")


def make_dead(bench, database, store):
    """Leaves that many dead rows in front of everything; the horizon is pinned already."""
    jobs = bench.sizes.dead_rows
    bench.stores.fill(database, store, jobs)
    if store is stores.PLAIN:
        bench.cluster.sql(database, "UPDATE bench.plain SET state = 'running'")
        bench.cluster.sql(database, "DELETE FROM bench.plain")
    else:
        bench.cluster.pgbench(database, HERE / "scripts/claim_settle_100.x_jobs.sql", 2, ("-t", jobs // 200), {"held": "{}"})
    left = bench.stores.live(database, store)
    if left:
        raise RuntimeError(f"{left} rows of {jobs} are not dead")


# name: (store, script, are there dead rows, is a job outstanding)
VARIANTS = {
    "x_jobs": (stores.X_JOBS, "scripts/claim_ack.x_jobs.sql", False, False),
    "x_jobs_dead": (stores.X_JOBS, "scripts/claim_ack.x_jobs.sql", True, False),
    "x_jobs_held": (stores.X_JOBS, "scripts/claim_ack.x_jobs.sql", False, True),
    "textbook": (stores.PLAIN, "peers/textbook/claim_ack.sql", False, False),
    "textbook_dead": (stores.PLAIN, "peers/textbook/claim_ack.sql", True, False),
}


def dead_rows(bench):
    """Claim and settle with eight clients, every database pinned; blocks of all variants by turns."""
    sizes, cluster = bench.sizes, bench.cluster
    clients = max(sizes.clients)
    rates = {name: [] for name in VARIANTS}
    with contextlib.ExitStack() as stack:
        for name, (store, _, dead, held) in VARIANTS.items():
            database = stack.enter_context(cluster.database(f"bench_{name}", store.template))
            stack.enter_context(cluster.pinned(database))
            if dead:
                make_dead(bench, database, store)
            bench.stores.fill(database, store, sizes.dead_backlog)
            if held:
                stack.enter_context(Heartbeat(cluster, database))
        for number in range(sizes.rounds):
            for name, (store, script, _, _) in VARIANTS.items():
                cluster.sql("postgres", "CHECKPOINT")
                database = f"bench_{name}"
                before = bench.stores.live(database, store)
                variables = {"n": "0", "id": "0", "claim": "0", "clients": str(clients)}
                processed, tps, _ = cluster.pgbench(database, HERE / script, clients, sizes.limit(sizes.seconds), variables)
                jobs = before - bench.stores.live(database, store)
                if jobs < processed or jobs <= 0:
                    raise RuntimeError(f"dead_rows {name}: {processed} transactions worked off {jobs} jobs")
                rates[name].append(jobs * tps / processed)
                say(f"dead_rows  round {number + 1}  {name:14} {rates[name][-1]:10,.0f} jobs/s")
    pairs = {"dead": ("x_jobs_dead", "x_jobs"), "held": ("x_jobs_held", "x_jobs"), "textbook": ("textbook_dead", "textbook")}
    return {"rates": {name: spread(values) for name, values in rates.items()},
            "ratios": {name: ratios(rates[ours], rates[theirs]) for name, (ours, theirs) in pairs.items()},
            "dead": sizes.dead_rows, "clients": clients}
