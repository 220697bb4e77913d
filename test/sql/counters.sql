-- If this failed, nobody would know how many attempts ended, or when.
-- CNT-1 CNT-3 CNT-5 CNT-6 X-9
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Empty.
SELECT * FROM x_jobs.counters('counters.none');

-- Normal: the present minute, before anything was rolled up.
SELECT deduped FROM x_jobs.enqueue('counters', queue => 'counters', dedupe => false);
SELECT x_jobs.ack(id, 'worker-1', claim, duration => '421 ms') AS acked FROM x_jobs.claim(ARRAY['counters'], 'worker-1');
SELECT name, width, bucket_start = date_trunc('minute', bucket_start) AND bucket_start > now() - interval '5 min' AS this_minute,
    done, failed, dead, retried, duration FROM x_jobs.counters('counters');
-- What is stored for the same minute is merged with it.
INSERT INTO _x_jobs.counters (name, width, bucket_start, done, retried, duration_ms)
     SELECT name, width, bucket_start, 10, 1, 5000 FROM x_jobs.counters('counters');
SELECT name, width, done, failed, dead, retried, duration FROM x_jobs.counters(name => 'counters');
-- Buckets of other widths, oldest first, then narrower first.
INSERT INTO _x_jobs.counters (name, width, bucket_start, done, failed, dead, retried, duration_ms) VALUES
    ('counters', '1 hour', '2001-01-01 10:00+00', 1, 2, 3, 4, 5),
    ('counters', '1 minute', '2001-01-01 10:00+00', 6, 0, 0, 0, 0),
    ('counters', '5 minutes', '2001-01-01 10:00+00', 7, 0, 0, 0, 0),
    ('counters', '5 minutes', '2001-01-01 09:55+00', 8, 0, 0, 0, 0),
    ('counters.Zeta', '1 hour', '2001-01-01 10:00+00', 1, 0, 0, 0, 0),
    ('counters.émile', '1 hour', '2001-01-01 09:00+00', 2, 0, 0, 0, 0),
    ('counters._a', '1 hour', '2001-01-01 11:00+00', 3, 0, 0, 0, 0),
    ('counters.a', '1 hour', '2001-01-01 11:00+00', 4, 0, 0, 0, 86400000);
SET TIME ZONE 'UTC';
SELECT width, bucket_start, done, failed, dead, retried, duration FROM x_jobs.counters('counters') WHERE bucket_start < '2002-01-01';
SELECT width, bucket_start, done FROM x_jobs.counters('counters', '2001-01-01 10:00+00') WHERE bucket_start < '2002-01-01';
SELECT width, bucket_start, done FROM x_jobs.counters('counters', since => '2001-01-01 10:00:00.000001+00')
 WHERE bucket_start < '2002-01-01';
-- All jobs, by name in code units.
SELECT name, width, bucket_start, done, duration FROM x_jobs.counters(since => '2001-01-01 09:30+00') WHERE name LIKE 'counters.%';
-- Long past: every bucket is dropped, and then there is nothing to do. The one of now stays.
SELECT _x_jobs.roll_up_tiers() >= 8 AS moved, _x_jobs.roll_up_tiers() AS again;
SELECT name, width, done, retried FROM x_jobs.counters() WHERE name LIKE 'counters%';
RESET TIME ZONE;
DELETE FROM _x_jobs.counters WHERE name = 'counters';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.counters('counters', 'yesterdays');
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.counters();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
