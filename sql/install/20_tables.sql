-- Storage. Private: never granted, and read or written only by the library and by the functions of _x_jobs.
-- The order of the columns of jobs, history, attempts and the tallies is known to src/store/.

-- LIVE rows only: ready, delayed, running, suspended. A finished row leaves for history, so the dedupe key needs
-- no predicate and finished work costs a claim nothing. No index names state: a claim and a heartbeat are HOT.
-- What never changes comes first: the WAL of an update holds only what follows the first byte that differs.
CREATE TABLE _x_jobs.jobs (
    id uuid NOT NULL,
    run_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
    max_attempts integer NOT NULL DEFAULT 3,
    priority smallint NOT NULL DEFAULT 5 CHECK (priority BETWEEN 0 AND 9),
    blocked boolean NOT NULL DEFAULT false,
    dead_letters boolean NOT NULL DEFAULT true,
    queue text COLLATE "C" NOT NULL DEFAULT 'default',
    name text COLLATE "C" NOT NULL,
    tenant_id text COLLATE "C" NOT NULL DEFAULT '',
    idempotency_key text COLLATE "C" CHECK (idempotency_key <> ''),
    input jsonb NOT NULL DEFAULT 'null',
    expires_at timestamptz,
    timeout interval,
    tags text[] COLLATE "C",
    traceparent text COLLATE "C",
    enqueued_by text COLLATE "C",
    -- From here on what a claim, a renewal or a settle changes.
    run_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT pg_catalog.now(),
    claim bigint NOT NULL DEFAULT 0,
    attempt integer NOT NULL DEFAULT 0,
    state text COLLATE "C" NOT NULL DEFAULT 'ready',
    claimed_by text COLLATE "C",
    claimed_at timestamptz,
    visible_at timestamptz,
    last_error text COLLATE "C",
    last_error_code text COLLATE "C",
    last_error_stack text COLLATE "C",
    progress jsonb,
    blocked_by text COLLATE "C",
    CONSTRAINT jobs_pkey PRIMARY KEY (id)
) WITH (
    -- Room for the HOT updates of a whole claimed backlog, and vacuum by the row rather than by the share. Rows lie in the
    -- order in which they are claimed, so a page is claimed and renewed all at once; half a page would just do.
    fillfactor = 45,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 2000
);
-- The key first: it tells most entries apart at the first comparison.
CREATE UNIQUE INDEX jobs_dedupe ON _x_jobs.jobs (idempotency_key, name, tenant_id);
CREATE INDEX jobs_claim ON _x_jobs.jobs (queue, priority, run_at, id) WHERE NOT blocked;

-- Finished rows: the columns of jobs, then their own. A fixed ring of leaves, so that nothing is ever created or
-- dropped at run time: a row's leaf follows from the instant at which it may be purged, a leaf is purged whole by
-- TRUNCATE, and leaf 32 keeps what has no such instant, or one beyond the ring.
CREATE TABLE _x_jobs.history (
    LIKE _x_jobs.jobs,
    result jsonb,
    reason text COLLATE "C",
    finished_at timestamptz NOT NULL,
    purge_at timestamptz,
    segment smallint NOT NULL
) PARTITION BY LIST (segment);
CREATE INDEX history_id ON _x_jobs.history (id);
CREATE INDEX history_stopped ON _x_jobs.history (queue, state) WHERE state IN ('dead', 'failed');
CREATE INDEX history_dead ON _x_jobs.history (updated_at) WHERE state = 'dead';

DO $$
DECLARE
    leaf text;
BEGIN
    FOR n IN 0 .. 32 LOOP
        leaf := CASE WHEN n = 32 THEN 'history_keep' ELSE pg_catalog.format('history_%s', pg_catalog.lpad(n::text, 2, '0')) END;
        EXECUTE pg_catalog.format('CREATE TABLE _x_jobs.%I PARTITION OF _x_jobs.history FOR VALUES IN (%s)', leaf, n);
        EXECUTE pg_catalog.format('COMMENT ON TABLE _x_jobs.%I IS %L', leaf, 'One leaf of the history ring');
        PERFORM pg_catalog.pg_extension_config_dump(pg_catalog.format('_x_jobs.%I', leaf)::pg_catalog.regclass, '');
    END LOOP;
END $$;
CREATE INDEX history_keep_purge ON _x_jobs.history_keep (purge_at) WHERE purge_at IS NOT NULL;

-- The bounds of the ring: leaf `segment` holds the rows whose purge instant lies below `upper` and not below the
-- next smaller upper. Empty until the first settle or maintain() lays the ring out, so that a restored dump
-- brings its own bounds.
CREATE TABLE _x_jobs.history_leaves (
    segment smallint NOT NULL CHECK (segment BETWEEN 0 AND 31),
    upper timestamptz NOT NULL,
    CONSTRAINT history_leaves_pkey PRIMARY KEY (segment)
);

-- One narrow row for each ended attempt; three tables used in turn, so that one can be rolled up and emptied
-- while settles write to another. Outcomes: d done, f failed, x dead, r retried.
CREATE TABLE _x_jobs.tally_0 (
    ended_at timestamptz NOT NULL,
    duration_ms bigint NOT NULL,
    outcome "char" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL
);
CREATE TABLE _x_jobs.tally_1 (LIKE _x_jobs.tally_0);
CREATE TABLE _x_jobs.tally_2 (LIKE _x_jobs.tally_0);
CREATE VIEW _x_jobs.tally AS
    SELECT ended_at, duration_ms, outcome, queue, name FROM _x_jobs.tally_0
    UNION ALL SELECT ended_at, duration_ms, outcome, queue, name FROM _x_jobs.tally_1
    UNION ALL SELECT ended_at, duration_ms, outcome, queue, name FROM _x_jobs.tally_2;

-- Which tally is written now; no row means the first.
CREATE TABLE _x_jobs.tally_turn (
    current smallint NOT NULL CHECK (current BETWEEN 0 AND 2)
);

-- What the tallies were rolled up into: buckets one, five and sixty minutes wide, wider the older they are.
CREATE TABLE _x_jobs.counters (
    name text COLLATE "C" NOT NULL,
    width interval NOT NULL,
    bucket_start timestamptz NOT NULL,
    done bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0,
    retried bigint NOT NULL DEFAULT 0,
    duration_ms bigint NOT NULL DEFAULT 0,
    CONSTRAINT counters_pkey PRIMARY KEY (name, width, bucket_start)
);

CREATE TABLE _x_jobs.queue_totals (
    queue text COLLATE "C" NOT NULL,
    done bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0,
    CONSTRAINT queue_totals_pkey PRIMARY KEY (queue)
);

-- One row for each attempt that failed, for people.
CREATE TABLE _x_jobs.attempts (
    job_id uuid NOT NULL,
    run_id uuid NOT NULL,
    started_at timestamptz,
    ended_at timestamptz NOT NULL,
    claim bigint NOT NULL,
    duration_ms bigint NOT NULL,
    attempt integer NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    worker_id text COLLATE "C",
    error text COLLATE "C",
    error_code text COLLATE "C",
    error_stack text COLLATE "C"
);
CREATE INDEX attempts_job ON _x_jobs.attempts (job_id, claim);
CREATE INDEX attempts_ended ON _x_jobs.attempts (ended_at);

-- A row for each queue ever used, made at its first use; what is set for the queue as a whole stands here.
CREATE TABLE _x_jobs.queues (
    queue text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    paused_at timestamptz,
    paused_reason text COLLATE "C",
    paused_by text COLLATE "C",
    CONSTRAINT queues_pkey PRIMARY KEY (queue)
);

-- Who may produce, work and operate. A worker's queue of NULL means every queue.
CREATE TABLE _x_jobs.grants (
    role regrole NOT NULL,
    capability text COLLATE "C" NOT NULL CHECK (capability IN ('producer', 'worker', 'operator')),
    queue text COLLATE "C" CHECK (queue IS NULL OR capability = 'worker'),
    granted_at timestamptz NOT NULL DEFAULT pg_catalog.now()
);
CREATE UNIQUE INDEX grants_once ON _x_jobs.grants (role, capability, (COALESCE(queue, '')));

CREATE TABLE _x_jobs.workers (
    worker_id text COLLATE "C" NOT NULL,
    host text COLLATE "C",
    queues text[] COLLATE "C" NOT NULL,
    slots integer NOT NULL,
    in_flight uuid[] NOT NULL,
    started_at timestamptz NOT NULL,
    heartbeat_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT workers_pkey PRIMARY KEY (worker_id)
);

-- Recurring work: when, and what.
CREATE TABLE _x_jobs.tasks (
    task text COLLATE "C" NOT NULL,
    owner regrole NOT NULL,
    cron text COLLATE "C" NOT NULL,
    time_zone text COLLATE "C" NOT NULL,
    day_rule text COLLATE "C" NOT NULL CHECK (day_rule IN ('or', 'and')),
    -- One of the two: an array of objects, or the signature of a function of the occurrence. Not a regprocedure, which
    -- pg_upgrade refuses.
    entries jsonb,
    entries_function text COLLATE "C",
    catch_up text COLLATE "C" NOT NULL CHECK (catch_up IN ('latest', 'earliest', 'all', 'none')),
    max_catch_up integer NOT NULL CHECK (max_catch_up >= 1),
    overlap text COLLATE "C" NOT NULL CHECK (overlap IN ('allow', 'skip', 'queue')),
    -- The periods of an @every count from here.
    anchor timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    paused_at timestamptz,
    paused_reason text COLLATE "C",
    paused_by text COLLATE "C",
    CONSTRAINT tasks_pkey PRIMARY KEY (task),
    CONSTRAINT tasks_entries CHECK ((entries IS NULL) <> (entries_function IS NULL))
);

-- How far each task has been dealt with; also for those that only a scheduler outside knows. The row's lock is the task's
-- lock.
CREATE TABLE _x_jobs.task_states (
    task text COLLATE "C" NOT NULL,
    -- No occurrence up to here is fired any more.
    watermark timestamptz,
    last_occurrence timestamptz,
    dispatched_at timestamptz,
    last_jobs uuid[] NOT NULL DEFAULT '{}',
    -- An occurrence that waits for its predecessor.
    pending timestamptz,
    -- The clock when the watermark last moved, and how far it had come before the clock was set back.
    moved_at timestamptz,
    ahead_until timestamptz,
    -- A hint: nothing is to be done before; NULL when nobody knows.
    next_at timestamptz,
    -- When its function was last begun; NULL once that turn has ended, so what a new scheduler finds here was cut off.
    tried_at timestamptz,
    failures integer NOT NULL DEFAULT 0,
    failed_at timestamptz,
    error text COLLATE "C",
    CONSTRAINT task_states_pkey PRIMARY KEY (task)
) WITH (fillfactor = 50);

-- What became of occurrences: one row, or one for a run of neighbours that went the same way.
CREATE TABLE _x_jobs.task_log (
    task text COLLATE "C" NOT NULL,
    occurrence timestamptz NOT NULL,
    upto timestamptz NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    -- How many occurrences; NULL for more than could be counted quickly.
    slots bigint,
    decided_at timestamptz NOT NULL,
    moved interval,
    jobs uuid[]
);
CREATE INDEX task_log_task ON _x_jobs.task_log (task, occurrence, decided_at);

-- Each call in a statement of its own: the server rewrites one catalogue row each time.
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.jobs', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.history_leaves', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.tally_0', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.tally_1', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.tally_2', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.tally_turn', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.counters', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.queue_totals', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.attempts', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.queues', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.grants', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.workers', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.tasks', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.task_states', '');
SELECT pg_catalog.pg_extension_config_dump('_x_jobs.task_log', '');

-- Pauses, grants, the ring and the turn are mirrored in every backend; whoever writes one of these tables, by
-- whatever means, has the mirrors dropped at commit.
CREATE FUNCTION _x_jobs.drop_mirrors() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_drop_mirrors';
CREATE TRIGGER drop_mirrors AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON _x_jobs.history_leaves
    FOR EACH STATEMENT EXECUTE FUNCTION _x_jobs.drop_mirrors();
CREATE TRIGGER drop_mirrors AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON _x_jobs.tally_turn
    FOR EACH STATEMENT EXECUTE FUNCTION _x_jobs.drop_mirrors();
CREATE TRIGGER drop_mirrors AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON _x_jobs.queues
    FOR EACH STATEMENT EXECUTE FUNCTION _x_jobs.drop_mirrors();
CREATE TRIGGER drop_mirrors AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON _x_jobs.grants
    FOR EACH STATEMENT EXECUTE FUNCTION _x_jobs.drop_mirrors();
-- No exception for a session with session_replication_role = replica.
ALTER TABLE _x_jobs.history_leaves ENABLE ALWAYS TRIGGER drop_mirrors;
ALTER TABLE _x_jobs.tally_turn ENABLE ALWAYS TRIGGER drop_mirrors;
ALTER TABLE _x_jobs.queues ENABLE ALWAYS TRIGGER drop_mirrors;
ALTER TABLE _x_jobs.grants ENABLE ALWAYS TRIGGER drop_mirrors;

-- The heads in shared memory follow what the library writes; who writes the live table with statements of their own
-- (COPY of a restore, a repair by hand) has every place of its queues opened again.
CREATE FUNCTION _x_jobs.written_by_hand() RETURNS trigger
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_written_by_hand';
CREATE TRIGGER written_by_hand BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON _x_jobs.jobs
    FOR EACH STATEMENT EXECUTE FUNCTION _x_jobs.written_by_hand();
ALTER TABLE _x_jobs.jobs ENABLE ALWAYS TRIGGER written_by_hand;
