#!/usr/bin/python3
"""A worker for x_jobs in one file: it claims jobs, runs their handlers, renews their leases and settles them.

    worker.py 'dbname=shop' --queue mail --queue default

Copy it, put handlers of your own at the bottom, and run as many processes of it as you like. What it sees to:

- What a handler writes through job.connection commits together with the ack, or not at all. Had the lease been lost
  meanwhile, the ack answers false and all of it is rolled back: no effect is stored twice.
- Every lease is renewed on a third of the visibility timeout, by a thread with a connection of its own. A renewal
  that answers false means that the job was cancelled, settled or claimed by somebody else: its handler is stopped.
- SIGTERM or SIGINT: nothing more is claimed. Jobs of the batch that have not begun are handed back at once, uncounted.
  The running handler may finish within the grace period; after it, it is stopped and its job handed back as well.
- A failure is recorded with its text, code and stack, and x_jobs decides between a retry and the dead letters.
- When the database goes away, the worker connects again; what it held is claimed again once the leases lapse.
- What no waiting can mend ends it with a message and exit code 1: a server that cannot be reached at the start, or that
  refuses the connection then; a claim that is refused, since the extension or the grant is missing.

An effect outside the database (a mail, a payment) cannot be rolled back: give it job.id or job.idempotency_key as its
own idempotency key, since delivery is at least once.
"""

import argparse
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
import traceback
from datetime import timedelta
from types import SimpleNamespace

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping, TransactionStatus
from psycopg.rows import kwargs_row
from psycopg.types.json import Jsonb

log = logging.getLogger("worker")


class Interrupted(BaseException):
    """Raised inside a handler that has to stop; no Exception, so that `except Exception` cannot swallow it."""


class RetryLater(Exception):
    """Raised by a handler that failed and knows how long to wait, as after an answer with Retry-After."""

    def __init__(self, message, wait):
        super().__init__(message)
        self.wait = wait


class Unworkable(Exception):
    """Raised by a handler that no retry can help: the job becomes a dead letter at once."""


class CannotWork(Exception):
    """Raised by Worker.run when somebody has to mend something first; its text says what."""


class Job(SimpleNamespace):
    """A claimed job: the columns of x_jobs.claimed_job, and `connection` for what the handler reads and writes."""

    stop = None  # why the handler has to stop: None, "lease lost" or "draining"
    connection = None


class Worker:
    """Works jobs of the given queues, one at a time. For more at once, run more processes."""

    CONNECT_FIRST_TRIES = 5  # with pauses of 1, 2, 4 and 8 seconds
    CONNECT_AGAIN_AT_MOST = 30.0
    MARGIN = 2.0

    def __init__(self, conninfo, queues, *, batch=1, visibility=30.0, wait=5.0, grace=30.0, worker_id=None):
        self.conninfo = conninfo
        self.queues = queues
        self.batch = batch  # jobs leased by one claim; they are worked one after the other
        self.visibility = visibility  # seconds that a lease lasts without a renewal
        self.wait = wait  # seconds that a claim waits for a job
        self.grace = grace  # seconds from SIGTERM to the moment at which the process must be gone
        self.worker_id = worker_id or f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self.handlers = {}
        self.held = {}  # job id -> Job; the renewing thread reads copies of it
        self.connection = None
        self.draining = False
        self._running = None  # the job whose handler a signal may interrupt
        self._claiming = False
        self._over = threading.Event()

    def handler(self, name):
        """Registers the decorated function, called with the Job, for jobs of this name."""

        def register(function):
            self.handlers[name] = function
            return function

        return register

    def report(self, event, job, **facts):
        """Is told what happens to each job; override it for metrics."""
        details = "".join(f" {name}={value}" for name, value in facts.items() if value is not None)
        log.info("%s %s %s claim=%s attempt=%s%s", event, job.name, job.id, job.claim, job.attempt, details)

    # -- the main thread -----------------------------------------------------------------------------------------

    def run(self):
        """Works until SIGTERM or SIGINT, then drains and returns. Raises CannotWork."""
        signal.signal(signal.SIGTERM, self._drain)
        signal.signal(signal.SIGINT, self._drain)
        signal.signal(signal.SIGALRM, self._grace_over)
        signal.signal(signal.SIGUSR1, self._lease_lost)
        renewing = threading.Thread(target=self._renew_leases, name="renewing")
        self._connect_first()
        renewing.start()
        pause = 1.0
        try:
            while not self.draining:
                try:
                    self.connection = self.connection or self._connect()
                    pause = 1.0
                    while not self.draining:
                        self._work_batch()
                except psycopg.OperationalError as error:
                    trouble = "connection lost" if self.connection else "cannot connect"
                    self._disconnect()
                    log.warning("%s, trying again in %.0f s: %s", trouble, pause, str(error).strip())
                    self._sleep(pause)
                    pause = min(2 * pause, self.CONNECT_AGAIN_AT_MOST)
                except psycopg.DatabaseError as error:
                    # Handlers' errors do not get here: the server refused a call of the worker itself.
                    raise CannotWork(_explained(error)) from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            self._over.set()
            renewing.join()
            self._disconnect()

    def _work_batch(self):
        try:
            for job in self._claim():
                if self.draining:
                    self._hand_back(job, "the worker was stopped before the job began")
                else:
                    self._work(job)
        finally:
            # What a lost connection left unsettled must not be renewed: its lease lapses and it is claimed again.
            self.held.clear()

    def _claim(self):
        with self.connection.cursor(row_factory=kwargs_row(Job)) as cursor:
            self._claiming = True
            try:
                cursor.execute(
                    """SELECT * FROM x_jobs.claim(%s, %s, max_jobs => %s, visibility_timeout => %s, wait => %s,
                                                  names => %s)""",
                    [
                        self.queues,
                        self.worker_id,
                        self.batch,
                        timedelta(seconds=self.visibility),
                        timedelta(seconds=self.wait),
                        list(self.handlers),
                    ],
                )
                self._claiming = False
                self.connection.commit()
            except psycopg.errors.QueryCanceled:
                self.connection.rollback()
                if not self.draining:
                    raise
                return []
            finally:
                self._claiming = False
            jobs = cursor.fetchall()
        for job in jobs:
            self.held[job.id] = job
            self.report("claimed", job)
        return jobs

    def _work(self, job):
        job.connection = self.connection
        started = time.monotonic()
        try:
            result = self._handle(job)
            self._ack(job, result, time.monotonic() - started)
        except (Exception, Interrupted) as failure:
            if self.connection.closed:
                raise psycopg.OperationalError("the connection was lost while a job was worked") from failure
            self._undo()
            if job.stop == "draining":
                self._hand_back(job, "the worker was stopped")
            elif job.stop:
                self.report("stopped", job, why=job.stop)
            else:
                self._record_failure(job, failure, time.monotonic() - started)
        finally:
            self.held.pop(job.id, None)

    def _handle(self, job):
        """Runs the handler; only in here may a signal raise Interrupted."""
        try:
            self._running = job
            if job.stop:
                raise Interrupted
            return self.handlers[job.name](job)
        finally:
            self._running = None

    def _ack(self, job, result, seconds):
        """Commits the handler's writes and the end of the job as one; without the lease, neither."""
        landed = self.connection.execute(
            "SELECT x_jobs.ack(%s, %s, %s, result => %s, duration => %s)",
            [job.id, self.worker_id, job.claim, None if result is None else Jsonb(result), timedelta(seconds=seconds)],
        ).fetchone()[0]
        if landed:
            self.connection.commit()
        else:
            self.connection.rollback()
        self.report("acked" if landed else "refused", job, verb="ack", seconds=round(seconds, 3))

    def _record_failure(self, job, failure, seconds):
        text = _clean(f"{type(failure).__name__}: {failure}")
        stack = _clean("".join(traceback.format_exception(failure)))
        fence = [job.id, self.worker_id, job.claim]
        if isinstance(failure, Unworkable):
            landed = self.connection.execute(
                "SELECT x_jobs.nack(%s, %s, %s, error => %s, stack => %s, dead_letter => true, duration => %s)",
                [*fence, text, stack, timedelta(seconds=seconds)],
            ).fetchone()[0]
            outcome = "dead-lettered" if landed else None
        else:
            code = getattr(failure, "sqlstate", None) or type(failure).__name__
            wait = timedelta(seconds=failure.wait) if isinstance(failure, RetryLater) else None
            landed, outcome = self.connection.execute(
                """SELECT landed, outcome
                     FROM x_jobs.fail(%s, %s, %s, error => %s, code => %s, stack => %s, retry_after => %s,
                                      duration => %s)""",
                [*fence, text, code, stack, wait, timedelta(seconds=seconds)],
            ).fetchone()
        self.connection.commit()
        self.report("failed" if landed else "refused", job, verb="fail", outcome=outcome, error=text)

    def _hand_back(self, job, why):
        """Gives the job back uncounted, so that another worker takes it at once."""
        landed = self.connection.execute(
            "SELECT x_jobs.release(%s, %s, %s, error => %s)", [job.id, self.worker_id, job.claim, why]
        ).fetchone()[0]
        self.connection.commit()
        self.report("released" if landed else "refused", job, verb="release")

    # -- connections ---------------------------------------------------------------------------------------------

    def _connect(self, **options):
        return psycopg.connect(self.conninfo, application_name=self.worker_id[:63], **options)

    def _connect_first(self):
        """The first connection. A server that does not answer may still be starting, so it is asked again a few times;
        one that answers and refuses will do so again."""
        pause = 1.0
        for tries_left in reversed(range(self.CONNECT_FIRST_TRIES)):
            try:
                answers = PGconn.ping(make_conninfo(self.conninfo, connect_timeout=5).encode()) == Ping.OK
                self.connection = self._connect()
                return
            except psycopg.ProgrammingError as error:
                raise CannotWork(f"the connection string is wrong: {str(error).strip()}") from error
            except psycopg.OperationalError as error:
                if answers or not tries_left:
                    raise CannotWork(f"cannot connect: {str(error).strip()}") from error
                log.warning("cannot connect, trying again in %.0f s: %s", pause, str(error).strip())
            self._sleep(pause)
            if self.draining:
                return
            pause *= 2

    def _disconnect(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def _undo(self):
        """Rolls back what the handler wrote. A handler stopped in the middle of a statement leaves the connection
        waiting for its answer: that statement is cancelled and the connection replaced."""
        if self.connection.info.transaction_status in (
            TransactionStatus.IDLE,
            TransactionStatus.INTRANS,
            TransactionStatus.INERROR,
        ):
            self.connection.rollback()
        else:
            self.connection.cancel()
            self._disconnect()
            self.connection = self._connect()

    def _sleep(self, seconds):
        until = time.monotonic() + seconds
        while not self.draining and time.monotonic() < until:
            time.sleep(0.1)

    # -- signals: they run in the main thread, between two of its steps ------------------------------------------

    def _drain(self, _signal, _frame):
        if self.draining:
            return
        self.draining = True
        margin = min(self.MARGIN, self.grace / 2)
        signal.setitimer(signal.ITIMER_REAL, max(self.grace - margin, 0.001))
        if self._claiming:
            self.connection.cancel()

    def _grace_over(self, _signal, _frame):
        if self._running:
            self._running.stop = self._running.stop or "draining"
            self._interrupt()

    def _lease_lost(self, _signal, _frame):
        if self._running and self._running.stop:
            self._interrupt()

    def _interrupt(self):
        self._running = None
        raise Interrupted

    # -- the renewing thread -------------------------------------------------------------------------------------

    def _renew_leases(self):
        connection = None
        while not self._over.wait(self.visibility / 3):
            try:
                connection = connection or self._connect(autocommit=True)
                self._renew(connection, self.leases_to_renew())
            except psycopg.DatabaseError as error:
                log.warning("renewing failed, trying again: %s", str(error).strip())
                if connection is not None:
                    connection.close()
                connection = None
        if connection is not None:
            connection.close()

    def leases_to_renew(self):
        return list(self.held.copy().values())

    def _renew(self, connection, jobs):
        if not jobs:
            return
        answers = connection.execute(
            "SELECT id, held FROM x_jobs.heartbeat_many(%s::uuid[], %s, %s::bigint[], %s)",
            [[job.id for job in jobs], self.worker_id, [job.claim for job in jobs], timedelta(seconds=self.visibility)],
        ).fetchall()
        still_held = {job_id for job_id, held in answers if held}
        for job in jobs:
            if job.id in still_held:
                self.report("renewed", job)
            elif self.held.get(job.id) is job:
                job.stop = "lease lost"
                signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)


def _explained(error):
    """What the server said, and what helps."""
    parts = [f"the server refused: {error.diag.message_primary or error}"]
    if isinstance(error, (psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedFunction)):
        parts.append("The extension is missing in this database: a superuser can run CREATE EXTENSION x_jobs.")
    elif isinstance(error, psycopg.errors.InsufficientPrivilege):
        parts.append("This role lacks the right: see x_jobs.grant_worker.")
    parts += filter(None, [error.diag.message_detail, error.diag.message_hint])
    return "\n".join(parts)


def _clean(text):
    """Text that the database can store: without NUL and without lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\N{REPLACEMENT CHARACTER}")


def main():
    parser = argparse.ArgumentParser(description="Works the jobs of the example shop.")
    parser.add_argument("conninfo", help="connection string, for instance 'dbname=shop'")
    parser.add_argument("--queue", action="append", dest="queues", help="may be given more than once; default: mail")
    parser.add_argument("--batch", type=int, default=1, help="jobs leased by one claim (1)")
    parser.add_argument("--visibility", type=float, default=30, help="seconds that a lease lasts unrenewed (30)")
    parser.add_argument("--grace", type=float, default=30, help="seconds from SIGTERM to the end (30)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")

    worker = Worker(
        options.conninfo,
        options.queues or ["mail"],
        batch=options.batch,
        visibility=options.visibility,
        grace=options.grace,
    )

    @worker.handler("send_receipt")
    def send_receipt(job):
        order = job.connection.execute(
            "SELECT customer, amount FROM orders WHERE id = %s", [job.input["order_id"]]
        ).fetchone()
        if order is None:
            raise Unworkable(f"order {job.input['order_id']} does not exist")
        customer, amount = order
        job.connection.execute(
            "INSERT INTO receipts (order_id, body) VALUES (%s, %s)",
            [job.input["order_id"], f"{customer} paid {amount}"],
        )
        return {"customer": customer}

    try:
        worker.run()
    except CannotWork as failure:
        sys.exit(f"worker.py: {failure}")


if __name__ == "__main__":
    main()
