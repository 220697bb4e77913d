"""A client of x_jobs that writes down everything it does and is told.

One line of JSON for each transaction, in a file of the client's own outside the database: what each verb was asked and
answered, the instants around it, and how the transaction ended. Each operation carries `steps`, its meaning in the
words of model.py. With `durable`, the line is on disk before COMMIT is sent and its outcome right after the answer, and
each transaction also writes a row of `witness`, so that a commit whose answer was lost is decided by looking.
"""

import json
import os
import socket
import time

import psycopg
from instants import instant
from psycopg.rows import dict_row
from verbs import Verbs

# Tables of the test beside the extension: who committed, and business rows written under a guard.
TABLES = """
    CREATE TABLE witness (client integer NOT NULL, tx integer NOT NULL, PRIMARY KEY (client, tx));
    CREATE TABLE notes (client integer NOT NULL, tx integer NOT NULL, job_id uuid NOT NULL, claim bigint NOT NULL);
"""

# The server's last words to a client: it shuts down, or crashed.
ENDS_OF_A_BACKEND = {"57P01", "57P02", "57P03"}


class ConnectionGone(Exception):
    """The connection broke; the transaction that was open is settled in the record."""


class Refused(Exception):
    """The server refused a verb: `code` is its SQLSTATE."""

    def __init__(self, error):
        super().__init__(str(error).strip())
        self.code = error.sqlstate
        self.detail = error.diag.message_detail or ""


class Record:
    """The client's file."""

    def __init__(self, path, durable):
        self.file = open(path, "a", encoding="utf-8")
        self.durable = durable

    def write(self, entry):
        self.file.write(json.dumps(entry, default=str) + "\n")
        self.file.flush()
        if self.durable:
            os.fsync(self.file.fileno())


class Session(Verbs):
    """One client: a connection, a worker id, and the record."""

    def __init__(self, conninfo, number, folder, durable=False):
        self.conninfo = conninfo
        self.number = number
        self.worker = f"worker-{number}"
        self.durable = durable
        self.record = Record(folder / f"client-{number}.log", durable)
        self.tx = None  # the open transaction
        self.last = None  # the one before it
        self.txs = 0
        self.connection = None

    def connect(self, patience=60.0):
        give_up = time.monotonic() + patience
        while True:
            try:
                self.connection = psycopg.connect(
                    self.conninfo, autocommit=True, row_factory=dict_row, application_name=f"client {self.number}"
                )
                # Nothing may wait for long: a statement that does is a finding.
                self.connection.execute("SET statement_timeout = '30s'")
                return
            except psycopg.OperationalError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.1)

    # -- transactions ------------------------------------------------------------------------------------------------

    def begin(self, isolation="READ COMMITTED", witness=False, implicit=False):
        """Opens a transaction; an implicit one is the single statement that follows."""
        self.txs += 1
        self.tx = {
            "client": self.number,
            "tx": self.txs,
            "begin": instant(),
            "isolation": isolation,
            "witness": witness,
            "implicit": implicit,
            "ops": [],
            "marks": [],
        }
        if not implicit:
            self.send(f"BEGIN ISOLATION LEVEL {isolation}")
            self.tx["begun"] = instant()
        if witness:
            self.send("INSERT INTO witness (client, tx) VALUES (%s, %s)", [self.number, self.txs])

    def savepoint(self):
        self.send(f"SAVEPOINT s{len(self.tx['marks'])}")
        self.tx["marks"].append(len(self.tx["ops"]))

    def rollback_to_savepoint(self):
        """Undoes what was done since the last savepoint, which stays."""
        self.send(f"ROLLBACK TO SAVEPOINT s{len(self.tx['marks']) - 1}")
        for op in self.tx["ops"][self.tx["marks"][-1] :]:
            op["undone"] = True

    def release_savepoint(self):
        self.send(f"RELEASE SAVEPOINT s{len(self.tx['marks']) - 1}")
        self.tx["marks"].pop()

    def commit(self):
        """Commits; answers whether it did. A guard may refuse it."""
        self._intend()
        if self.tx["implicit"]:
            return self._close("committed")
        try:
            self.send("COMMIT")
        except Refused as refusal:
            self.tx["commit_error"] = refusal.code
            return self._close("aborted")
        return self._close("committed")

    def rollback(self):
        if not self.tx["implicit"]:
            self.send("ROLLBACK")
        return self._close("aborted")

    def prepare(self, then_commit):
        """Ends the transaction by two-phase commit."""
        name = f"{self.number}-{self.txs}"
        self._intend()
        try:
            self.send(f"PREPARE TRANSACTION '{name}'")
        except Refused as refusal:
            self.tx["commit_error"] = refusal.code
            return self._close("aborted")
        self.send(f"{'COMMIT' if then_commit else 'ROLLBACK'} PREPARED '{name}'")
        return self._close("committed" if then_commit else "aborted")

    def vanish(self):
        """Drops the connection in the middle of the transaction, without a word."""
        self._cut()
        self._close("aborted")
        self.connect()

    def lose_commit(self, terminator):
        """Sends COMMIT and does not wait for the answer: cuts the connection, or has the backend terminated. How it
        ended is found by looking, once the backend is gone."""
        self._intend()
        backend = self.connection.info.backend_pid
        self.connection.pgconn.send_query(b"COMMIT")
        self.connection.pgconn.flush()
        if terminator is not None:
            terminator.execute("SELECT pg_terminate_backend(%s)", [backend])
        self._cut()
        self.connect()
        give_up = time.monotonic() + 30
        while self.connection.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [backend]).rowcount:
            if time.monotonic() > give_up:
                raise RuntimeError("a backend without a client does not end")
            time.sleep(0.005)
        self.tx["lost"] = True
        return self._close("committed" if self._witnessed() else "aborted")

    def recover(self):
        """After a broken connection: connects again and decides the open transaction. What never sent COMMIT is
        aborted; what did is looked up."""
        tx = self.tx
        self.connection.close()
        self.connect()
        if tx is None:
            return None
        if "intent" not in tx or tx["implicit"]:
            return self._close("unknown" if tx["implicit"] else "aborted")
        tx["lost"] = True
        return self._close("committed" if self._witnessed() else "aborted")

    def _witnessed(self):
        return (
            self.connection.execute(
                "SELECT FROM witness WHERE client = %s AND tx = %s", [self.number, self.tx["tx"]]
            ).rowcount
            == 1
        )

    def _intend(self):
        self.tx["intent"] = instant()
        if self.durable:
            self.record.write({**self.tx, "kind": "intent"})

    def _close(self, outcome):
        tx, self.tx = self.tx, None
        self.last = tx
        tx["end"] = instant()
        tx["outcome"] = outcome
        del tx["marks"]
        self.record.write({**tx, "kind": "outcome"})
        return outcome == "committed"

    def _cut(self):
        with socket.socket(fileno=os.dup(self.connection.fileno())) as wire:
            wire.shutdown(socket.SHUT_RDWR)
        self.connection.close()

    def send(self, sql, parameters=None):
        try:
            cursor = self.connection.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            if self.connection.closed or error.sqlstate in ENDS_OF_A_BACKEND:
                raise ConnectionGone(str(error)) from error
            raise Refused(error) from error

    def call(self, verb, sql, parameters, steps, expected=None, **facts):
        """Runs one verb and writes it down. `steps(rows, start)` says what its answer means; `expected` maps SQLSTATEs
        to functions of the refusal that say what it means; `facts` are written down as they are."""
        op = {"verb": verb, "start": instant(), **facts}
        try:
            rows = self.send(sql, parameters)
            op["end"] = instant()
            op["steps"] = steps(rows, op["start"])
            return rows
        except Refused as refusal:
            op["end"] = instant()
            op["error"] = refusal.code
            if expected and refusal.code in expected:
                op["expected"] = True
                op["steps"] = expected[refusal.code](refusal)
            else:
                op["message"] = f"{refusal} {refusal.detail}"
            raise
        finally:
            if "end" in op:
                self.tx["ops"].append(op)
