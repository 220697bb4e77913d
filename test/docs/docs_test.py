#!/usr/bin/python3
"""If this fails, the manual says something that the system does not do.

Takes a running cluster with the library preloaded from PGHOST, PGPORT and PGUSER, makes databases of its own, and
answers in TAP. Examples are run statement by statement; a line "--> ..." is a row that the statement must give, and
"--> ERROR: ..." the message that it must raise.
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time

import psycopg
from psycopg import sql

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = f"x_jobs_docs_{os.getpid()}"
TEMPLATE = f"{PREFIX}_template"

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("generate", str(ROOT / "docs" / "generate"))
generate = importlib.util.module_from_spec(importlib.util.spec_from_loader("generate", loader))
loader.exec_module(generate)


class Tap:
    """Counts and prints results."""

    def __init__(self):
        self.count = 0
        self.failed = 0

    def result(self, problems, name):
        self.count += 1
        if problems:
            self.failed += 1
        print(f"{'not ok' if problems else 'ok'} {self.count} - {name}")
        for problem in problems:
            for line in str(problem).split("\n"):
                print(f"#   {line}")
        sys.stdout.flush()

    def end(self):
        print(f"1..{self.count}")
        return 1 if self.failed or not self.count else 0


def statements_of(text):
    """Splits SQL into [(statement, [expected line])]; knows quotes, dollar quotes and comments."""
    token = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|(\$\w*\$).*?\1|--> ?[^\n]*|--[^\n]*|;|.", re.DOTALL)
    found, current = [], ""
    for match in token.finditer(text):
        piece = match.group(0)
        if piece.startswith("-->"):
            if not found or current.strip():
                raise ValueError(f"a row without a statement: {piece}")
            found[-1][1].append(piece[3:].strip())
        elif piece.startswith("--"):
            continue
        elif piece == ";":
            found.append((current.strip(), []))
            current = ""
        else:
            current += piece
    if current.strip():
        raise ValueError(f"a statement without a semicolon: {current.strip()}")
    return found


def rows_of(cursor):
    if cursor.description is None:
        return []
    result = cursor.pgresult
    rows = []
    for row in range(result.ntuples):
        values = [result.get_value(row, column) for column in range(result.nfields)]
        rows.append(" | ".join("" if value is None else value.decode() for value in values).strip())
    return rows


def session(database):
    return psycopg.connect(dbname=database, autocommit=True, options="-c statement_timeout=60s -c timezone=UTC")


def run_statements(connection, statements):
    """Runs them in the session; answers what did not come out as the text says."""
    problems = []
    for statement, expected in statements:
        try:
            rows = rows_of(connection.execute(statement))
        except psycopg.Error as error:
            rows = [f"ERROR: {error.diag.message_primary or error}"]
        raised = bool(rows) and rows[0].startswith("ERROR: ")
        if (expected or raised) and rows != expected:
            problems.append(f"{statement}\nexpected: {expected}\ngot:      {rows}")
            if raised:
                break
    return problems


class Databases:
    """Makes databases under the test's prefix, and drops them with the roles that the examples made."""

    def __init__(self):
        self.admin = psycopg.connect(dbname="postgres", autocommit=True)
        self.made = []
        self.roles = []

    def create(self, name, template):
        command = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
        self.admin.execute(command)
        self.made.append(name)
        return name

    def drop(self, name):
        self.admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
        self.made.remove(name)

    def begin(self, statements, with_extension):
        """A database for these statements, which may make roles."""
        self.roles.extend(match.group(1) for text, _ in statements if (match := re.match(r"CREATE ROLE (\w+)", text)))
        return self.create(f"{PREFIX}_example", TEMPLATE if with_extension else "template0")

    def end(self, name):
        self.drop(name)
        self.drop_roles()

    def run(self, statements):
        """Runs an example in a database of its own that has the extension."""
        name = self.begin(statements, with_extension=True)
        try:
            with session(name) as connection:
                return run_statements(connection, statements)
        finally:
            self.end(name)

    def drop_roles(self):
        while self.roles:
            self.admin.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(self.roles.pop())))

    def close(self):
        for name in reversed(list(self.made)):
            self.drop(name)
        self.drop_roles()
        self.admin.close()


# What the comments say.

UNCOMMENTED = """
SELECT pg_describe_object(d.classid, d.objid, 0)
  FROM pg_depend d
  LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
  LEFT JOIN pg_type t ON d.classid = 'pg_type'::regclass AND t.oid = d.objid
 WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'x_jobs')
   AND (c.relkind IS NULL OR c.relkind IN ('r', 'p', 'v'))
   AND (t.typname IS NULL
        OR t.typtype <> 'b' AND NOT EXISTS (SELECT FROM pg_class r WHERE r.oid = t.typrelid AND r.relkind <> 'c'))
   AND obj_description(d.objid, (SELECT relname FROM pg_class WHERE oid = d.classid)) IS NULL
 ORDER BY 1
"""


def check_comments(tap, databases, connection):
    def query(text, parameters=None):
        with connection.cursor(row_factory=psycopg.rows.dict_row) as cursor:
            return cursor.execute(text, parameters).fetchall()

    bare = [row[0] for row in connection.execute(UNCOMMENTED).fetchall()]
    tap.result(bare, "every object of the extension has a comment")

    catalog = {error["name"]: error["sqlstate"] for error in query(generate.ERRORS)}
    server = {"insufficient_privilege": "42501", "read_only_sql_transaction": "25006"}
    mentioned = set()
    for function in query(generate.FUNCTIONS):
        problems = []
        try:
            parts = generate.parse_comment(function["comment"] or "")
            if [section for section in parts if section] != list(generate.SECTIONS):
                problems.append(f"its sections are {[s for s in parts if s]}")
            else:
                problems += [f"section {section} is empty" for section, text in parts.items() if not text.strip()]
                wanted = [row["name"] for row in query(generate.ARGUMENTS, [function["signature"]])]
                text = parts["Arguments"]
                given = [] if text == "none" else [name for name, _ in generate.parse_items(text)]
                if wanted != given:
                    problems.append(f"its arguments are {wanted}, the comment explains {given}")
                for name, _ in generate.parse_items(parts["Errors"]):
                    match = re.fullmatch(r"(\w+) \((\w{5})\)", name)
                    known = {**catalog, **server}.get(match.group(1)) if match else None
                    if not match or known != match.group(2):
                        problems.append(f"unknown error: {name}")
                    else:
                        mentioned.add(match.group(1))
        except ValueError as error:
            problems.append(error)
        tap.result(problems, f"the comment of {function['signature']} has every section, argument and a known error")
        if not problems:
            try:
                problems = databases.run(statements_of(parts["Example"]))
            except ValueError as error:
                problems = [error]
            tap.result(problems, f"the example of {function['signature']} runs and gives what it says")
    general = {"X_NOT_INSTALLED", "X_VERSION_MISMATCH"}
    silent = sorted(set(catalog) - mentioned - general)
    tap.result(silent, "ERR-4: every error is explained by a function that raises it")


# What the documents say.

def documents():
    named = ["README.md", "CHANGELOG.md", "bench/README.md", "examples/README.md"]
    return [*(ROOT / name for name in named), *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


class Walk:
    """Walks through a document as its reader does: its SQL, and of its shell lines those that need no root."""

    def __init__(self, databases, text):
        self.databases = databases
        self.parts = re.findall(r"^```(sql|sh)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        self.statements = [statement for kind, body in self.parts if kind == "sql" for statement in statements_of(body)]
        self.workers = []

    def run(self):
        creates = any(statement.startswith("CREATE EXTENSION") for statement, _ in self.statements)
        name = self.databases.begin(self.statements, with_extension=not creates)
        try:
            return self.walk(name)
        finally:
            for worker in self.workers:
                worker.kill()
                worker.wait()
            self.databases.end(name)

    def walk(self, name):
        with session(name) as connection:
            for kind, body in self.parts:
                if kind == "sql":
                    problems = run_statements(connection, statements_of(body))
                else:
                    problems = [problem for line in body.split("\n") for problem in self.shell(name, line)]
                    problems += self.drained(connection) if self.workers else []
                if problems:
                    return problems
        return []

    def shell(self, name, line):
        """Runs one line if it is one of ours; answers what went wrong."""
        environment = {**os.environ, "PGDATABASE": name}
        if line == "kill %1" and self.workers:
            worker = self.workers.pop()
            worker.send_signal(signal.SIGTERM)
            log, _ = worker.communicate(timeout=60)
            return [f"the worker ended with {worker.returncode}: {log}"] if worker.returncode else []
        if match := re.fullmatch(r"psql -d shop -f (examples/\S+)", line):
            command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", name, "-f", match.group(1)]
        elif line.startswith("examples/"):
            command = [part.replace("dbname=shop", f"dbname={name}") for part in shlex.split(line.removesuffix("&"))]
        else:
            return []
        if line.endswith("&"):
            self.workers.append(subprocess.Popen(
                command, cwd=ROOT, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT))
            return []
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
                             timeout=120)
        return [f"{line}: {ran.stderr}"] if ran.returncode else []

    @staticmethod
    def drained(connection):
        """Waits until the worker has settled everything."""
        until = time.monotonic() + 60
        while connection.execute("SELECT count(*) FROM _x_jobs.jobs").fetchone()[0]:
            if time.monotonic() > until:
                return ["the worker did not settle every job within a minute"]
            time.sleep(0.05)
        return []


def check_blocks(tap, databases):
    for path in documents():
        text = path.read_text()
        # The reference's examples have run each by itself.
        if path.name == "reference.md" or not blocks_of(text, "sql"):
            continue
        try:
            problems = Walk(databases, text).run()
        except (ValueError, psycopg.Error, subprocess.TimeoutExpired) as error:
            problems = [error]
        tap.result(problems, f"{path.relative_to(ROOT)} can be followed from top to bottom and gives what it says")


def check_reference(tap):
    environment = {**os.environ, "PGDATABASE": TEMPLATE}
    made = subprocess.run([ROOT / "docs" / "generate"], env=environment, capture_output=True, text=True, check=False)
    committed = (ROOT / "docs" / "reference.md").read_text()
    problems = [made.stderr] if made.returncode else []
    if not problems and made.stdout != committed:
        old, new = committed.split("\n"), made.stdout.split("\n")
        differs = next((n for n, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
        problems = [f"run docs/generate > docs/reference.md; first difference in line {differs + 1}"]
    tap.result(problems, "docs/reference.md is what docs/generate writes")


def without_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors_of(text):
    anchors = set()
    for heading in re.findall(r"^#+ (.*)$", without_blocks(text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchors.add(generate.anchor_of(plain))
    return anchors


def check_links(tap):
    for path in documents():
        problems = []
        for target in re.findall(r"\]\(([^)\s]+)\)", without_blocks(path.read_text())):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists():
                problems.append(f"{target}: no such file")
            elif anchor and anchor not in anchors_of(file.read_text()):
                problems.append(f"{target}: no such heading")
        tap.result(problems, f"every relative link of {path.relative_to(ROOT)} leads somewhere")


def check_names(tap, connection):
    known = {row[0] for row in connection.execute(
        "SELECT proname FROM pg_proc WHERE pronamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)"
        " UNION SELECT relname FROM pg_class WHERE relnamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)"
        " UNION SELECT substr(name, 8) FROM pg_settings WHERE name LIKE 'x\\_jobs.%'").fetchall()}
    known |= {"control", "so", "conf"}
    errors = {row[0] for row in connection.execute("SELECT name FROM _x_jobs.error_catalog()").fetchall()}
    for path in documents():
        text = path.read_text()
        unknown = sorted(set(re.findall(r"\bx_jobs\.(\w+)", text)) - known)
        problems = [f"x_jobs.{name} does not exist" for name in unknown]
        names = set(re.findall(r"\bX_[A-Z]+(?:_[A-Z]+)*\b", text)) - {"X_NAME"}
        problems += [f"{name} is not in the error table" for name in sorted(names - errors)]
        tap.result(problems, f"every function, setting and error that {path.relative_to(ROOT)} names exists")


def check_diagram(tap, connection):
    states = connection.execute("SELECT _x_jobs.states()").fetchone()[0]
    text = (ROOT / "docs" / "concepts.md").read_text()
    section = re.search(r"^## The life of a job\n(.*?)^## ", text, re.DOTALL | re.MULTILINE).group(1)
    diagram = "\n".join(blocks_of(section, "text"))
    named = set(re.findall(r"\[([^\]\n]+)\]", diagram))
    odd = sorted(named ^ set(states))
    tap.result(odd, "the diagram of a job's life names the states of _x_jobs.states(), and no other")


# c is a claim of the one job that there is.
CLAIM = "x_jobs.claim('{default}', 'worker-1') AS c"
MAKE_STATE = {
    "ready": "SELECT 1",
    "delayed": "SELECT 1",
    "running": f"SELECT c.id FROM {CLAIM}",
    "suspended": f"SELECT x_jobs.nack(c.id, 'worker-1', c.claim, '1 hour', park => true) FROM {CLAIM}",
    "done": f"SELECT x_jobs.ack(c.id, 'worker-1', c.claim) FROM {CLAIM}",
    "failed": f"SELECT x_jobs.nack(c.id, 'worker-1', c.claim, fail => true) FROM {CLAIM}",
    "dead": f"SELECT x_jobs.nack(c.id, 'worker-1', c.claim, dead_letter => true) FROM {CLAIM}",
    "cancelled": "SELECT x_jobs.cancel(id) FROM x_jobs.all_jobs",
    "removed": "SELECT x_jobs.remove(id) FROM x_jobs.all_jobs",
}


def answer_of(connection, state, policy):
    """What an enqueue under the policy answers for a key whose job is in the state."""
    try:
        with connection.transaction(force_rollback=True):
            delay = "1 hour" if state == "delayed" else "0"
            first = connection.execute(
                "SELECT id FROM x_jobs.enqueue('work', '1', 'key', delay => %s)", [delay]).fetchone()[0]
            connection.execute(MAKE_STATE[state])
            if state != "removed":
                reached = connection.execute("SELECT state FROM x_jobs.all_jobs").fetchone()[0]
                if reached != state:
                    return f"the job is {reached}"
            second, deduped = connection.execute(
                "SELECT id, deduped FROM x_jobs.enqueue('work', '2', 'key', on_conflict => %s)", [policy]).fetchone()
            if second != first:
                return "a new job" if not deduped else "another job"
            value = connection.execute("SELECT input FROM x_jobs.all_jobs WHERE id = %s", [first]).fetchone()[0]
            return "that job, changed" if value == 2 else "that job"
    except psycopg.Error as error:
        return (error.diag.message_detail or str(error)).split(":")[0]


def check_idempotency_table(tap, connection):
    states = connection.execute("SELECT _x_jobs.states()").fetchone()[0]
    text = (ROOT / "docs" / "concepts.md").read_text()
    section = re.search(r"^## Idempotency\n(.*?)^## ", text, re.DOTALL | re.MULTILINE).group(1)
    rows = [[part.strip().strip("`") for part in line.strip("|").split("|")] for line in section.split("\n")
            if line.startswith("| ")]
    header, body = rows[0], rows[2:]
    policies = header[2:]
    problems = []
    if [row[0] for row in body] != [*states, "removed"]:
        problems.append(f"its rows are {[row[0] for row in body]}")
    if policies != ["dedupe", "error", "replace"]:
        problems.append(f"its columns are {policies}")
    for row in body if not problems else []:
        for policy, stated in zip(policies, row[2:]):
            found = answer_of(connection, row[0], policy)
            if found != stated:
                problems.append(f"{row[0]}, {policy}: the table says {stated!r}, the system {found!r}")
        holds = "yes" if "X_JOB_DUPLICATE" in row else "no"
        if row[1] != holds:
            problems.append(f"{row[0]}: holds the key is {row[1]!r}")
    tap.result(problems, "C-084, ENQ-3, ENQ-4: the idempotency table lists every state and says what happens in each")


def check_changelog(tap, connection):
    version = connection.execute("SELECT x_jobs.version()").fetchone()[0]
    text = (ROOT / "CHANGELOG.md").read_text()
    found = re.search(r"^## \[([^\]]+)\]", text, re.MULTILINE)
    begins_with = found and found.group(1)
    problems = [] if begins_with == version else [f"it begins with {begins_with}, the library is {version}"]
    tap.result(problems, "CHANGELOG.md begins with the version of the library")


def main():
    tap = Tap()
    databases = Databases()
    try:
        databases.create(TEMPLATE, "template0")
        with psycopg.connect(dbname=TEMPLATE, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION x_jobs")
        # A template may have no sessions, so the catalogue is read from a copy.
        catalogue = databases.create(f"{PREFIX}_catalogue", TEMPLATE)
        with psycopg.connect(dbname=catalogue, autocommit=True) as connection:
            connection.execute("LOAD 'x_jobs'")
            check_comments(tap, databases, connection)
            check_names(tap, connection)
            check_diagram(tap, connection)
            check_idempotency_table(tap, connection)
            check_changelog(tap, connection)
        check_blocks(tap, databases)
        check_reference(tap)
        check_links(tap)
    finally:
        databases.close()
    return tap.end()


if __name__ == "__main__":
    sys.exit(main())
