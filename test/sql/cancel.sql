-- If this failed, a job that is not wanted any more would run, or a finished one would be rewritten.
-- CANCEL-1 CANCEL-2 CANCEL-3 CANCEL-4 CANCEL-5
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue(n, queue => 'cancel', idempotency_key => 'key of ' || n))
  FROM unnest(ARRAY['a running', 'b waiting']) AS n;
SELECT id AS running, claim FROM x_jobs.claim(ARRAY['cancel'], 'worker-1') \gset
SELECT id AS waiting FROM x_jobs.all_jobs WHERE name = 'b waiting' \gset

-- Normal: with a reason, and without.
SELECT name, state, attempt, claim, worker_id, visible_at, last_error, reason, finished_at = updated_at AS finished
  FROM x_jobs.cancel(:'running', 'the order was withdrawn');
SELECT name, state, attempt, claim, worker_id, visible_at, last_error, reason, finished_at = updated_at AS finished
  FROM x_jobs.cancel(id => :'waiting');
SELECT x_jobs.heartbeat(:'running', 'worker-1', :claim) AS still_held, x_jobs.ack(:'running', 'worker-1', :claim) AS acked;
SELECT deduped FROM x_jobs.enqueue('a running', queue => 'cancel.again', idempotency_key => 'key of a running');

-- Empty: an unknown id answers nothing.
SELECT x_jobs.cancel(x_jobs.new_id()) IS NULL AS nothing;

-- Wrong: a finished job; no id.
SELECT x_jobs.cancel(:'running', 'again');
\echo :LAST_ERROR_SQLSTATE
SELECT reason FROM x_jobs.job(:'running');
SELECT x_jobs.cancel(NULL);
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.cancel(:'running');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
