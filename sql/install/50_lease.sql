-- Taking jobs, and holding them.

CREATE FUNCTION x_jobs.claim(
    queues text[],
    worker_id text,
    max_jobs integer DEFAULT 1,
    visibility_timeout interval DEFAULT '30 s',
    wait interval DEFAULT '0',
    names text[] DEFAULT NULL,
    durable boolean DEFAULT true
) RETURNS SETOF x_jobs.claimed_job
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'x_jobs_claim';

CREATE FUNCTION x_jobs.heartbeat(
    id uuid,
    worker_id text,
    claim bigint,
    visibility_timeout interval DEFAULT '30 s'
) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_heartbeat';

CREATE FUNCTION x_jobs.heartbeat_many(
    ids uuid[],
    worker_id text,
    claims bigint[],
    visibility_timeout interval DEFAULT '30 s'
) RETURNS SETOF x_jobs.heartbeat_item
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'x_jobs_heartbeat_many';

CREATE FUNCTION x_jobs.guard(id uuid, worker_id text, claim bigint) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_guard';

CREATE FUNCTION x_jobs.progress(
    id uuid,
    worker_id text,
    claim bigint,
    done numeric,
    total numeric,
    note text DEFAULT NULL
) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_progress';

CREATE PROCEDURE x_jobs.wait(queues text[], timeout interval DEFAULT '5 s')
    LANGUAGE c AS 'MODULE_PATHNAME', 'x_jobs_wait';
