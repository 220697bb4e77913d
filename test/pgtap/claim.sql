-- If this failed, a claim would hand out the wrong job, one job to two workers, or none although work is due.
BEGIN;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL synchronous_commit = on;
SELECT plan(103);

-- One line of TAP: the statement is refused with this SQLSTATE, a message in lower case, a DETAIL that begins as
-- given, and a HINT.
CREATE FUNCTION pg_temp.refused(statement text, wanted_code text, wanted_detail text, description text) RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    code text := 'accepted';
    message text := '';
    detail text := '';
    hint text := '';
BEGIN
    BEGIN
        EXECUTE statement;
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL,
                                hint = PG_EXCEPTION_HINT;
    END;
    RETURN is(
        concat_ws(' | ', code, CASE WHEN message ~ '^[a-z]' THEN 'lower case' ELSE message END,
                  CASE WHEN starts_with(detail, wanted_detail) THEN wanted_detail ELSE detail END,
                  CASE WHEN hint <> '' THEN 'a hint' ELSE 'no hint' END),
        concat_ws(' | ', wanted_code, 'lower case', wanted_detail, 'a hint'), description);
END $$;

-- Makes one job for each name, in this order, all due since the start of the transaction.
CREATE FUNCTION pg_temp.fill(queue text, names text[], max_attempts integer DEFAULT 3) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    FOR n IN 1 .. cardinality(names) LOOP
        PERFORM x_jobs.enqueue(names[n], dedupe => false, queue => fill.queue, max_attempts => fill.max_attempts);
    END LOOP;
END $$;
-- The names that a claim answers, in the order of its rows.
CREATE FUNCTION pg_temp.taken(queues text[], max_jobs integer DEFAULT 100, worker text DEFAULT 'w', lease interval DEFAULT '30 s',
                              names text[] DEFAULT NULL) RETURNS text
    LANGUAGE sql RETURN COALESCE((SELECT string_agg(c.name, ' ' ORDER BY c.ordinality)
        FROM x_jobs.claim(queues, worker, max_jobs, lease, names => names) WITH ORDINALITY AS c), 'nothing');

-- CLAIM-2

SELECT pg_temp.fill('default', ARRAY['bystander']) \gset
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.claim('{}', 'w', 10)$$, 'XJ101', 'X_JOB_CLAIM_QUEUES_EMPTY: ', 'CLAIM-2: an empty queue list is refused');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.claim('{}', 'w', 0)$$, 'XJ101', 'X_JOB_CLAIM_QUEUES_EMPTY: ', 'CLAIM-2: it is refused even when nothing is asked for');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.exchange('{}', '{}', 'w', 10)$$, 'XJ101', 'X_JOB_CLAIM_QUEUES_EMPTY: ', 'CLAIM-2: exchange refuses it alike');
SELECT pg_temp.refused($$SELECT * FROM x_jobs.claim(NULL, 'w', 10)$$, 'XJ001', 'X_INVARIANT: queues ', 'CLAIM-2: NULL is no list of queues');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.claim(ARRAY['default', NULL], 'w', 10)$$, 'XJ001', 'X_INVARIANT: queues ', 'CLAIM-2: NULL is no name of a queue');
SELECT is((SELECT state FROM x_jobs.jobs(name => 'bystander')), 'ready', 'CLAIM-2: an empty list meant neither all queues nor default');

-- CLAIM-3

SELECT pg_temp.fill('three', ARRAY['c']) \gset
SELECT ctid AS stored_at FROM _x_jobs.jobs WHERE queue = 'three' \gset
SELECT pg_temp.refused(
    format($$SELECT * FROM x_jobs.claim(ARRAY['three'], 'w', %s)$$, bound), 'XJ001', 'X_INVARIANT: max_jobs ', format('CLAIM-3: a limit of %s is refused', bound))
  FROM unnest(ARRAY['-1', '-2147483648', '10001', '2147483647', 'NULL']) AS bound;
SELECT throws_ok(
    format($$SELECT * FROM x_jobs.claim(ARRAY['three'], 'w', max_jobs => %s)$$, bound), '42883', NULL,
    format('CLAIM-3: %s is no limit: the argument takes whole numbers only', bound))
  FROM unnest(ARRAY['1.5', '''NaN''::float8', '''Infinity''::float8', '''-Infinity''::float8', '''NaN''::numeric']) AS bound;
SELECT is((SELECT ctid FROM _x_jobs.jobs WHERE queue = 'three'), :'stored_at'::tid, 'CLAIM-3: no refused claim moved a row');
SELECT is(pg_temp.taken(ARRAY['three'], 0), 'nothing', 'CLAIM-3: a limit of 0 is legal and answers nothing');
SELECT is((SELECT ctid FROM _x_jobs.jobs WHERE queue = 'three'), :'stored_at'::tid, 'CLAIM-3: a limit of 0 moves no row');
SELECT is(pg_temp.taken(ARRAY['three'], 10000), 'c', 'CLAIM-3: a limit of 10,000 is legal');

-- CLAIM-5

SELECT pg_temp.fill('five', ARRAY['ready']) \gset
SELECT is(pg_temp.taken(ARRAY['default:other', 'Five', 'five ']), 'nothing', 'CLAIM-5: a row whose queue is not listed is no candidate');
SELECT is(pg_temp.taken(ARRAY['five']), 'ready', 'CLAIM-5: a due ready row of a listed queue is a candidate');
SELECT id AS later FROM x_jobs.enqueue('later', dedupe => false, queue => 'five', delay => '1 h') \gset
SELECT is(pg_temp.taken(ARRAY['five']), 'nothing', 'CLAIM-5: a row whose run_at lies ahead is no candidate');
SET LOCAL x_jobs.test_clock_offset = '59min';
SELECT is(pg_temp.taken(ARRAY['five'], names => ARRAY['later']), 'nothing', 'CLAIM-5: it is none a minute before its time');
SET LOCAL x_jobs.test_clock_offset = '1h';
SELECT is(pg_temp.taken(ARRAY['five'], names => ARRAY['later']), 'later', 'CLAIM-5: a delayed row is a candidate once the clock has reached its run_at');
SET LOCAL x_jobs.test_clock_offset = 0;
SELECT x_jobs.enqueue('ago', dedupe => false, queue => 'long ago', run_at => '0001-01-01 00:00:00+00 BC') AS made \gset
SELECT is(pg_temp.taken(ARRAY['long ago']), 'ago', 'CLAIM-5: a run_at before the first century is due');

SELECT pg_temp.fill('parked', ARRAY['parked']) \gset
SELECT id AS parked, claim AS parked_claim FROM x_jobs.claim(ARRAY['parked'], 'w') \gset
SELECT x_jobs.nack(:'parked', 'w', :parked_claim, delay => '1 h', counts_as_attempt => false, park => true) AS landed \gset
SELECT is(pg_temp.taken(ARRAY['parked']), 'nothing', 'CLAIM-5: a suspended row whose run_at lies ahead is no candidate');
SET LOCAL x_jobs.test_clock_offset = '61min';
SELECT is(pg_temp.taken(ARRAY['parked']), 'parked', 'CLAIM-5: a suspended row that is due is a candidate');
SET LOCAL x_jobs.test_clock_offset = 0;

SELECT pg_temp.fill('leased', ARRAY['leased'], max_attempts => 9) \gset
SELECT is(pg_temp.taken(ARRAY['leased'], worker => 'a', lease => '10 min'), 'leased', 'CLAIM-5: a first claim leases the row');
SELECT is(pg_temp.taken(ARRAY['leased'], worker => 'b'), 'nothing', 'CLAIM-5: a running row with a lease that has not lapsed is no candidate');
SET LOCAL x_jobs.test_clock_offset = '9min';
SELECT is(pg_temp.taken(ARRAY['leased'], worker => 'b'), 'nothing', 'CLAIM-5: it is none before the end of its lease');
SET LOCAL x_jobs.test_clock_offset = '10min';
SELECT is(pg_temp.taken(ARRAY['leased'], worker => 'b'), 'leased', 'CLAIM-5: a running row whose lease has lapsed is a candidate');
SELECT is((SELECT (attempt, claim, worker_id)::text FROM x_jobs.jobs(name => 'leased')), '(2,2,b)', 'CLAIM-5: it belongs to the worker that took it then');
SET LOCAL x_jobs.test_clock_offset = 0;
SELECT pg_temp.fill('zero', ARRAY['zero'], max_attempts => 9) \gset
SELECT is(pg_temp.taken(ARRAY['zero'], lease => '0'), 'zero', 'CLAIM-5: a row is taken with a lease of zero');
SELECT is((SELECT visible_at - claimed_at FROM x_jobs.jobs(name => 'zero')), '0'::interval, 'CLAIM-5: its lease ends at the instant of the claim');
SELECT is(pg_temp.taken(ARRAY['zero'], lease => '0'), 'zero', 'CLAIM-5: the boundary instant counts as lapsed: the next claim takes it');

SELECT pg_temp.fill('filter', ARRAY['a', 'b', 'c', 'a']) \gset
SELECT is(pg_temp.taken(ARRAY['filter'], names => ARRAY['a', 'c', 'nobody']), 'a c a', 'CLAIM-5: names filter the candidates');
SELECT is(pg_temp.taken(ARRAY['filter']), 'b', 'CLAIM-5: what the filter left is claimable');

-- CLAIM-6

SELECT x_jobs.enqueue('six', dedupe => false, queue => 'six', run_at => '2022-02-02 02:02:02+00') AS made \gset
SELECT is(pg_temp.taken(ARRAY['six'], lease => '0'), 'six', 'CLAIM-6: the job is claimed and its lease lapses');
SELECT is((SELECT run_at FROM x_jobs.jobs(name => 'six')), '2022-02-02 02:02:02+00'::timestamptz, 'CLAIM-6: the claim leaves run_at alone');
UPDATE _x_jobs.jobs SET run_at = now() + '1 h' WHERE name = 'six';
SELECT is(pg_temp.taken(ARRAY['six']), 'nothing', 'CLAIM-6: a lapsed row is not re-taken before its run_at');
SET LOCAL x_jobs.test_clock_offset = '61min';
SELECT is(pg_temp.taken(ARRAY['six']), 'six', 'CLAIM-6: a lapsed row is re-taken once its run_at has passed');
SET LOCAL x_jobs.test_clock_offset = 0;

-- CLAIM-7 and CLAIM-8

SELECT x_jobs.enqueue(name, dedupe => false, queue => queue, run_at => '2023-01-01 00:00:00+00'::timestamptz + after, priority => priority) AS made
  FROM (VALUES (1, 'r5', 's-b', '5 us'::interval, 5), (2, 'r1', 's-a', '1 us', 5), (3, 'r9', 's-a', '9 us', 5), (4, 'r2', 's-c', '2 us', 5),
               (5, 'r3', 's-a', '3 us', 5), (6, 'r4', 's-b', '4 us', 5), (7, 'elsewhere', 's-d', '0 us', 0)) AS t (n, name, queue, after, priority)
 ORDER BY n \g /dev/null
SELECT is(pg_temp.taken(ARRAY['s-c', 's-a', 's-b'], 4), 'r1 r2 r3 r4', 'CLAIM-7: the limit is the total over all listed queues, lowest run_at first');
SELECT is(pg_temp.taken(ARRAY['s-c', 's-a', 's-b'], 4), 'r5 r9', 'CLAIM-7: the next claim goes on where the last one stopped');

SELECT x_jobs.enqueue(name, dedupe => false, queue => queue, run_at => '2023-01-01 00:00:00+00'::timestamptz + after, priority => priority) AS made
  FROM (VALUES (1, 'p5-late', 'e-a', '2 h'::interval, 5), (2, 'p9', 'e-a', '-9 h', 9), (3, 'p5-first', 'e-b', '1 h', 5), (4, 'p5-second', 'e-a', '1 h', 5),
               (5, 'p0', 'e-b', '9 h', 0), (6, 'p1-b', 'e-a', '4 h', 1), (7, 'p1-a', 'e-b', '3 h', 1)) AS t (n, name, queue, after, priority)
 ORDER BY n \g /dev/null
SELECT is(
    pg_temp.taken(ARRAY['e-a', 'e-b']), 'p0 p1-a p1-b p5-first p5-second p5-late p9', 'CLAIM-8: rows are returned in (priority, run_at, id) order over all queues');
SELECT pg_temp.fill('ties', ARRAY['t1', 't2', 't3', 't4', 't5', 't6', 't7', 't8']) \gset
SELECT is(pg_temp.taken(ARRAY['ties'], 3, lease => '0'), 't1 t2 t3', 'CLAIM-8: among equal priority and run_at the lower id comes first');
SELECT is(pg_temp.taken(ARRAY['ties'], 5), 't1 t2 t3 t4 t5', 'CLAIM-8: lapsed rows keep their place before the fresh ones');

-- CLAIM-9

SELECT id AS nine FROM x_jobs.enqueue('nine', dedupe => false, queue => 'nine', run_at => '2022-02-02 02:02:02+00') \gset
SELECT x_jobs.nack(id, 'w', claim, error => 'the error', stack => 'the stack') AS landed FROM x_jobs.claim(ARRAY['nine'], 'w') \gset
SELECT * FROM x_jobs.job(:'nine') \gset before_
SELECT clock_timestamp() AS clock_before \gset
SELECT * FROM x_jobs.claim(ARRAY['nine'], 'the worker', visibility_timeout => '1 h 2 min 3.000004 s') \gset claimed_
SELECT * FROM x_jobs.job(:'nine') \gset after_
SELECT is(:'after_state'::text, 'running', 'CLAIM-9: claiming sets the state running');
SELECT is(:'after_attempt'::integer, :'before_attempt'::integer + 1, 'CLAIM-9: claiming adds one to the attempt');
SELECT is(:'after_claim'::bigint, :'before_claim'::bigint + 1, 'CLAIM-9: claiming adds one to the ordinal');
SELECT is(:'after_worker_id'::text, 'the worker', 'CLAIM-9: claiming sets the claimer');
SELECT is(:'after_visible_at'::timestamptz, :'after_updated_at'::timestamptz + '1 h 2 min 3.000004 s', 'CLAIM-9: the lease ends at now + timeout');
SELECT ok(:'after_updated_at'::timestamptz BETWEEN :'clock_before' AND clock_timestamp(), 'CLAIM-9: updated_at is the wall clock of the claim');
SELECT is(:'after_claimed_at'::timestamptz, :'after_updated_at'::timestamptz, 'CLAIM-9: claimed_at is the same instant');
SELECT is(:'after_run_at'::timestamptz, :'before_run_at'::timestamptz, 'CLAIM-9: run_at stays');
SELECT is(ARRAY[:'after_last_error', :'after_last_error_stack'], ARRAY['the error', 'the stack'], 'CLAIM-9: last error and stack stay');
SELECT is(:'after_created_at'::timestamptz, :'before_created_at'::timestamptz, 'CLAIM-9: created_at stays');
SELECT is(
    ARRAY[:'claimed_id', :'claimed_attempt', :'claimed_claim', :'claimed_worker_id', :'claimed_visible_at', :'claimed_claimed_at', :'claimed_last_error', :'claimed_run_at'],
    ARRAY[:'nine', :'after_attempt', :'after_claim', 'the worker', :'after_visible_at', :'after_claimed_at', 'the error', :'before_run_at'],
    'CLAIM-9: what the claim answers is what the row then holds');

-- CLAIM-11

SELECT pg_temp.fill('eleven', ARRAY['done', 'failed', 'dead', 'cancelled', 'cancelled-running']) \gset
SELECT x_jobs.cancel(id) AS cancelled FROM x_jobs.jobs(queue => 'eleven', name => 'cancelled') \gset
CREATE TEMP TABLE ended AS SELECT * FROM x_jobs.claim(ARRAY['eleven'], 'w', 10);
SELECT x_jobs.ack(id, 'w', claim) AS landed FROM ended WHERE name = 'done' \gset
SELECT x_jobs.nack(id, 'w', claim, fail => true) AS landed FROM ended WHERE name = 'failed' \gset
SELECT x_jobs.nack(id, 'w', claim, dead_letter => true) AS landed FROM ended WHERE name = 'dead' \gset
SELECT x_jobs.cancel(id) AS cancelled FROM ended WHERE name = 'cancelled-running' \gset
SELECT is(pg_temp.taken(ARRAY['eleven']), 'nothing', 'CLAIM-11: no finished row is handed out');
SET LOCAL x_jobs.test_clock_offset = '10d';
SELECT is(pg_temp.taken(ARRAY['eleven']), 'nothing', 'CLAIM-11: none is handed out after any time');
SET LOCAL x_jobs.test_clock_offset = 0;
SELECT is(
    (SELECT array_agg(state ORDER BY id) FROM x_jobs.jobs(queue => 'eleven')), ARRAY['done', 'failed', 'dead', 'cancelled', 'cancelled'],
    'CLAIM-11: each finished row stays in its state');

-- CLAIM-12: the part that one session can show; claims at the same instant are told by the isolation specs.

SELECT pg_temp.fill('twelve', ARRAY['a', 'b', 'c', 'd', 'e']) \gset
CREATE TEMP TABLE shares AS SELECT 'one' AS worker, id FROM x_jobs.claim(ARRAY['twelve'], 'one', 3);
INSERT INTO shares SELECT 'two', id FROM x_jobs.claim(ARRAY['twelve'], 'two', 3);
INSERT INTO shares SELECT 'three', id FROM x_jobs.claim(ARRAY['twelve'], 'three', 3);
SELECT results_eq(
    'SELECT worker, count(*) FROM shares GROUP BY worker ORDER BY worker', $$VALUES ('one', 3::bigint), ('two', 2::bigint)$$,
    'CLAIM-12: of five jobs two workers get three and two, the third none');
SELECT is((SELECT count(DISTINCT id) FROM shares), 5::bigint, 'CLAIM-12: no row is claimed twice inside one lease');
SELECT pg_temp.fill('twice', ARRAY['a', 'b']) \gset
SELECT is(pg_temp.taken(ARRAY['twice', 'twice']), 'a b', 'CLAIM-12: a queue listed twice hands no row out twice');

-- CLAIM-13

SELECT pg_temp.fill('thirteen', ARRAY['again']) \gset
SELECT pg_temp.fill('thirteen', ARRAY['poison'], max_attempts => 1) \gset
SELECT is(pg_temp.taken(ARRAY['thirteen'], lease => '1 min'), 'again poison', 'CLAIM-13: both rows are leased');
SELECT pg_temp.fill('thirteen', ARRAY['fresh']) \gset
SELECT x_jobs.pause_queue('thirteen', 'repairs') AS paused \gset
SET LOCAL x_jobs.test_clock_offset = '1h';
SELECT is(pg_temp.taken(ARRAY['thirteen']), 'nothing', 'CLAIM-13: nothing of a paused queue is handed out');
SELECT is(
    (SELECT string_agg(concat_ws('/', name, state, attempt, claim), ' ' ORDER BY id) FROM x_jobs.jobs(queue => 'thirteen')),
    'again/running/1/1 poison/running/1/1 fresh/ready/0', 'CLAIM-13: lapsed rows of a paused queue are neither re-claimed nor buried');
SELECT is((SELECT count(*) FROM _x_jobs.tally WHERE queue = 'thirteen'), 0::bigint, 'CLAIM-13: nothing of a paused queue is counted');
SELECT x_jobs.resume_queue('thirteen') AS resumed \gset
SELECT is(pg_temp.taken(ARRAY['thirteen']), 'again fresh', 'CLAIM-13: after the pause the lapsed row with attempts left is re-claimed');
SELECT is((SELECT state FROM x_jobs.jobs(name => 'poison')), 'dead', 'CLAIM-13: after the pause the exhausted row is buried');
SET LOCAL x_jobs.test_clock_offset = 0;

-- CLAIM-14

SELECT pg_temp.fill('fourteen', ARRAY['a', 'b', 'c', 'd', 'e', 'f', 'g']) \gset
SELECT pg_temp.fill('fourteen-open', ARRAY['o1', 'o2']) \gset
SELECT is(pg_temp.taken(ARRAY['fourteen'], 1), 'a', 'CLAIM-14: the queue is open');
SELECT array_agg(ctid ORDER BY ctid) AS stored_at FROM _x_jobs.jobs WHERE queue = 'fourteen' \gset
SELECT x_jobs.pause_queue('fourteen') AS paused \gset
SELECT is(pg_temp.taken(ARRAY['fourteen']), 'nothing', 'CLAIM-14: a pause takes effect at the very next claim');
SELECT is(pg_temp.taken(ARRAY['fourteen'], worker => 'another'), 'nothing', 'CLAIM-14: it does so for every worker');
SELECT is(pg_temp.taken(ARRAY['fourteen', 'fourteen-open'], 1), 'o1', 'CLAIM-14: an open queue listed beside a paused one is served');
SELECT is(
    (SELECT array_agg(ctid ORDER BY ctid) FROM _x_jobs.jobs WHERE queue = 'fourteen'), :'stored_at'::tid[], 'CLAIM-14: a pause writes nothing on queued rows');
SELECT x_jobs.resume_queue('fourteen') AS resumed \gset
SELECT is(pg_temp.taken(ARRAY['fourteen'], 1), 'b', 'CLAIM-14: a resume takes effect at the very next claim');
SAVEPOINT before_pause;
SELECT x_jobs.pause_queue('fourteen') AS paused \gset
SELECT is(pg_temp.taken(ARRAY['fourteen'], 1), 'nothing', 'CLAIM-14: a pause inside a savepoint holds inside it');
ROLLBACK TO before_pause;
SELECT is(pg_temp.taken(ARRAY['fourteen'], 1), 'c', 'CLAIM-14: a pause that was rolled back is no pause');
SELECT x_jobs.pause_queue('fourteen') AS paused \gset
SAVEPOINT before_resume;
SELECT x_jobs.resume_queue('fourteen') AS resumed \gset
ROLLBACK TO before_resume;
SELECT is(pg_temp.taken(ARRAY['fourteen'], 1), 'nothing', 'CLAIM-14: a resume that was rolled back is no resume');
UPDATE _x_jobs.queues SET paused_at = NULL WHERE queue = 'fourteen';
SELECT is(pg_temp.taken(ARRAY['fourteen'], 1), 'd', 'CLAIM-14: the mirror of the flag is dropped by whoever writes the table');
SELECT x_jobs.pause_queue('fourteen') AS paused \gset
DELETE FROM _x_jobs.queues WHERE queue = 'fourteen';
SELECT is(pg_temp.taken(ARRAY['fourteen'], 1), 'e', 'CLAIM-14: a queue without a row of its own is not paused');

-- CLAIM-15

SELECT is_empty(
    $$SELECT attname FROM pg_attribute WHERE attrelid IN ('x_jobs.claimed_job'::regclass, 'x_jobs.exchanged_job'::regclass)
         AND attname IN ('progress', 'last_error_stack', 'error_stack', 'stack')$$, 'CLAIM-15: a claim projects neither progress nor the error stack');
SELECT is(
    (SELECT count(*) FROM pg_attribute WHERE attrelid = 'x_jobs.claimed_job'::regclass AND attname = 'last_error'), 1::bigint, 'CLAIM-15: it does project the last error');

-- CLAIM-16

-- Takes a job of these names through a whole life and answers its last state.
CREATE FUNCTION pg_temp.life(queue text, name text, worker text) RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    made x_jobs.enqueued := x_jobs.enqueue(name, dedupe => false, queue => queue);
    held x_jobs.claimed_job;
BEGIN
    SELECT * INTO held FROM x_jobs.claim(ARRAY[queue], worker, names => ARRAY[name]);
    IF (held.id, held.queue, held.name, held.worker_id) IS DISTINCT FROM (made.id, queue, name, worker) THEN
        RETURN format('claimed: %s', held);
    END IF;
    IF NOT x_jobs.heartbeat(held.id, worker, held.claim) OR NOT x_jobs.ack(held.id, worker, held.claim) THEN
        RETURN 'lost';
    END IF;
    RETURN (x_jobs.job(made.id)).state;
END $$;
CREATE TEMP TABLE odd (n, text) AS VALUES
    (1, 'constructor'), (2, '__proto__'), (3, 'toString'), (4, 'hasOwnProperty'), (5, 'NULL'), (6, ' '), (7, E'tab\tand\nnewline\r'), (8, $$it's; DROP TABLE jobs --$$),
    (9, '"quoted"'), (10, E'back\\slash'), (11, '%_'), (12, '{a,b}'), (13, 'émile'), (14, '日本語'), (15, '🐘'), (16, repeat('n', 255)), (17, repeat('é', 127) || 'x');
SELECT is(
    ARRAY[pg_temp.life(text, 'plain', 'plain'), pg_temp.life('plain', text, 'plain'), pg_temp.life('plain', 'plain', text)], ARRAY['done', 'done', 'done'],
    format('CLAIM-16: %s works as a queue, as a name and as a worker id', to_json(left(text, 30)))) FROM odd ORDER BY n;

-- CLAIM-17

SELECT pg_temp.fill('slow', ARRAY['s1', 's2', 's3', 's4', 's5', 's6']) \gset
SELECT pg_temp.fill('quick', ARRAY['q1', 'q2', 'q3']) \gset
SELECT is(pg_temp.taken(ARRAY['slow', 'quick'], 4), 's1 s2 s3 s4', 'CLAIM-17: a claim of several queues has one limit for all of them');
SELECT is(pg_temp.taken(ARRAY['quick'], 2), 'q1 q2', 'CLAIM-17: a claim of one queue is served however long the other is');
SELECT is(pg_temp.taken(ARRAY['quick', 'slow'], 10), 's5 s6 q3', 'CLAIM-17: the order of the list does not matter');

SELECT * FROM finish();
ROLLBACK;
