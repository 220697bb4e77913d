-- If this failed, urgent work would wait behind idle work, a list would skip or repeat jobs, or two claims could carry
-- one token.
SET client_encoding = 'UTF8';
SET synchronous_commit = on;
SELECT plan(71);

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

-- The hint of the refusal of a statement.
CREATE FUNCTION pg_temp.hint_of(statement text) RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    RETURN hint;
END $$;

-- The names that a claim answers, in the order of its rows.
CREATE FUNCTION pg_temp.taken(queues text[], max_jobs integer DEFAULT 100, lease interval DEFAULT '30 s') RETURNS text
    LANGUAGE sql RETURN COALESCE((SELECT string_agg(c.name, ' ' ORDER BY c.ordinality) FROM x_jobs.claim(queues, 'w', max_jobs, lease) WITH ORDINALITY AS c), 'nothing');

-- X-1

SELECT x_jobs.enqueue('x-1', dedupe => false, queue => 'x-1:default') AS made \gset
SELECT is((SELECT priority FROM x_jobs.jobs(name => 'x-1')), 5, 'X-1: the default priority is 5');
SELECT is((SELECT priority FROM x_jobs.claim(ARRAY['x-1:default'], 'w')), 5, 'X-1: a claim shows the priority');
SELECT pg_temp.refused(
    format($$SELECT x_jobs.enqueue('x-1', dedupe => false, queue => 'x-1', priority => %s)$$, priority), 'XJ001', 'X_INVARIANT: priority ', format('X-1: priority %s is refused', priority))
  FROM unnest(ARRAY[-1, 10]) AS priority;
SELECT x_jobs.enqueue('p' || p, dedupe => false, queue => CASE WHEN p % 2 = 0 THEN 'x-1:even' ELSE 'x-1:odd' END, priority => p, run_at => now() - p * interval '1 h') AS made
  FROM unnest(ARRAY[4, 9, 0, 7, 2, 5, 1, 8, 3, 6]) AS p \g /dev/null
SELECT is(
    pg_temp.taken(ARRAY['x-1:odd', 'x-1:even'], 7), 'p0 p1 p2 p3 p4 p5 p6', 'X-1: priorities 0 to 9 exist; a claim takes the lowest first over all its queues, though they are due latest');
SELECT is(pg_temp.taken(ARRAY['x-1:odd', 'x-1:even'], 7), 'p7 p8 p9', 'X-1: the others follow');
SELECT x_jobs.enqueue(name, dedupe => false, queue => queue, priority => priority, run_at => '2024-01-01 00:00:00+00'::timestamptz + after) AS made
  FROM (VALUES (1, 'e', 'x-1:a', 6, '0 s'::interval), (2, 'c', 'x-1:b', 5, '2 s'), (3, 'b', 'x-1:a', 5, '1 s'), (4, 'd', 'x-1:a', 5, '2 s'), (5, 'a', 'x-1:b', 4, '9 s'), (6, 'f', 'x-1:b', 6, '0 s'))
       AS t (n, name, queue, priority, after) ORDER BY n \g /dev/null
SELECT is(pg_temp.taken(ARRAY['x-1:a', 'x-1:b']), 'a b c d e f', 'X-1: the order is priority, then run_at, then id');
SELECT x_jobs.enqueue(name, dedupe => false, queue => 'x-1:late', priority => priority, run_at => run_at) AS made
  FROM (VALUES ('urgent later', 0, now() + interval '1 h'), ('idle now', 9, now())) AS t (name, priority, run_at) \g /dev/null
SELECT is(pg_temp.taken(ARRAY['x-1:late']), 'idle now', 'X-1: an urgent job that is not due does not hold back an idle one that is');
SELECT x_jobs.enqueue('same ' || n, dedupe => false, queue => 'x-1:same', run_at => '2024-01-01 00:00:00+00'::timestamptz + n * interval '1 us') AS made
  FROM unnest(ARRAY[3, 1, 2]) AS n \g /dev/null
SELECT is(pg_temp.taken(ARRAY['x-1:same']), 'same 1 same 2 same 3', 'X-1: with one priority this is the order of run_at, to the microsecond');

-- X-5

SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-5', dedupe => false, id => 'b4c2f9c8-6d1f-4b57-9a0e-3f2d1c0b9a87')$$, 'XJ004', 'X_ID_INVALID: id ', 'X-5: a job id that is no version 7 uuid is refused');
SELECT alike(
    pg_temp.hint_of($$SELECT x_jobs.enqueue('x-5', dedupe => false, id => 'b4c2f9c8-6d1f-4b57-9a0e-3f2d1c0b9a87')$$), '%x_jobs.new_id()%', 'X-5: the hint names x_jobs.new_id()');
SELECT unalike(
    pg_temp.hint_of($$SELECT x_jobs.enqueue('x-5', dedupe => false, id => 'b4c2f9c8-6d1f-4b57-9a0e-3f2d1c0b9a87')$$), '%b4c2f9c8%', 'X-5: the hint does not echo the id');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'x-5'), 0::bigint, 'X-5: nothing was made');
CREATE TEMP TABLE own_ids AS SELECT n, x_jobs.new_id() AS id FROM generate_series(1, 6) AS n;
SELECT is(
    (SELECT count(*) FROM own_ids own, LATERAL x_jobs.enqueue('x-5', idempotency_key => 'k' || n, queue => 'x-5', id => own.id) AS e WHERE e.id = own.id AND NOT e.deduped), 6::bigint,
    'X-5: ids of new_id() are taken as the ids of jobs');
SELECT results_eq($$SELECT id FROM x_jobs.jobs(name => 'x-5')$$, 'SELECT id FROM own_ids ORDER BY n DESC', 'X-5: listing by id is listing in the order in which ids were made');
SELECT x_jobs.enqueue('x-5', idempotency_key => 'ancient', queue => 'x-5', id => '01234567-89ab-7def-8123-456789abcdef') AS made \gset
SELECT is(
    (SELECT array_agg(id) FROM (SELECT id FROM x_jobs.jobs(name => 'x-5') OFFSET 6) AS oldest), ARRAY['01234567-89ab-7def-8123-456789abcdef']::uuid[],
    'X-5: a job made last under an older id is listed by its id');

-- X-6

CREATE TEMP TABLE listed AS SELECT n, (x_jobs.enqueue('x-6', idempotency_key => 'k' || n, queue => 'x-6')).id FROM generate_series(1, 9) AS n;
-- The last characters of the keys of a page, in its order.
CREATE FUNCTION pg_temp.page(after uuid DEFAULT NULL, before uuid DEFAULT NULL, max integer DEFAULT 3) RETURNS text
    LANGUAGE sql RETURN COALESCE((SELECT string_agg(right(j.idempotency_key, 1), ' ' ORDER BY j.ordinality)
        FROM x_jobs.jobs(name => 'x-6', after => $1, before => $2, max => $3) WITH ORDINALITY AS j), 'nothing');
CREATE FUNCTION pg_temp.listed(wanted integer) RETURNS uuid LANGUAGE sql RETURN (SELECT id FROM listed WHERE n = wanted);
SELECT is(pg_temp.page(), '9 8 7', 'X-6: without a cursor the newest come first');
SELECT is(pg_temp.page(after => pg_temp.listed(7)), '6 5 4', 'X-6: the cursor is the id of a row: after it come the next older ones');
SELECT is(pg_temp.page(before => pg_temp.listed(3)), '6 5 4', 'X-6: before it come the nearest newer ones, newest first');
SELECT is(pg_temp.page(after => pg_temp.listed(1)), 'nothing', 'X-6: after the oldest comes nothing');
SELECT is(pg_temp.page(before => pg_temp.listed(9)), 'nothing', 'X-6: before the newest comes nothing');
SELECT x_jobs.remove(pg_temp.listed(5)) AS removed \gset
SELECT x_jobs.cancel(pg_temp.listed(4)) AS cancelled \gset
SELECT is(pg_temp.page(after => pg_temp.listed(5)), '4 3 2', 'X-6: after a removed row there is still a page');
SELECT is(pg_temp.page(before => pg_temp.listed(5)), '8 7 6', 'X-6: before a removed row there is still a page');
SELECT is(pg_temp.page(after => pg_temp.listed(4)), '3 2 1', 'X-6: a row that has finished is a cursor as before');
SELECT is(pg_temp.page(after => x_jobs.new_id()), '9 8 7', 'X-6: after an id that names no row yet there is a page');
SELECT is(pg_temp.page(before => x_jobs.new_id()), 'nothing', 'X-6: before an id that names no row yet there is an empty page');
SELECT is(pg_temp.page(after => '00000000-0000-0000-0000-000000000000'), 'nothing', 'X-6: after the nil uuid there is an empty page');
SELECT is(pg_temp.page(before => '00000000-0000-0000-0000-000000000000'), '3 2 1', 'X-6: before the nil uuid there are the oldest');
SELECT is(pg_temp.page(after => 'ffffffff-ffff-ffff-ffff-ffffffffffff'), '9 8 7', 'X-6: after the greatest uuid there are the newest');
SELECT is(pg_temp.page(after => 'b4c2f9c8-6d1f-4b57-9a0e-3f2d1c0b9a87'), '9 8 7', 'X-6: a cursor need not be of version 7');
-- Walks from page to page until one is empty.
CREATE FUNCTION pg_temp.walk(size integer) RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    cursor_id uuid;
    walked text := '';
    page record;
BEGIN
    FOR n IN 1 .. 20 LOOP
        SELECT count(*) AS rows, string_agg(right(j.idempotency_key, 1), '' ORDER BY j.ordinality) AS seen, (array_agg(j.id ORDER BY j.ordinality DESC))[1] AS last_id INTO page
          FROM x_jobs.jobs(name => 'x-6', after => cursor_id, max => size) WITH ORDINALITY AS j;
        EXIT WHEN page.rows = 0;
        walked := walked || page.seen;
        cursor_id := page.last_id;
        PERFORM x_jobs.enqueue('x-6', idempotency_key => 'new' || size || n, queue => 'x-6');
    END LOOP;
    RETURN walked;
END $$;
SELECT is(right(pg_temp.walk(size), 8), '98764321', format('X-6: a walk by pages of %s visits each row once while rows are being made', size)) FROM unnest(ARRAY[1, 3, 8]) AS size;

-- X-10: on the first timeline

SELECT x_jobs.enqueue('x-10', dedupe => false, queue => 'x-10', max_attempts => 100) AS made \gset
SELECT is(
    (SELECT array_agg(c.claim ORDER BY n) FROM generate_series(1, 5) AS n, LATERAL (SELECT claim FROM x_jobs.claim(ARRAY['x-10'], 'w' || n, visibility_timeout => '0')) AS c),
    ARRAY[1, 2, 3, 4, 5]::bigint[], 'X-10: claim ordinals start at 1 and grow by one');
SELECT x_jobs.enqueue('x-10', dedupe => false, queue => 'x-10:other') AS made \gset
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['x-10:other'], 'w')), 1::bigint, 'X-10: each job counts its own claims');
SELECT claim AS loose FROM x_jobs.claim(ARRAY['x-10'], 'w', visibility_timeout => '0', durable => false) \gset
SELECT cmp_ok(:loose::bigint, '>', 5::bigint, 'X-10: a claim that need not be durable has a greater ordinal than all before');
SELECT claim AS firm FROM x_jobs.claim(ARRAY['x-10'], 'w', visibility_timeout => '0') \gset
SELECT cmp_ok(:firm::bigint, '>', :loose::bigint, 'X-10: the durable claim after it has a greater one still');
SET synchronous_commit = off;
SELECT claim AS unsynced FROM x_jobs.claim(ARRAY['x-10'], 'w', visibility_timeout => '0') \gset
SET synchronous_commit = on;
SELECT cmp_ok(:unsynced::bigint, '>', :firm::bigint, 'X-10: so has one of a session that does not wait for its commits');
SELECT is(
    (SELECT array_agg(x_jobs.heartbeat(id, 'w', ordinal)) FROM x_jobs.jobs(queue => 'x-10'), unnest(ARRAY[5, :loose, :firm, :unsynced]) AS ordinal), ARRAY[false, false, false, true],
    'X-10: only the last ordinal holds the job');

-- X-19

SELECT x_jobs.enqueue(name, idempotency_key => 'k', queue => 'x-19', expires_at => now() + expires_after, delay => delay) AS made
  FROM (VALUES (1, 'early', '1 h'::interval, '0'::interval), (2, 'late', '3 h', '0'), (3, 'never', NULL, '0'), (4, 'not due', '1 h', '90 min'), (5, 'in time', '1 h', '0'))
       AS t (n, name, expires_after, delay) WHERE name <> 'in time' ORDER BY n \g /dev/null
SELECT x_jobs.enqueue('in time', idempotency_key => 'k', queue => 'x-19:in time', expires_at => now() + interval '1 h') AS made \gset
SET x_jobs.test_clock_offset = '59min';
SELECT is(pg_temp.taken(ARRAY['x-19:in time'], lease => '0'), 'in time', 'X-19: before its expires_at a job is handed out');
SET x_jobs.test_clock_offset = '2h';
SELECT is(pg_temp.taken(ARRAY['x-19'], 10), 'late never', 'X-19: past its expires_at a job that has not started is not handed out; the others are');
SELECT is(
    (SELECT string_agg(concat_ws('/', name, state, reason, attempt), ' ' ORDER BY id) FROM x_jobs.jobs(queue => 'x-19')),
    'early/cancelled/expired/0 late/running/1 never/running/1 not due/cancelled/expired/0', 'X-19: the claim that met them ended them cancelled, reason expired');
SELECT is((SELECT count(*) FROM _x_jobs.tally WHERE name IN ('early', 'not due')), 0::bigint, 'X-19: an expiry is not counted');
SELECT is((SELECT count(*) FROM x_jobs.jobs(name => 'early') j, x_jobs.attempts(j.id)), 0::bigint, 'X-19: an expiry is no failed attempt');
SELECT ok((SELECT finished_at - created_at BETWEEN '2 h' AND '2 h 10 min' AND claim IS NULL FROM x_jobs.jobs(name => 'early')), 'X-19: it has an end, and was never claimed');
SELECT is((SELECT deduped FROM x_jobs.enqueue('early', idempotency_key => 'k', queue => 'x-19:again')), false, 'X-19: an expiry frees the key');
RESET x_jobs.test_clock_offset;
SELECT id AS unmet FROM x_jobs.enqueue('unmet', idempotency_key => 'k', queue => 'x-19:unmet', expires_at => now() + interval '1 h') \gset
SELECT id AS slept FROM x_jobs.enqueue('slept', idempotency_key => 'k', queue => 'x-19:slept', expires_at => now() + interval '1 h') \gset
SELECT x_jobs.nack(id, 'w', claim, counts_as_attempt => false, park => true) FROM x_jobs.claim(ARRAY['x-19:slept'], 'w') \g /dev/null
SET x_jobs.test_clock_offset = '2h';
SELECT is((SELECT deduped FROM x_jobs.enqueue('unmet', idempotency_key => 'k', queue => 'x-19:unmet')), false, 'X-19: an expired holder of a key swallows no new job');
SELECT is((SELECT state || ' ' || reason FROM x_jobs.job(:'unmet')), 'cancelled expired', 'X-19: the enqueue that met it ended it');
SELECT is((SELECT deduped FROM x_jobs.enqueue('slept', idempotency_key => 'k', queue => 'x-19:slept')), true, 'X-19: a job asleep in its first attempt has started, and holds its key');
SELECT is(pg_temp.taken(ARRAY['x-19:slept']), 'slept', 'X-19: it is handed out past its expires_at');
SELECT is(pg_temp.taken(ARRAY['x-19:in time']), 'in time', 'X-19: a job that has started is redelivered past its expires_at');
SELECT ok((SELECT expires_at IS NOT NULL FROM x_jobs.jobs(queue => 'x-19', name => 'early')), 'X-19: the record keeps the instant');
SELECT is((SELECT (r.state, r.expires_at)::text FROM x_jobs.jobs(queue => 'x-19', name => 'not due') j, LATERAL x_jobs.requeue(j.id) r), '(ready,)', 'X-19: a requeue lifts it');
SELECT is(pg_temp.taken(ARRAY['x-19']), 'not due', 'X-19: the requeued job is handed out');
SET x_jobs.test_clock_offset = 0;
SELECT x_jobs.enqueue(name, dedupe => false, queue => 'x-19:upkeep', expires_at => now() + interval '1 h') AS made FROM unnest(ARRAY['kept up', 'retried']) AS name \g /dev/null
SELECT x_jobs.nack(id, 'w', claim) AS landed FROM x_jobs.claim(ARRAY['x-19:upkeep'], 'w', names => ARRAY['retried']) \gset
SELECT is((SELECT affected FROM x_jobs.maintain() WHERE task = 'expire_waiting'), 0::bigint, 'X-19: upkeep before the time ends nothing');
SET x_jobs.test_clock_offset = '2h';
SELECT is((SELECT affected FROM x_jobs.maintain() WHERE task = 'expire_waiting'), 1::bigint, 'X-19: upkeep past the time ends what has not started');
SELECT is(
    (SELECT string_agg(concat_ws('/', name, state, reason), ' ' ORDER BY name) FROM x_jobs.jobs(queue => 'x-19:upkeep')), 'kept up/cancelled/expired retried/ready',
    'X-19: it ends it cancelled, reason expired, and leaves a retry alone');
SELECT is(pg_temp.taken(ARRAY['x-19:upkeep']), 'retried', 'X-19: a retry past its expires_at is handed out');
SELECT is((SELECT count(*) FROM _x_jobs.tally WHERE name = 'kept up'), 0::bigint, 'X-19: upkeep counts nothing');
SET x_jobs.test_clock_offset = 0;

-- X-19: the first of all places, by priority and by time, is a place like any other.

SELECT x_jobs.enqueue(name, dedupe => false, queue => 'oldest', priority => 0, run_at => instant::timestamptz) AS made
  FROM (VALUES ('1999', '1999-12-31 23:59:59+00'), ('bc', '4700-01-01 00:00:00+00 BC'), ('2000', '2000-01-01 00:00:00+00')) AS old(name, instant) \g /dev/null
SELECT is(pg_temp.taken(ARRAY['oldest'], 9), 'bc 1999 2000', 'X-19: jobs due before the year 2000 are handed out, the oldest first');

-- X-21: the part that one session can show; what other sessions commit meanwhile is told by the isolation specs.

SELECT x_jobs.enqueue(name, dedupe => false, queue => 'x-21') AS made FROM unnest(ARRAY['a', 'b', 'c']) AS name \g /dev/null
CREATE FUNCTION pg_temp.conflict_locks() RETURNS bigint
    LANGUAGE sql RETURN (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND mode = 'SIReadLock' AND relation IN (SELECT oid FROM pg_class WHERE relnamespace = '_x_jobs'::regnamespace));
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT is(pg_temp.taken(ARRAY['x-21'], 1), 'a', 'X-21: a claim works at serializable');
SELECT is(pg_temp.conflict_locks(), 0::bigint, 'X-21: it takes part in no serializable conflict detection');
SELECT x_jobs.enqueue('d', dedupe => false, queue => 'x-21') AS made \gset
SELECT is(pg_temp.taken(ARRAY['x-21'], 9), 'b c d', 'X-21: it sees what its own transaction made');
SELECT is((SELECT count(*) FROM _x_jobs.jobs WHERE queue = 'x-21'), 4::bigint, 'X-21: a plain query of the table, for comparison');
SELECT cmp_ok(pg_temp.conflict_locks(), '>', 0::bigint, 'X-21: that query does take part');
COMMIT;
SELECT x_jobs.enqueue('e', dedupe => false, queue => 'x-21') AS made \gset
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT is((SELECT count(*) FROM _x_jobs.jobs WHERE queue = 'x-21' AND name = 'e'), 1::bigint, 'X-21: a transaction at repeatable read has its snapshot');
SELECT is(pg_temp.taken(ARRAY['x-21'], 9, '0'), 'e', 'X-21: a claim works at repeatable read');
SELECT is(pg_temp.taken(ARRAY['x-21'], 9, '0'), 'e', 'X-21: it sees a lease that lapsed since the snapshot');
COMMIT;
BEGIN READ ONLY;
SELECT throws_ok($$SELECT * FROM x_jobs.claim(ARRAY['x-21'], 'w')$$, '25006', NULL, 'X-17: a claim in a read-only transaction is refused with the server''s code');
SELECT throws_ok($$SELECT x_jobs.enqueue('x-21', dedupe => false)$$, '25006', NULL, 'X-17: so is an enqueue');
COMMIT;
SELECT is(pg_temp.taken(ARRAY['x-21'], 9), 'e', 'X-21: the claims of both transactions were kept');

SELECT * FROM finish();
