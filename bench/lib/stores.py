"""The places where jobs are kept: x_jobs, plain tables and the peers. Each has a template database that its own makers'
code lays out, a way to fill it, and a way to count what is left in it."""
import dataclasses
import subprocess

from .cluster import HERE

SCRIPTS = HERE / "scripts"
PEERS = HERE / "peers"


@dataclasses.dataclass(frozen=True)
class Store:
    name: str
    template: str
    fill: str           # a script of bench/ that enqueues `fill_rows` jobs in each transaction
    fill_rows: int
    live: str           # counts the jobs that are not done
    made: str = ""      # counts the jobs that are there after enqueueing; `live` if empty
    fill_clients: int = 1


X_JOBS = Store("x_jobs", "bench_template", "scripts/enqueue_1000.x_jobs.sql", 1000, "SELECT count(*) FROM _x_jobs.jobs")
PLAIN = Store("plain", "bench_template", "peers/textbook/enqueue_1000.sql", 1000, "SELECT count(*) FROM bench.plain")
INSERT_KEY = Store("insert_key", "bench_template", "", 0, "SELECT count(*) FROM bench.insert_key")
INSERT_THREE = Store("insert_three", "bench_template", "", 0, "SELECT count(*) FROM bench.insert_three")
GRAPHILE = Store("graphile_worker", "bench_graphile_worker", "peers/graphile-worker/enqueue_1000.sql", 1000,
                 "SELECT count(*) FROM graphile_worker._private_jobs")
PG_BOSS = Store("pg_boss", "bench_pg_boss", "peers/pg-boss/enqueue_1000.sql", 1000,
                "SELECT count(*) FROM pgboss.job WHERE state < 'completed'")
# The events between the tick that the consumer of a queue has finished and the queue's last tick.
PGQ = Store("pgq", "bench_pgq", "peers/pgq/fill.sql", 100, """
    SELECT sum(last.tick_event_seq - done.tick_event_seq)::bigint FROM pgq.subscription
      JOIN pgq.tick AS done ON done.tick_queue = sub_queue AND done.tick_id = sub_last_tick
     CROSS JOIN LATERAL (SELECT tick_event_seq FROM pgq.tick WHERE tick_queue = sub_queue ORDER BY tick_id DESC LIMIT 1) AS last""",
            made="SELECT count(*) FROM pgq.event_template", fill_clients=8)


class Stores:
    """Lays out the templates of a cluster, and filled copies of them."""

    def __init__(self, cluster, packages):
        self.cluster = cluster
        self.npm = cluster.folder / "npm"
        self.versions, self.missing = packages.install_npm(self.npm)
        self.filled = {}
        self.tried = {}     # what comparisons found out about settings
        cluster.sql("postgres", "CREATE DATABASE bench_template")
        cluster.psql("bench_template", "-f", HERE / "setup.sql")
        cluster.sql("postgres", "CREATE DATABASE bench_pgq")
        cluster.psql("bench_pgq", "-f", PEERS / "pgq/setup.sql")
        self.versions["pgq"] = cluster.sql("bench_pgq", "SELECT extversion FROM pg_extension WHERE extname = 'pgq'")
        if "graphile-worker" in self.versions:
            self.make_with_node("bench_graphile_worker", "graphile-worker", self.npm / "node_modules/.bin/graphile-worker",
                                "--schema-only")
        if "pg-boss" in self.versions:
            self.make_with_node("bench_pg_boss", "pg-boss", PEERS / "pg-boss/setup.cjs", self.npm)
        self.tasks = {}

    def make_with_node(self, database, peer, program, *arguments):
        self.cluster.sql("postgres", f"CREATE DATABASE {database}")
        environment = {**self.cluster.environment, "PGDATABASE": database}
        ran = subprocess.run(["node", program, *arguments], env=environment, cwd=self.npm, capture_output=True, text=True,
                             check=False)
        if ran.returncode:
            raise RuntimeError(f"{peer} did not make its schema: {ran.stdout[-1000:]}{ran.stderr[-2000:]}")
        self.cluster.psql(database, "-f", PEERS / peer / "setup.sql")

    def variables(self, store):
        """What scripts of this store refer to, beside what all scripts know."""
        if store is not GRAPHILE:
            return {}
        if not self.tasks:
            self.tasks = {"tasks": self.cluster.sql("bench_graphile_worker",
                                                    "SELECT array_agg(id)::text FROM graphile_worker._private_tasks")}
        return self.tasks

    def fill(self, database, store, jobs, clients=None):
        clients = clients or store.fill_clients
        transactions = -(-jobs // (store.fill_rows * clients))
        self.cluster.pgbench(database, HERE / store.fill, clients, ("-t", transactions), self.variables(store))

    def template(self, store, jobs):
        """A database with that many jobs ready, made once and vacuumed."""
        if not jobs:
            return store.template
        name = f"filled_{store.name}_{jobs}"
        if name not in self.filled:
            self.cluster.sql("postgres", f"CREATE DATABASE {name} TEMPLATE {store.template} STRATEGY file_copy")
            self.fill(name, store, jobs)
            self.cluster.sql(name, "VACUUM (ANALYZE)")
            self.filled[name] = True
        return name

    def drop_templates(self):
        """Gives the disk back once no comparison needs them."""
        for name in self.filled:
            self.cluster.sql("postgres", f"DROP DATABASE {name}")
        self.filled.clear()

    def live(self, database, store):
        return int(self.cluster.sql(database, store.live))

    def made(self, database, store):
        return int(self.cluster.sql(database, store.made or store.live))
