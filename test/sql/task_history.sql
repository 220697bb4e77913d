-- If this failed, nobody could tell whether and when a task fired, or why it did not.
-- SCHED-4 SCHED-5 SCHED-6 SCHED-8 X-18
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE FUNCTION pg_temp.told(task text) RETURNS TABLE (outcome text, slots bigint, "from" interval, "to" interval, late interval, jobs integer) LANGUAGE sql AS $$
    SELECT e.outcome, e.slots, e.occurrence - b.began, e.upto - b.began, date_trunc('minute', e.lateness), cardinality(e.jobs)
      FROM x_jobs.task_history($1) AS e, (SELECT date_trunc('second', t.created_at) AS began FROM x_jobs.tasks AS t WHERE t.task = $1) AS b
$$;
-- Turns of the scheduler at an instant after the beginning, until nothing is due.
CREATE FUNCTION pg_temp.turns(task text, "at" text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    turns integer := 0;
BEGIN
    PERFORM set_config('x_jobs.test_clock_offset', $2, false);
    WHILE _x_jobs.task_turn($1) LOOP
        turns := turns + 1;
    END LOOP;
    RETURN turns;
END $$;

-- Empty: a task that has done nothing, and one that is not there.
SELECT count(*) FROM (SELECT x_jobs.schedule('task_history.' || c, '@every 1 h', entries => format('{"name": "job", "queue": "task_history.%s"}', c)::jsonb, catch_up => c, overlap => 'allow')
                        FROM unnest(ARRAY['latest', 'earliest', 'all', 'none']) AS c) AS made;
SELECT * FROM x_jobs.task_history('task_history.latest');
SELECT * FROM x_jobs.task_history('task_history.none', 0);
SELECT * FROM x_jobs.task_history('task_history.unknown');
\echo :LAST_ERROR_SQLSTATE

-- Normal: what each catch_up makes of four occurrences that were missed, and of one that was not.
SELECT c AS catch_up, pg_temp.turns('task_history.' || c, '270 min') AS turns FROM unnest(ARRAY['latest', 'earliest', 'all', 'none']) AS c;
SELECT c AS catch_up, pg_temp.turns('task_history.' || c, '18002 s') AS turns FROM unnest(ARRAY['latest', 'earliest', 'all', 'none']) AS c;
RESET x_jobs.test_clock_offset;
SELECT * FROM pg_temp.told('task_history.latest');
SELECT * FROM pg_temp.told('task_history.earliest');
SELECT * FROM pg_temp.told('task_history.all');
SELECT * FROM pg_temp.told('task_history.none');
SELECT outcome FROM x_jobs.task_history(task => 'task_history.all', max => 2);
-- Neighbours that were skipped are one row; one waits in line when the task says so; a fire by hand.
SELECT count(*) FROM (SELECT x_jobs.schedule('task_history.' || o, '@every 1 h', entries => format('{"name": "job", "queue": "task_history.%s"}', o)::jsonb, catch_up => 'all', overlap => o)
                        FROM unnest(ARRAY['skip', 'queue']) AS o) AS made;
SELECT o AS overlap, pg_temp.turns('task_history.' || o, '270 min') AS turns FROM unnest(ARRAY['skip', 'queue']) AS o;
SELECT * FROM pg_temp.told('task_history.skip');
SELECT * FROM pg_temp.told('task_history.queue');
SELECT queue, x_jobs.ack(id, 'worker-1', claim) AS acked FROM x_jobs.claim(ARRAY['task_history.skip', 'task_history.queue'], 'worker-1', 10) ORDER BY queue;
SELECT o AS overlap, pg_temp.turns('task_history.' || o, '271 min') AS turns FROM unnest(ARRAY['skip', 'queue']) AS o;
SELECT count(*) FROM x_jobs.fire_task('task_history.skip');
RESET x_jobs.test_clock_offset;
SELECT outcome, slots FROM pg_temp.told('task_history.skip');
SELECT * FROM pg_temp.told('task_history.queue');

-- Wrong.
SELECT * FROM x_jobs.task_history('task_history.all', 1001);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.task_history('task_history.all', NULL);
SELECT * FROM x_jobs.task_history('task_history.all', -1);
SELECT * FROM x_jobs.task_history(NULL);
SELECT * FROM x_jobs.task_history('');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden: a task of somebody else, and a worker.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_producer('regress_x_jobs_producer'), x_jobs.grant_worker('regress_x_jobs_worker');
SAVEPOINT before;
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.task_history('task_history.all');
ROLLBACK TO before;
\echo :LAST_ERROR_SQLSTATE
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.task_history('task_history.all');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT count(x_jobs.unschedule(task)) FROM (SELECT task FROM x_jobs.tasks WHERE task LIKE 'task_history.%') AS t;
DELETE FROM _x_jobs.task_log WHERE task LIKE 'task_history.%';
SELECT count(x_jobs.cancel(id)) FROM x_jobs.all_jobs WHERE queue LIKE 'task_history.%' AND state IN ('ready', 'delayed');
