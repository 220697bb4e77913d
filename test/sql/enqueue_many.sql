-- If this failed, a batch would lose a job, or its answers would not belong to its inputs.
-- ENQ-1 ENQ-2 DRV-8 X-13 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Normal: by position, one statement.
SELECT ordinal, deduped FROM x_jobs.enqueue_many('import', ARRAY['{"n": 1}', '{"n": 2}', '{"n": 3}']::jsonb[],
                        ARRAY['row-1', 'row-2', 'row-3'], 'enqueue_many', priority => 3);
SELECT name, input, idempotency_key, priority, state FROM x_jobs.all_jobs WHERE queue = 'enqueue_many' ORDER BY id;
-- Keys that are live already, or twice in the batch, answer the job that holds them.
SELECT e.ordinal, e.deduped, j.input FROM x_jobs.enqueue_many('import', ARRAY['{"n": 20}', '{"n": 4}', '{"n": 40}']::jsonb[],
                        ARRAY['row-2', 'row-4', 'row-4'], 'enqueue_many') AS e, x_jobs.job(e.id) AS j ORDER BY e.ordinal;
-- Without keys.
SELECT count(*), count(DISTINCT id) AS jobs, bool_or(deduped) AS deduped
  FROM x_jobs.enqueue_many('unkeyed', ARRAY['1', '1']::jsonb[], queue => 'enqueue_many', dedupe => false);

-- A mix of jobs.
SELECT e.ordinal, e.deduped, j.name, j.queue, j.input, j.priority, j.max_attempts, j.state, j.tags
  FROM x_jobs.enqueue_many(ARRAY[
           jsonb_populate_record(NULL::x_jobs.new_job,
                                 '{"name": "mix.a", "idempotency_key": "a", "queue": "enqueue_many", "priority": 0, "tags": ["x", "y"]}'),
           jsonb_populate_record(NULL::x_jobs.new_job,
                                 '{"name": "mix.b", "dedupe": false, "queue": "enqueue_many", "input": [1], "delay": "1 hour", "max_attempts": 9}'),
           jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "mix.a", "idempotency_key": "a", "queue": "enqueue_many"}')]) AS e,
               x_jobs.job(e.id) AS j ORDER BY e.ordinal;

-- Empty.
SELECT * FROM x_jobs.enqueue_many('import', '{}', '{}');
SELECT * FROM x_jobs.enqueue_many('{}'::x_jobs.new_job[]);

-- Wrong: nothing of the batch is stored.
SELECT * FROM x_jobs.enqueue_many('wrong', ARRAY['1', '2']::jsonb[], ARRAY['one'], 'enqueue_many');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.enqueue_many('wrong', ARRAY['1', '2']::jsonb[], queue => 'enqueue_many');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.enqueue_many('wrong', ARRAY['1', '2']::jsonb[], ARRAY['one', ''], 'enqueue_many');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.enqueue_many('wrong', NULL, ARRAY['one'], 'enqueue_many');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job,
                        '{"name": "wrong", "dedupe": false, "queue": "enqueue_many"}'), NULL]);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job,
                        '{"name": "wrong", "dedupe": false, "queue": "enqueue_many"}'),
                                        jsonb_populate_record(NULL::x_jobs.new_job,
                                                              '{"name": "wrong", "dedupe": false, "priority": -1}')]);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) AS wrong FROM x_jobs.all_jobs WHERE name = 'wrong';

-- Forbidden: a role that may only operate.
BEGIN;
CREATE ROLE regress_x_jobs_operator;
SELECT x_jobs.grant_operator('regress_x_jobs_operator');
SET LOCAL ROLE regress_x_jobs_operator;
SELECT * FROM x_jobs.enqueue_many('import', '{1}', dedupe => false);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
