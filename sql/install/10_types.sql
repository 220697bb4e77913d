-- The rows that the surface takes and gives. A caller names columns; their order is part of the contract of
-- src/store/surface.hpp, which fills them by position.

CREATE TYPE x_jobs.enqueued AS (
    id uuid,
    run_id uuid,
    deduped boolean
);

CREATE TYPE x_jobs.enqueued_item AS (
    ordinal integer,
    id uuid,
    run_id uuid,
    deduped boolean
);

CREATE TYPE x_jobs.new_job AS (
    name text,
    input jsonb,
    idempotency_key text,
    queue text,
    run_at timestamptz,
    delay interval,
    priority integer,
    max_attempts integer,
    tenant_id text,
    on_conflict text,
    expires_at timestamptz,
    tags text[],
    dedupe boolean,
    traceparent text,
    enqueued_by text,
    id uuid,
    run_id uuid
);

CREATE TYPE x_jobs.claimed_job AS (
    id uuid,
    name text,
    queue text,
    priority integer,
    input jsonb,
    idempotency_key text,
    run_id uuid,
    attempt integer,
    max_attempts integer,
    final_attempt boolean,
    claim bigint,
    worker_id text,
    tenant_id text,
    tags text[],
    run_at timestamptz,
    created_at timestamptz,
    claimed_at timestamptz,
    visible_at timestamptz,
    timeout interval,
    last_error text,
    traceparent text,
    enqueued_by text
);

CREATE TYPE x_jobs.exchanged_job AS (
    status text,
    id uuid,
    name text,
    queue text,
    priority integer,
    input jsonb,
    idempotency_key text,
    run_id uuid,
    attempt integer,
    max_attempts integer,
    final_attempt boolean,
    claim bigint,
    worker_id text,
    tenant_id text,
    tags text[],
    run_at timestamptz,
    created_at timestamptz,
    claimed_at timestamptz,
    visible_at timestamptz,
    timeout interval,
    last_error text,
    traceparent text,
    enqueued_by text
);

CREATE TYPE x_jobs.job AS (
    id uuid,
    name text,
    queue text,
    state text,
    priority integer,
    input jsonb,
    idempotency_key text,
    run_id uuid,
    attempt integer,
    max_attempts integer,
    final_attempt boolean,
    claim bigint,
    worker_id text,
    tenant_id text,
    tags text[],
    run_at timestamptz,
    created_at timestamptz,
    updated_at timestamptz,
    claimed_at timestamptz,
    visible_at timestamptz,
    finished_at timestamptz,
    expires_at timestamptz,
    timeout interval,
    last_error text,
    last_error_code text,
    last_error_stack text,
    progress jsonb,
    result jsonb,
    reason text,
    traceparent text,
    enqueued_by text
);

CREATE TYPE x_jobs.settlement AS (
    id uuid,
    claim bigint,
    verb text,
    result jsonb,
    error text,
    code text,
    stack text,
    delay interval,
    retry_after interval,
    duration interval
);

CREATE TYPE x_jobs.settled_item AS (
    ordinal integer,
    id uuid,
    landed boolean,
    outcome text
);

CREATE TYPE x_jobs.failure AS (
    landed boolean,
    outcome text,
    retry_at timestamptz,
    stop_reason text
);

CREATE TYPE x_jobs.heartbeat_item AS (
    id uuid,
    held boolean
);

CREATE TYPE x_jobs.queue_stats AS (
    queue text,
    ready bigint,
    delayed bigint,
    running bigint,
    suspended bigint,
    failed bigint,
    dead bigint,
    oldest_ready interval
);

CREATE TYPE x_jobs.attempt AS (
    id uuid,
    run_id uuid,
    attempt integer,
    claim bigint,
    worker_id text,
    started_at timestamptz,
    ended_at timestamptz,
    outcome text,
    error text,
    error_code text,
    error_stack text,
    duration interval
);

CREATE TYPE x_jobs.paused_queue AS (
    queue text,
    paused_at timestamptz,
    reason text,
    paused_by text
);

CREATE TYPE x_jobs.counter AS (
    name text,
    width interval,
    bucket_start timestamptz,
    done bigint,
    failed bigint,
    dead bigint,
    retried bigint,
    duration interval
);

CREATE TYPE x_jobs.counter_total AS (
    name text,
    done bigint,
    failed bigint,
    dead bigint,
    retried bigint,
    duration interval
);

CREATE TYPE x_jobs.worker AS (
    worker_id text,
    host text,
    queues text[],
    slots integer,
    in_flight uuid[],
    started_at timestamptz,
    heartbeat_at timestamptz,
    expires_at timestamptz
);

CREATE TYPE x_jobs.leadership AS (
    key text,
    holder text,
    acquired_at timestamptz,
    renewed_at timestamptz,
    expires_at timestamptz
);

CREATE TYPE x_jobs.maintained AS (
    task text,
    affected bigint
);

CREATE TYPE x_jobs.fired AS (
    fired boolean,
    jobs x_jobs.enqueued_item[]
);

CREATE TYPE x_jobs.task_fire AS (
    task text,
    last_occurrence timestamptz,
    dispatched_at timestamptz
);

CREATE TYPE x_jobs.task AS (
    task text,
    owner text,
    cron text,
    time_zone text,
    day_rule text,
    entries jsonb,
    entries_function text,
    catch_up text,
    max_catch_up integer,
    overlap text,
    state text,
    paused_at timestamptz,
    paused_reason text,
    paused_by text,
    created_at timestamptz,
    updated_at timestamptz,
    watermark timestamptz,
    next_occurrence timestamptz,
    utc_offset interval,
    pending timestamptz,
    last_occurrence timestamptz,
    dispatched_at timestamptz,
    failures integer,
    failed_at timestamptz,
    error text
);

CREATE TYPE x_jobs.task_event AS (
    task text,
    occurrence timestamptz,
    upto timestamptz,
    outcome text,
    slots bigint,
    decided_at timestamptz,
    lateness interval,
    moved interval,
    jobs uuid[]
);

CREATE TYPE x_jobs.background_worker AS (
    worker text,
    database text,
    pid integer,
    state text,
    since timestamptz,
    starts bigint,
    rounds bigint
);

CREATE TYPE x_jobs.health_check AS (
    name text,
    state text,
    detail text,
    hint text
);
