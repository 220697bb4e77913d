-- If this failed, the sums of what was done would not be those of the jobs.
-- CNT-4 X-9
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Empty: a job without a bucket has no row.
SELECT * FROM x_jobs.counter_totals() WHERE name LIKE 'counter\_totals%';

-- Normal: what is stored and what is not rolled up yet, summed by name in code units.
SELECT count(x_jobs.enqueue('counter_totals', queue => 'counter_totals', dedupe => false)) FROM generate_series(1, 3);
SELECT count(*) FILTER (WHERE x_jobs.ack(id, 'worker-1', claim, duration => '1500 ms')) AS acked
  FROM x_jobs.claim(ARRAY['counter_totals'], 'worker-1', 3);
SELECT * FROM x_jobs.counter_totals() WHERE name LIKE 'counter\_totals%';
INSERT INTO _x_jobs.counters (name, width, bucket_start, done, failed, dead, retried, duration_ms) VALUES
    ('counter_totals', '1 hour', '2001-01-01 10:00+00', 10, 2, 3, 4, 500),
    ('counter_totals', '5 minutes', '2001-01-01 11:00+00', 20, 2, 3, 4, 500),
    ('counter_totals.Zeta', '1 hour', '2001-01-01 10:00+00', 1, 0, 0, 0, 0),
    ('counter_totals.émile', '1 hour', '2001-01-01 10:00+00', 2, 0, 0, 0, 0),
    ('counter_totals._a', '1 hour', '2001-01-01 09:00+00', 3, 0, 0, 0, 0);
SELECT * FROM x_jobs.counter_totals() WHERE name LIKE 'counter\_totals%';
SELECT * FROM x_jobs.counter_totals('2001-01-01 10:00+00') WHERE name LIKE 'counter\_totals%';
SELECT * FROM x_jobs.counter_totals(since => '2001-01-01 10:00:01+00') WHERE name LIKE 'counter\_totals%';
SELECT * FROM x_jobs.counter_totals('infinity');
DELETE FROM _x_jobs.counters WHERE bucket_start < '2002-01-01';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.counter_totals('counter_totals', now());
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.counter_totals();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
