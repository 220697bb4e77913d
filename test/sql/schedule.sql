-- If this failed, a task would not be made as it was asked for, or somebody could take another's.
-- SCHED-1 SCHED-2 X-3 X-18 CRON-12 C-017
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- Normal: the defaults, and every argument. The next occurrence is answered, and nothing fires for the past.
SELECT x_jobs.schedule('schedule.a', '30 2 1 1 *', entries => '{"name": "job"}') = (SELECT * FROM x_jobs.cron_next('30 2 1 1 *')) AS next;
SELECT x_jobs.schedule(task => 'schedule.b', cron => '0 12 13 * fri', time_zone => 'asia/kolkata', entries => '[{"name": "one", "input": {"on": "{{local_date}}"},
    "idempotency_key": "k", "queue": "schedule", "priority": 2, "max_attempts": 5, "tags": ["t"]}, {"name": "two"}]', catch_up => 'all', max_catch_up => 3, overlap => 'queue',
    day_rule => 'and', paused => true) = (SELECT * FROM x_jobs.cron_next('0 12 13 * fri', 'Asia/Kolkata', day_rule => 'and')) AS next;
SELECT task, owner = current_user AS mine, cron, time_zone, day_rule, entries, catch_up, max_catch_up, overlap, state, paused_by = current_user AS by_me, utc_offset, failures
  FROM x_jobs.tasks WHERE task LIKE 'schedule.%';
SELECT task, next_occurrence - watermark AS before, last_occurrence, dispatched_at, pending FROM x_jobs.tasks WHERE task LIKE 'schedule.%';
SELECT count(*) FROM x_jobs.task_history('schedule.a');
-- The other names of catch_up.
CREATE FUNCTION pg_temp.stored(given text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM x_jobs.schedule('schedule.c', '@yearly', entries => '{"name": "job"}', catch_up => given);
    RETURN (SELECT t.catch_up FROM x_jobs.tasks AS t WHERE t.task = 'schedule.c');
END $$;
SELECT given, pg_temp.stored(given) FROM unnest(ARRAY['latest', 'skip', 'earliest', 'run-once', 'all', 'run-all', 'none']) AS given;
-- An interval counts from when the task was made, and still does when the rest of the task is changed.
SELECT x_jobs.schedule('schedule.d', '@every 100 s', entries => '{"name": "job"}') AS next \gset
SELECT :'next'::timestamptz - created_at BETWEEN interval '99 s' AND interval '100 s' AS a_period FROM x_jobs.tasks WHERE task = 'schedule.d';
SET x_jobs.test_clock_offset = '40 s';
SELECT x_jobs.schedule('schedule.d', '@every 100 s', entries => '{"name": "another"}') = :'next' AS same;
SELECT updated_at - created_at > interval '39 s' AS kept_its_beginning, entries FROM x_jobs.tasks WHERE task = 'schedule.d';
SELECT x_jobs.schedule('schedule.d', '@every 200 s', entries => '{"name": "another"}') - :'next' BETWEEN interval '139 s' AND interval '170 s' AS anew;
RESET x_jobs.test_clock_offset;
-- Scheduling as paused keeps a pause; otherwise it ends it.
SELECT paused_at AS paused_at FROM x_jobs.tasks WHERE task = 'schedule.b' \gset
SELECT x_jobs.schedule('schedule.b', '@daily', entries => '{"name": "job"}', paused => true) IS NOT NULL AS next;
SELECT state, paused_at = :'paused_at' AS since_then FROM x_jobs.tasks WHERE task = 'schedule.b';
SELECT x_jobs.schedule('schedule.b', '@daily', entries => '{"name": "job"}') IS NOT NULL AS next;
SELECT state, paused_at FROM x_jobs.tasks WHERE task = 'schedule.b';
-- A function of entries, in each of its three forms.
CREATE FUNCTION public.schedule_one(occurrence timestamptz) RETURNS x_jobs.new_job LANGUAGE sql AS $$
    SELECT jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', 'one', 'queue', 'schedule')) $$;
CREATE FUNCTION public.schedule_many(occurrence timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$
    SELECT jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', 'many', 'queue', 'schedule', 'input', n)) FROM generate_series(1, 2) AS n $$;
CREATE FUNCTION public.schedule_array(occurrence timestamptz) RETURNS x_jobs.new_job[] LANGUAGE sql AS $$ SELECT ARRAY(SELECT public.schedule_many($1)) $$;
CREATE FUNCTION public.schedule_wrong(occurrence timestamptz) RETURNS text LANGUAGE sql AS $$ SELECT 'job' $$;
SELECT function, count(fired.id) FROM unnest(ARRAY['schedule_one', 'schedule_many', 'schedule_array']) AS function,
       x_jobs.schedule('schedule.' || function, '@yearly', entries_function => ('public.' || function || '(timestamptz)')::regprocedure) AS next,
       LATERAL (SELECT id FROM x_jobs.fire_task('schedule.' || function) WHERE next IS NOT NULL) AS fired GROUP BY function ORDER BY function;
SELECT task, entries, entries_function FROM x_jobs.tasks WHERE task LIKE 'schedule.schedule%';

-- Empty: an entry without anything but a name, and with an input that is nothing.
SELECT x_jobs.schedule('schedule.a', '0 0 29 2 *', entries => '{"name": "job", "input": null}') > now() AS next;

-- Wrong.
CREATE FUNCTION pg_temp.refusal(statement text, OUT code text, OUT message text, OUT detail text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
END $$;
SELECT arguments, code, message, detail
  FROM unnest(ARRAY['NULL, ''@daily'', entries => ''{"name": "job"}''', ''''', ''@daily'', entries => ''{"name": "job"}''', 'repeat(''t'', 256), ''@daily'', entries => ''{"name": "job"}''',
    '''schedule.x'', NULL, entries => ''{"name": "job"}''', '''schedule.x'', ''0 24 * * *'', entries => ''{"name": "job"}''', '''schedule.x'', ''0 0 30 2 *'', entries => ''{"name": "job"}''',
    '''schedule.x'', ''@daily'', ''CST'', ''{"name": "job"}''', '''schedule.x'', ''@daily'', NULL, ''{"name": "job"}''',
    '''schedule.x'', ''@daily''', '''schedule.x'', ''@daily'', entries => ''{"name": "job"}'', entries_function => ''public.schedule_one(timestamptz)''',
    '''schedule.x'', ''@daily'', entries => ''[]''', '''schedule.x'', ''@daily'', entries => ''"job"''', '''schedule.x'', ''@daily'', entries => ''[1]''',
    '''schedule.x'', ''@daily'', entries => ''{}''', '''schedule.x'', ''@daily'', entries => ''{"name": "job", "run_at": "now"}''',
    '''schedule.x'', ''@daily'', entries => ''{"name": "job", "priority": 10}''', '''schedule.x'', ''@daily'', entries => ''{"name": "job", "max_attempts": 0}''',
    '''schedule.x'', ''@daily'', entries => jsonb_build_object(''name'', ''job'', ''idempotency_key'', repeat(''k'', 1024))',
    '''schedule.x'', ''@daily'', entries => (SELECT jsonb_agg(''{"name": "job"}''::jsonb) FROM generate_series(1, 1001))',
    '''schedule.x'', ''@daily'', entries => ''{"name": "job"}'', catch_up => ''never''', '''schedule.x'', ''@daily'', entries => ''{"name": "job"}'', catch_up => NULL',
    '''schedule.x'', ''@daily'', entries => ''{"name": "job"}'', max_catch_up => 0', '''schedule.x'', ''@daily'', entries => ''{"name": "job"}'', max_catch_up => NULL',
    '''schedule.x'', ''@daily'', entries => ''{"name": "job"}'', overlap => ''wait''', '''schedule.x'', ''@daily'', entries => ''{"name": "job"}'', day_rule => ''xor''',
    '''schedule.x'', ''@daily'', entries_function => ''public.schedule_wrong(timestamptz)''', '''schedule.x'', ''@daily'', entries_function => ''pg_catalog.now()''']) AS arguments,
       pg_temp.refusal(format('SELECT x_jobs.schedule(%s)', arguments)) \gx
SELECT count(*) FROM x_jobs.tasks WHERE task = 'schedule.x';

-- Forbidden: a task of another producer cannot even be seen, and neither can it be replaced; an operator may, and owns it from then on.
BEGIN;
CREATE ROLE regress_x_jobs_a;
CREATE ROLE regress_x_jobs_b;
CREATE ROLE regress_x_jobs_team;
CREATE ROLE regress_x_jobs_operator;
CREATE ROLE regress_x_jobs_worker;
GRANT regress_x_jobs_team TO regress_x_jobs_a, regress_x_jobs_b;
SELECT x_jobs.grant_producer('regress_x_jobs_team'), x_jobs.grant_operator('regress_x_jobs_operator'), x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_a;
SELECT x_jobs.schedule('schedule.own', '@yearly', entries => '{"name": "job"}') > now() AS next;
SET LOCAL ROLE regress_x_jobs_b;
SELECT count(*) FROM x_jobs.tasks;
SAVEPOINT before;
SELECT x_jobs.schedule('schedule.own', '@daily', entries => '{"name": "job"}');
\echo :LAST_ERROR_SQLSTATE
ROLLBACK TO before;
-- What the whole team schedules belongs to each of them.
SET LOCAL ROLE regress_x_jobs_team;
SELECT x_jobs.schedule('schedule.team', '@yearly', entries => '{"name": "job"}') > now() AS next;
SET LOCAL ROLE regress_x_jobs_b;
SELECT task, owner FROM x_jobs.tasks;
SET LOCAL ROLE regress_x_jobs_operator;
SELECT x_jobs.schedule('schedule.own', '@daily', entries => '{"name": "job"}') > now() AS next;
SELECT task, owner FROM x_jobs.tasks WHERE task IN ('schedule.own', 'schedule.team');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.schedule('schedule.own', '@daily', entries => '{"name": "job"}');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE

SELECT count(x_jobs.unschedule(task)) FROM (SELECT task FROM x_jobs.tasks WHERE task LIKE 'schedule.%') AS t;
DELETE FROM _x_jobs.task_log WHERE task LIKE 'schedule.%';
DROP FUNCTION public.schedule_one, public.schedule_array, public.schedule_many, public.schedule_wrong;
