-- If this failed, what failed for good would be out of sight.
-- OPR-10 NACK-13 BURY-2
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s') RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue(named, '{"n": 1}', queue => 'dead_letters.' || named, dedupe => false, max_attempts => 1);
    SELECT c FROM x_jobs.claim(ARRAY['dead_letters.' || named], 'worker-1', 1, lease) AS c
$$;
-- Empty: of this test's queues none is dead yet.
SELECT count(*) FROM x_jobs.dead_letters(1000) WHERE queue LIKE 'dead\_letters.%';

SELECT outcome FROM pg_temp.held('exhausted') AS h, x_jobs.fail(h.id, 'worker-1', h.claim, 'no route', 'E_ROUTE', 'at line 1');
SELECT x_jobs.nack(h.id, 'worker-1', h.claim, error => 'gave up', dead_letter => true) FROM pg_temp.held('handed over') AS h;
SELECT x_jobs.nack(h.id, 'worker-1', h.claim, error => 'no use', fail => true) FROM pg_temp.held('failed') AS h;
SELECT name FROM pg_temp.held('buried', '0');
SELECT count(*) FROM x_jobs.claim(ARRAY['dead_letters.buried'], 'worker-2');

-- Normal: newest first, without payload.
SELECT name, state, reason, attempt, last_error, last_error_code, last_error_stack, input FROM x_jobs.dead_letters(1000)
 WHERE queue LIKE 'dead\_letters.%';
SELECT count(*) FROM x_jobs.dead_letters(1);
SELECT name FROM x_jobs.dead_letters(max => 1000, reason => 'lease-lapsed') WHERE queue LIKE 'dead\_letters.%';

-- Empty.
SELECT count(*) FROM x_jobs.dead_letters(0);
SELECT count(*) FROM x_jobs.dead_letters(reason => 'no such reason');

-- Wrong.
SELECT * FROM x_jobs.dead_letters(-1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.dead_letters(NULL);
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.dead_letters();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
