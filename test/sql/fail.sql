-- If this failed, a failed attempt would not be retried by the policy, or would be retried for ever.
-- RETRY-1 RETRY-3 RETRY-6 RETRY-12 RETRY-19 NACK-2 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', queue => 'fail', dedupe => false, max_attempts => 2));
SELECT id AS job, claim FROM x_jobs.claim(ARRAY['fail'], 'worker-1') \gset

-- Fenced.
SELECT * FROM x_jobs.fail(:'job', 'worker-2', :claim, 'no route');
SELECT * FROM x_jobs.fail(x_jobs.new_id(), 'worker-1', :claim, 'no route');

-- Normal: a retry after a second at most.
SELECT landed, outcome, retry_at - (SELECT updated_at FROM x_jobs.job(:'job')) BETWEEN interval '500 ms'
    AND interval '1 s' AS about_a_second, stop_reason
  FROM x_jobs.fail(:'job', 'worker-1', :claim, 'no route', code => 'E_ROUTE', stack => 'at line 1', duration => '20 ms');
SELECT state, attempt, last_error, last_error_code, last_error_stack, worker_id FROM x_jobs.job(:'job');
SELECT * FROM x_jobs.fail(:'job', 'worker-1', :claim, 'no route');

-- The last attempt.
SET x_jobs.test_clock_offset = '10 s';
SELECT claim, final_attempt FROM x_jobs.claim(ARRAY['fail'], 'worker-1') \gset
\echo :final_attempt
SELECT * FROM x_jobs.fail(:'job', 'worker-1', :claim, 'no route at all', 'E_ROUTE');
RESET x_jobs.test_clock_offset;
SELECT state, attempt, reason, last_error, last_error_code, last_error_stack FROM x_jobs.job(:'job');

-- A stated delay.
SELECT count(x_jobs.enqueue('job', queue => 'fail.stated', dedupe => false));
SELECT id AS stated, claim FROM x_jobs.claim(ARRAY['fail.stated'], 'worker-1') \gset
SELECT landed, outcome, retry_at - (SELECT updated_at FROM x_jobs.job(:'stated')) BETWEEN interval '60 s'
    AND interval '90 s' AS at_least_the_stated_delay
  FROM x_jobs.fail(:'stated', 'worker-1', :claim, 'busy', retry_after => '60 s');

-- Wrong.
SELECT * FROM x_jobs.fail(NULL, 'worker-1', 1, 'no');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.fail(:'job', NULL, 1, 'no');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.fail(:'job', 'worker-1', NULL, 'no');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.fail(:'job', 'worker-1', 1, 'no', retry_after => '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.fail(:'job', 'worker-1', 1, 'no', duration => '-1 s');
\echo :LAST_ERROR_SQLSTATE
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.fail(NULL, 'worker-1', 1);
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.fail(:'job', 'worker-1', 1, 'no');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
