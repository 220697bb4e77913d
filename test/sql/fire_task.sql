-- If this failed, nobody could run a task out of turn, or doing so would disturb its schedule.
-- SCHED-12 SCHED-27
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT x_jobs.schedule('fire_task', '@yearly', 'Asia/Kolkata', '[{"name": "one", "queue": "fire_task", "idempotency_key": "k", "priority": 1, "max_attempts": 7, "tags": ["t"],
    "input": {"utc": "{{occurrence}}", "local": "{{local_time}}", "date": "{{local_date}}"}}, {"name": "two", "queue": "fire_task"}]') > now() AS next;
SELECT x_jobs.watermark_get('fire_task') AS watermark \gset

-- Normal: each entry under its own key, and without one a new job each time.
SELECT ordinal, deduped FROM x_jobs.fire_task('fire_task');
SELECT ordinal, deduped FROM x_jobs.fire_task(task => 'fire_task');
SELECT name, idempotency_key, priority, max_attempts, tags, tenant_id, state, count(*) FROM x_jobs.all_jobs WHERE queue = 'fire_task' GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY name;
SELECT (input ->> 'utc')::timestamptz BETWEEN now() - interval '1 min' AND now() AS utc,
    (input ->> 'local')::timestamp - ((input ->> 'utc')::timestamptz AT TIME ZONE 'UTC') AS ahead, left(input ->> 'local', 10) = input ->> 'date' AS date
  FROM x_jobs.all_jobs WHERE queue = 'fire_task' AND name = 'one';
-- The schedule notices nothing of it, the history does.
SELECT watermark = :'watermark' AS untouched, last_occurrence, dispatched_at FROM x_jobs.tasks WHERE task = 'fire_task';
SELECT count(*) FROM x_jobs.task_fires() WHERE task = 'fire_task';
SELECT outcome, slots, cardinality(jobs) AS jobs, moved, lateness BETWEEN interval '0' AND interval '1 min' AS lateness FROM x_jobs.task_history('fire_task');

-- Empty: a function that answers nothing.
CREATE FUNCTION public.fire_task_nothing(occurrence timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$ SELECT NULL::x_jobs.new_job WHERE false $$;
SELECT x_jobs.schedule('fire_task', '@yearly', entries_function => 'public.fire_task_nothing(timestamptz)') > now() AS next;
SELECT * FROM x_jobs.fire_task('fire_task');
SELECT outcome, jobs FROM x_jobs.task_history('fire_task', 1);
SELECT * FROM x_jobs.fire_task('fire_task.none');
\echo :LAST_ERROR_SQLSTATE

-- Wrong: the argument, and a function that answers what is no job, or raises, or is gone.
SELECT * FROM x_jobs.fire_task(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.fire_task('');
SELECT * FROM x_jobs.fire_task(repeat('t', 256));
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE FUNCTION public.fire_task_nothing(occurrence timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$
    SELECT jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "one", "queue": "fire_task", "priority": 10}') $$;
SELECT * FROM x_jobs.fire_task('fire_task');
\echo :LAST_ERROR_SQLSTATE
CREATE OR REPLACE FUNCTION public.fire_task_nothing(occurrence timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql AS $$ BEGIN RAISE 'no list of shops'; END $$;
SELECT * FROM x_jobs.fire_task('fire_task');
\echo :LAST_ERROR_SQLSTATE
DROP FUNCTION public.fire_task_nothing;
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.fire_task('fire_task');
\set VERBOSITY default

-- Forbidden: a task of somebody else, and a worker. A function runs with its owner's rights, whoever fires; without the right to produce it does not run.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
CREATE ROLE regress_x_jobs_operator;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_producer('regress_x_jobs_producer'), x_jobs.grant_operator('regress_x_jobs_operator'), x_jobs.grant_worker('regress_x_jobs_worker');
CREATE FUNCTION public.fire_task_who(occurrence timestamptz) RETURNS x_jobs.new_job LANGUAGE sql AS $$
    SELECT jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', 'who', 'queue', 'fire_task', 'input', current_user)) $$;
GRANT EXECUTE ON FUNCTION public.fire_task_who TO regress_x_jobs_producer;
SAVEPOINT before;
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.fire_task('fire_task');
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.fire_task('fire_task');
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.schedule('fire_task.who', '@yearly', entries_function => 'public.fire_task_who(timestamptz)') > now() AS next;
SET LOCAL ROLE regress_x_jobs_operator;
SELECT ordinal, deduped FROM x_jobs.fire_task('fire_task.who');
SELECT input FROM x_jobs.all_jobs WHERE name = 'who';
RESET ROLE;
SELECT x_jobs.revoke_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_operator;
SELECT * FROM x_jobs.fire_task('fire_task.who');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.unschedule('fire_task');
DELETE FROM _x_jobs.task_log WHERE task = 'fire_task';
