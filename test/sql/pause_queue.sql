-- If this failed, a queue could not be stopped, or stopping it would harm what runs.
-- OPW-11 OPW-13 CLAIM-13 CLAIM-14
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', queue => 'pause_queue', dedupe => false)) FROM generate_series(1, 2);
SELECT id AS job, claim FROM x_jobs.claim(ARRAY['pause_queue'], 'worker-1') \gset

-- Normal: the first instant and the first reason stay.
SELECT x_jobs.pause_queue('pause_queue', 'the mail server is down') AS since \gset
SELECT :'since'::timestamptz BETWEEN now() - interval '1 min' AND clock_timestamp() AS just_now;
SELECT x_jobs.pause_queue(queue => 'pause_queue') = :'since' AS first_instant;
SELECT queue, paused_at = :'since' AS first_instant, reason, paused_by = session_user AS by_me FROM x_jobs.paused()
 WHERE queue = 'pause_queue';
SELECT count(*) FROM x_jobs.claim(ARRAY['pause_queue'], 'worker-1');
SELECT x_jobs.heartbeat(:'job', 'worker-1', :claim) AS renewed, x_jobs.ack(:'job', 'worker-1', :claim) AS acked;
SELECT x_jobs.resume_queue('pause_queue');
SELECT count(*) FROM x_jobs.claim(ARRAY['pause_queue'], 'worker-1');

-- Wrong.
SELECT x_jobs.pause_queue(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.pause_queue('');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.pause_queue(repeat('q', 256));
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.pause_queue('pause_queue');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
