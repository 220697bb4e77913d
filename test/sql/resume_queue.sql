-- If this failed, a stopped queue would stay stopped.
-- OPW-11 CLAIM-14
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', queue => 'resume_queue', dedupe => false));
SELECT count(x_jobs.pause_queue('resume_queue'));
SELECT count(*) FROM x_jobs.claim(ARRAY['resume_queue'], 'worker-1');

-- Normal.
SELECT x_jobs.resume_queue('resume_queue') AS was_paused;
SELECT count(*) FROM x_jobs.paused() WHERE queue = 'resume_queue';
SELECT count(*) FROM x_jobs.claim(ARRAY['resume_queue'], 'worker-1');

-- Empty: not paused, or never seen.
SELECT x_jobs.resume_queue('resume_queue') AS was_paused, x_jobs.resume_queue(queue => 'no such queue') AS never_seen;
SELECT count(*) FROM x_jobs.stats() WHERE queue = 'no such queue';

-- Wrong.
SELECT x_jobs.resume_queue(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.resume_queue('');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.resume_queue('resume_queue');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
