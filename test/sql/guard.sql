-- If this failed, a transaction could commit what it wrote for a job that it lost.
-- X-20 HB-4
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE TABLE guard_effects (what text);
SELECT count(x_jobs.enqueue('job', queue => 'guard', dedupe => false));
SELECT id AS job, claim FROM x_jobs.claim(ARRAY['guard'], 'worker-1', 1, '0') \gset

-- Normal: the claim holds the job at the commit; a lapse alone does not matter, nor does an ack in between.
BEGIN;
SELECT x_jobs.guard(:'job', 'worker-1', :claim);
INSERT INTO guard_effects VALUES ('held');
COMMIT;
SELECT count(x_jobs.enqueue('job', queue => 'guard.ack', dedupe => false));
SELECT id AS acked, claim AS acked_claim FROM x_jobs.claim(ARRAY['guard.ack'], 'worker-1') \gset
BEGIN;
SELECT x_jobs.guard(:'acked', 'worker-1', :acked_claim);
INSERT INTO guard_effects VALUES ('held until its ack');
SELECT x_jobs.ack(:'acked', 'worker-1', :acked_claim);
COMMIT;
SELECT * FROM guard_effects ORDER BY what;

-- Lost: before the guard, and after it.
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['guard'], 'worker-2') \gset
BEGIN;
INSERT INTO guard_effects VALUES ('lost before');
SELECT x_jobs.guard(:'job', 'worker-1', :claim);
COMMIT;
\echo :LAST_ERROR_SQLSTATE
BEGIN;
SELECT x_jobs.guard(:'job', 'worker-2', :second_claim);
INSERT INTO guard_effects VALUES ('lost after');
SELECT state FROM x_jobs.cancel(:'job');
COMMIT;
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM guard_effects ORDER BY what;
SELECT state, worker_id, claim FROM x_jobs.job(:'job');

-- Wrong.
SELECT x_jobs.guard(NULL, 'worker-1', 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.guard(:'job', NULL, 1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.guard(:'job', 'worker-1', NULL);
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_operator;
SELECT x_jobs.grant_operator('regress_x_jobs_operator');
SET LOCAL ROLE regress_x_jobs_operator;
SELECT x_jobs.guard(:'job', 'worker-2', 2);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
DROP TABLE guard_effects;
