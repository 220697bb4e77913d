"""A throwaway cluster, and the programs that are run against it."""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import psycopg

HERE = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("PG_BIN", "/usr/lib/postgresql/15/bin"))

SETTINGS = {
    "listen_addresses": "''",
    "shared_preload_libraries": "'x_jobs'",
    "shared_buffers": "'1GB'",
    "max_connections": "1200",
    "max_prepared_transactions": "4",
    "max_wal_size": "'8GB'",
    "checkpoint_timeout": "'30min'",
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "jit": "off",
}


class Cluster:
    """A cluster of the user postgres in a folder of its own; gone at the end."""

    def __init__(self, settings=None):
        self.settings = {**SETTINGS, **(settings or {})}
        base = os.environ.get("BENCH_DIR", "/var/tmp")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="x_jobs_bench_", dir=base))
        shutil.chown(self.folder, "postgres", "postgres")
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.environment = {**os.environ, "PGHOST": str(self.folder), "PGPORT": "5432", "PGUSER": "postgres",
                            "PGOPTIONS": ""}

    def as_postgres(self, *command):
        subprocess.run(["runuser", "-u", "postgres", "--", *map(str, command)], check=True, cwd="/",
                       stdout=subprocess.DEVNULL)

    def start(self):
        self.as_postgres(BIN / "initdb", "-D", self.data, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        settings = {**self.settings, "unix_socket_directories": f"'{self.folder}'"}
        lines = [f"{name} = {value}" for name, value in settings.items()]
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as configuration:
            configuration.write("\n".join(lines) + "\n")
        self.start_server()

    def start_server(self):
        self.as_postgres(BIN / "pg_ctl", "-D", self.data, "-l", self.folder / "log", "-w", "-t", "600", "start")

    def stop_server(self, mode):
        self.as_postgres(BIN / "pg_ctl", "-D", self.data, "-m", mode, "-w", "-t", "600", "stop")

    def stop(self):
        if (self.data / "postmaster.pid").exists():
            self.stop_server("immediate")
        shutil.rmtree(self.folder)

    def psql(self, database, *arguments):
        command = [BIN / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database, *arguments]
        ran = subprocess.run(command, env=self.environment, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"psql {' '.join(map(str, arguments))}: {ran.stderr[-2000:]}")
        return ran.stdout.strip()

    def sql(self, database, text):
        """Runs a statement, or several; answers the first value of the last as text."""
        with self.connect(database) as session:
            cursor = session.execute(text)
            while cursor.nextset():
                pass
            row = cursor.fetchone() if cursor.description else None
            return "" if row is None or row[0] is None else str(row[0])

    def connect(self, database):
        return psycopg.connect(host=str(self.folder), user="postgres", dbname=database, autocommit=True)

    def run(self, database, *command):
        """A client program of ours; answers what it prints."""
        environment = {**self.environment, "PGDATABASE": database}
        ran = subprocess.run([str(part) for part in command], env=environment, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}: {ran.stderr[-2000:]}{ran.stdout[-500:]}")
        return ran.stdout

    @contextlib.contextmanager
    def database(self, name, template, settings=None):
        """A copy of a template, gone afterwards whatever clients it has. Starts with its pages in memory and nothing to
        write back."""
        self.sql("postgres", f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        try:
            for setting, value in (settings or {}).items():
                self.sql("postgres", f"ALTER DATABASE {name} SET {setting} = {value}")
            self.prewarm(name)
            yield name
        finally:
            self.end_sessions(name)
            self.sql("postgres", f"DROP DATABASE IF EXISTS {name}")

    def end_sessions(self, database):
        """A thousand sessions take longer to go than DROP DATABASE WITH (FORCE) waits for."""
        deadline = time.monotonic() + 120
        while int(self.sql("postgres", "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                           f" WHERE datname = '{database}' AND backend_type = 'client backend'")):
            if time.monotonic() > deadline:
                raise RuntimeError(f"sessions of {database} did not end within two minutes")
            time.sleep(0.05)

    def prewarm(self, database):
        self.sql(database, "CREATE EXTENSION IF NOT EXISTS pg_prewarm")
        self.sql(database, "SELECT count(pg_prewarm(c.oid)) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
                 " WHERE c.relkind IN ('r', 'i', 'm') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'")
        self.sql("postgres", "CHECKPOINT")

    def pgbench(self, database, script, clients, limit, variables=None, mode="prepared", extra=(),
                user=None):
        """Runs a script; `limit` is ("-T", seconds) or ("-t", transactions of each client)."""
        defined = [part for name, value in (variables or {}).items() for part in ("-D", f"{name}={value}")]
        threads = min(clients, os.cpu_count() or 1)
        command = [BIN / "pgbench", "-n", "-M", mode, "-c", str(clients), "-j", str(threads), limit[0], str(limit[1]),
                   *defined, *extra, "-f", script, database]
        environment = {**self.environment, **({"PGUSER": user} if user else {})}
        ran = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"{script.name} with {clients} clients: {ran.stderr[-2000:]}")
        processed = int(re.search(r"number of transactions actually processed: (\d+)", ran.stdout).group(1))
        if not processed:
            raise RuntimeError(f"{script.name} with {clients} clients: not one transaction in {limit[1]} s")
        tps = float(re.search(r"tps = ([\d.]+)", ran.stdout).group(1))
        latency = float(re.search(r"latency average = ([\d.]+) ms", ran.stdout).group(1))
        return processed, tps, latency

    @contextlib.contextmanager
    def restarted_with(self, **settings):
        """The server has these settings while it lasts."""
        for name, value in settings.items():
            self.sql("postgres", f"ALTER SYSTEM SET {name} = {value}")
        self.stop_server("fast")
        self.start_server()
        try:
            yield
        finally:
            self.sql("postgres", "ALTER SYSTEM RESET ALL")
            self.stop_server("fast")
            self.start_server()

    @contextlib.contextmanager
    def pinned(self, database):
        """Another session holds a snapshot and a transaction id for as long as this lasts."""
        with self.connect(database) as session:
            session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            session.execute("SELECT pg_current_xact_id(), count(*) FROM pg_class")
            yield session
            session.execute("ROLLBACK")


def say(text):
    print(text, file=sys.stderr, flush=True)
