-- If this failed, a worker would get the wrong jobs, or jobs that somebody else holds.
-- CLAIM-2 CLAIM-3 CLAIM-5 CLAIM-8 CLAIM-9 CLAIM-15 X-1 X-4 BURY-1 C-094
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', to_jsonb(n), 'key-' || n, 'claim', priority => 9 - n % 3, tenant_id => 'acme',
                        tags => ARRAY['t'])) FROM generate_series(1, 6) AS n;
SELECT count(x_jobs.enqueue('later', queue => 'claim', dedupe => false, delay => '1 hour'));

-- Normal: the lowest (priority, run_at, id) first, under a lease.
SELECT name, queue, priority, input, idempotency_key, attempt, max_attempts, final_attempt, claim, worker_id, tenant_id, tags,
    timeout, last_error, visible_at - claimed_at AS lease
  FROM x_jobs.claim(ARRAY['claim'], 'worker-1', 3);
SELECT input, priority, visible_at - claimed_at AS lease FROM x_jobs.claim(queues => ARRAY['nowhere', 'claim'],
                        worker_id => 'worker-2', max_jobs => 2, visibility_timeout => '5 min', wait => '0',
    names => ARRAY['job', 'other'], durable => false);
SELECT state, worker_id, count(*) FROM x_jobs.all_jobs WHERE queue = 'claim' GROUP BY state, worker_id ORDER BY state, worker_id;

-- Empty: nothing that is due, nothing wanted, a wait that ends.
SELECT count(*) FROM x_jobs.claim(ARRAY['nowhere'], 'worker-1', 10);
SELECT count(*) FROM x_jobs.claim(ARRAY['claim'], 'worker-1', 0);
SELECT count(*) FROM x_jobs.claim(ARRAY['claim'], 'worker-1', 10, names => ARRAY['no such name']);
SELECT count(*) FROM x_jobs.claim(ARRAY['nowhere'], 'worker-1', wait => '20 ms');

-- A lapsed lease: the job comes again, until its attempts are used up; then it is buried and not handed out.
SELECT count(x_jobs.enqueue('poison', queue => 'claim.lapse', dedupe => false, max_attempts => 2));
SELECT attempt, final_attempt, claim FROM x_jobs.claim(ARRAY['claim.lapse'], 'worker-1', 1, '0');
SELECT attempt, final_attempt, claim FROM x_jobs.claim(ARRAY['claim.lapse'], 'worker-2', 1, '0');
SELECT attempt, final_attempt, claim FROM x_jobs.claim(ARRAY['claim.lapse'], 'worker-3', 1, '0');
SELECT state, attempt, reason, last_error, worker_id FROM x_jobs.all_jobs WHERE queue = 'claim.lapse';

-- Wrong: nothing is claimed.
SELECT * FROM x_jobs.claim('{}', 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(NULL, 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim', NULL], 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], '');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], 'worker-1', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], 'worker-1', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], 'worker-1', 10001);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], 'worker-1', 1, '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], 'worker-1', 1, '31 days');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.claim(ARRAY['claim'], 'worker-1', 1, wait => '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT state, count(*) FROM x_jobs.all_jobs WHERE queue = 'claim' GROUP BY state ORDER BY state;

-- Forbidden: a producer; and a worker of another queue.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.claim(ARRAY['claim'], 'worker-1');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker', ARRAY['other']);
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.claim(ARRAY['other'], 'worker-1');
SELECT * FROM x_jobs.claim(ARRAY['other', 'claim'], 'worker-1');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
