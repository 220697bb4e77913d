-- If this failed, nobody could say which library a server runs.
-- X-17
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Normal: the library's version is the one that is installed in the database.
SELECT x_jobs.version() = extversion AS same, x_jobs.version() ~ '^[0-9]+\.[0-9]+\.[0-9]+$' AS three_numbers FROM pg_extension
 WHERE extname = 'x_jobs';

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT x_jobs.version(1);
\set VERBOSITY default

-- Allowed to every role that was granted something; forbidden to all others.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
CREATE ROLE regress_x_jobs_nobody;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.version() IS NOT NULL AS answered;
RESET ROLE;
SET LOCAL ROLE regress_x_jobs_nobody;
SELECT x_jobs.version();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
