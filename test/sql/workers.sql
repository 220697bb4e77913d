-- If this failed, nobody would see which workers there are.
-- REG-1 REG-2 REG-3 REG-4
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Empty.
SELECT * FROM x_jobs.workers();

-- Normal: the longest announced first, then by id in code units.
SELECT x_jobs.worker_announce('workers-2', 'host-a', ARRAY['mail', 'default'], 4, ARRAY['01890000-0000-7000-8000-000000000002',
                        '01890000-0000-7000-8000-000000000001', '01890000-0000-7000-8000-000000000002']::uuid[], '1 min');
SELECT x_jobs.worker_announce('workers-1', ttl => '2 min');
SELECT x_jobs.worker_announce('workers-3', slots => 0, ttl => '0');
SELECT worker_id, host, queues, slots, in_flight, started_at = heartbeat_at AS just_started, expires_at - heartbeat_at AS ttl
  FROM x_jobs.workers();
UPDATE _x_jobs.workers SET started_at = '2001-01-01' WHERE worker_id <> 'workers-2';
SELECT x_jobs.worker_announce(w) FROM unnest(ARRAY['workers-é', 'workers-Z', 'workers-_']) AS w;
UPDATE _x_jobs.workers SET started_at = '2001-01-01' WHERE worker_id <> 'workers-2';
SELECT worker_id FROM x_jobs.workers();
-- One that has lapsed is not listed, and it is upkeep that removes it.
SET x_jobs.test_clock_offset = '90s';
SELECT worker_id FROM x_jobs.workers();
RESET x_jobs.test_clock_offset;
SELECT count(*) FROM _x_jobs.workers;
SELECT x_jobs.worker_forget(worker_id) FROM _x_jobs.workers;
SELECT * FROM x_jobs.workers();

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.workers('workers-1');
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.workers();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
