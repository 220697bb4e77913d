-- If this failed, live and finished jobs would not be one list.
-- OPR-1 ROW-1
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT attname, format_type(atttypid, atttypmod) AS type FROM pg_attribute WHERE attrelid = 'x_jobs.all_jobs'::regclass
    AND attnum > 0 ORDER BY attnum;
-- The view and the type x_jobs.job agree, column by column.
SELECT v.attname, t.attname
  FROM (SELECT * FROM pg_attribute WHERE attrelid = 'x_jobs.all_jobs'::regclass AND attnum > 0) AS v
  FULL JOIN (SELECT * FROM pg_attribute WHERE attrelid = 'x_jobs.job'::regclass AND attnum > 0) AS t USING (attnum)
 WHERE (v.attname, v.atttypid) IS DISTINCT FROM (t.attname, t.atttypid);

-- Empty, then normal: a live and a finished job, each once.
SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'all_jobs';
SELECT count(x_jobs.enqueue(n, to_jsonb(n), queue => 'all_jobs', dedupe => false))
  FROM unnest(ARRAY['a done', 'b running', 'c waiting']) AS n;
SELECT x_jobs.ack(id, 'worker-1', claim, '1') FROM x_jobs.claim(ARRAY['all_jobs'], 'worker-1');
SELECT name FROM x_jobs.claim(ARRAY['all_jobs'], 'worker-1');
SELECT name, state, input, claim, worker_id, tenant_id, result, finished_at IS NOT NULL AS finished FROM x_jobs.all_jobs
 WHERE queue = 'all_jobs' ORDER BY id;
SELECT bool_and(v::text = j::text) AS as_job_shows_it FROM x_jobs.all_jobs AS v, x_jobs.job(v.id) AS j WHERE v.queue = 'all_jobs';

-- Wrong: it cannot be written.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
UPDATE x_jobs.all_jobs SET state = 'ready' WHERE queue = 'all_jobs';
DELETE FROM x_jobs.all_jobs WHERE queue = 'all_jobs';
\set VERBOSITY default

-- An operator may read it; it is forbidden to all others.
BEGIN;
CREATE ROLE regress_x_jobs_operator;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_operator('regress_x_jobs_operator');
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_operator;
SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'all_jobs';
RESET ROLE;
SET LOCAL ROLE regress_x_jobs_worker;
SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'all_jobs';
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
