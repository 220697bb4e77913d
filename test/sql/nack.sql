-- If this failed, a job that did not succeed would be lost, or retried in the wrong way.
-- NACK-1 NACK-2 NACK-3 NACK-4 NACK-6 NACK-7 NACK-14 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Normal: one job for each way back. The answers, then what has become of the jobs.
SELECT count(x_jobs.enqueue(n, queue => 'nack', dedupe => false))
  FROM unnest(ARRAY['a retry', 'b later', 'c shed', 'd parked', 'e dead', 'f failed', 'g refused']) AS n;
CREATE TEMP TABLE held AS SELECT * FROM x_jobs.claim(ARRAY['nack'], 'worker-1', 7);
SELECT name, CASE left(name, 1)
           WHEN 'a' THEN x_jobs.nack(id, 'worker-1', claim)
           WHEN 'b' THEN x_jobs.nack(id, 'worker-1', claim, delay => '5 min', error => 'no answer', stack => 'at line 1')
           WHEN 'c' THEN x_jobs.nack(id, 'worker-1', claim, counts_as_attempt => false)
           WHEN 'd' THEN x_jobs.nack(id, 'worker-1', claim, '1 h', counts_as_attempt => false, park => true)
           WHEN 'e' THEN x_jobs.nack(id, 'worker-1', claim, error => 'gave up', dead_letter => true, fail => true, park => true)
           WHEN 'f' THEN x_jobs.nack(id, 'worker-1', claim, error => 'no use', fail => true, park => true)
           WHEN 'g' THEN x_jobs.nack(id, 'worker-1', claim, error => 'not here', fail => true, counts_as_attempt => false,
                                   duration => '2 s')
       END AS landed FROM held ORDER BY name;
SELECT name, state, attempt, claim, worker_id, visible_at, run_at - updated_at AS delay, last_error, last_error_stack, reason
  FROM x_jobs.all_jobs WHERE queue = 'nack' ORDER BY name;

-- Fenced: repeated, by somebody else, or for nothing.
SELECT name, x_jobs.nack(id, 'worker-1', claim) AS again FROM held ORDER BY name;
SELECT x_jobs.nack(x_jobs.new_id(), 'worker-1', 1) AS unknown;

-- Wrong.
SELECT x_jobs.nack(NULL, 'worker-1', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.nack(x_jobs.new_id(), NULL, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.nack(x_jobs.new_id(), 'worker-1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.nack(x_jobs.new_id(), 'worker-1', 1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.nack(x_jobs.new_id(), 'worker-1', 1, '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.nack(x_jobs.new_id(), 'worker-1', 1, '36501 days');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.nack(x_jobs.new_id(), 'worker-1', 1, duration => '-1 s');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.nack(x_jobs.new_id(), 'worker-1', 1);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
