-- If this failed, nothing would ever be purged, rolled up or expired.
-- X-16 X-19
\set VERBOSITY default
\set SHOW_CONTEXT never
-- Turns of the three tallies before this test do not matter: everything is rolled up first.
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT count(*) FROM x_jobs.maintain() \g /dev/null

-- Empty: nothing to do.
SELECT task, affected FROM x_jobs.maintain();

-- Normal: something to expire, a tally to roll up in its turn, a worker that fell silent. The ring advances by the
-- calendar, so it is left out.
SELECT count(x_jobs.enqueue('maintain', queue => 'maintain', dedupe => false)) FROM generate_series(1, 3);
SELECT count(*) FILTER (WHERE x_jobs.ack(id, 'worker-1', claim, duration => '10 ms')) AS acked
  FROM x_jobs.claim(ARRAY['maintain'], 'worker-1', 3);
SELECT count(x_jobs.enqueue('expires', queue => 'maintain', dedupe => false, expires_at => now() + interval '1 min'));
SELECT x_jobs.worker_announce('maintain', ttl => '1 s');
SET x_jobs.test_clock_offset = '5 min';
SELECT task, affected FROM x_jobs.maintain() WHERE affected <> 0 AND task <> 'advance_ring';
SELECT task, affected FROM x_jobs.maintain() WHERE affected <> 0 AND task <> 'advance_ring';
SELECT task, affected FROM x_jobs.maintain() WHERE affected <> 0 AND task <> 'advance_ring';
SELECT task, affected FROM x_jobs.maintain() WHERE affected <> 0 AND task <> 'advance_ring';
RESET x_jobs.test_clock_offset;
SELECT name, state, reason, count(*) FROM x_jobs.all_jobs WHERE queue = 'maintain' GROUP BY name, state, reason ORDER BY name;
SELECT name, sum(done) AS done, sum(failed) AS failed, sum(dead) AS dead, sum(retried) AS retried, sum(duration_ms) AS duration_ms
  FROM _x_jobs.counters WHERE name = 'maintain' GROUP BY name;
SELECT * FROM _x_jobs.queue_totals WHERE queue = 'maintain';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.maintain(1);
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.maintain();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
