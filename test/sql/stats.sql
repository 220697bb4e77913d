-- If this failed, a backlog would be invisible.
-- STAT-1 STAT-2 STAT-3 STAT-4 DRV-7
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Empty: a queue without jobs is not listed.
SELECT * FROM x_jobs.stats() WHERE queue LIKE 'stats%';

-- Normal: one job in each bucket.
SELECT count(x_jobs.enqueue(n, queue => 'stats', dedupe => false, run_at => CASE n WHEN 'a ready'
                        THEN now() - interval '1 hour' END, delay => CASE n WHEN 'b delayed' THEN interval '1 hour' END))
  FROM unnest(ARRAY['a ready', 'b delayed', 'c running', 'd suspended', 'e failed', 'f dead', 'g done', 'h cancelled']) AS n;
CREATE TEMP TABLE held AS SELECT * FROM x_jobs.claim(ARRAY['stats'], 'worker-1', 10,
                        names => ARRAY['c running', 'd suspended', 'e failed', 'f dead', 'g done']);
SELECT name, CASE name WHEN 'd suspended' THEN x_jobs.nack(id, 'worker-1', claim, park => true) WHEN 'e failed'
    THEN x_jobs.nack(id, 'worker-1', claim, fail => true)
                       WHEN 'f dead' THEN x_jobs.nack(id, 'worker-1', claim, dead_letter => true) WHEN 'g done'
                           THEN x_jobs.ack(id, 'worker-1', claim) END AS landed FROM held ORDER BY name;
SELECT c.state FROM x_jobs.all_jobs AS j, x_jobs.cancel(j.id) AS c WHERE j.name = 'h cancelled' AND j.queue = 'stats';
SELECT queue, ready, delayed, running, suspended, failed, dead, oldest_ready BETWEEN interval '1 hour'
    AND interval '70 min' AS about_an_hour FROM x_jobs.stats() WHERE queue = 'stats';
-- A queue whose jobs are done is listed with zeros.
SELECT count(x_jobs.enqueue('job', queue => 'stats.done', dedupe => false));
SELECT x_jobs.ack(id, 'worker-1', claim) FROM x_jobs.claim(ARRAY['stats.done'], 'worker-1');
SELECT * FROM x_jobs.stats() WHERE queue = 'stats.done';
-- By name, in code units.
SELECT count(x_jobs.enqueue('job', queue => 'stats.' || q, dedupe => false))
  FROM unnest(ARRAY['mail', 'émile', 'Zeta', 'default', '_internal']) AS q;
SELECT queue FROM x_jobs.stats() WHERE queue LIKE 'stats.%';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.stats('stats');
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.stats();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
