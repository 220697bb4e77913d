-- If this failed, a batch of endings would be attributed to the wrong jobs, or failed jobs would be retried too
-- early, too late or for ever.
SELECT plan(114);

-- A job of the named queue, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text, attempts integer DEFAULT 3) RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job.' || named, queue => named, dedupe => false, max_attempts => attempts);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w') AS c
$$;
CREATE FUNCTION pg_temp.stored(job uuid) RETURNS text LANGUAGE sql AS $$
    SELECT j.xmin::text || ' ' || j.ctid::text || ' ' || j::text FROM _x_jobs.jobs AS j WHERE j.id = $1
    UNION ALL
    SELECT h.xmin::text || ' ' || h.ctid::text || ' ' || h::text FROM _x_jobs.history AS h WHERE h.id = $1
$$;
-- SQLSTATE and DETAIL of a statement's error.
CREATE FUNCTION pg_temp.refusal(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text;
    detail text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL;
    RETURN state || ' ' || detail;
END $$;
-- A settlement with the given fields.
CREATE FUNCTION pg_temp.settlement(id uuid, claim bigint, verb text, result jsonb DEFAULT NULL, error text DEFAULT NULL,
                        code text DEFAULT NULL,
    stack text DEFAULT NULL, delay interval DEFAULT NULL, retry_after interval DEFAULT NULL, duration interval DEFAULT NULL)
RETURNS x_jobs.settlement LANGUAGE sql AS $$
    SELECT ROW(id, claim, verb, result, error, code, stack, delay, retry_after, duration)::x_jobs.settlement
$$;
-- Hands a fresh job back by fail() as if attempt n of many had failed, and answers the delay until its retry.
CREATE FUNCTION pg_temp.delay_after(n integer, retry_after interval DEFAULT NULL) RETURNS interval LANGUAGE plpgsql AS $$
DECLARE
    taken x_jobs.claimed_job := pg_temp.held('backoff');
    answer x_jobs.failure;
    waits interval;
BEGIN
    UPDATE _x_jobs.jobs SET attempt = n, max_attempts = 2147483647 WHERE id = taken.id;
    answer := x_jobs.fail(taken.id, 'w', taken.claim, 'went wrong', retry_after => retry_after);
    ASSERT answer.landed AND answer.outcome = 'retried' AND answer.stop_reason IS NULL, answer::text;
    SELECT j.run_at - j.updated_at INTO STRICT waits FROM x_jobs.job(taken.id) AS j WHERE j.run_at = answer.retry_at
        AND j.state = 'ready';
    RETURN waits;
END $$;

-- fail(): retries.
SELECT * FROM pg_temp.held('fails') \gset
SELECT * FROM x_jobs.fail(:'id', 'w', :claim, 'no route', 'E_ROUTE', 'at line 1', duration => '5 ms') \gset
SELECT is(:'landed' || ' ' || :'outcome', 't retried', 'RETRY-1 a first failed attempt of 3 is retried');
SELECT is(state || ' ' || attempt, 'ready 1', 'RETRY-1 the job is ready, and its attempt counts') FROM x_jobs.job(:'id');
SELECT is(run_at, :'retry_at'::timestamptz, 'RETRY-1 retry_at is the run_at of the row') FROM x_jobs.job(:'id');
SELECT is(last_error || ', ' || last_error_code || ', ' || last_error_stack, 'no route, E_ROUTE, at line 1',
          'RETRY-18 error, code and stack are stored')
  FROM x_jobs.job(:'id');
SELECT ok(worker_id IS NULL AND visible_at IS NULL, 'RETRY-1 the claim is cleared') FROM x_jobs.job(:'id');
SET x_jobs.test_clock_offset = '-1min';
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['fails'], 'w2')), 0::bigint,
          'RETRY-2 the job is not claimable before its delay has passed');
SET x_jobs.test_clock_offset = '1100ms';
SELECT claim, attempt FROM x_jobs.claim(ARRAY['fails'], 'w') \gset
SELECT is(:attempt, 2, 'RETRY-2 and is afterwards');
SELECT is(outcome || ' ' || (stop_reason IS NULL), 'retried true', 'RETRY-19 no stop reason while retrying')
  FROM x_jobs.fail(:'id', 'w', :claim, 'no route');
SELECT ok(last_error_stack IS NULL AND last_error_code IS NULL,
          'NACK-7 a new failure keeps neither the code nor the stack of the previous one') FROM x_jobs.job(:'id');
SET x_jobs.test_clock_offset = '4s';
SELECT claim, attempt FROM x_jobs.claim(ARRAY['fails'], 'w') \gset
SELECT is(:attempt, 3, 'RETRY-7 a job of 3 attempts is retried twice');
SELECT * FROM x_jobs.fail(:'id', 'w', :claim, 'no route at all', 'E_ROUTE', 'at line 3') \gset last_
SELECT is(:'last_landed' || ' ' || :'last_outcome' || ' ' || :'last_stop_reason', 't dead-lettered attempts-exhausted',
          'RETRY-6 RETRY-19 the third failure exhausts the attempts');
SELECT is(:{?last_retry_at}, false, 'RETRY-6 no retry is announced');
RESET x_jobs.test_clock_offset;
SELECT is(state || ' ' || attempt || ' ' || reason, 'dead 3 attempts-exhausted', 'RETRY-6 the job is a dead letter by default')
  FROM x_jobs.job(:'id');
SELECT is(last_error || ', ' || last_error_stack, 'no route at all, at line 3', 'RETRY-18 exhaustion appends nothing to the error')
  FROM x_jobs.job(:'id');
SELECT is(run_at, updated_at, 'RETRY-6 the delay of a stopped job is 0') FROM x_jobs.job(:'id');

SELECT * FROM pg_temp.held('once', 1) \gset
SELECT is(outcome || ' ' || stop_reason, 'dead-lettered attempts-exhausted',
          'RETRY-6 C-096 with max_attempts 1 the first failure is the last')
  FROM x_jobs.fail(:'id', 'w', :claim, 'no');
SELECT * FROM pg_temp.held('beyond') \gset
UPDATE _x_jobs.jobs SET attempt = 7 WHERE id = :'id';
SELECT is(outcome, 'dead-lettered', 'RETRY-6 an attempt beyond the last exhausts too') FROM x_jobs.fail(:'id', 'w', :claim, 'no');
SELECT * FROM pg_temp.held('dropped', 1) \gset
UPDATE _x_jobs.jobs SET dead_letters = false WHERE id = :'id';
SELECT is(landed || ' ' || outcome || ' ' || stop_reason, 'true dropped attempts-exhausted',
          'RETRY-6 RETRY-20 a row that does not dead-letter is dropped')
  FROM x_jobs.fail(:'id', 'w', :claim, 'no');
SELECT is(state, 'failed', 'RETRY-20 and ends failed') FROM x_jobs.job(:'id');

-- The delays: base 1 s, doubled, cut to 1 h, then half of it random.
SELECT cmp_ok(pg_temp.delay_after(n), '>=', low, format('RETRY-2 RETRY-3 C-092 after attempt %s the delay is at least half of %s',
                        n, 2 * low))
  FROM (VALUES (1, interval '0.5 s'), (2, '1 s'), (3, '2 s'), (8, '64 s'), (12, '1024 s'), (13, '30 min'), (62, '30 min'),
        (63, '30 min'), (64, '30 min'),
               (103, '30 min'), (1024, '30 min'), (100000, '30 min'), (2147483646, '30 min')) AS bound (n, low);
SELECT cmp_ok(pg_temp.delay_after(n), '<=', 2 * low, format('RETRY-1 RETRY-5 C-092 after attempt %s the delay is at most %s', n,
                        2 * low))
  FROM (VALUES (1, interval '0.5 s'), (2, '1 s'), (3, '2 s'), (8, '64 s'), (12, '1024 s'), (13, '30 min'), (62, '30 min'),
        (63, '30 min'), (64, '30 min'),
               (103, '30 min'), (1024, '30 min'), (100000, '30 min'), (2147483646, '30 min')) AS bound (n, low);
CREATE TEMP TABLE drawn AS SELECT pg_temp.delay_after(13) AS delay FROM generate_series(1, 60);
SELECT cmp_ok((SELECT count(DISTINCT delay) FROM drawn), '>', 50::bigint, 'RETRY-4 jitter is on when nothing is said');
SELECT ok((SELECT min(delay) < interval '40 min' AND max(delay) > interval '50 min' FROM drawn),
          'RETRY-3 the ceiling comes before the jitter: delays spread over the upper half of 1 h');
SELECT ok((SELECT bool_and(extract(microseconds FROM delay)::bigint % 1000 = 0) FROM drawn),
          'RETRY-3 a delay is rounded to whole milliseconds');

-- A stated delay.
SELECT ok(delay >= interval '20 s' AND delay <= interval '30 s',
          'RETRY-12 retry_after is the least delay, with a spread of at most half: ' || delay)
  FROM (SELECT pg_temp.delay_after(1, '20 s') AS delay OFFSET 0) d;
SELECT ok(delay >= interval '1 h' AND delay <= interval '90 min', 'RETRY-12 a stated delay is cut to the ceiling of 1 h: ' || delay)
  FROM (SELECT pg_temp.delay_after(1, '5 days') AS delay OFFSET 0) d;
SELECT is(pg_temp.delay_after(5, '0'), interval '0', 'RETRY-12 a stated delay of 0 retries at once');
SELECT * FROM pg_temp.held('stated', 1) \gset
SELECT is(outcome || ' ' || (retry_at IS NULL), 'dead-lettered true', 'RETRY-12 the attempt ceiling wins over a stated delay')
  FROM x_jobs.fail(:'id', 'w', :claim, 'busy', retry_after => '20 s');

-- fail() and the fence.
SELECT * FROM pg_temp.held('fence') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(f::text, '(f,,,)', 'NACK-2 fail() of an unknown id does not land, and answers nothing else')
  FROM x_jobs.fail(x_jobs.new_id(), 'w', :claim, 'no') f;
SELECT is(f::text, '(f,,,)', 'NACK-2 nor by another worker') FROM x_jobs.fail(:'id', 'other', :claim, 'no') f;
SELECT is(f::text, '(f,,,)', 'NACK-2 nor under another ordinal') FROM x_jobs.fail(:'id', 'w', :claim + 1, 'no') f;
SELECT is(pg_temp.stored(:'id'), :'before', 'NACK-2 and changes nothing');
SELECT x_jobs.fail(:'id', 'w', :claim, 'no') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(f::text, '(f,,,)', 'NACK-14 a repeated fail() does not land') FROM x_jobs.fail(:'id', 'w', :claim, 'no') f;
SELECT is(pg_temp.stored(:'id'), :'before', 'NACK-14 and changes nothing');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.fail(%L, ''w'', 1, ''no'', retry_after => %L)', :'id', value)),
               '^XJ001 X_INVARIANT: retry_after ', 'RETRY-13 ROW-18 fail refuses a retry_after of ' || value)
  FROM unnest(ARRAY['-1 ms', '-1 day']) AS value;
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.fail(%L, ''w'', 1, ''no'', duration => ''-1 ms'')', :'id')),
               '^XJ001 X_INVARIANT: duration ', 'ROW-18 fail refuses a negative duration');

-- release(): uncounted.
SELECT * FROM pg_temp.held('released') \gset
SELECT ok(x_jobs.release(:'id', 'w', :claim, '40 s', 'the worker is stopping'), 'NACK-5 release hands a held job back');
SELECT is(state || ' ' || attempt || ' ' || last_error, 'ready 0 the worker is stopping',
          'NACK-4 NACK-5 uncounted, ready, with the error recorded') FROM x_jobs.job(:'id');
SELECT is(run_at - updated_at, interval '40 s', 'NACK-6 after the delay given') FROM x_jobs.job(:'id');
SELECT is(x_jobs.release(:'id', 'w', :claim), false, 'NACK-14 a second release answers false');
SELECT is(attempt, 0, 'NACK-14 and gives no further attempt back') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('released2', 1) \gset
SELECT ok(x_jobs.release(:'id', 'w', :claim), 'NACK-5 delay and error of a release are optional');
SELECT is((SELECT attempt FROM x_jobs.claim(ARRAY['released2'], 'w2')), 1,
          'NACK-4 and the job starts again at once with the same attempt, also its last one');
SELECT is(x_jobs.release(:'id', 'w', :claim), false, 'NACK-2 release is fenced on the claim');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.release(%L, ''w'', 1, ''-1 s'')', :'id')), '^XJ001 X_INVARIANT: delay ',
               'ROW-18 release refuses a negative delay');

-- settle(): every verb, in the order given.
SELECT * FROM pg_temp.held('s1') \gset one_
SELECT * FROM pg_temp.held('s2') \gset two_
SELECT * FROM pg_temp.held('s3') \gset three_
SELECT * FROM pg_temp.held('s4') \gset four_
SELECT * FROM pg_temp.held('s5') \gset five_
SELECT * FROM pg_temp.held('s6', 1) \gset six_
SELECT x_jobs.new_id() AS unknown \gset
CREATE TEMP TABLE answer AS SELECT s.* FROM x_jobs.settle(ARRAY[
    pg_temp.settlement(:'six_id', :six_claim, 'fail', error => 'six', code => 'E_SIX', stack => 'stack of six'),
    pg_temp.settlement(:'one_id', :one_claim, 'ack', result => '{"one": 1}', duration => '7 ms'),
    pg_temp.settlement(:'unknown', 1, 'ack'),
    pg_temp.settlement(:'five_id', :five_claim, 'dead_letter', error => 'five'),
    pg_temp.settlement(:'two_id', :two_claim, 'nack', error => 'two', stack => 'stack of two', delay => '50 s'),
    pg_temp.settlement(:'three_id', :three_claim, 'release', error => 'three', delay => '60 s'),
    pg_temp.settlement(:'four_id', :four_claim, 'fail', error => 'four', retry_after => '100 s'),
    pg_temp.settlement(:'one_id', :one_claim, 'ack', result => '{"one": 2}')], 'w') AS s;
SELECT results_eq('SELECT * FROM answer',
    format('VALUES (1, %L::uuid, true, ''dead-lettered''), (2, %L, true, ''completed''), (3, %L, false, NULL), (4, %L, true, ''dead-lettered''),
                   (5, %L, true, ''retried''), (6, %L, true, ''interrupted''), (7, %L, true, ''retried''), (8, %L, false, NULL)',
           :'six_id', :'one_id', :'unknown', :'five_id', :'two_id', :'three_id', :'four_id', :'one_id'),
    'DRV-8 settle answers one row for each settlement, by ordinal, in the order given');
SELECT is(state || ' ' || result, 'done {"one": 1}', 'ACK-6 of two settlements of one claim the first lands')
  FROM x_jobs.job(:'one_id');
SELECT is(state || ' ' || attempt || ' ' || last_error || ' ' || last_error_stack, 'ready 1 two stack of two',
          'NACK-3 the verb nack retries and counts') FROM x_jobs.job(:'two_id');
SELECT is(run_at - updated_at, interval '50 s', 'NACK-6 after the delay of its settlement') FROM x_jobs.job(:'two_id');
SELECT is(state || ' ' || attempt || ' ' || last_error, 'ready 0 three', 'NACK-5 the verb release does not count')
  FROM x_jobs.job(:'three_id');
SELECT is(run_at - updated_at, interval '60 s', 'NACK-6 after the delay of its settlement') FROM x_jobs.job(:'three_id');
SELECT ok(state = 'ready' AND attempt = 1 AND last_error = 'four' AND run_at - updated_at BETWEEN interval '100 s'
          AND interval '150 s', 'RETRY-12 the verb fail heeds retry_after') FROM x_jobs.job(:'four_id');
SELECT is(state || ' ' || reason || ' ' || last_error, 'dead dead-letter five',
          'NACK-3 the verb dead_letter parks the job for good') FROM x_jobs.job(:'five_id');
SELECT is(state || ' ' || reason || ' ' || last_error_code || ' ' || last_error_stack, 'dead attempts-exhausted E_SIX stack of six',
          'RETRY-6 the verb fail knows the last attempt') FROM x_jobs.job(:'six_id');

-- settle(): nothing, somebody else's, and what is refused as a whole.
SELECT is_empty('SELECT * FROM x_jobs.settle(''{}'', ''w'')', 'DRV-8 no settlements, no answers');
SELECT * FROM pg_temp.held('s7') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(s::text, format('(1,%s,f,)', :'id'), 'ACK-2 settle compares the worker')
  FROM x_jobs.settle(ARRAY[pg_temp.settlement(:'id', :claim, 'ack')], 'other') s;
SELECT is(s::text, format('(1,%s,f,)', :'id'), 'ACK-2 settle compares the ordinal')
  FROM x_jobs.settle(ARRAY[pg_temp.settlement(:'id', :claim + 1, 'fail', error => 'no')], 'w') s;
CREATE FUNCTION pg_temp.refused_settlements(good_id uuid, good_claim bigint)
RETURNS TABLE (argument text, what text, settlements x_jobs.settlement[]) LANGUAGE sql AS $$
    VALUES ('settlements', 'a NULL array', NULL::x_jobs.settlement[]),
           ('settlements', 'a NULL element', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'), NULL]),
           ('verb', 'an unknown verb', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'),
                                   pg_temp.settlement(good_id, good_claim, 'Ack')]),
           ('verb', 'a NULL verb', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'),
                                   pg_temp.settlement(good_id, good_claim, NULL)]),
           ('verb', 'an empty verb', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'),
                                   pg_temp.settlement(good_id, good_claim, '')]),
           ('id', 'a NULL id', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'), pg_temp.settlement(NULL, good_claim, 'ack')]),
           ('claim', 'a NULL claim', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'),
                                   pg_temp.settlement(good_id, NULL, 'ack')]),
           ('delay', 'a negative delay', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'),
                                   pg_temp.settlement(good_id, good_claim, 'nack', delay => '-1 s')]),
           ('retry_after', 'a negative retry_after', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'),
                                   pg_temp.settlement(good_id, good_claim, 'fail', error => 'no', retry_after => '-1 s')]),
           ('duration', 'a negative duration', ARRAY[pg_temp.settlement(good_id, good_claim, 'ack'),
                                   pg_temp.settlement(good_id, good_claim, 'ack', duration => '-1 s')])
$$;
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.settle(%L, ''w'')', settlements)), '^XJ001 X_INVARIANT: ' || argument || ' ',
               'ROW-18 settle refuses ' || what)
  FROM pg_temp.refused_settlements(:'id', :claim);
SELECT matches(pg_temp.refusal('SELECT x_jobs.settle(''{}'', NULL)'), '^XJ001 X_INVARIANT: worker_id ',
               'ROW-18 settle refuses a NULL worker');
SELECT is(pg_temp.stored(:'id'), :'before', 'ROW-18 a refused batch settles nothing, the good ones included');

-- exchange(): settle, then claim.
SELECT x_jobs.enqueue('job.next', jsonb_build_object('n', n), queue => 'next', dedupe => false)
  FROM generate_series(1, 3) AS n \g /dev/null
SELECT * FROM pg_temp.held('e1') \gset one_
SELECT * FROM pg_temp.held('e2') \gset two_
CREATE TEMP TABLE exchanged AS SELECT row_number() OVER () AS place, e.* FROM x_jobs.exchange(ARRAY[
    pg_temp.settlement(:'unknown', 5, 'ack'), pg_temp.settlement(:'one_id', :one_claim, 'ack', result => '1'),
    pg_temp.settlement(:'two_id', :two_claim + 1, 'fail', error => 'no')], ARRAY['next'], 'w', 2, '45 s') AS e;
SELECT results_eq('SELECT status FROM exchanged ORDER BY place', 'VALUES (''lost''), (''lost''), (''claimed''), (''claimed'')',
                  'DRV-8 exchange answers the lost settlements first, then the claimed jobs');
SELECT results_eq('SELECT id FROM exchanged WHERE status = ''lost'' ORDER BY place',
                  format('VALUES (%L::uuid), (%L)', :'unknown', :'two_id'), 'DRV-8 a lost row names its id, in the order given');
SELECT is(to_jsonb(e) - 'place' - 'status' - 'id', jsonb_object_agg(key, NULL), 'DRV-8 and everything else in it is NULL')
  FROM exchanged e, jsonb_object_keys(to_jsonb(e) - 'place' - 'status' - 'id') AS key WHERE e.place = 1 GROUP BY e.*;
SELECT is(state || ' ' || result, 'done 1', 'ACK-1 what landed is settled') FROM x_jobs.job(:'one_id');
SELECT is(state, 'running', 'ACK-2 what did not land is untouched') FROM x_jobs.job(:'two_id');
SELECT results_eq('SELECT (input ->> ''n'')::int, name, attempt, worker_id, visible_at - claimed_at
                     FROM exchanged WHERE status = ''claimed'' ORDER BY place',
                  'VALUES (1, ''job.next'', 1, ''w'', interval ''45 s''), (2, ''job.next'', 1, ''w'', interval ''45 s'')',
                      'CLAIM-8 the claimed jobs come in order, with all that a claim tells');
SELECT ok((SELECT bool_and(x_jobs.ack(id, 'w', claim)) FROM exchanged WHERE status = 'claimed'),
          'CLAIM-9 and can be settled under their claim');
SELECT is(e.status || ' ' || (e.input ->> 'n'), 'claimed 3', 'CLAIM-7 no settlements: exchange is a claim')
  FROM x_jobs.exchange('{}', ARRAY['next'], 'w') AS e;
SELECT is_empty('SELECT * FROM x_jobs.exchange(''{}'', ARRAY[''next''], ''w'', 5)',
                'CLAIM-7 nothing to settle and nothing to claim: no rows');
SELECT is_empty(format('SELECT * FROM x_jobs.exchange(ARRAY[pg_temp.settlement(%L, %s, ''ack'')], ARRAY[''next''], ''w'', 0)',
                       :'two_id', :two_claim), 'CLAIM-3 with max_jobs 0 exchange only settles');
SELECT is(state, 'done', 'CLAIM-3 which it did') FROM x_jobs.job(:'two_id');
SELECT * FROM pg_temp.held('e3') \gset
SELECT is(e.id || ' ' || e.attempt || ' ' || e.claim, format('%s 1 %s', :'id', :claim + 1),
          'CLAIM-9 what exchange hands back at once it may claim at once, under a new ordinal')
  FROM x_jobs.exchange(ARRAY[pg_temp.settlement(:'id', :claim, 'release')], ARRAY['e3'], 'w') AS e;
SELECT * FROM pg_temp.held('e4') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.exchange(ARRAY[pg_temp.settlement(%L, %s, ''ack'')], %s)', :'id', :claim,
                        arguments)), expected, 'ROW-18 exchange refuses ' || arguments)
  FROM (VALUES ('''{}'', ''w''', '^XJ101 X_JOB_CLAIM_QUEUES_EMPTY: '), ('NULL, ''w''', '^XJ001 X_INVARIANT: queues '),
        ('''{e4}'', NULL', '^XJ001 X_INVARIANT: worker_id '),
               ('''{e4}'', ''w'', -1', '^XJ001 X_INVARIANT: max_jobs '),
                   ('''{e4}'', ''w'', 10001', '^XJ001 X_INVARIANT: max_jobs '),
               ('''{e4}'', ''w'', 1, ''-1 s''', '^XJ001 X_INVARIANT: visibility_timeout '),
                   ('''{e4}'', ''w'', 1, ''1 s'', ''-1 s''', '^XJ001 X_INVARIANT: wait ')) AS refused (arguments, expected);
SELECT is(pg_temp.stored(:'id'), :'before', 'ROW-18 a refused exchange settles nothing');

SELECT * FROM finish();
