"""Where the cost grows after all, so that people know before they rely on it: a key that is used again and again while the
horizon is pinned, claims of some names only, and counts over a large backlog."""
import contextlib
import time

from . import stores
from .cluster import HERE, say
from .figures import spread
from .latency import log_of


def reused_key(bench):
    """The lives of a job that always has the same key: a singleton, or a task that fires every second."""
    sizes, cluster = bench.sizes, bench.cluster
    script = HERE / "scripts/reused_key.x_jobs.sql"
    curves = {}
    for name in ("free", "pinned"):
        with contextlib.ExitStack() as stack:
            database = stack.enter_context(cluster.database(f"bench_key_{name}", "bench_template"))
            if name == "pinned":
                stack.enter_context(cluster.pinned(database))
            # Claim, ack and the calls between cost the same at every length; what grows is the enqueue.
            times = log_of(cluster, database, script, sizes.key_lives)
            stretch = len(times) // sizes.key_stretches
            curves[name] = [spread(times[n * stretch:(n + 1) * stretch])["median"] for n in range(sizes.key_stretches)]
            say(f"reused_key  {name:7} median of a life: {curves[name][0]:.0f} us at first, {curves[name][-1]:.0f} us"
                f" after {sizes.key_lives:,} lives")
    return {"lives": sizes.key_lives, "curves_us": curves}


def seconds_of(session, statement, rounds):
    taken = []
    for _ in range(rounds):
        begun = time.monotonic()
        session.execute(statement).fetchall()
        taken.append(time.monotonic() - begun)
    return spread(taken)


STATEMENTS = {
    "names": ("claim of a name that no ready job has", "SELECT id FROM x_jobs.claim('{default}', 'worker', names => '{absent}')"),
    "stats": ("stats()", "SELECT queue, ready FROM x_jobs.stats()"),
    "job": ("job() by id", "SELECT state FROM x_jobs.job((SELECT id FROM _x_jobs.jobs LIMIT 1))"),
}


def scans(bench):
    """Calls that read every ready job: how long they take over a small and a large backlog."""
    sizes, cluster = bench.sizes, bench.cluster
    seconds = {name: {} for name in STATEMENTS}
    for ready in (sizes.few_ready, sizes.many_ready):
        with cluster.database("bench_scans", "bench_template") as database:
            bench.stores.fill(database, stores.X_JOBS, ready, clients=1 if ready < 10_000 else 2)
            cluster.sql(database, "VACUUM (ANALYZE) _x_jobs.jobs")
            with cluster.connect(database) as session:
                for name, (_, statement) in STATEMENTS.items():
                    seconds[name][str(ready)] = seconds_of(session, statement, sizes.rounds)
                    say(f"scans  {ready:,} ready  {name}: {seconds[name][str(ready)]['median'] * 1000:,.1f} ms")
    return {"what": {name: what for name, (what, _) in STATEMENTS.items()}, "seconds": seconds}
