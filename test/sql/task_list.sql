-- If this failed, nobody would see which tasks there are and how they fare, or somebody would see another's. With the view x_jobs.tasks.
-- C-017
\set VERBOSITY default
\set SHOW_CONTEXT never
-- Empty.
SELECT * FROM x_jobs.task_list() WHERE task LIKE 'task_list%';

-- Normal: in the order of code units, with the zone that was resolved and its offset at the next occurrence.
SELECT x_jobs.schedule('task_list.b', '0 12 1 1 *', 'america/new_york', '{"name": "job", "queue": "task_list"}') > now() AS next;
SELECT x_jobs.schedule('task_list.B', '0 12 1 7 *', 'America/New_York', '{"name": "job", "queue": "task_list"}', overlap => 'queue') > now() AS next;
SELECT x_jobs.schedule('task_list.a', '@every 1 h', entries => '{"name": "job", "queue": "task_list"}', paused => true) > now() AS next;
SELECT task, owner = current_user AS mine, cron, time_zone, day_rule, catch_up, max_catch_up, overlap, state, utc_offset, failures FROM x_jobs.task_list() WHERE task LIKE 'task_list%';
-- How it fares: a turn that failed, one that fired, an occurrence that waits, an owner who is gone.
SELECT _x_jobs.task_failed('task_list.b', 'no list of shops');
SELECT state, failures, failed_at > now() - interval '1 min' AS just_now, error FROM x_jobs.tasks WHERE task = 'task_list.b';
SET x_jobs.test_clock_offset = '370 d';
SELECT _x_jobs.task_turn('task_list.b') AS more;
SELECT state, failures, failed_at, error, last_occurrence < dispatched_at AS late, next_occurrence > last_occurrence AS goes_on, watermark = last_occurrence AS dealt_with
  FROM x_jobs.tasks WHERE task = 'task_list.b';
SELECT _x_jobs.task_turn('task_list.B') AS more;
SET x_jobs.test_clock_offset = '740 d';
SELECT _x_jobs.task_turn('task_list.B') AS more;
SELECT pending = watermark AS waits, pending > last_occurrence AS later FROM x_jobs.tasks WHERE task = 'task_list.B';
RESET x_jobs.test_clock_offset;
CREATE ROLE regress_x_jobs_gone;
SELECT x_jobs.grant_producer('regress_x_jobs_gone');
SET ROLE regress_x_jobs_gone;
SELECT x_jobs.schedule('task_list.gone', '@yearly', entries => '{"name": "job", "queue": "task_list"}') > now() AS next;
RESET ROLE;
SELECT x_jobs.revoke_producer('regress_x_jobs_gone');
DROP ROLE regress_x_jobs_gone;
SELECT task, owner ~ '^\d+$' AS number, state FROM x_jobs.tasks WHERE task = 'task_list.gone';
-- The view is the function.
SELECT count(*) FROM (TABLE x_jobs.tasks EXCEPT SELECT * FROM x_jobs.task_list()) AS differs;

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.task_list('task_list.a');
\set VERBOSITY default

-- Forbidden: a worker; a producer sees none of this.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
CREATE ROLE regress_x_jobs_operator;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_producer('regress_x_jobs_producer'), x_jobs.grant_operator('regress_x_jobs_operator'), x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT count(*) FROM x_jobs.task_list();
SELECT count(*) FROM x_jobs.tasks;
SET LOCAL ROLE regress_x_jobs_operator;
SELECT count(*) FROM x_jobs.task_list() WHERE task LIKE 'task_list%';
SAVEPOINT before;
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.task_list();
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.tasks;
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT count(x_jobs.unschedule(task)) FROM (SELECT task FROM x_jobs.tasks WHERE task LIKE 'task_list%') AS t;
DELETE FROM _x_jobs.task_log WHERE task LIKE 'task_list%';
SELECT count(x_jobs.cancel(id)) FROM x_jobs.all_jobs WHERE queue = 'task_list' AND state IN ('ready', 'delayed');
