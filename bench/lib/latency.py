"""How long one claim takes: over backlogs of different size, and on queues where there is nothing."""
import contextlib
import pathlib
import tempfile

from . import stores
from .cluster import HERE, say
from .figures import quantile, ratios, spread


def log_of(cluster, database, script, count):
    """The times of single transactions of one client, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        cluster.pgbench(database, script, 1, ("-t", count), extra=("-l", f"--log-prefix={folder}/log"))
        lines = [line for file in pathlib.Path(folder).iterdir() for line in file.read_text(encoding="utf-8").splitlines()]
    return [int(line.split()[2]) for line in lines]


def delayed(bench, database, jobs):
    """Jobs that are due in a day."""
    for _ in range(-(-jobs // 1000)):
        yield ("SELECT count(*) FROM x_jobs.enqueue_many('bench', array_fill(bench.input(), ARRAY[1000]),"
               " NULL, dedupe => false, delay => '1 day');")


def backlog(bench):
    """The same claim where 1,000 jobs are ready, where 2 million are, and where a million delayed ones stand beside."""
    sizes, cluster = bench.sizes, bench.cluster
    contents = {"few": (sizes.few_ready, 0), "many_ready": (sizes.many_ready, 0), "many_delayed": (sizes.few_ready, sizes.many_delayed)}
    script = HERE / "scripts/claim_only.x_jobs.sql"
    medians = {name: [] for name in contents}
    tails = {name: [] for name in contents}
    with contextlib.ExitStack() as stack:
        for name, (ready, later) in contents.items():
            database = stack.enter_context(cluster.database(f"bench_{name}", "bench_template"))
            if later:
                with cluster.connect(database) as session:
                    for statement in delayed(bench, database, later):
                        session.execute(statement)
            bench.stores.fill(database, stores.X_JOBS, ready, clients=1 if ready < 10_000 else 2)
            cluster.sql(database, "VACUUM (ANALYZE) _x_jobs.jobs")
        for number in range(sizes.rounds + 1):
            for name, (ready, _) in contents.items():
                cluster.sql("postgres", "CHECKPOINT")
                times = log_of(cluster, f"bench_{name}", script, sizes.claims_timed)
                running = int(cluster.sql(f"bench_{name}", "SELECT count(*) FROM _x_jobs.jobs WHERE state = 'running'"))
                if running != sizes.claims_timed:
                    raise RuntimeError(f"backlog {name}: {sizes.claims_timed} claims brought {running} jobs")
                # As many jobs are ready in each round; what was claimed is settled, so that nothing lapses.
                cluster.sql(f"bench_{name}", "SELECT count(x_jobs.ack(id, claimed_by, claim)) FROM _x_jobs.jobs"
                            " WHERE state = 'running'")
                cluster.sql(f"bench_{name}", "SELECT count(*) FROM x_jobs.enqueue_many('bench', array_fill(bench.input(),"
                            f" ARRAY[{sizes.claims_timed}]), NULL, dedupe => false)")
                if number == 0:
                    continue        # the first round fills caches
                medians[name].append(quantile(times, 0.5))
                tails[name].append(quantile(times, 0.99))
                say(f"backlog  round {number}  {name:14} {medians[name][-1]:8.0f} us, 99 % {tails[name][-1]:8.0f} us")
    return {"median_us": {name: spread(values) for name, values in medians.items()},
            "p99_us": {name: spread(values) for name, values in tails.items()},
            "ratios": {name: ratios(medians[name], medians["few"]) for name in contents if name != "few"},
            "contents": {name: {"ready": ready, "delayed": later} for name, (ready, later) in contents.items()}}


EMPTY = {"select_1": "SELECT 1", "one_queue": "claim on one queue", "four_queues": "claim on four queues"}


def buffers_of(session, queues):
    """The buffers that one claim touches, in planning and in running, once the session knows the catalogue."""
    statement = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT id FROM x_jobs.claim('{queues}', 'worker')"
    for _ in range(5):
        plan = session.execute(statement).fetchone()[0][0]
    kinds = ("Shared Hit Blocks", "Shared Read Blocks", "Shared Dirtied Blocks", "Shared Written Blocks")
    return sum(plan["Plan"][kind] + plan.get("Planning", {}).get(kind, 0) for kind in kinds)


def empty(bench):
    """Claims that find nothing, as a role that has a grant, while another queue is paused; beside SELECT 1."""
    sizes, cluster = bench.sizes, bench.cluster
    rates = {clients: {name: [] for name in EMPTY} for clients in sizes.clients}
    with cluster.database("bench_empty", "bench_template") as database:
        cluster.sql("postgres", "CREATE ROLE bench_worker LOGIN")
        try:
            cluster.sql(database, "SELECT x_jobs.grant_worker('bench_worker'); SELECT x_jobs.pause_queue('paused', 'for the measure')")
            for queue in ("first", "second", "third", "fourth", "paused"):
                cluster.sql(database, f"SELECT id FROM x_jobs.enqueue('bench', bench.input(), dedupe => false, queue => '{queue}')")
            cluster.sql(database, "SELECT count(x_jobs.ack(c.id, 'worker', c.claim)) FROM"
                        " x_jobs.claim('{first,second,third,fourth}', 'worker', 10) AS c")
            with cluster.connect(database) as session:
                session.execute("SET ROLE bench_worker")
                buffers = {"one_queue": buffers_of(session, "{first}"),
                           "four_queues": buffers_of(session, "{first,second,third,fourth}")}
            for number in range(sizes.rounds):
                for clients in sizes.clients:
                    for name in EMPTY:
                        _, tps, _ = cluster.pgbench(database, HERE / f"scripts/empty.{name}.sql", clients,
                                                    sizes.limit(sizes.seconds), user="bench_worker")
                        rates[clients][name].append(tps)
                        say(f"empty  {clients} clients  round {number + 1}  {name:12} {tps:10,.0f} calls/s")
        finally:
            cluster.sql(database, "DROP OWNED BY bench_worker")
            cluster.sql("postgres", "DROP ROLE bench_worker")
    return {"rates": {str(clients): {name: spread(values) for name, values in by_name.items()}
                      for clients, by_name in rates.items()},
            "ratios": {str(clients): {name: ratios(by_name[name], by_name["select_1"]) for name in EMPTY if name != "select_1"}
                       for clients, by_name in rates.items()},
            "buffers": buffers}
