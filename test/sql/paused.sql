-- If this failed, nobody would see that a queue is stopped, since when, why and by whom.
-- OPW-11 DRV-7
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Empty.
SELECT * FROM x_jobs.paused() WHERE queue LIKE 'paused%';

-- Normal: by name, in code units; with who and why.
SELECT count(x_jobs.pause_queue('paused.' || q, 'reason of ' || q))
  FROM unnest(ARRAY['mail', 'émile', 'Zeta', 'default', '_internal']) AS q;
SELECT queue, reason, paused_by = session_user AS by_me, paused_at <= clock_timestamp() AS already FROM x_jobs.paused()
 WHERE queue LIKE 'paused%';
BEGIN;
CREATE ROLE regress_x_jobs_operator;
SELECT x_jobs.grant_operator('regress_x_jobs_operator');
SET LOCAL ROLE regress_x_jobs_operator;
SELECT count(x_jobs.pause_queue('paused.by operator'));
SELECT queue, reason, paused_by FROM x_jobs.paused() WHERE queue = 'paused.by operator';
ROLLBACK;
SELECT count(*) FILTER (WHERE x_jobs.resume_queue(queue)) AS resumed FROM x_jobs.paused() WHERE queue LIKE 'paused%';
SELECT * FROM x_jobs.paused() WHERE queue LIKE 'paused%';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.paused('paused');
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.paused();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
