-- Making jobs, and changing one by hand.

CREATE FUNCTION x_jobs.enqueue(
    name text,
    input jsonb DEFAULT 'null',
    idempotency_key text DEFAULT NULL,
    queue text DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    delay interval DEFAULT NULL,
    priority integer DEFAULT NULL,
    max_attempts integer DEFAULT NULL,
    tenant_id text DEFAULT NULL,
    on_conflict text DEFAULT 'dedupe',
    expires_at timestamptz DEFAULT NULL,
    tags text[] DEFAULT NULL,
    dedupe boolean DEFAULT true,
    traceparent text DEFAULT NULL,
    enqueued_by text DEFAULT NULL,
    id uuid DEFAULT NULL,
    run_id uuid DEFAULT NULL
) RETURNS x_jobs.enqueued
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_enqueue';

CREATE FUNCTION x_jobs.enqueue_many(
    name text,
    inputs jsonb[],
    idempotency_keys text[] DEFAULT NULL,
    queue text DEFAULT NULL,
    run_at timestamptz DEFAULT NULL,
    delay interval DEFAULT NULL,
    priority integer DEFAULT NULL,
    max_attempts integer DEFAULT NULL,
    tenant_id text DEFAULT NULL,
    on_conflict text DEFAULT 'dedupe',
    expires_at timestamptz DEFAULT NULL,
    tags text[] DEFAULT NULL,
    dedupe boolean DEFAULT true,
    traceparent text DEFAULT NULL,
    enqueued_by text DEFAULT NULL
) RETURNS SETOF x_jobs.enqueued_item
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_enqueue_many';

CREATE FUNCTION x_jobs.enqueue_many(jobs x_jobs.new_job[]) RETURNS SETOF x_jobs.enqueued_item
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_enqueue_mix';

CREATE FUNCTION x_jobs.new_id() RETURNS uuid
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_new_id';

CREATE FUNCTION x_jobs.cancel(id uuid, reason text DEFAULT NULL) RETURNS x_jobs.job
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_cancel';

CREATE FUNCTION x_jobs.requeue(id uuid) RETURNS x_jobs.job
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_requeue';

CREATE FUNCTION x_jobs.remove(id uuid) RETURNS x_jobs.job
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_remove';

CREATE FUNCTION x_jobs.promote(id uuid) RETURNS x_jobs.job
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_promote';
