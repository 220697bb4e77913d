-- If this failed, a dead letter could not be brought back, or a job would run twice.
-- OPW-2 OPW-3 OPW-4
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT id AS job FROM x_jobs.enqueue('job', '{"n": 1}', 'requeue-1', 'requeue') \gset
SELECT x_jobs.nack(id, 'worker-1', claim, error => 'gave up', stack => 'at line 1', dead_letter => true)
  FROM x_jobs.claim(ARRAY['requeue'], 'worker-1');

-- Normal: it starts over, and keeps what it is.
SELECT id = :'job' AS same_id, state, attempt, claim, worker_id, input, idempotency_key, last_error, last_error_stack, reason,
    finished_at, run_at = updated_at AS due_at_once FROM x_jobs.requeue(:'job');
SELECT attempt, claim FROM x_jobs.claim(ARRAY['requeue'], 'worker-1');

-- Wrong: a live job, an unknown one, one whose key is held again, no id.
SELECT x_jobs.requeue(:'job');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.requeue(x_jobs.new_id());
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.ack(:'job', 'worker-1', 2);
SELECT deduped FROM x_jobs.enqueue('job', '{"n": 2}', 'requeue-1', 'requeue', id => '01890000-0000-7000-8000-000000000011');
SELECT x_jobs.requeue(:'job');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.requeue(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT input, state, attempt FROM x_jobs.all_jobs WHERE queue = 'requeue' ORDER BY input;

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.requeue(:'job');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
