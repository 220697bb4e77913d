-- If this failed, an operator could not see what has become of a job.
-- OPR-1 ROW-8
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT id AS job FROM x_jobs.enqueue('job', '{"n": 1}', 'job-1', 'job', priority => 4, max_attempts => 1, tenant_id => 'acme',
                        tags => ARRAY['t']) \gset

-- Normal: waiting, running, finished.
SELECT id = :'job' AS same_id, name, queue, state, priority, input, idempotency_key, attempt, max_attempts, final_attempt, claim,
    worker_id, tenant_id, tags, finished_at, result, reason FROM x_jobs.job(:'job');
SELECT count(*) FROM x_jobs.claim(ARRAY['job'], 'worker-1');
SELECT state, attempt, final_attempt, claim, worker_id, visible_at - claimed_at AS lease FROM x_jobs.job(:'job');
SELECT x_jobs.ack(:'job', 'worker-1', 1, '[true]');
SELECT state, attempt, claim, worker_id, visible_at, input, result, finished_at = updated_at AS finished FROM x_jobs.job(:'job');

-- Empty.
SELECT x_jobs.job(x_jobs.new_id()) IS NULL AS unknown, x_jobs.job(NULL) IS NULL AS no_id;

-- Wrong: a stored state that this build does not know.
SELECT id AS odd FROM x_jobs.enqueue('job', queue => 'job', dedupe => false) \gset
UPDATE _x_jobs.jobs SET state = 'Ready' WHERE id = :'odd';
SELECT x_jobs.job(:'odd');
\echo :LAST_ERROR_SQLSTATE
UPDATE _x_jobs.jobs SET state = 'ready' WHERE id = :'odd';
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT x_jobs.job('not an id');
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.job(:'job');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
