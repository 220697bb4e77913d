-- If this failed, a worker with many jobs could not tell which of them it still holds.
-- HB-1 HB-2 HB-3 HB-5 DRV-8 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', queue => 'heartbeat_many', dedupe => false)) FROM generate_series(1, 3);
SELECT array_agg(id ORDER BY id) AS jobs, array_agg(claim ORDER BY id) AS claims
  FROM x_jobs.claim(ARRAY['heartbeat_many'], 'worker-1', 3) \gset
SELECT (:'jobs'::uuid[])[2] AS second \gset
SELECT x_jobs.ack(:'second', 'worker-1', 1);

-- Normal: one answer for each id, in the order given.
SELECT id = (:'jobs'::uuid[])[ordinality] AS same_id, held FROM x_jobs.heartbeat_many(:'jobs', 'worker-1', :'claims',
                        '7 min') WITH ORDINALITY;
SELECT state, visible_at - updated_at AS lease FROM x_jobs.all_jobs WHERE queue = 'heartbeat_many' ORDER BY id;
SELECT held FROM x_jobs.heartbeat_many(:'jobs', 'worker-2', :'claims');

-- Empty.
SELECT * FROM x_jobs.heartbeat_many('{}', 'worker-1', '{}');

-- Wrong.
SELECT * FROM x_jobs.heartbeat_many(:'jobs', 'worker-1', '{1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.heartbeat_many(NULL, 'worker-1', '{1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.heartbeat_many('{NULL}', 'worker-1', '{1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.heartbeat_many(:'jobs', 'worker-1', '{1,NULL,1}');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.heartbeat_many(:'jobs', '', :'claims');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.heartbeat_many(:'jobs', 'worker-1', :'claims', '-1 s');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.heartbeat_many('{}', 'worker-1', '{}');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
