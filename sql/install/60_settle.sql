-- How an attempt ends. Every verb is fenced on (id, worker, claim): a claim that no longer holds the row changes
-- nothing and is told so by value.

CREATE FUNCTION x_jobs.ack(
    id uuid,
    worker_id text,
    claim bigint,
    result jsonb DEFAULT NULL,
    duration interval DEFAULT NULL
) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_ack';

CREATE FUNCTION x_jobs.nack(
    id uuid,
    worker_id text,
    claim bigint,
    delay interval DEFAULT '0',
    error text DEFAULT NULL,
    stack text DEFAULT NULL,
    counts_as_attempt boolean DEFAULT true,
    park boolean DEFAULT false,
    dead_letter boolean DEFAULT false,
    fail boolean DEFAULT false,
    duration interval DEFAULT NULL
) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_nack';

CREATE FUNCTION x_jobs.fail(
    id uuid,
    worker_id text,
    claim bigint,
    error text,
    code text DEFAULT NULL,
    stack text DEFAULT NULL,
    retry_after interval DEFAULT NULL,
    duration interval DEFAULT NULL
) RETURNS x_jobs.failure
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_fail';

CREATE FUNCTION x_jobs.release(
    id uuid,
    worker_id text,
    claim bigint,
    delay interval DEFAULT '0',
    error text DEFAULT NULL
) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_release';

CREATE FUNCTION x_jobs.settle(settlements x_jobs.settlement[], worker_id text) RETURNS SETOF x_jobs.settled_item
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'x_jobs_settle';

CREATE FUNCTION x_jobs.exchange(
    settlements x_jobs.settlement[],
    queues text[],
    worker_id text,
    max_jobs integer DEFAULT 1,
    visibility_timeout interval DEFAULT '30 s',
    wait interval DEFAULT '0',
    names text[] DEFAULT NULL,
    durable boolean DEFAULT true
) RETURNS SETOF x_jobs.exchanged_job
    LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 10 AS 'MODULE_PATHNAME', 'x_jobs_exchange';
