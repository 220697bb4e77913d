-- If this failed, what is wrong with an installation would stay hidden, or what is well would be called wrong.
-- X-17
\set VERBOSITY default
\set SHOW_CONTEXT never
-- Empty: nothing is wrong. What the scheduler is doing is the server's affair.
SELECT name, state, hint FROM x_jobs.health() WHERE name NOT IN ('scheduler', 'old snapshot');
SELECT name FROM x_jobs.health() WHERE name IN ('scheduler', 'old snapshot') AND state IN ('ok', 'warning', 'error') AND detail <> '';
SELECT detail FROM x_jobs.health() WHERE name IN ('library', 'clock');

-- Normal: a task that fails, and a clock that is shifted.
SELECT x_jobs.schedule('health', '@yearly', entries => '{"name": "job"}') > now() AS next;
SELECT _x_jobs.task_failed('health', 'no list of shops');
SET x_jobs.test_clock_offset = '1 h';
SELECT name, state, detail, hint FROM x_jobs.health() WHERE name IN ('tasks', 'clock');
RESET x_jobs.test_clock_offset;
SELECT task, state, error FROM x_jobs.tasks WHERE state IN ('failing', 'no owner');
SELECT x_jobs.unschedule('health');
SELECT state, hint FROM x_jobs.health() WHERE name = 'tasks';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.health(1);
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.health();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
