-- If this failed, a job could not be deleted, or one would be deleted under its worker.
-- OPW-1
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue(n, to_jsonb(n), queue => 'remove', dedupe => false))
  FROM unnest(ARRAY['a done', 'b running', 'c waiting']) AS n;
SELECT x_jobs.ack(id, 'worker-1', claim, '"result"') FROM x_jobs.claim(ARRAY['remove'], 'worker-1', names => ARRAY['a done']);
SELECT id AS done FROM x_jobs.all_jobs WHERE name = 'a done' AND queue = 'remove' \gset
SELECT id AS running FROM x_jobs.claim(ARRAY['remove'], 'worker-1', names => ARRAY['b running']) \gset
SELECT id AS waiting FROM x_jobs.all_jobs WHERE name = 'c waiting' AND queue = 'remove' \gset

-- Normal: it answers what it removed.
SELECT id = :'done' AS same_id, name, state, input, result FROM x_jobs.remove(:'done');
SELECT id = :'waiting' AS same_id, name, state, input, result FROM x_jobs.remove(id => :'waiting');

-- Empty: what is not there, or not any more.
SELECT x_jobs.remove(:'done') IS NULL AS gone, x_jobs.remove(x_jobs.new_id()) IS NULL AS unknown;

-- Wrong.
SELECT x_jobs.remove(:'running');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.remove(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT name, state FROM x_jobs.all_jobs WHERE queue = 'remove';

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.remove(:'running');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
