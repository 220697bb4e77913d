-- If this failed, an occurrence could be fired twice, or its watermark would move without its jobs.
-- SCHED-7 SCHED-8 SCHED-9 SCHED-10 SCHED-11 SCHED-12 SCHED-13 SCHED-14 SCHED-17 SCHED-29
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE FUNCTION pg_temp.jobs(list jsonb) RETURNS x_jobs.new_job[] LANGUAGE sql AS $$
    SELECT array_agg(jsonb_populate_record(NULL::x_jobs.new_job, e) ORDER BY place) FROM jsonb_array_elements(list) WITH ORDINALITY AS l (e, place)
$$;

-- Empty: no jobs, and yet the occurrence is dealt with.
SELECT * FROM x_jobs.fire('fire.none', '2026-11-01 02:00:00+00', '{}');
SELECT x_jobs.watermark_get('fire.none');
SELECT * FROM x_jobs.fire('fire.none', '2026-11-01 02:00:00+00', '{}');

-- Normal: one answer for each job by its place, keys that name the occurrence, due at it; what only a request could bring is left out.
SELECT f.fired, j.ordinal, j.deduped FROM x_jobs.fire(task => 'fire', occurrence => '2026-11-01 02:00:00+00', jobs => pg_temp.jobs('[{"name": "one", "queue": "fire", "idempotency_key": "k", "input": 7,
    "priority": 1, "max_attempts": 2, "tags": ["t"], "tenant_id": "acme", "delay": "1 h", "traceparent": "tp", "enqueued_by": "somebody", "on_conflict": "error"},
    {"name": "two", "queue": "fire"}, {"name": "one", "queue": "fire", "idempotency_key": "k"}]'), landing => NULL) AS f, unnest(f.jobs) AS j ORDER BY j.ordinal;
SELECT name, idempotency_key, input, run_at, state, priority, max_attempts, tags, tenant_id, traceparent, enqueued_by FROM x_jobs.all_jobs WHERE queue = 'fire' ORDER BY id;
SELECT x_jobs.watermark_get('fire');
-- The fence is the occurrence, also after its jobs have ended, and for one that lies behind.
SELECT count(*) FILTER (WHERE x_jobs.ack(id, 'worker-1', claim)) AS acked FROM x_jobs.claim(ARRAY['fire'], 'worker-1', 10);
SELECT * FROM x_jobs.fire('fire', '2026-11-01 02:00:00+00', pg_temp.jobs('[{"name": "one", "queue": "fire"}]'));
SELECT * FROM x_jobs.fire('fire', '2026-10-31 02:00:00+00', pg_temp.jobs('[{"name": "one", "queue": "fire"}]'));
SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'fire';
SELECT task, last_occurrence FROM x_jobs.task_fires() WHERE task = 'fire';
-- A job that meets a live one of its key is that one.
SELECT count(*) FROM x_jobs.enqueue('met', queue => 'fire', idempotency_key => 'fire:1793671200000:1');
SELECT fired, (jobs[1]).deduped FROM x_jobs.fire('fire', '2026-11-03 02:00:00+00', pg_temp.jobs('[{"name": "met", "queue": "fire"}]'));
-- The landing: further on if that is asked for, never behind the occurrence.
SELECT fired FROM x_jobs.fire('fire', '2026-11-04 02:00:00+00', '{}', landing => '2026-11-06 00:00:00+00');
SELECT x_jobs.watermark_get('fire');
SELECT fired FROM x_jobs.fire('fire', '2026-11-05 02:00:00+00', '{}');
SELECT fired FROM x_jobs.fire('fire', '2026-11-07 02:00:00+00', '{}', landing => '2026-11-06 00:00:00+00');
SELECT x_jobs.watermark_get('fire');
-- An occurrence in the future makes a job that waits for it.
SELECT fired FROM x_jobs.fire('fire', date_trunc('day', now()) + interval '2 d', pg_temp.jobs('[{"name": "later", "queue": "fire"}]'));
SELECT state FROM x_jobs.all_jobs WHERE queue = 'fire' AND name = 'later';
-- All of it or nothing.
SELECT x_jobs.watermark_get('fire') AS watermark \gset
BEGIN;
SELECT fired FROM x_jobs.fire('fire', '2100-01-01 00:00:00+00', pg_temp.jobs('[{"name": "undone", "queue": "fire"}]'));
ROLLBACK;
SELECT fired FROM x_jobs.fire('fire', '2100-01-01 00:00:00+00', pg_temp.jobs('[{"name": "undone", "queue": "fire"}, {"name": "undone", "queue": "fire", "priority": 10}]'));
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.watermark_get('fire') = :'watermark' AS untouched, (SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'fire' AND name = 'undone') AS jobs;

-- Wrong.
SELECT * FROM x_jobs.fire(NULL, '2026-11-01 02:00:00+00', '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.fire(repeat('t', 256), '2026-11-01 02:00:00+00', '{}');
SELECT * FROM x_jobs.fire('fire.x', NULL, '{}');
SELECT * FROM x_jobs.fire('fire.x', 'infinity', '{}');
SELECT * FROM x_jobs.fire('fire.x', '2026-11-01 02:00:00+00', NULL);
SELECT * FROM x_jobs.fire('fire.x', '2026-11-01 02:00:00+00', ARRAY[NULL]::x_jobs.new_job[]);
SELECT * FROM x_jobs.fire('fire.x', '2026-11-01 02:00:00+00', '{}', landing => 'infinity');
SELECT * FROM x_jobs.fire('fire.x', '2026-11-01 02:00:00+00', pg_temp.jobs(format('[{"name": "job", "idempotency_key": "%s"}]', repeat('k', 1024))::jsonb));
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.watermark_get('fire.x');

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.fire('fire', '2100-01-01 00:00:00+00', '{}');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
DELETE FROM _x_jobs.task_states WHERE task LIKE 'fire%';
DELETE FROM _x_jobs.task_log WHERE task LIKE 'fire%';
