-- If this failed, nobody would see whether the scheduler of a database runs.
-- X-17
\set VERBOSITY default
\set SHOW_CONTEXT never
-- Normal: the launcher runs, and no database has two schedulers.
SELECT worker, database, pid > 0 AS has_process, state, since < clock_timestamp() AS since, starts >= 1 AS started FROM x_jobs.background_workers() WHERE worker = 'launcher';
SELECT count(*) = count(DISTINCT database) AS each_once FROM x_jobs.background_workers() WHERE worker = 'scheduler';

-- Empty: a database that is not there has none.
SELECT * FROM x_jobs.background_workers() WHERE database = 'no such database';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT * FROM x_jobs.background_workers(1);
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.background_workers();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
