-- If this failed, a finished job would not be done, or a stale claim could finish somebody else's.
-- ACK-1 ACK-2 ACK-3 ACK-6 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', '{"n": 1}', queue => 'ack', dedupe => false));
SELECT id AS job, claim FROM x_jobs.claim(ARRAY['ack'], 'worker-1') \gset

-- Fenced on the claim: a mismatch is an answer, not an error.
SELECT x_jobs.ack(:'job', 'worker-2', :claim) AS other_worker, x_jobs.ack(:'job', 'worker-1', :claim + 1) AS other_claim,
    x_jobs.ack(x_jobs.new_id(), 'worker-1', :claim) AS unknown;

-- Normal.
SELECT x_jobs.ack(:'job', 'worker-1', :claim, '{"sent": true}', '1500 ms');
SELECT state, attempt, claim, worker_id, visible_at, result, input, finished_at = updated_at AS finished FROM x_jobs.job(:'job');
SELECT x_jobs.ack(:'job', 'worker-1', :claim) AS again;

-- Only what must be given.
SELECT count(x_jobs.enqueue('job', queue => 'ack', dedupe => false));
SELECT x_jobs.ack(id => c.id, worker_id => 'worker-1', claim => c.claim) FROM x_jobs.claim(ARRAY['ack'], 'worker-1') AS c;
SELECT state, result, count(*) FROM x_jobs.all_jobs WHERE queue = 'ack' GROUP BY state, result ORDER BY state, result;

-- Wrong.
SELECT x_jobs.ack(NULL, 'worker-1', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.ack(:'job', NULL, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.ack(:'job', 'worker-1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.ack(:'job', 'worker-1', 1, duration => '-1 ms');
\echo :LAST_ERROR_SQLSTATE
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT x_jobs.ack('not an id', 'worker-1', 1);
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_operator;
SELECT x_jobs.grant_operator('regress_x_jobs_operator');
SET LOCAL ROLE regress_x_jobs_operator;
SELECT x_jobs.ack(:'job', 'worker-1', 1);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
