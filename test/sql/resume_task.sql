-- If this failed, a pause would never end, or what was missed in it would be dealt with otherwise than the task says.
-- SCHED-20 X-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT x_jobs.schedule('resume_task', '@every 1 h', entries => '{"name": "job", "queue": "resume_task"}') > now() AS next;
SELECT x_jobs.watermark_get('resume_task') AS watermark \gset

-- Normal: catching up with what fell into the pause is what a turn does then.
SELECT x_jobs.pause_task('resume_task', 'for a while') IS NOT NULL AS paused;
SET x_jobs.test_clock_offset = '210 min';
SELECT x_jobs.resume_task(task => 'resume_task');
SELECT state, paused_at, paused_reason, paused_by, watermark = :'watermark' AS untouched FROM x_jobs.tasks WHERE task = 'resume_task';
SELECT next_at FROM _x_jobs.task_states WHERE task = 'resume_task';
SELECT _x_jobs.task_turn('resume_task') AS more;
SELECT outcome, slots FROM x_jobs.task_history('resume_task');
RESET x_jobs.test_clock_offset;

-- Empty: not paused, not there.
SELECT x_jobs.resume_task('resume_task');
SELECT x_jobs.resume_task('resume_task.none');
\echo :LAST_ERROR_SQLSTATE

-- Wrong.
SELECT x_jobs.resume_task(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.resume_task('');
SELECT x_jobs.resume_task(repeat('t', 256));
\echo :LAST_ERROR_SQLSTATE

-- Forbidden: a task of somebody else, and a worker.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_producer('regress_x_jobs_producer'), x_jobs.grant_worker('regress_x_jobs_worker');
SAVEPOINT before;
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.resume_task('resume_task');
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.resume_task('resume_task');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.unschedule('resume_task');
DELETE FROM _x_jobs.task_log WHERE task = 'resume_task';
