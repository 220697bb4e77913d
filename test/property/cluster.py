"""A throwaway PostgreSQL cluster for a test: own folder, own socket, no network, run as user postgres when the test
runs as root. PG_CONFIG names the server to use; its installation must have x_jobs. With X_JOBS_TEST_PRELOAD=no the
library is not preloaded: everything must hold without its shared memory too."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

SETTINGS = {
    "shared_preload_libraries": "x_jobs",
    # What the clients do is all that happens.
    "x_jobs.scheduler": "off",
    "listen_addresses": "",
    "fsync": "on",
    "max_connections": "120",
    "max_prepared_transactions": "20",
    "deadlock_timeout": "50ms",
    "log_line_prefix": "%m [%p] %a ",
    "log_min_messages": "warning",
}


class Cluster:
    def __init__(self, name, port, **settings):
        self.bindir = Path(self._run([os.environ.get("PG_CONFIG", "pg_config"), "--bindir"]).strip())
        # The path of a socket has room for about a hundred characters.
        parent = tempfile.gettempdir() if len(tempfile.gettempdir()) <= 40 else "/tmp"
        self.folder = Path(tempfile.mkdtemp(prefix=f"x_jobs-{name}.", dir=parent))
        self.data = self.folder / "data"
        self.log = self.folder / "server.log"
        self.port = port
        self.conninfo = f"host={self.folder} port={port} dbname=postgres user=postgres"
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        self.folder.chmod(0o755)
        self._server("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--encoding=UTF8", "--locale=C")
        if os.environ.get("X_JOBS_TEST_PRELOAD") == "no":
            settings["shared_preload_libraries"] = ""
        settings = {**SETTINGS, "unix_socket_directories": str(self.folder), "port": str(port), **settings}
        with open(self.data / "postgresql.auto.conf", "a", encoding="utf-8") as configuration:
            for setting, value in settings.items():
                configuration.write(f"{setting} = '{value}'\n")

    @staticmethod
    def _run(command):
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(str(part) for part in command)}: {done.stdout}")
        return done.stdout

    def _server(self, program, *arguments):
        """Runs a program of the server as the user who owns the cluster."""
        as_owner = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return self._run([*as_owner, self.bindir / program, *arguments])

    def start(self, patience=60):
        """Starts the server; after a kill the last of its old processes may still be on its way out."""
        give_up = time.monotonic() + patience
        while True:
            try:
                # Output to the log file only: pg_ctl's children would keep a pipe open.
                return self._server("pg_ctl", "start", "-w", "-t", "60", "-s", "-D", self.data, "-l", self.log)
            except RuntimeError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.1)

    def stop(self):
        self._server("pg_ctl", "stop", "-w", "-t", "60", "-m", "fast", "-s", "-D", self.data)

    def connect(self, **options):
        return psycopg.connect(self.conninfo, autocommit=True, **options)

    def processes(self):
        """Process ids of the postmaster and of its children, the postmaster first."""
        postmaster = int((self.data / "postmaster.pid").read_text(encoding="utf-8").split("\n", 1)[0])
        children = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1])
                except (OSError, IndexError):
                    continue
                if parent == postmaster:
                    children.append(int(entry.name))
        return [postmaster, *children]

    def kill(self, children_too, patience=30):
        """SIGKILL for the postmaster, and for its children at once or as soon as they have had time to leave by
        themselves; returns when all are gone."""
        family = self.processes()
        for process in family if children_too else family[:1]:
            self._kill(process)
        began = time.monotonic()
        while any(self._alive(process) for process in family):
            if time.monotonic() - began > 5:
                for process in filter(self._alive, family):
                    self._kill(process)
            if time.monotonic() - began > patience:
                raise RuntimeError("processes of the killed cluster do not end")
            time.sleep(0.01)

    @staticmethod
    def _kill(process):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass

    @staticmethod
    def _alive(process):
        """Whether this is still a process of the server; its number may have passed to another program since."""
        try:
            name, rest = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").split("(", 1)[1].rsplit(")", 1)
        except (OSError, IndexError):
            return False
        return name == "postgres" and rest.split()[0] != "Z"

    def log_lines(self, *marks):
        """Lines of the server's log that hold one of the marks."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return [line for line in lines if any(mark in line for mark in marks)]

    def remove(self):
        """Stops the server if it runs, and deletes the cluster unless X_JOBS_TEST_KEEP is set."""
        try:
            if (self.data / "postmaster.pid").exists():
                self.kill(children_too=True)
        finally:
            if "X_JOBS_TEST_KEEP" not in os.environ:
                shutil.rmtree(self.folder, ignore_errors=True)
