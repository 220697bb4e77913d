-- If this failed, a batch of endings would settle the wrong jobs, or lose some.
-- ACK-2 ACK-6 NACK-2 NACK-3 RETRY-6 DRV-8 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue(n, queue => 'settle', dedupe => false, max_attempts => CASE n WHEN 'f last' THEN 1 ELSE 3 END))
  FROM unnest(ARRAY['a ack', 'b nack', 'c release', 'd fail', 'e dead_letter', 'f last']) AS n;
CREATE TEMP TABLE held AS SELECT * FROM x_jobs.claim(ARRAY['settle'], 'worker-1', 6);
CREATE FUNCTION pg_temp.settlement(named text, verb text, result jsonb DEFAULT NULL, error text DEFAULT NULL,
                        code text DEFAULT NULL, delay interval DEFAULT NULL) RETURNS x_jobs.settlement
    LANGUAGE sql AS 'SELECT ROW(h.id, h.claim, verb, result, error, code, NULL, delay, NULL, NULL)::x_jobs.settlement FROM held AS h WHERE h.name = named';

-- Normal: every verb, a job that does not exist, and one job twice; the answers come in the order given.
SELECT s.ordinal, s.landed, s.outcome, h.name FROM x_jobs.settle(ARRAY[
    pg_temp.settlement('f last', 'fail', error => 'no use', code => 'E_USE'),
    pg_temp.settlement('b nack', 'nack', error => 'no answer', delay => '1 min'),
    ROW(x_jobs.new_id(), 1, 'ack', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::x_jobs.settlement,
    pg_temp.settlement('a ack', 'ack', result => '{"ok": true}'),
    pg_temp.settlement('e dead_letter', 'dead_letter', error => 'gave up'),
    pg_temp.settlement('c release', 'release', error => 'stopping'),
    pg_temp.settlement('d fail', 'fail', error => 'no route'),
    pg_temp.settlement('a ack', 'ack')], 'worker-1') AS s LEFT JOIN held AS h USING (id) ORDER BY s.ordinal;
SELECT name, state, attempt, result, last_error, last_error_code, reason FROM x_jobs.all_jobs WHERE queue = 'settle' ORDER BY name;

-- Empty.
SELECT * FROM x_jobs.settle('{}', 'worker-1');

-- Wrong: nothing of the batch is settled.
SELECT count(x_jobs.enqueue('g wrong', queue => 'settle', dedupe => false));
INSERT INTO held SELECT * FROM x_jobs.claim(ARRAY['settle'], 'worker-1', 6, names => ARRAY['g wrong']);
SELECT * FROM x_jobs.settle(ARRAY[pg_temp.settlement('g wrong', 'ack'), pg_temp.settlement('g wrong', 'acknowledge')], 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.settle(ARRAY[pg_temp.settlement('g wrong', 'ack'), NULL], 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.settle(ARRAY[pg_temp.settlement('g wrong', 'ack'), pg_temp.settlement('g wrong', 'nack', delay => '-1 s')],
                        'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.settle(ARRAY[pg_temp.settlement('g wrong', 'ack')], NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.settle(NULL, 'worker-1');
\echo :LAST_ERROR_SQLSTATE
SELECT state FROM x_jobs.all_jobs WHERE name = 'g wrong';
SELECT landed, outcome FROM x_jobs.settle(ARRAY[pg_temp.settlement('g wrong', 'ack')], 'worker-2');

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT * FROM x_jobs.settle('{}', 'worker-1');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
