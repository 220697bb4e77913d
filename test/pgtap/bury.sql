-- If this failed, a job that kills its worker would be handed out for ever, or would vanish without a trace.
BEGIN;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL synchronous_commit = on;
SELECT plan(68);

-- Makes a job in a queue of this name whose final attempt has lapsed: each attempt before it is nacked with an
-- error, the last one is claimed with a lease of zero.
CREATE FUNCTION pg_temp.poison(label text, max_attempts integer DEFAULT 1, queue text DEFAULT NULL) RETURNS x_jobs.claimed_job
    LANGUAGE plpgsql AS $$
DECLARE
    own_queue text := COALESCE(queue, label);
    made uuid := (x_jobs.enqueue(label, idempotency_key => 'k', queue => own_queue, max_attempts => max_attempts)).id;
    held x_jobs.claimed_job;
BEGIN
    FOR n IN 1 .. max_attempts LOOP
        SELECT * INTO STRICT held FROM x_jobs.claim(ARRAY[own_queue], 'stalled', visibility_timeout => '0', names => ARRAY[label]);
        IF n < max_attempts THEN
            PERFORM x_jobs.nack(held.id, 'stalled', held.claim, error => 'an earlier error', stack => 'an earlier stack');
        END IF;
    END LOOP;
    IF held.id IS DISTINCT FROM made OR held.attempt <> max_attempts THEN
        RAISE EXCEPTION 'claimed % in attempt %', held.id, held.attempt;
    END IF;
    RETURN held;
END $$;
-- The names that a claim answers, in the order of its rows.
CREATE FUNCTION pg_temp.taken(queues text[], max_jobs integer DEFAULT 100, lease interval DEFAULT '30 s') RETURNS text
    LANGUAGE sql RETURN COALESCE((SELECT string_agg(c.name, ' ' ORDER BY c.ordinality)
        FROM x_jobs.claim(queues, 'sound', max_jobs, lease) WITH ORDINALITY AS c), 'nothing');
-- What was counted for a job name.
CREATE FUNCTION pg_temp.counted(label text) RETURNS text
    LANGUAGE sql RETURN COALESCE((SELECT string_agg(outcome::text || ' ' || duration_ms, ', ' ORDER BY outcome) FROM _x_jobs.tally WHERE name = label), 'nothing');

-- BURY-1

SELECT id AS one FROM pg_temp.poison('one') \gset
SELECT is((SELECT state FROM x_jobs.job(:'one')), 'running', 'BURY-1: a row that lapsed on its final attempt stays until a claim meets it');
SELECT is(pg_temp.taken(ARRAY['one'], 0), 'nothing', 'BURY-1: a claim of no rows buries none');
SELECT is((SELECT state FROM x_jobs.job(:'one')), 'running', 'BURY-1: the row is still there after it');
SELECT is(pg_temp.taken(ARRAY['one']), 'nothing', 'BURY-1: a lapsed row with attempt = max_attempts is not handed out');
SELECT is((SELECT state FROM x_jobs.job(:'one')), 'dead', 'BURY-1: the claim itself settled it');
SELECT is((SELECT count(*) FROM _x_jobs.jobs WHERE name = 'one'), 0::bigint, 'BURY-1: the buried row left the live rows');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'one'), 1::bigint, 'BURY-1: there is one row of it');
SELECT id AS lowered FROM x_jobs.enqueue('lowered', dedupe => false, queue => 'lowered', max_attempts => 5) \gset
SELECT is(pg_temp.taken(ARRAY['lowered'], lease => '0'), 'lowered', 'BURY-1: first attempt of five');
SELECT is(pg_temp.taken(ARRAY['lowered'], lease => '0'), 'lowered', 'BURY-1: second attempt of five');
UPDATE _x_jobs.jobs SET max_attempts = 1 WHERE id = :'lowered';
SELECT is(pg_temp.taken(ARRAY['lowered']), 'nothing', 'BURY-1: a lapsed row with attempt > max_attempts is not handed out');
SELECT is((SELECT (state, attempt)::text FROM x_jobs.job(:'lowered')), '(dead,2)', 'BURY-1: it is buried too');
SELECT id AS held, claim AS held_claim FROM pg_temp.poison('renewed') \gset
SELECT is(x_jobs.heartbeat(:'held', 'stalled', :held_claim, '1 h'), true, 'BURY-1: a lapsed final attempt that no claim has met is renewed by its worker');
SELECT is(pg_temp.taken(ARRAY['renewed']), 'nothing', 'BURY-1: a renewed final attempt is not handed out');
SELECT is((SELECT state FROM x_jobs.job(:'held')), 'running', 'BURY-1: a renewed final attempt is not buried');
SELECT id AS given_back, claim AS given_back_claim FROM pg_temp.poison('waiting') \gset
SELECT x_jobs.nack(:'given_back', 'stalled', :given_back_claim, error => 'x') AS landed \gset
SELECT is(pg_temp.taken(ARRAY['waiting']), 'waiting', 'BURY-1: only a running row is buried: one handed back with attempt = max_attempts is handed out');

-- BURY-2: the flag is set by hand until definitions can name it.

SELECT is((SELECT dead_letters FROM _x_jobs.jobs WHERE name = 'renewed'), true, 'BURY-2: by default a row dead-letters');
SELECT id AS dropped FROM pg_temp.poison('dropped') \gset
UPDATE _x_jobs.jobs SET dead_letters = false WHERE id = :'dropped';
SELECT is(pg_temp.taken(ARRAY['dropped']), 'nothing', 'BURY-2: a row that does not dead-letter is not handed out either');
SELECT is((SELECT state FROM x_jobs.job(:'dropped')), 'failed', 'BURY-2: it becomes failed');
SELECT is((SELECT state FROM x_jobs.job(:'one')), 'dead', 'BURY-2: a row that dead-letters becomes dead');
SELECT is(
    (SELECT array_agg(name ORDER BY name) FROM x_jobs.dead_letters() WHERE name IN ('one', 'dropped')), ARRAY['one'], 'BURY-2: only the dead one is a dead letter');

-- BURY-3 and BURY-4

SELECT * FROM pg_temp.poison('three', 3) \gset held_
SELECT x_jobs.progress(:'held_id', 'stalled', :held_claim, 1, 2) AS landed \gset
SELECT is(
    (SELECT ARRAY[last_error, last_error_stack, worker_id, attempt::text] FROM x_jobs.job(:'held_id')), ARRAY['an earlier error', 'an earlier stack', 'stalled', '3'],
    'BURY-3: before the burial the row holds an earlier error, its stack and its claimer');
SELECT is(pg_temp.taken(ARRAY['three']), 'nothing', 'BURY-3: the row is buried');
SELECT is((SELECT last_error FROM x_jobs.job(:'held_id')), 'the lease lapsed on the final attempt', 'BURY-3: the last error is the fixed sentence');
SELECT ok((SELECT last_error !~ '[''";\\]' FROM x_jobs.job(:'held_id')), 'BURY-3: the sentence holds no quote, semicolon or backslash');
SELECT is((SELECT last_error_stack FROM x_jobs.job(:'held_id')), NULL::text, 'BURY-3: the error stack is cleared');
SELECT is((SELECT last_error_code FROM x_jobs.job(:'held_id')), NULL::text, 'BURY-3: no code of an earlier error is left');
SELECT is((SELECT worker_id FROM x_jobs.job(:'held_id')), NULL::text, 'BURY-3: the claimer is cleared');
SELECT is((SELECT visible_at FROM x_jobs.job(:'held_id')), NULL::timestamptz, 'BURY-3: visible_at is cleared');
SELECT is((SELECT (attempt, claim)::text FROM x_jobs.job(:'held_id')), '(3,3)', 'BURY-3: attempt and ordinal are unchanged');
SELECT is(
    (SELECT ARRAY[run_id::text, run_at::text, created_at::text, idempotency_key] FROM x_jobs.job(:'held_id')),
    ARRAY[:'held_run_id', :'held_run_at', :'held_created_at', 'k'], 'BURY-3: run id, run_at, created_at and key are unchanged');
SELECT ok((SELECT finished_at = updated_at AND finished_at BETWEEN now() AND clock_timestamp() FROM x_jobs.job(:'held_id')), 'BURY-3: updated_at and finished_at are the clock of the burial');
SELECT is((SELECT last_error FROM x_jobs.job(:'dropped')), 'the lease lapsed on the final attempt', 'BURY-3: a row that becomes failed gets the same sentence');
SELECT isnt((SELECT last_error FROM x_jobs.job(:'held_id')), 'an earlier error', 'BURY-4: a burial overwrites an earlier last error');

-- BURY-5

SELECT is(pg_temp.counted('one'), 'x 0', 'BURY-5: a burial counts one dead and 0 ms for its job name');
SELECT is(pg_temp.counted('dropped'), 'f 0', 'BURY-5: the burial of a row that does not dead-letter counts one failed and 0 ms');
SELECT is(pg_temp.counted('three'), 'r 0, r 0, x 0', 'BURY-5: the attempts before a burial keep their own counts');
SELECT is(
    (SELECT array_agg(a.attempt || ': ' || a.error ORDER BY a.claim) FROM x_jobs.attempts(:'held_id') a),
    ARRAY['1: an earlier error', '2: an earlier error', '3: the lease lapsed on the final attempt'], 'BURY-5: a burial is recorded among the failed attempts');
SELECT id AS undone FROM pg_temp.poison('undone') \gset
SAVEPOINT before_burial;
SELECT is(pg_temp.taken(ARRAY['undone']), 'nothing', 'BURY-5: a burial inside a savepoint');
SELECT is((SELECT state FROM x_jobs.job(:'undone')) || ', ' || pg_temp.counted('undone'), 'dead, x 0', 'BURY-5: the row is dead and counted inside it');
ROLLBACK TO before_burial;
SELECT is((SELECT state FROM x_jobs.job(:'undone')) || ', ' || pg_temp.counted('undone'), 'running, nothing', 'BURY-5: row and count are undone together');
SELECT is(pg_temp.taken(ARRAY['undone']), 'nothing', 'BURY-5: the next claim meets the row again');
SELECT is((SELECT state FROM x_jobs.job(:'undone')) || ', ' || pg_temp.counted('undone'), 'dead, x 0', 'BURY-5: it is counted once');

-- BURY-6 and BURY-8

SELECT id AS p1 FROM pg_temp.poison('p1', queue => 'six') \gset
SELECT id AS p2 FROM pg_temp.poison('p2', queue => 'six') \gset
SELECT x_jobs.enqueue(name, dedupe => false, queue => 'six') AS made FROM (VALUES ('r1'), ('r2'), ('r3')) AS t (name) ORDER BY name \g /dev/null
SELECT is(pg_temp.taken(ARRAY['six'], 2), 'nothing', 'BURY-6: two buried rows consume both slots of a limit of two');
SELECT is(
    (SELECT array_agg(name || ' ' || state ORDER BY name) FROM x_jobs.jobs(queue => 'six')), ARRAY['p1 dead', 'p2 dead', 'r1 ready', 'r2 ready', 'r3 ready'],
    'BURY-6: the claim buried both and took nothing else');
SELECT is(pg_temp.taken(ARRAY['six'], 2), 'r1 r2', 'BURY-6: the next pass claims what they displaced');
SELECT id AS p3 FROM pg_temp.poison('a-first', queue => 'mixed') \gset
SELECT x_jobs.enqueue('again', dedupe => false, queue => 'mixed', priority => 6) AS made \gset
SELECT is(pg_temp.taken(ARRAY['mixed'], 1), 'nothing', 'BURY-6: a limit of one is used up by one burial');
SELECT is(pg_temp.taken(ARRAY['mixed'], 1, '0'), 'again', 'BURY-6: the pass after it hands out the next row');
SELECT id AS p4 FROM pg_temp.poison('a-second', queue => 'mixed') \gset
SELECT is(pg_temp.taken(ARRAY['mixed'], 10), 'again', 'BURY-8: one pass buries the exhausted row and redelivers the lapsed one');
SELECT is(
    (SELECT array_agg(name || ' ' || state || ' ' || attempt ORDER BY name) FROM x_jobs.jobs(queue => 'mixed') WHERE name IN ('again', 'a-second')),
    ARRAY['a-second dead 1', 'again running 2'], 'BURY-8: a lapse with attempts left is a redelivery with attempt + 1');
SELECT is(pg_temp.counted('again'), 'nothing', 'BURY-8: a redelivery is not counted');
SELECT is((SELECT last_error FROM x_jobs.jobs(name => 'again')), NULL::text, 'BURY-8: a redelivery sets no error');

-- BURY-9: the part that one session can show; eight sessions at once are told by the property test.

SELECT count(*) AS poisoned FROM generate_series(1, 8) AS n, LATERAL pg_temp.poison('nine-' || n, queue => 'nine') \gset
SELECT is(pg_temp.taken(ARRAY['nine'], 3) || pg_temp.taken(ARRAY['nine'], 3) || pg_temp.taken(ARRAY['nine'], 3) || pg_temp.taken(ARRAY['nine'], 3),
          'nothingnothingnothingnothing', 'BURY-9: four passes of three over eight poison rows hand out none');
SELECT is(
    (SELECT array_agg(DISTINCT counted) FROM (SELECT name, count(*) AS counted FROM _x_jobs.tally WHERE queue = 'nine' AND outcome = 'x' GROUP BY name) AS each_row),
    ARRAY[1]::bigint[], 'BURY-9: each is counted exactly once');
SELECT is((SELECT count(*) || '/' || count(DISTINCT id) FROM _x_jobs.history WHERE queue = 'nine'), '8/8', 'BURY-9: each is buried exactly once');

-- BURY-10

SELECT id AS stalled, claim AS stalled_claim FROM pg_temp.poison('ten') \gset
SELECT is(pg_temp.taken(ARRAY['ten']), 'nothing', 'BURY-10: the row is buried');
SELECT to_jsonb(j) AS buried FROM x_jobs.job(:'stalled') j \gset
SELECT is(x_jobs.ack(:'stalled', 'stalled', :stalled_claim), false, 'BURY-10: the ack of the stalled body answers false');
SELECT is(x_jobs.nack(:'stalled', 'stalled', :stalled_claim, error => 'late'), false, 'BURY-10: so does its nack');
SELECT is(x_jobs.release(:'stalled', 'stalled', :stalled_claim), false, 'BURY-10: so does its release');
SELECT is((SELECT landed FROM x_jobs.fail(:'stalled', 'stalled', :stalled_claim, 'late')), false, 'BURY-10: so does its fail');
SELECT is(x_jobs.heartbeat(:'stalled', 'stalled', :stalled_claim), false, 'BURY-10: so does its heartbeat');
SELECT is((SELECT to_jsonb(j) FROM x_jobs.job(:'stalled') j), :'buried'::jsonb, 'BURY-10: the row stays buried, and not a column of it moves');
SELECT is(pg_temp.counted('ten'), 'x 0', 'BURY-10: a late settle counts nothing');

-- BURY-13 and X-14

SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('ten', idempotency_key => 'k')), false, 'BURY-13: a burial frees the idempotency key');
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('renewed', idempotency_key => 'k')), true, 'BURY-13: a lapsed row that is not buried holds it');
SELECT is(
    (SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'ten' AND idempotency_key = 'k'), 2::bigint, 'BURY-13: the buried row and the new one stand side by side');
SELECT is((SELECT reason FROM x_jobs.job(:'stalled')), 'lease-lapsed', 'X-14: a buried row is visible with the reason of its end');
SELECT is(
    (SELECT array_agg(id) FROM x_jobs.dead_letters(reason => 'lease-lapsed') WHERE name = 'ten'), ARRAY[:'stalled']::uuid[], 'X-14: dead letters can be asked for by that reason');
SELECT is((SELECT reason FROM x_jobs.job(:'dropped')), 'lease-lapsed', 'X-14: so is one that does not dead-letter');

SELECT * FROM finish();
ROLLBACK;
