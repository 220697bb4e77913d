-- If this failed, a task would go on after its end, or its end would take work along that was enqueued.
-- SCHED-16
\set VERBOSITY default
\set SHOW_CONTEXT never
-- Normal: the task is gone with its watermark, its job stays and runs, and its history is there again with its name.
SELECT x_jobs.schedule('unschedule', '@yearly', entries => '{"name": "job", "queue": "unschedule"}') > now() AS next;
SELECT count(*) FROM x_jobs.fire_task('unschedule');
SELECT x_jobs.unschedule(task => 'unschedule');
SELECT count(*) FROM x_jobs.tasks WHERE task = 'unschedule';
SELECT x_jobs.watermark_get('unschedule');
SELECT name, x_jobs.ack(id, 'worker-1', claim) AS acked FROM x_jobs.claim(ARRAY['unschedule'], 'worker-1');
SELECT x_jobs.schedule('unschedule', '@yearly', entries => '{"name": "job", "queue": "unschedule"}') > now() AS next;
SELECT outcome FROM x_jobs.task_history('unschedule');
SELECT x_jobs.unschedule('unschedule');
DELETE FROM _x_jobs.task_log WHERE task = 'unschedule';

-- Empty: what is not there cannot be ended.
SELECT x_jobs.unschedule('unschedule');
\echo :LAST_ERROR_SQLSTATE

-- Wrong.
SELECT x_jobs.unschedule(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.unschedule('');
SELECT x_jobs.unschedule(repeat('t', 256));
\echo :LAST_ERROR_SQLSTATE

-- Forbidden: another producer's, which looks like none; a worker's call. An operator may end any.
BEGIN;
CREATE ROLE regress_x_jobs_a;
CREATE ROLE regress_x_jobs_b;
CREATE ROLE regress_x_jobs_operator;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_producer('regress_x_jobs_a'), x_jobs.grant_producer('regress_x_jobs_b'), x_jobs.grant_operator('regress_x_jobs_operator'),
    x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_a;
SELECT x_jobs.schedule('unschedule', '@yearly', entries => '{"name": "job"}') > now() AS next;
SAVEPOINT before;
SET LOCAL ROLE regress_x_jobs_b;
SELECT x_jobs.unschedule('unschedule');
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.unschedule('unschedule');
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_operator;
SELECT x_jobs.unschedule('unschedule');
SELECT count(*) FROM x_jobs.tasks WHERE task = 'unschedule';
ROLLBACK;
