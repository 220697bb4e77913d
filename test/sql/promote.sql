-- If this failed, a job could not be brought forward, or one would start that must not.
-- OPW-8
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT id AS job FROM x_jobs.enqueue('job', queue => 'promote', dedupe => false, delay => '1 day') \gset

-- Normal.
SELECT id = :'job' AS same_id, state, attempt, run_at = updated_at AS due_at_once, run_at <= clock_timestamp() AS due
  FROM x_jobs.promote(:'job');
SELECT count(*) FROM x_jobs.claim(ARRAY['promote'], 'worker-1');

-- Wrong: a running job, one that is due, a finished one, an unknown one, no id.
SELECT x_jobs.promote(:'job');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.release(:'job', 'worker-1', 1);
SELECT x_jobs.promote(:'job');
\echo :LAST_ERROR_SQLSTATE
SELECT state FROM x_jobs.cancel(:'job');
SELECT x_jobs.promote(:'job');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.promote(x_jobs.new_id());
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.promote(NULL);
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.promote(:'job');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
