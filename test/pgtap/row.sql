-- If this failed, a job's record would lose or change what its producer, its worker or an operator wrote into it,
-- or its ids would stop telling the order in which jobs were made.
BEGIN;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL synchronous_commit = on;
SELECT plan(123);

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

-- The instant that a version 7 uuid carries.
CREATE FUNCTION pg_temp.instant_of(id uuid) RETURNS timestamptz
    LANGUAGE sql RETURN to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0);

-- ROW-1

SELECT id AS whole, run_id AS whole_run
  FROM x_jobs.enqueue('row-1', '{"n": [1, "é", null]}', idempotency_key => 'row-1:whole', queue => 'rows',
                      run_at => '2021-02-03 04:05:06.000007+00', priority => 7, max_attempts => 4, tenant_id => 'acme',
                      expires_at => '9000-01-01 00:00:00+00', tags => ARRAY['red', 'größe'],
                      traceparent => '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', enqueued_by => 'clerk') \gset
SELECT id AS bare FROM x_jobs.enqueue('row-1', idempotency_key => 'row-1:bare') \gset

SELECT is(
    (SELECT to_jsonb(j) - ARRAY['created_at', 'updated_at', 'run_at', 'expires_at'] FROM x_jobs.job(:'whole') j),
    jsonb_build_object(
        'id', :'whole', 'name', 'row-1', 'queue', 'rows', 'state', 'ready', 'priority', 7, 'input', '{"n": [1, "é", null]}'::jsonb,
        'idempotency_key', 'row-1:whole', 'run_id', :'whole_run', 'attempt', 0, 'max_attempts', 4, 'final_attempt', false,
        'claim', NULL, 'worker_id', NULL, 'tenant_id', 'acme', 'tags', ARRAY['red', 'größe'], 'claimed_at', NULL,
        'visible_at', NULL, 'finished_at', NULL, 'timeout', NULL, 'last_error', NULL, 'last_error_code', NULL,
        'last_error_stack', NULL, 'progress', NULL, 'result', NULL, 'reason', NULL,
        'traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'enqueued_by', 'clerk'),
    'ROW-1: the record carries what the producer gave, and nothing for what has not happened yet');
SELECT is(
    (SELECT ARRAY[j.run_at, j.expires_at] FROM x_jobs.job(:'whole') j),
    ARRAY['2021-02-03 04:05:06.000007+00', '9000-01-01 00:00:00+00']::timestamptz[],
    'ROW-1: the record carries its instants to the microsecond');
SELECT is(
    (SELECT jsonb_strip_nulls(to_jsonb(j)) - ARRAY['id', 'run_id', 'created_at', 'updated_at', 'run_at'] FROM x_jobs.job(:'bare') j),
    '{"name": "row-1", "queue": "default", "state": "ready", "priority": 5, "idempotency_key": "row-1:bare", "attempt": 0,
      "max_attempts": 3, "final_attempt": false}'::jsonb,
    'ROW-1: tenant, error, stack, progress, claimer, ordinal, lease, trace and enqueuer are optional');

SELECT claim AS held FROM x_jobs.claim(ARRAY['rows'], 'worker é') \gset
SELECT x_jobs.progress(:'whole', 'worker é', :held, 3, 10, 'third of ten') AS noted \gset
SELECT is(
    (SELECT to_jsonb(j) - ARRAY['at'] FROM (SELECT j.state, j.attempt, j.worker_id, j.claim, j.visible_at IS NOT NULL AS leased,
            j.progress - 'at' AS progress FROM x_jobs.job(:'whole') j) j),
    '{"state": "running", "attempt": 1, "worker_id": "worker é", "claim": 1, "leased": true,
      "progress": {"done": 3, "total": 10, "note": "third of ten"}}'::jsonb,
    'ROW-1: a running job''s record carries claimer, ordinal, lease and progress');
SELECT x_jobs.nack(:'whole', 'worker é', :held, error => 'it broke', stack => 'at line 1') AS handed_back \gset
SELECT is(
    (SELECT ARRAY[j.state, j.last_error, j.last_error_stack, j.worker_id, j.visible_at::text] FROM x_jobs.job(:'whole') j),
    ARRAY['ready', 'it broke', 'at line 1', NULL, NULL],
    'ROW-1: a job that failed carries its last error and stack, and no claimer');
SELECT is(
    (SELECT to_jsonb(a) FROM x_jobs.all_jobs a WHERE a.id = :'whole'),
    (SELECT to_jsonb(j) FROM x_jobs.job(:'whole') j),
    'ROW-1: all_jobs shows the same record as job()');

-- ROW-3

SELECT id AS fenced FROM x_jobs.enqueue('row-3', idempotency_key => 'row-3', queue => 'fence', max_attempts => 100) \gset
SELECT is((SELECT claim FROM _x_jobs.jobs WHERE id = :'fenced'), 0::bigint, 'ROW-3: the ordinal is stored as 0 before the first claim');
SELECT is((SELECT claim FROM x_jobs.job(:'fenced')), NULL::bigint, 'ROW-3: the ordinal is absent from the record before the first claim');
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['fence'], 'w')), 1::bigint, 'ROW-3: the first claim has ordinal 1');
SELECT is((SELECT claim FROM x_jobs.job(:'fenced')), 1::bigint, 'ROW-3: the record shows the ordinal of the claim');
SELECT x_jobs.nack(:'fenced', 'w', 1, delay => '1 h') AS landed \gset
SELECT is((SELECT claim FROM x_jobs.job(:'fenced')), 1::bigint, 'ROW-3: a nack does not reset the ordinal');
SELECT is((SELECT claim FROM x_jobs.promote(:'fenced')), 1::bigint, 'ROW-3: a promote does not reset the ordinal');
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['fence'], 'w')), 2::bigint, 'ROW-3: the second claim has ordinal 2');
SELECT x_jobs.release(:'fenced', 'w', 2) AS landed \gset
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['fence'], 'other')), 3::bigint, 'ROW-3: an uncounted hand-back does not give the ordinal back');
SELECT x_jobs.nack(:'fenced', 'other', 3, dead_letter => true) AS landed \gset
SELECT is((SELECT claim FROM x_jobs.job(:'fenced')), 3::bigint, 'ROW-3: a dead letter keeps its ordinal');
SELECT is((SELECT claim FROM x_jobs.requeue(:'fenced')), 3::bigint, 'ROW-3: a requeue does not reset the ordinal');
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['fence'], 'w', visibility_timeout => '0')), 4::bigint, 'ROW-3: the claim after a requeue goes on');
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['fence'], 'w')), 5::bigint, 'ROW-3: a redelivery after a lapse goes on');
SELECT x_jobs.ack(:'fenced', 'w', 5) AS landed \gset
SELECT is((SELECT claim FROM x_jobs.job(:'fenced')), 5::bigint, 'ROW-3: an ack does not reset the ordinal');
SELECT x_jobs.requeue(:'fenced') AS requeued \gset
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['fence'], 'w')), 6::bigint, 'ROW-3: the claim after an ack and a requeue goes on');
SELECT x_jobs.cancel(:'fenced') AS cancelled \gset
SELECT is((SELECT claim FROM x_jobs.job(:'fenced')), 6::bigint, 'ROW-3: a cancel does not reset the ordinal');

-- ROW-4

SELECT id AS steady, run_id AS steady_run FROM x_jobs.enqueue('row-4', idempotency_key => 'row-4', queue => 'run', max_attempts => 9) \gset
SELECT isnt(:'steady'::uuid, :'steady_run'::uuid, 'ROW-4: the run id is distinct from the job id');
SELECT is((SELECT run_id FROM x_jobs.claim(ARRAY['run'], 'w')), :'steady_run'::uuid, 'ROW-4: the first claim carries the run id');
SELECT x_jobs.nack(:'steady', 'w', 1, error => 'again') AS landed \gset
SELECT is((SELECT run_id FROM x_jobs.claim(ARRAY['run'], 'w')), :'steady_run'::uuid, 'ROW-4: the run id is stable over a retry');
SELECT x_jobs.nack(:'steady', 'w', 2, park => true, counts_as_attempt => false) AS landed \gset
SELECT is((SELECT run_id FROM x_jobs.claim(ARRAY['run'], 'w')), :'steady_run'::uuid, 'ROW-4: the run id is stable over a suspension');
SELECT x_jobs.nack(:'steady', 'w', 3, dead_letter => true) AS landed \gset
SELECT is((SELECT run_id FROM x_jobs.job(:'steady')), :'steady_run'::uuid, 'ROW-4: a finished job keeps its run id');
SELECT is((SELECT run_id FROM x_jobs.requeue(:'steady')), :'steady_run'::uuid, 'ROW-4: the run id is stable over a requeue');
SELECT is((SELECT run_id FROM x_jobs.claim(ARRAY['run'], 'w')), :'steady_run'::uuid, 'ROW-4: the claim after a requeue carries the run id');

-- ROW-5

SELECT is_empty($$
    SELECT c.oid::regclass, a.attname
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'c')
       AND a.attname IN ('id', 'run_id', 'job_id') AND a.atttypid <> 'uuid'::regtype$$,
    'ROW-5: every job id and run id is a uuid column');
CREATE TEMP TABLE minted AS SELECT n, x_jobs.new_id() AS id FROM generate_series(1, 10000) AS n;
SELECT is(
    (SELECT count(*) FROM minted WHERE id::text !~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$'), 0::bigint,
    'ROW-5: a minted id has version 7 and the variant of RFC 9562');
SELECT is(
    (SELECT count(*) FROM (SELECT id > lag(id) OVER (ORDER BY n) AS grew FROM minted) AS pairs WHERE grew), 9999::bigint,
    'ROW-5: each of 10,000 ids of one process is greater than the one before');
SELECT cmp_ok(
    (SELECT max(abs(extract(epoch FROM pg_temp.instant_of(id) - clock_timestamp()))) FROM minted), '<', 10::numeric,
    'ROW-5: a minted id carries the instant at which it was made');
SET LOCAL x_jobs.test_clock_offset = '1h';
SELECT x_jobs.new_id() AS later \gset
SET LOCAL x_jobs.test_clock_offset = 0;
SELECT cmp_ok(x_jobs.new_id(), '>', :'later'::uuid, 'ROW-5: ids go on growing when the clock is set back');
CREATE TEMP TABLE made AS
    SELECT n, (x_jobs.enqueue('row-5', idempotency_key => 'row-5:' || n, queue => 'made')).id FROM generate_series(1, 50) AS n;
SELECT results_eq('SELECT n FROM made ORDER BY id', 'SELECT n FROM made ORDER BY n', 'ROW-5: sorting jobs by id is sorting them by creation');
SELECT is(
    (SELECT array_agg(ordinal ORDER BY id) FROM x_jobs.enqueue_many('row-5:batch', ARRAY['1', '2', '3']::jsonb[], ARRAY['c', 'a', 'b'])), ARRAY[1, 2, 3],
    'ROW-5: the ids of a batch grow by position, so that its jobs are handed out in the order given');
SELECT is(
    (SELECT count(*) FROM _x_jobs.jobs WHERE queue = 'made' AND run_id::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7'), 50::bigint,
    'ROW-5: minted run ids are of version 7 too');
SELECT is(
    (SELECT count(DISTINCT one) FROM _x_jobs.jobs, unnest(ARRAY[id, run_id]) AS one WHERE queue = 'made'), 100::bigint,
    'ROW-5: no minted id is used twice');

-- ROW-7

SELECT col_default_is('_x_jobs', 'jobs', 'queue', 'default'::text, 'ROW-7: column default of queue');
SELECT col_default_is('_x_jobs', 'jobs', 'attempt', '0'::text, 'ROW-7: column default of attempt');
SELECT col_default_is('_x_jobs', 'jobs', 'max_attempts', '3'::text, 'ROW-7: column default of max_attempts');
SELECT col_default_is('_x_jobs', 'jobs', 'state', 'ready'::text, 'ROW-7: column default of state');
SELECT is(
    (SELECT ARRAY[queue, attempt::text, max_attempts::text, state] FROM x_jobs.job(:'bare')), ARRAY['default', '0', '3', 'ready'],
    'ROW-7: an enqueue that names none of them gets queue default, attempt 0, 3 attempts and state ready');
SELECT id AS spelled
  FROM x_jobs.enqueue('row-7', NULL, 'row-7', queue => NULL, run_at => NULL, delay => NULL, priority => NULL, max_attempts => NULL,
                      tags => NULL) \gset
SELECT is(
    (SELECT ARRAY[queue, attempt::text, max_attempts::text, state, priority::text, input::text] FROM x_jobs.job(:'spelled')),
    ARRAY['default', '0', '3', 'ready', '5', 'null'],
    'ROW-7: NULL stands for the default');
SELECT is((SELECT run_at FROM x_jobs.job(:'bare')), now(), 'ROW-7: run_at is the start of the enqueuing transaction');
SELECT ok(
    (SELECT created_at BETWEEN now() AND clock_timestamp() AND updated_at BETWEEN now() AND clock_timestamp() FROM x_jobs.job(:'bare')),
    'ROW-7: created_at and updated_at are the clock of the database');
SET LOCAL x_jobs.test_clock_offset = '3h';
SELECT id AS shifted FROM x_jobs.enqueue('row-7', idempotency_key => 'row-7:shifted', queue => 'shifted') \gset
SELECT is(
    (SELECT run_at - now() FROM x_jobs.job(:'shifted')), '3 h'::interval,
    'ROW-7: run_at, too, is read from the one clock that can be shifted');
SELECT ok(
    (SELECT created_at - now() BETWEEN '3 h' AND '3 h 10 min' FROM x_jobs.job(:'shifted')),
    'ROW-7: created_at, too, is read from the one clock that can be shifted');
SET LOCAL x_jobs.test_clock_offset = 0;

-- ROW-8

CREATE TEMP TABLE page AS
    SELECT label, (x_jobs.enqueue('row-8', idempotency_key => 'row-8:' || label, queue => 'page')).id
      FROM unnest(ARRAY['sound', 'upper case', 'trailing space', 'unknown', 'empty', 'finished']) AS label;
SELECT x_jobs.cancel((SELECT id FROM page WHERE label = 'finished')) AS cancelled \gset
UPDATE _x_jobs.jobs AS j SET state = CASE label WHEN 'upper case' THEN 'Ready' WHEN 'trailing space' THEN 'ready ' WHEN 'unknown' THEN 'zombie' ELSE '' END
  FROM page WHERE page.id = j.id AND label IN ('upper case', 'trailing space', 'unknown', 'empty');
UPDATE _x_jobs.history SET state = 'DONE' WHERE id = (SELECT id FROM page WHERE label = 'finished');

SELECT pg_temp.refused(
    format('SELECT x_jobs.job(%L)', page.id), 'XJ011', format('X_JOB_ROW_STATUS_UNKNOWN: jobs.state holds %L; this build knows ready', stored),
    format('ROW-8: a state stored as %L is refused, naming table, column and value', stored))
  FROM page JOIN (VALUES ('upper case', 'Ready'), ('trailing space', 'ready '), ('unknown', 'zombie'), ('empty', ''), ('finished', 'DONE'))
       AS wrong (label, stored) USING (label) ORDER BY page.id;
SELECT pg_temp.refused(
    format('SELECT x_jobs.job(%L)', id), 'XJ011',
    'X_JOB_ROW_STATUS_UNKNOWN: jobs.state holds ''zombie''; this build knows ready, delayed, running, suspended, done, failed, dead, cancelled.',
    'ROW-8: the refusal lists every known state') FROM page WHERE label = 'unknown';
SET LOCAL client_min_messages = error;
SELECT results_eq(
    $$SELECT id FROM x_jobs.jobs(name => 'row-8')$$, $$SELECT id FROM page WHERE label = 'sound'$$,
    'ROW-8: the rest of the page stays readable');
RESET client_min_messages;
SELECT lives_ok(format('SELECT x_jobs.job(%L)', id), 'ROW-8: the sound row stays readable by itself') FROM page WHERE label = 'sound';
SELECT results_eq(
    $$SELECT id FROM x_jobs.claim(ARRAY['page'], 'w', 10)$$, $$SELECT id FROM page WHERE label = 'sound'$$,
    'ROW-8: a claim hands out the sound row and none of unknown state');
DELETE FROM _x_jobs.jobs WHERE queue = 'page';
DELETE FROM _x_jobs.history WHERE queue = 'page';

-- ROW-16

-- Fails a job of its own with this text and answers what the record then holds.
CREATE FUNCTION pg_temp.recorded(error text, stack text) RETURNS x_jobs.job
    LANGUAGE plpgsql AS $$
DECLARE
    held x_jobs.claimed_job;
BEGIN
    PERFORM x_jobs.enqueue('row-16', dedupe => false, queue => 'texts', max_attempts => 1);
    SELECT * INTO STRICT held FROM x_jobs.claim(ARRAY['texts'], 'w');
    PERFORM x_jobs.nack(held.id, 'w', held.claim, error => error, stack => stack, dead_letter => true);
    RETURN x_jobs.job(held.id);
END $$;
-- What a cut text must be: at most this long, the original up to near there, and not merely a piece of it.
CREATE FUNCTION pg_temp.is_cut(kept text, given text, bytes integer) RETURNS boolean
    LANGUAGE sql RETURN octet_length(kept) BETWEEN bytes - 200 AND bytes AND NOT starts_with(given, kept)
        AND starts_with(kept, left(given, length(kept) - 100)) AND convert_from(convert_to(kept, 'UTF8'), 'UTF8') = kept;

SELECT ok(last_error = repeat('e', 65536), 'ROW-16: an error of exactly 64 KiB is kept whole') FROM pg_temp.recorded(repeat('e', 65536), NULL);
SELECT ok(pg_temp.is_cut(last_error, repeat('e', 65537), 65536), 'ROW-16: an error of 64 KiB and one byte is cut, with a visible mark')
  FROM pg_temp.recorded(repeat('e', 65537), NULL);
SELECT ok(last_error = repeat('é', 32768), 'ROW-16: an error of exactly 64 KiB in two-byte characters is kept whole')
  FROM pg_temp.recorded(repeat('é', 32768), NULL);
SELECT ok(pg_temp.is_cut(last_error, 'x' || repeat('é', 32768), 65536), 'ROW-16: a cut never splits a two-byte character')
  FROM pg_temp.recorded('x' || repeat('é', 32768), NULL);
SELECT ok(pg_temp.is_cut(last_error, repeat('x', shift) || repeat('🐘', 20000), 65536),
          format('ROW-16: a cut never splits a four-byte character (%s bytes before the first)', shift))
  FROM generate_series(0, 3) AS shift, pg_temp.recorded(repeat('x', shift) || repeat('🐘', 20000), NULL);
SELECT ok(last_error_stack = repeat('é', 8000), 'ROW-16: a stack of exactly 8,000 characters is kept whole')
  FROM pg_temp.recorded('e', repeat('é', 8000));
SELECT ok(char_length(last_error_stack) BETWEEN 7900 AND 8000, 'ROW-16: a stack of 8,001 characters is cut to 8,000')
  FROM pg_temp.recorded('e', repeat('é', 8001));

SELECT id AS failing FROM x_jobs.enqueue('row-16', dedupe => false, queue => 'failing') \gset
SELECT claim AS held FROM x_jobs.claim(ARRAY['failing'], 'w') \gset
SELECT landed FROM x_jobs.fail(:'failing', 'w', :held, repeat('é', 50000), stack => repeat('s', 9000)) \gset
SELECT ok(pg_temp.is_cut(last_error, repeat('é', 50000), 65536) AND char_length(last_error_stack) BETWEEN 7900 AND 8000,
          'ROW-16: fail() cuts error and stack as nack() does') FROM x_jobs.job(:'failing');
SELECT ok(pg_temp.is_cut(error, repeat('é', 50000), 65536) AND char_length(error_stack) BETWEEN 7900 AND 8000,
          'ROW-16: the record of the attempt is cut likewise') FROM x_jobs.attempts(:'failing');

SELECT id AS noting FROM x_jobs.enqueue('row-16', dedupe => false, queue => 'noting') \gset
SELECT claim AS held FROM x_jobs.claim(ARRAY['noting'], 'w') \gset
SELECT x_jobs.progress(:'noting', 'w', :held, 1, 2, repeat('é', 200)) AS landed \gset
SELECT is(progress ->> 'note', repeat('é', 200), 'ROW-16: a note of exactly 200 characters is kept whole') FROM x_jobs.job(:'noting');
SELECT x_jobs.progress(:'noting', 'w', :held, 1, 2, repeat('n', 201)) AS landed \gset
SELECT ok(char_length(progress ->> 'note') BETWEEN 190 AND 200, 'ROW-16: a note of 201 characters is cut to 200') FROM x_jobs.job(:'noting');

-- ROW-18

SELECT id AS subject FROM x_jobs.enqueue('row-18', dedupe => false, queue => 'subject') \gset
SELECT claim AS held FROM x_jobs.claim(ARRAY['subject'], 'w', visibility_timeout => '1 h') \gset
SELECT id AS waiting FROM x_jobs.enqueue('row-18', dedupe => false, queue => 'bounds') \gset
CREATE TEMP TABLE before AS SELECT id, ctid AS place FROM _x_jobs.jobs WHERE id IN (:'subject', :'waiting');
CREATE TEMP TABLE calls (argument, sql_type, call) AS VALUES
    ('max_jobs', 'integer', $$SELECT * FROM x_jobs.claim(ARRAY['bounds'], 'w', max_jobs => %s)$$),
    ('visibility_timeout', 'interval', $$SELECT * FROM x_jobs.claim(ARRAY['bounds'], 'w', visibility_timeout => %s)$$),
    ('wait', 'interval', $$SELECT * FROM x_jobs.claim(ARRAY['bounds'], 'w', wait => %s)$$),
    ('heartbeat', 'interval', format($$SELECT x_jobs.heartbeat(%L, 'w', %s, visibility_timeout => %%s)$$, :'subject', :held)),
    ('heartbeat_many', 'interval', format($$SELECT * FROM x_jobs.heartbeat_many(ARRAY[%L]::uuid[], 'w', ARRAY[%s]::bigint[], visibility_timeout => %%s)$$,
                                           :'subject', :held)),
    ('nack', 'interval', format($$SELECT x_jobs.nack(%L, 'w', %s, delay => %%s)$$, :'subject', :held)),
    ('release', 'interval', format($$SELECT x_jobs.release(%L, 'w', %s, delay => %%s)$$, :'subject', :held)),
    ('ack', 'interval', format($$SELECT x_jobs.ack(%L, 'w', %s, duration => %%s)$$, :'subject', :held)),
    ('delay', 'interval', $$SELECT x_jobs.enqueue('row-18', dedupe => false, delay => %s)$$),
    ('max_attempts', 'integer', $$SELECT x_jobs.enqueue('row-18', dedupe => false, max_attempts => %s)$$),
    ('max', 'integer', $$SELECT * FROM x_jobs.jobs(max => %s)$$),
    ('dead_letters', 'integer', $$SELECT * FROM x_jobs.dead_letters(max => %s)$$),
    ('exchange', 'integer', $$SELECT * FROM x_jobs.exchange('{}', ARRAY['bounds'], 'w', max_jobs => %s)$$),
    ('slots', 'integer', $$SELECT x_jobs.worker_announce('w', slots => %s)$$),
    ('ttl', 'interval', $$SELECT x_jobs.worker_announce('w', ttl => %s)$$);
CREATE TEMP TABLE named (call_of, argument) AS VALUES
    ('heartbeat', 'visibility_timeout'), ('heartbeat_many', 'visibility_timeout'), ('nack', 'delay'), ('release', 'delay'),
    ('ack', 'duration'), ('dead_letters', 'max'), ('exchange', 'max_jobs');

SELECT pg_temp.refused(
    format(c.call, quote_nullable(value) || '::' || c.sql_type), 'XJ001', 'X_INVARIANT: ' || COALESCE(n.argument, c.argument) || ' ',
    format('ROW-18: %s: %s is refused, naming %s', substring(c.call FROM 'x_jobs\.(\w+)'), COALESCE(value, 'NULL'), COALESCE(n.argument, c.argument)))
  FROM (VALUES
        (1, 'max_jobs', NULL), (2, 'max_jobs', '-1'), (3, 'max_jobs', '10001'),
        (4, 'visibility_timeout', NULL), (5, 'visibility_timeout', '-1 us'), (6, 'visibility_timeout', '30 days 1 us'),
        (7, 'visibility_timeout', '178000000 years'),
        (8, 'wait', NULL), (9, 'wait', '-1 us'), (10, 'wait', '1 day 1 us'),
        (11, 'heartbeat', NULL), (12, 'heartbeat', '-1 us'), (13, 'heartbeat', '30 days 1 us'),
        (14, 'heartbeat_many', NULL), (15, 'heartbeat_many', '-1 us'), (16, 'heartbeat_many', '30 days 1 us'),
        (17, 'nack', NULL), (18, 'nack', '-1 us'), (19, 'nack', '178000000 years'),
        (20, 'release', NULL), (21, 'release', '-1 us'), (22, 'release', '178000000 years'),
        (23, 'ack', '-1 us'), (24, 'ack', '178000000 years'),
        (25, 'delay', '-1 us'), (26, 'delay', '36500 days 1 us'),
        (27, 'max_attempts', '0'), (28, 'max_attempts', '-1'),
        (29, 'max', NULL), (30, 'max', '-1'), (31, 'dead_letters', NULL), (32, 'dead_letters', '-1'),
        (33, 'exchange', NULL), (34, 'exchange', '-1'), (35, 'exchange', '10001'),
        (36, 'slots', NULL), (37, 'slots', '-1'), (38, 'ttl', NULL), (39, 'ttl', '-1 us'), (40, 'ttl', '30 days 1 us')
       ) AS wrong (position, call_of, value)
  JOIN calls c ON c.argument = call_of LEFT JOIN named n USING (call_of) ORDER BY position;
SELECT results_eq(
    'SELECT j.id, j.ctid FROM _x_jobs.jobs j JOIN before USING (id) ORDER BY id', 'SELECT id, place FROM before ORDER BY id',
    'ROW-18: no refused call moved a row');
SELECT lives_ok(
    format(call, quote_literal(value) || '::' || sql_type),
    format('ROW-18: %s: %s is legal', substring(call FROM 'x_jobs\.(\w+)'), value))
  FROM (VALUES (1, 'max_jobs', '0'), (2, 'heartbeat', '30 days'), (3, 'delay', '0'), (4, 'delay', '36500 days'), (5, 'max_attempts', '1'),
               (6, 'max_attempts', '2147483647'), (7, 'max', '0'), (8, 'max', '200'), (9, 'slots', '0'), (10, 'ttl', '30 days'), (11, 'ack', '0')
       ) AS right_ones (position, argument, value) JOIN calls USING (argument) ORDER BY position;
-- Infinite intervals exist from version 17 on; before, the server's own parser refuses them.
SELECT CASE WHEN current_setting('server_version_num')::integer >= 170000
       THEN pg_temp.refused($$SELECT * FROM x_jobs.claim(ARRAY['bounds'], 'w', visibility_timeout => 'infinity')$$, 'XJ001',
                            'X_INVARIANT: visibility_timeout ', 'ROW-18: an infinite duration is refused')
       ELSE throws_ok($$SELECT * FROM x_jobs.claim(ARRAY['bounds'], 'w', visibility_timeout => 'infinity')$$, '22007', NULL,
                      'ROW-18: an infinite duration is refused')
       END;

SELECT * FROM finish();
ROLLBACK;
