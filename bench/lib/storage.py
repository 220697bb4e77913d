"""What a job's life writes, and how soon there is a claim after a crash."""
import contextlib
import time

from . import stores
from .cluster import HERE, say
from .figures import ratios, spread
from .throughput import NOT_KEPT

LIVES = {
    "life": ("by_id", {}),
    "kept": ("x_jobs", {}),
    "not_kept": ("x_jobs", NOT_KEPT),
}


@contextlib.contextmanager
def settings_of_server(cluster, **settings):
    """The settings while it lasts: nothing but the measured statements is to write WAL."""
    for name, value in settings.items():
        cluster.sql("postgres", f"ALTER SYSTEM SET {name} = {value}")
    cluster.sql("postgres", "SELECT pg_reload_conf()")
    try:
        yield
    finally:
        cluster.sql("postgres", "ALTER SYSTEM RESET ALL")
        cluster.sql("postgres", "SELECT pg_reload_conf()")


def wal(bench):
    """Bytes of WAL from enqueue to ack, each its own transaction, without full-page images."""
    sizes, cluster = bench.sizes, bench.cluster
    bytes_of = {name: [] for name in LIVES}
    with settings_of_server(cluster, full_page_writes="off", autovacuum="off"), contextlib.ExitStack() as stack:
        for name, (_, settings) in LIVES.items():
            stack.enter_context(cluster.database(f"bench_{name}", "bench_template", settings))
        for number in range(sizes.rounds + 1):
            for name, (script, _) in LIVES.items():
                path = HERE / f"scripts/life.{script}.sql"
                cluster.sql("postgres", "CHECKPOINT")
                before = cluster.sql("postgres", "SELECT pg_current_wal_insert_lsn()")
                cluster.pgbench(f"bench_{name}", path, 1, ("-t", sizes.lives))
                written = int(cluster.sql("postgres", f"SELECT pg_current_wal_insert_lsn() - '{before}'"))
                if number == 0:
                    continue        # the first round makes the pages
                bytes_of[name].append(written / sizes.lives)
                say(f"wal  round {number}  {name:10} {bytes_of[name][-1]:8.0f} bytes for each job")
    return {"bytes": {name: spread(values) for name, values in bytes_of.items()},
            "ratios": {name: ratios(bytes_of[name], bytes_of["life"]) for name in ("kept", "not_kept")}}


def crash(bench):
    """Many live, running and dead rows; the server is stopped at once, and after the restart a worker claims. What pins
    the horizon is a prepared transaction, which a crash does not end."""
    sizes, cluster = bench.sizes, bench.cluster
    claims, connected, started = [], [], []
    with cluster.database("bench_crash", "bench_template") as database:
        cluster.sql(database, "BEGIN; CREATE TABLE bench.pin (); PREPARE TRANSACTION 'pin'")
        try:
            script = HERE / "scripts/claim_settle_100.x_jobs.sql"
            bench.stores.fill(database, stores.X_JOBS, sizes.crash_dead, clients=1)
            cluster.pgbench(database, script, 2, ("-t", sizes.crash_dead // 200), {"held": "{}"})
            bench.stores.fill(database, stores.X_JOBS, sizes.crash_live + sizes.crash_running, clients=1)
            with cluster.connect(database) as session:
                for _ in range(sizes.crash_running // 1000):
                    session.execute("SELECT count(*) FROM x_jobs.claim('{default}', 'gone', 1000, '1 h')")
            running = int(cluster.sql(database, "SELECT count(*) FROM _x_jobs.jobs WHERE state = 'running'"))
            if running != sizes.crash_running:
                raise RuntimeError(f"crash: {running} jobs are running instead of {sizes.crash_running}")
            for number in range(sizes.rounds):
                cluster.sql("postgres", "CHECKPOINT")
                # Something for the recovery to do.
                bench.stores.fill(database, stores.X_JOBS, 1000, clients=1)
                cluster.stop_server("immediate")
                begun = time.monotonic()
                cluster.start_server()
                up = time.monotonic()
                with cluster.connect(database) as session:
                    here = time.monotonic()
                    rows = session.execute("SELECT id FROM x_jobs.claim('{default}', 'new', 1, '1 h')").fetchall()
                    claimed = time.monotonic()
                if len(rows) != 1:
                    raise RuntimeError("crash: the first claim after the restart brought nothing")
                started.append(up - begun)
                connected.append(claimed - up)
                claims.append(claimed - here)
                say(f"crash  round {number + 1}  started in {started[-1]:.2f} s, claimed {connected[-1] * 1000:.1f} ms later,"
                    f" of which the claim took {claims[-1] * 1000:.1f} ms")
        finally:
            cluster.sql(database, "ROLLBACK PREPARED 'pin'")
    return {"claim_s": spread(claims), "connect_and_claim_s": spread(connected), "start_s": spread(started),
            "live": sizes.crash_live, "running": sizes.crash_running, "dead": sizes.crash_dead}
