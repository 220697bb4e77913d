-- If this failed, a worker that stops would cost its jobs an attempt, or keep them until their leases lapse.
-- NACK-2 NACK-4 NACK-5 NACK-6 NACK-14 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', queue => 'release', dedupe => false, max_attempts => 1));
SELECT id AS job, claim FROM x_jobs.claim(ARRAY['release'], 'worker-1') \gset

-- Fenced.
SELECT x_jobs.release(:'job', 'worker-2', :claim) AS other_worker, x_jobs.release(:'job', 'worker-1', :claim + 1) AS other_claim,
    x_jobs.release(x_jobs.new_id(), 'worker-1', :claim) AS unknown;

-- Normal: at once claimable, the attempt given back.
SELECT x_jobs.release(:'job', 'worker-1', :claim);
SELECT state, attempt, claim, worker_id, visible_at, last_error, run_at = updated_at AS due_at_once FROM x_jobs.job(:'job');
SELECT x_jobs.release(:'job', 'worker-1', :claim) AS again;
SELECT claim, attempt, final_attempt FROM x_jobs.claim(ARRAY['release'], 'worker-2') \gset
\echo :claim :attempt :final_attempt
SELECT x_jobs.release(:'job', 'worker-2', :claim, delay => '3 min', error => 'the worker is stopping');
SELECT state, attempt, claim, last_error, run_at - updated_at AS delay FROM x_jobs.job(:'job');

-- Wrong.
SELECT x_jobs.release(NULL, 'worker-1', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.release(:'job', NULL, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.release(:'job', 'worker-1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.release(:'job', 'worker-1', 1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.release(:'job', 'worker-1', 1, '-1 s');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_operator;
SELECT x_jobs.grant_operator('regress_x_jobs_operator');
SET LOCAL ROLE regress_x_jobs_operator;
SELECT x_jobs.release(:'job', 'worker-1', 1);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
