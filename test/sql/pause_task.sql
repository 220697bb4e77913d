-- If this failed, a task could not be stopped, or what fell into the pause would be lost from sight.
-- SCHED-20 SCHED-21
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT x_jobs.schedule('pause_task', '@every 1 h', entries => '{"name": "job", "queue": "pause_task"}') > now() AS next;
SELECT x_jobs.watermark_get('pause_task') AS watermark \gset

-- Normal: the first instant and the first reason stay.
SELECT x_jobs.pause_task('pause_task', 'the warehouse is being moved') AS since \gset
SELECT :'since'::timestamptz BETWEEN now() - interval '1 min' AND clock_timestamp() AS just_now;
SELECT x_jobs.pause_task(task => 'pause_task', reason => 'another') = :'since' AS first_instant;
SELECT state, paused_at = :'since' AS first_instant, paused_reason, paused_by = session_user AS by_me FROM x_jobs.tasks WHERE task = 'pause_task';
-- A turn that is due does nothing, leaves the watermark, and looks again 5 seconds later.
SET x_jobs.test_clock_offset = '210 min';
SELECT _x_jobs.task_turn('pause_task') AS more;
SELECT next_at - _x_jobs.clock() BETWEEN interval '4 s' AND interval '5 s' AS soon FROM _x_jobs.task_states WHERE task = 'pause_task';
SELECT x_jobs.watermark_get('pause_task') = :'watermark' AS untouched;
SELECT count(*) FROM x_jobs.task_history('pause_task');
-- By hand it still fires.
SELECT count(*) FROM x_jobs.fire_task('pause_task');
SELECT outcome FROM x_jobs.task_history('pause_task');
RESET x_jobs.test_clock_offset;
-- Without a reason, and with a long one.
SELECT x_jobs.resume_task('pause_task');
SELECT x_jobs.pause_task('pause_task') IS NOT NULL AS paused;
SELECT paused_reason FROM x_jobs.tasks WHERE task = 'pause_task';
SELECT x_jobs.resume_task('pause_task');
SELECT x_jobs.pause_task('pause_task', repeat('r', 9000)) IS NOT NULL AS paused;
SELECT length(paused_reason) FROM x_jobs.tasks WHERE task = 'pause_task';

-- Empty: an unknown task.
SELECT x_jobs.pause_task('pause_task.none');
\echo :LAST_ERROR_SQLSTATE

-- Wrong.
SELECT x_jobs.pause_task(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.pause_task('');
SELECT x_jobs.pause_task(repeat('t', 256));
\echo :LAST_ERROR_SQLSTATE

-- Forbidden: a task of somebody else, and a worker.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_producer('regress_x_jobs_producer'), x_jobs.grant_worker('regress_x_jobs_worker');
SAVEPOINT before;
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.pause_task('pause_task');
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.pause_task('pause_task');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.unschedule('pause_task');
DELETE FROM _x_jobs.task_log WHERE task = 'pause_task';
