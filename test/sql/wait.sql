-- If this failed, an idle worker would have to poll, would hold a snapshot while it waits, or would wait for ever.
-- C-094 WAKE-12
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Normal: it returns at once when there is work, without taking it.
SELECT count(x_jobs.enqueue('job', queue => 'wait', dedupe => false));
SELECT clock_timestamp() AS before \gset
CALL x_jobs.wait(ARRAY['wait'], '2 min');
SELECT clock_timestamp() - :'before'::timestamptz < interval '1 min' AS at_once;
SELECT state FROM x_jobs.all_jobs WHERE queue = 'wait';

-- Empty: it returns when the time is up.
SELECT clock_timestamp() AS before \gset
CALL x_jobs.wait(ARRAY['nowhere'], '50 ms');
SELECT clock_timestamp() - :'before'::timestamptz >= interval '50 ms' AS waited;
CALL x_jobs.wait(queues => ARRAY['nowhere', 'elsewhere'], timeout => '0');

-- Wrong.
CALL x_jobs.wait('{}', '1 s');
\echo :LAST_ERROR_SQLSTATE
CALL x_jobs.wait(NULL, '1 s');
\echo :LAST_ERROR_SQLSTATE
CALL x_jobs.wait(ARRAY['wait'], NULL);
\echo :LAST_ERROR_SQLSTATE
CALL x_jobs.wait(ARRAY['wait'], '-1 s');
\echo :LAST_ERROR_SQLSTATE
BEGIN;
CALL x_jobs.wait(ARRAY['wait'], '1 s');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
-- A DO block outside a transaction block is not inside one.
DO 'BEGIN PERFORM 1; CALL x_jobs.wait(ARRAY[''nowhere''], ''10 ms''); END';

-- Forbidden: outside a transaction block the role must exist for real.
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET ROLE regress_x_jobs_producer;
CALL x_jobs.wait(ARRAY['wait'], '1 s');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
SELECT x_jobs.revoke_producer('regress_x_jobs_producer');
DROP ROLE regress_x_jobs_producer;
