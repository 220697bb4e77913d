-- If this failed, a scheduler outside would not know from where to go on.
-- SCHED-16
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- Empty: a task that nobody knows has none.
SELECT x_jobs.watermark_get('watermark_get');

-- Normal: of a task that is fired from outside, and of one that was scheduled: one millisecond before its first occurrence.
SELECT fired FROM x_jobs.fire('watermark_get', '2026-11-01 02:00:00+00', '{}');
SELECT x_jobs.watermark_get(task => 'watermark_get');
SELECT x_jobs.schedule('watermark_get.made', '@yearly', entries => '{"name": "job"}') - x_jobs.watermark_get('watermark_get.made') AS before;
SELECT (SELECT next_occurrence FROM x_jobs.tasks WHERE task = 'watermark_get.made') - x_jobs.watermark_get('watermark_get.made') AS before;
SELECT x_jobs.unschedule('watermark_get.made');
SELECT x_jobs.watermark_get('watermark_get.made');

-- Wrong: nothing that could be a task's name has one.
SELECT x_jobs.watermark_get(NULL);
SELECT x_jobs.watermark_get('');

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.watermark_get('watermark_get');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
DELETE FROM _x_jobs.task_states WHERE task = 'watermark_get';
DELETE FROM _x_jobs.task_log WHERE task = 'watermark_get';
