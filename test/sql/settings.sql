-- If this failed, a setting would have changed its unit, its range, its default or who may set it.
-- X-13 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
-- The library defines its settings when it is loaded.
SELECT x_jobs.version() IS NOT NULL AS loaded;
\x on
SELECT name, vartype, unit, context, min_val, max_val, enumvals, boot_val, short_desc, extra_desc FROM pg_settings
 WHERE name LIKE 'x\_jobs.%' ORDER BY name COLLATE "C";
\x off

-- As a person writes and reads them.
SHOW x_jobs.history_step;
SHOW x_jobs.max_claim_wait;
SHOW x_jobs.max_input_size;
SHOW x_jobs.notify;
SHOW x_jobs.poll_interval;
SHOW x_jobs.retention;
SHOW x_jobs.test_clock_offset;
SET x_jobs.retention = '36h';
SHOW x_jobs.retention;
RESET x_jobs.retention;
BEGIN;
SET LOCAL x_jobs.max_input_size = '1kB';
SELECT x_jobs.enqueue('large', to_jsonb(repeat('x', 2000)), queue => 'settings', dedupe => false);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE

-- Wrong: out of range, no number, no such setting.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SET x_jobs.retention = -1;
SET x_jobs.history_step = 0;
SET x_jobs.max_input_size = '2000MB';
SET x_jobs.poll_interval = 'often';
SET x_jobs.no_such_setting = 1;
\set VERBOSITY default

-- Forbidden: an ordinary role may set none of them.
BEGIN;
CREATE ROLE regress_x_jobs_nobody;
SET LOCAL ROLE regress_x_jobs_nobody;
SET x_jobs.test_clock_offset = '1h';
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
BEGIN;
CREATE ROLE regress_x_jobs_nobody;
SET LOCAL ROLE regress_x_jobs_nobody;
SET x_jobs.retention = '1h';
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
