-- If this failed, a worker that settles and claims in one call would lose an ending or a job between the two.
-- ACK-2 CLAIM-2 CLAIM-3 CLAIM-8 DRV-8 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', to_jsonb(n), queue => 'exchange', dedupe => false)) FROM generate_series(1, 5) AS n;
CREATE TEMP TABLE held AS SELECT * FROM x_jobs.claim(ARRAY['exchange'], 'worker-1', 2);
CREATE FUNCTION pg_temp.settlement(n integer, verb text, ordinal integer DEFAULT 0) RETURNS x_jobs.settlement
    LANGUAGE sql AS 'SELECT ROW(h.id, h.claim + ordinal, verb, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::x_jobs.settlement FROM held AS h WHERE h.input = to_jsonb(n)';

-- Normal: the lost settlement first, then the claimed jobs.
CREATE TEMP TABLE answer AS SELECT * FROM x_jobs.exchange(ARRAY[pg_temp.settlement(1, 'ack'), pg_temp.settlement(2, 'ack', 1)],
                        ARRAY['exchange'], 'worker-1', 2, '2 min') WITH ORDINALITY;
SELECT a.status, COALESCE(a.input, h.input) AS job, a.name, a.attempt, a.claim, a.worker_id, a.visible_at - a.claimed_at AS lease
  FROM answer AS a LEFT JOIN held AS h ON h.id = a.id ORDER BY a.ordinality;
SELECT input AS job, state, claim FROM x_jobs.all_jobs WHERE queue = 'exchange' ORDER BY id;
-- What is handed back is claimable at once, behind the job that has been due for longer.
SELECT status, input AS job, attempt, claim FROM x_jobs.exchange(ARRAY[pg_temp.settlement(2, 'release')], ARRAY['exchange'],
                        'worker-1', 1);

-- Empty: nothing to settle, nothing to claim, nothing wanted.
SELECT status, input AS job FROM x_jobs.exchange('{}', ARRAY['exchange'], 'worker-1', 10);
SELECT * FROM x_jobs.exchange('{}', ARRAY['exchange'], 'worker-1', 10);
SELECT * FROM x_jobs.exchange('{}', ARRAY['exchange'], 'worker-1', 0);

-- Wrong: nothing is settled and nothing claimed.
SELECT count(x_jobs.enqueue('job', to_jsonb(n), queue => 'exchange.wrong', dedupe => false)) FROM generate_series(8, 9) AS n;
INSERT INTO held SELECT * FROM x_jobs.claim(ARRAY['exchange.wrong'], 'worker-1');
SELECT * FROM x_jobs.exchange(ARRAY[pg_temp.settlement(8, 'ack')], '{}', 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.exchange(ARRAY[pg_temp.settlement(8, 'ack')], ARRAY['exchange.wrong'], NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.exchange(ARRAY[pg_temp.settlement(8, 'ack')], ARRAY['exchange.wrong'], 'worker-1', -1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.exchange(ARRAY[pg_temp.settlement(8, 'ack')], ARRAY['exchange.wrong'], 'worker-1', 1, '31 days');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.exchange(ARRAY[pg_temp.settlement(8, 'ack'), pg_temp.settlement(8, 'done')], ARRAY['exchange.wrong'],
                        'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.exchange(NULL, ARRAY['exchange.wrong'], 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT input AS job, state FROM x_jobs.all_jobs WHERE queue = 'exchange.wrong' ORDER BY id;

-- Forbidden: a producer; and a worker of another queue, whose settlement does not land either.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.exchange('{}', ARRAY['exchange'], 'worker-1');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker', ARRAY['other']);
GRANT SELECT ON held TO regress_x_jobs_worker;
SET LOCAL ROLE regress_x_jobs_worker;
SELECT status, name FROM x_jobs.exchange(ARRAY[pg_temp.settlement(8, 'ack')], ARRAY['other'], 'worker-1');
SELECT * FROM x_jobs.exchange('{}', ARRAY['exchange'], 'worker-1');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
