-- If this failed, nobody could see what went wrong with a job before its last attempt.
-- OPR-1 NACK-9 BURY-3
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT id AS job, run_id AS run FROM x_jobs.enqueue('job', queue => 'attempts', dedupe => false, max_attempts => 9) \gset

-- Empty: nothing has failed yet; and an unknown id.
SELECT * FROM x_jobs.attempts(:'job');
SELECT * FROM x_jobs.attempts(x_jobs.new_id());

-- Normal: one row for each attempt that failed, none for a hand-back or a success.
SELECT x_jobs.nack(id, 'worker-1', claim, error => 'first', stack => 'at line 1', duration => '20 ms')
  FROM x_jobs.claim(ARRAY['attempts'], 'worker-1');
SELECT x_jobs.release(id, 'worker-2', claim) FROM x_jobs.claim(ARRAY['attempts'], 'worker-2');
SELECT (SELECT outcome FROM x_jobs.fail(c.id, 'worker-3', c.claim, 'second', 'E_SECOND', retry_after => '0'))
  FROM x_jobs.claim(ARRAY['attempts'], 'worker-3') AS c;
SELECT x_jobs.nack(id, 'worker-4', claim, error => 'third', dead_letter => true) FROM x_jobs.claim(ARRAY['attempts'], 'worker-4');
SELECT attempt, claim, worker_id, outcome, error, error_code, error_stack, duration, id = :'job' AS same_id,
    run_id = :'run' AS same_run, started_at <= ended_at AS in_order FROM x_jobs.attempts(:'job');
SELECT state FROM x_jobs.requeue(:'job');
SELECT x_jobs.ack(id, 'worker-5', claim) FROM x_jobs.claim(ARRAY['attempts'], 'worker-5');
SELECT count(*) AS kept FROM x_jobs.attempts(:'job');

-- A burial is one too.
SELECT id AS poison FROM x_jobs.enqueue('poison', queue => 'attempts', dedupe => false, max_attempts => 1) \gset
SELECT name FROM x_jobs.claim(ARRAY['attempts'], 'worker-1', 1, '0');
SELECT name FROM x_jobs.claim(ARRAY['attempts'], 'worker-2');
SELECT attempt, claim, worker_id, outcome, error, duration FROM x_jobs.attempts(:'poison');

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.attempts('not an id');
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.attempts(:'job');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
