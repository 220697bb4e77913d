-- If this failed, a scheduler outside could not tell what it has fired last.
-- SCHED-17 SCHED-18 SCHED-19
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- Empty: nothing that fired. A mark is no fire, and neither is a task that was only made.
SELECT x_jobs.watermark_mark('task_fires.marked', '2026-11-01 02:00:00+00');
SELECT x_jobs.schedule('task_fires.made', '@yearly', entries => '{"name": "job"}') > now() AS next;
SELECT count(*) FROM x_jobs.fire_task('task_fires.made');
SELECT * FROM x_jobs.task_fires() WHERE task LIKE 'task_fires%';

-- Normal: in the order of code units; the latest occurrence, and the instant of the last fire.
SELECT fired FROM x_jobs.fire('task_fires.b', '2026-11-01 02:00:00+00', '{}');
SELECT fired FROM x_jobs.fire('task_fires.B', '2026-11-02 02:00:00+00', '{}');
SELECT x_jobs.record_fire('task_fires.a', '2026-11-03 02:00:00+00');
SELECT fired FROM x_jobs.fire('task_fires.b', '2026-11-04 02:00:00+00', '{}');
SELECT task, last_occurrence, dispatched_at BETWEEN now() - interval '1 min' AND clock_timestamp() AS just_now FROM x_jobs.task_fires() WHERE task LIKE 'task_fires%';
-- A thousand at most.
INSERT INTO _x_jobs.task_states (task, dispatched_at) SELECT 'task_fires.many.' || n, now() FROM generate_series(1, 1100) AS n;
SELECT count(*) FROM x_jobs.task_fires();
DELETE FROM _x_jobs.task_states WHERE task LIKE 'task_fires.many.%';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.task_fires('task_fires.a');
\set VERBOSITY default

-- Forbidden: what is outside is the operator's.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.task_fires();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.unschedule('task_fires.made');
SELECT count(x_jobs.cancel(id)) FROM x_jobs.all_jobs WHERE id = ANY (ARRAY(SELECT unnest(jobs) FROM _x_jobs.task_log WHERE task = 'task_fires.made'));
DELETE FROM _x_jobs.task_states WHERE task LIKE 'task_fires%';
DELETE FROM _x_jobs.task_log WHERE task LIKE 'task_fires%';
