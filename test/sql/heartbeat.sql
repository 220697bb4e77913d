-- If this failed, a healthy worker could not keep its job.
-- HB-1 HB-2 HB-3 HB-5 HB-7 X-4 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', queue => 'heartbeat', dedupe => false));
SELECT id AS job, claim FROM x_jobs.claim(ARRAY['heartbeat'], 'worker-1') \gset

-- Normal.
SELECT x_jobs.heartbeat(:'job', 'worker-1', :claim);
SELECT visible_at - updated_at AS lease FROM x_jobs.job(:'job');
SELECT x_jobs.heartbeat(:'job', 'worker-1', :claim, visibility_timeout => '10 min');
SELECT visible_at - updated_at AS lease, state, worker_id, claim FROM x_jobs.job(:'job');

-- A claim that holds nothing is told so by value.
SELECT x_jobs.heartbeat(:'job', 'worker-2', :claim) AS other_worker,
    x_jobs.heartbeat(:'job', 'worker-1', :claim + 1) AS other_claim,
    x_jobs.heartbeat(x_jobs.new_id(), 'worker-1', :claim) AS unknown;
SELECT x_jobs.ack(:'job', 'worker-1', :claim);
SELECT x_jobs.heartbeat(:'job', 'worker-1', :claim);

-- Wrong.
SELECT x_jobs.heartbeat(NULL, 'worker-1', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.heartbeat(:'job', NULL, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.heartbeat(:'job', 'worker-1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.heartbeat(:'job', 'worker-1', 1, NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.heartbeat(:'job', 'worker-1', 1, '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.heartbeat(:'job', 'worker-1', 1, '31 days');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.heartbeat(:'job', 'worker-1', 1);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
