-- If this failed, one odd value of a caller would be taken for another, stop a queue, or leave a job that can never end.
BEGIN;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL synchronous_commit = on;
SELECT plan(194);

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

-- Makes a job in a queue of its own, sets its attempt and ordinal as if it had been claimed so often, and claims it.
CREATE FUNCTION pg_temp.held(own_queue text, attempts integer DEFAULT 3, attempts_before integer DEFAULT 0, claims_before bigint DEFAULT 0)
    RETURNS x_jobs.claimed_job
    LANGUAGE plpgsql AS $$
DECLARE
    made uuid := (x_jobs.enqueue('held', dedupe => false, queue => own_queue, max_attempts => attempts)).id;
    held x_jobs.claimed_job;
BEGIN
    UPDATE _x_jobs.jobs SET attempt = attempts_before, claim = claims_before WHERE id = made AND attempts_before + claims_before > 0;
    SELECT * INTO STRICT held FROM x_jobs.claim(ARRAY[own_queue], 'w', visibility_timeout => '1 h');
    RETURN held;
END $$;
CREATE FUNCTION pg_temp.noise(bytes integer) RETURNS text
    LANGUAGE sql RETURN left((SELECT string_agg(md5(n::text), '' ORDER BY n) FROM generate_series(1, bytes / 32 + 1) AS n), bytes);

-- X-4

SELECT x_jobs.enqueue('x-4', dedupe => false, queue => 'x-4', max_attempts => 99) AS made \gset
SELECT id AS leased, claim AS first_claim, visible_at - claimed_at AS lease FROM x_jobs.claim(ARRAY['x-4'], 'a', visibility_timeout => '0') \gset
SELECT is(:'lease'::interval, '0'::interval, 'X-4: a visibility timeout of zero is legal');
SELECT is(
    (SELECT (attempt, claim, worker_id)::text FROM x_jobs.claim(ARRAY['x-4'], 'b', visibility_timeout => '30 days')), '(2,2,b)', 'X-4: a lease of zero lapses at once');
SELECT is(
    (SELECT visible_at - updated_at FROM x_jobs.job(:'leased')), '30 days'::interval, 'X-4: a visibility timeout of exactly 30 days is legal');
SELECT pg_temp.refused(
    format($$SELECT * FROM x_jobs.claim(ARRAY['x-4'], 'c', visibility_timeout => %L)$$, timeout), 'XJ001', 'X_INVARIANT: visibility_timeout ',
    format('X-4: a visibility timeout of %s is refused', timeout))
  FROM unnest(ARRAY['30 days 00:00:00.000001', '-00:00:00.000001', '-5 s', '-1 day 23:59:59', '721 hours', '10000 years', '-10000 years']) AS timeout;
SELECT is(x_jobs.heartbeat(:'leased', 'b', 2, '0'), true, 'X-4: a renewal of zero is legal');
SELECT is(
    (SELECT (attempt, claim, worker_id)::text FROM x_jobs.claim(ARRAY['x-4'], 'c')), '(3,3,c)', 'X-4: a renewal of zero lapses at once');
SELECT is(x_jobs.heartbeat(:'leased', 'c', 3, '30 days'), true, 'X-4: a renewal of exactly 30 days is legal');
SELECT pg_temp.refused(
    format($$SELECT x_jobs.heartbeat(%L, 'c', 3, %L)$$, :'leased', timeout), 'XJ001', 'X_INVARIANT: visibility_timeout ', format('X-4: a renewal of %s is refused', timeout))
  FROM unnest(ARRAY['30 days 00:00:00.000001', '-00:00:00.000001', NULL]) AS timeout;
SELECT count(*) AS made FROM x_jobs.enqueue_many('many', array_fill('1'::jsonb, ARRAY[10001]), queue => 'many', dedupe => false) \gset
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'w', 0)), 0::bigint, 'X-4: a limit of 0 is legal and means none');
SELECT pg_temp.refused(
    format($$SELECT * FROM x_jobs.claim(ARRAY['many'], 'w', %s)$$, bound), 'XJ001', 'X_INVARIANT: max_jobs ', format('X-4: a limit of %s is refused', bound))
  FROM unnest(ARRAY[-1, 10001]) AS bound;
SELECT is((SELECT count(DISTINCT id) FROM x_jobs.claim(ARRAY['many'], 'w', 10000)), 10000::bigint, 'X-4: a limit of 10,000 is legal and means 10,000');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'w', 10000)), 1::bigint, 'X-4: the next claim gets the rest');

-- X-13: keys

SELECT pg_temp.refused($$SELECT x_jobs.enqueue('x-13')$$, 'XJ002', 'X_IDEMPOTENCY_REQUIRED: ', 'X-13: a NULL key is refused');
SELECT alike(pg_temp.hint_of($$SELECT x_jobs.enqueue('x-13')$$), '%idempotency_key%', 'X-13: the hint names the key as a way out');
SELECT alike(pg_temp.hint_of($$SELECT x_jobs.enqueue('x-13')$$), '%dedupe => false%', 'X-13: the hint names dedupe => false as the other');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.enqueue_many('x-13', ARRAY['1']::jsonb[])$$, 'XJ002', 'X_IDEMPOTENCY_REQUIRED: ', 'X-13: a batch without keys is refused');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.enqueue_many('x-13', ARRAY['1', '2']::jsonb[], ARRAY['a', NULL])$$, 'XJ002', 'X_IDEMPOTENCY_REQUIRED: ', 'X-13: a NULL key in a batch is refused');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.enqueue_many('x-13', ARRAY['1', '2']::jsonb[], ARRAY['a'])$$, 'XJ001', 'X_INVARIANT: ', 'X-13: a batch with fewer keys than inputs is refused');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.enqueue_many('x-13', ARRAY['1']::jsonb[], ARRAY['a', 'b'])$$, 'XJ001', 'X_INVARIANT: ', 'X-13: a batch with more keys than inputs is refused');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'x-13'), 0::bigint, 'X-13: none of them made a row');
SELECT is(
    (SELECT array_agg(deduped) FROM generate_series(1, 2) AS n, LATERAL x_jobs.enqueue('x-13', to_jsonb(n), dedupe => false)), ARRAY[false, false],
    'X-13: dedupe => false lifts the duty: each enqueue makes a row');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'x-13' AND idempotency_key IS NULL), 2::bigint, 'X-13: such a row has no key');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13', idempotency_key => 'k', dedupe => false)$$, 'XJ001', 'X_INVARIANT: idempotency_key ', 'X-13: a key beside dedupe => false is refused');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13', idempotency_key => '', dedupe => false)$$, 'XJ001', 'X_INVARIANT: idempotency_key ', 'X-13: an empty key is refused whatever dedupe says');
SELECT pg_temp.refused($$SELECT x_jobs.enqueue('x-13', idempotency_key => '')$$, 'XJ001', 'X_INVARIANT: idempotency_key ', 'X-13: an empty key is refused');

-- X-13: lengths, in bytes, on both sides of each limit

CREATE TEMP TABLE lengths (what, argument, bytes, statement) AS VALUES
    ('key', 'idempotency_key', 1024, $$SELECT x_jobs.enqueue('x-13:length', idempotency_key => %L)$$),
    ('key in a batch', 'idempotency_key', 1024, $$SELECT x_jobs.enqueue_many('x-13:batch', ARRAY['1']::jsonb[], ARRAY[%L])$$),
    ('name', 'name', 255, $$SELECT x_jobs.enqueue(%L, dedupe => false)$$),
    ('queue', 'queue', 255, $$SELECT x_jobs.enqueue('x-13:length', dedupe => false, queue => %L)$$),
    ('tenant', 'tenant_id', 255, $$SELECT x_jobs.enqueue('x-13:length', dedupe => false, tenant_id => %L)$$),
    ('tag', 'tags', 255, $$SELECT x_jobs.enqueue('x-13:length', dedupe => false, tags => ARRAY['first', %L])$$),
    ('worker id', 'worker_id', 255, $$SELECT * FROM x_jobs.claim(ARRAY['x-13:none'], %L)$$),
    ('queue of a pause', 'queue', 255, $$SELECT x_jobs.pause_queue(%L)$$),
    ('worker id of an announcement', 'worker_id', 255, $$SELECT x_jobs.worker_announce(%L)$$);
SELECT lives_ok(format(statement, repeat('x', bytes)), format('X-13: a %s of exactly %s bytes is legal', what, bytes)) FROM lengths ORDER BY what;
SELECT pg_temp.refused(
    format(statement, repeat('x', bytes + 1)), 'XJ001', 'X_INVARIANT: ' || argument, format('X-13: a %s of %s bytes is refused', what, bytes + 1)) FROM lengths ORDER BY what;
SELECT lives_ok(
    format(statement, repeat('é', bytes / 2) || repeat('x', bytes % 2)), format('X-13: so is a %s of %s bytes in two-byte characters', what, bytes))
  FROM lengths WHERE what NOT LIKE '% %' ORDER BY what;
SELECT pg_temp.refused(
    format(statement, repeat('é', bytes / 2) || repeat('x', bytes % 2 + 1)), 'XJ001', 'X_INVARIANT: ' || argument,
    format('X-13: a %s of fewer characters but %s bytes is refused', what, bytes + 1)) FROM lengths WHERE what NOT LIKE '% %' ORDER BY what;
SELECT pg_temp.refused(
    format(statement, text), 'XJ001', 'X_INVARIANT: ' || argument, format('X-13: %s is no %s', CASE WHEN text IS NULL THEN 'NULL' ELSE 'the empty text' END, what))
  FROM lengths, unnest(ARRAY['', NULL]) AS text WHERE argument IN ('name', 'worker_id') ORDER BY what, text;
SELECT lives_ok(
    format($$SELECT x_jobs.enqueue(%L, 'null', %L, queue => %L, tenant_id => %L)$$, repeat('日', 85), string_agg(md5(n::text), '' ORDER BY n), repeat('🐘', 63) || 'abc', repeat('é', 127) || 'x'),
    'X-13: name, queue, tenant and key may all be at their limit at once') FROM generate_series(1, 32) AS n;
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY[repeat('🐘', 63) || 'abc'], repeat('日', 85), 5)), 1::bigint, 'X-13: such a job is claimed by a worker of the longest id');

SELECT lives_ok(
    $$SELECT x_jobs.enqueue('x-13:tags', dedupe => false, tags => ARRAY(SELECT 'tag ' || n FROM generate_series(1, 32) AS n))$$, 'X-13: 32 tags are legal');
SELECT is((SELECT cardinality(tags) FROM x_jobs.jobs(name => 'x-13:tags')), 32, 'X-13: all 32 are kept');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13:tags', dedupe => false, tags => ARRAY(SELECT 'tag ' || n FROM generate_series(1, 33) AS n))$$, 'XJ001', 'X_INVARIANT: tags ', 'X-13: 33 tags are refused');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13:tags', dedupe => false, tags => ARRAY['a', NULL])$$, 'XJ001', 'X_INVARIANT: tags ', 'X-13: NULL is no tag');
SELECT is(
    (SELECT count(*) FROM x_jobs.enqueue('x-13:untagged', dedupe => false, tags => '{}') e JOIN x_jobs.jobs(name => 'x-13:untagged') j ON cardinality(j.tags) > 0), 0::bigint,
    'X-13: an empty list of tags is legal and tags nothing');

-- X-13: instants and policies

SELECT pg_temp.refused(
    format($$SELECT x_jobs.enqueue('x-13:time', dedupe => false, %s => %L)$$, argument, instant), 'XJ001', 'X_INVARIANT: ' || argument || ' ', format('X-13: %s of %s is refused', argument, instant))
  FROM unnest(ARRAY['run_at', 'expires_at']) AS argument, unnest(ARRAY['infinity', '-infinity', '10000-01-01 00:00:00+00', '294276-12-31 23:59:59+00']) AS instant
 WHERE argument = 'run_at' OR instant LIKE '%infinity' ORDER BY argument, instant;
SELECT lives_ok(
    $$SELECT x_jobs.enqueue('x-13:time', dedupe => false, run_at => '9999-12-31 23:59:59.999999+00')$$, 'X-13: the last microsecond of the year 9999 is a legal run_at');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13:time', dedupe => false, run_at => now(), delay => '1 s')$$, 'XJ001', 'X_INVARIANT: ', 'X-13: run_at beside delay is refused');
SELECT is((SELECT count(*) FROM x_jobs.jobs(name => 'x-13:time')), 1::bigint, 'X-13: only the legal one was made');

-- X-13: sizes of the input

SELECT is(current_setting('x_jobs.max_input_size'), '64MB', 'X-13: the limit of an input is 64 MiB by default');
SET LOCAL x_jobs.max_input_size = '64kB';
SELECT lives_ok($$SELECT x_jobs.enqueue('x-13:size', to_jsonb(pg_temp.noise(65536 - 64)), dedupe => false)$$, 'X-13: an input just below x_jobs.max_input_size is legal');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13:size', to_jsonb(pg_temp.noise(65536)), dedupe => false)$$, 'XJ001', 'X_INVARIANT: input ', 'X-13: an input above it is refused');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13:size', to_jsonb(repeat('x', 65536)), dedupe => false)$$, 'XJ001', 'X_INVARIANT: input ', 'X-13: it is measured uncompressed');
CREATE TEMP TABLE documents AS SELECT to_jsonb(repeat('x', 65536)) AS document;
SELECT cmp_ok((SELECT pg_column_size(document) FROM documents), '<', 65536, 'X-13: a stored document may be compressed');
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13:size', document, dedupe => false) FROM documents$$, 'XJ001', 'X_INVARIANT: input ', 'X-13: a compressed document is measured uncompressed');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.enqueue_many('x-13:size', ARRAY[to_jsonb(1), to_jsonb(repeat('x', 65536))], dedupe => false)$$, 'XJ001', 'X_INVARIANT: input',
    'X-13: an input above it is refused in a batch');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', 'x-13:size', 'dedupe', false, 'input', repeat('x', 65536)))])$$,
    'XJ001', 'X_INVARIANT: input', 'X-13: an input above it is refused in a mix');
SELECT x_jobs.enqueue('x-13:replaced', '1', 'k') AS made \gset
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('x-13:replaced', to_jsonb(repeat('x', 65536)), 'k', on_conflict => 'replace')$$, 'XJ001', 'X_INVARIANT: input ', 'X-13: an input above it replaces none');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'x-13:size'), 1::bigint, 'X-13: only the legal input made a row');
SET LOCAL x_jobs.max_input_size = '64MB';

-- C-087

SELECT throws_ok(
    format($$SELECT x_jobs.enqueue('c-087', %L, dedupe => false)$$, input), '22P05', NULL, format('C-087: NUL in %s of an input is the server''s own error at the call', what))
  FROM (VALUES (1, 'a text', '"a\u0000b"'), (2, 'a nested text', '{"a": [1, {"b": "\u0000"}]}'), (3, 'an object key', '{"a\u0000": 1}')) AS t (n, what, input) ORDER BY n;
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'c-087'), 0::bigint, 'C-087: nothing was made');
SELECT id AS nul, claim AS nul_claim FROM pg_temp.held('c-087:result') \gset
SELECT throws_ok(
    format($$SELECT x_jobs.ack(%L, 'w', %s, result => '{"a": "\u0000"}')$$, :'nul', :nul_claim), '22P05', NULL, 'C-087: NUL in a result is the server''s own error at the call');
SELECT throws_ok(
    format($$SELECT x_jobs.nack(%L, 'w', %s, error => 'a' || chr(0), dead_letter => true)$$, :'nul', :nul_claim), '54000', NULL,
    'C-087: NUL cannot get into an error text: the server''s own error at the call');
SELECT is((SELECT state FROM x_jobs.job(:'nul')), 'running', 'C-087: the job is held as before');
SELECT is(x_jobs.ack(:'nul', 'w', :nul_claim, result => '{"a": "\\u0000"}'), true, 'C-087: it can still be completed');
SELECT is((SELECT state || ' ' || (result ->> 'a') FROM x_jobs.job(:'nul')), 'done \u0000', 'C-087: a text that merely spells the escape is kept as it is');
CREATE TEMP TABLE texts (n, what, text) AS VALUES
    (1, 'the NUL escape', 'a\u0000b'), (2, 'control characters', E'a\x01\x02\x1b[31m\x7f\r\n\tb'), (3, 'a noncharacter', U&'a\FFFF\+10FFFFb'), (4, 'quotes', $q$'"\{}[],;--/*$q$),
    (5, 'combining and right-to-left characters', U&'e\0301\202Eabc\200Fz');
CREATE TEMP TABLE failing AS SELECT n, what, text, h.id, h.claim FROM texts, LATERAL pg_temp.held('c-087:' || n) AS h;
SELECT is(
    x_jobs.nack(id, 'w', claim, error => text, stack => text, dead_letter => true), true, format('C-087: a failure whose text holds %s is recorded', what)) FROM failing ORDER BY n;
SELECT is(
    (SELECT ARRAY[j.state, left(j.last_error, 1), right(j.last_error, 1)] FROM x_jobs.job(id) j), ARRAY['dead', left(text, 1), right(text, 1)],
    format('C-087: its job reached its end and shows the text around %s', what)) FROM failing ORDER BY n;
SELECT ok(
    (SELECT bool_and(kept !~ '[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]' AND char_length(kept) >= char_length(text)) FROM x_jobs.job(id) j, unnest(ARRAY[j.last_error, j.last_error_stack]) AS kept),
    'C-087: control characters are replaced by a visible mark') FROM failing WHERE n = 2;
SELECT lives_ok(
    $$SELECT to_jsonb(j)::text::jsonb FROM failing f, LATERAL x_jobs.job(f.id) j$$, 'C-087: the records of all of them can be written as JSON');
SELECT is(
    (SELECT landed FROM x_jobs.fail(h.id, 'w', h.claim, E'a\x01b', code => 'E\u0000', stack => E'\x01')), true, 'C-087: fail() records such a text too')
  FROM pg_temp.held('c-087:fail') AS h;

-- C-089

CREATE TEMP TABLE big (n, what, document) AS
    SELECT 1, '64 KB of noise', to_jsonb(pg_temp.noise(65536)) UNION ALL SELECT 2, '1 MB of noise', to_jsonb(pg_temp.noise(1048576))
    UNION ALL SELECT 3, '1 MB of one letter', to_jsonb(repeat('x', 1048576)) UNION ALL SELECT 4, '1 MB of four-byte characters', to_jsonb(repeat('🐘', 262144))
    UNION ALL SELECT 5, '20,000 members', (SELECT jsonb_object_agg('member ' || m, m) FROM generate_series(1, 20000) AS m);
SELECT count(*) AS made FROM big, LATERAL x_jobs.enqueue('c-089', document, 'k' || n, queue => 'c-089') \gset
CREATE TEMP TABLE arrived AS SELECT id, claim, idempotency_key, input FROM x_jobs.claim(ARRAY['c-089'], 'w', 10);
SELECT ok((SELECT input::text = document::text FROM arrived WHERE idempotency_key = 'k' || n), format('C-089: an input of %s arrives byte for byte', what)) FROM big ORDER BY n;
SELECT is((SELECT count(*) FROM x_jobs.jobs(name => 'c-089') WHERE input IS NOT NULL), 0::bigint, 'C-089: a list never reads an input');
SELECT is((SELECT count(*) FROM x_jobs.jobs(name => 'c-089')), 5::bigint, 'C-089: it lists jobs with large inputs all the same');
SELECT is(x_jobs.ack(id, 'w', claim, result => input), true, 'C-089: a result of 1 MB is taken') FROM arrived WHERE idempotency_key = 'k2';
SELECT ok((SELECT j.result = document FROM x_jobs.job(id) j), 'C-089: it is kept byte for byte') FROM arrived, big WHERE idempotency_key = 'k2' AND n = 2;
SELECT is((SELECT count(*) FROM x_jobs.jobs(name => 'c-089') WHERE result IS NOT NULL), 0::bigint, 'C-089: a list never reads a result');
SELECT is(
    x_jobs.nack(id, 'w', claim, error => repeat('é', 2621440), stack => repeat('s', 5242880), dead_letter => true), true, 'C-089: a failure with a text of 5 MB is recorded')
  FROM arrived WHERE idempotency_key = 'k1';
SELECT ok(
    (SELECT j.state = 'dead' AND octet_length(j.last_error) BETWEEN 65000 AND 65536 AND char_length(j.last_error_stack) <= 8000 FROM x_jobs.job(id) j),
    'C-089: its job is dead and shows the text, cut') FROM arrived WHERE idempotency_key = 'k1';
SELECT is(
    (SELECT count(*) FROM x_jobs.dead_letters() WHERE name = 'c-089' AND input IS NULL AND last_error_stack IS NULL), 1::bigint,
    'C-089: the list of dead letters reads neither input nor stack');

-- C-091

SELECT is(h.claim, 2147483648, 'C-091: ordinals go on beyond 32 bits') FROM pg_temp.held('c-091:32', claims_before => 2147483647) AS h;
SELECT id AS far, claim AS far_claim FROM x_jobs.jobs(queue => 'c-091:32') \gset
SELECT is(
    ARRAY[x_jobs.heartbeat(:'far', 'w', :far_claim), x_jobs.heartbeat(:'far', 'w', :far_claim - 4294967296), x_jobs.ack(:'far', 'w', :far_claim - 4294967296)],
    ARRAY[true, false, false], 'C-091: an ordinal that is equal in its lower 32 bits only is another');
SELECT is((SELECT held FROM x_jobs.heartbeat_many(ARRAY[:'far']::uuid[], 'w', ARRAY[:far_claim]::bigint[])), true, 'C-091: heartbeat_many takes it');
SELECT is(x_jobs.ack(:'far', 'w', :far_claim, duration => '30 days'), true, 'C-091: ack takes it');
SELECT is((SELECT claim FROM x_jobs.job(:'far')), 2147483648, 'C-091: the record shows it');
SELECT is((SELECT duration_ms FROM _x_jobs.tally WHERE queue = 'c-091:32'), 2592000000, 'C-091: a duration of more milliseconds than 32 bits hold is counted as it is');
SELECT id AS last, claim AS last_claim FROM pg_temp.held('c-091:64', claims_before => 9223372036854775806) \gset
SELECT is(:last_claim::bigint, 9223372036854775807, 'C-091: the last ordinal of 64 bits is given');
SELECT is(x_jobs.nack(:'last', 'w', :last_claim), true, 'C-091: it settles its job');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['c-091:64'], 'w')), 0::bigint, 'C-091: beyond it the job is handed out under no smaller ordinal');
SELECT is((SELECT state || ': ' || last_error || ' (' || reason || ')' FROM x_jobs.job(:'last')),
    'dead: the job has used up its claims (claims-exhausted)', 'C-091: it ends with a clear error, and stops nobody else');
CREATE TEMP TABLE extremes AS
    SELECT made.* FROM unnest(ARRAY['00000000-0000-7000-8000-000000000000', 'ffffffff-ffff-7fff-bfff-ffffffffffff']::uuid[]) AS extreme,
         LATERAL x_jobs.enqueue('c-091', idempotency_key => extreme::text, queue => 'c-091', id => extreme, run_id => extreme) AS made;
SELECT results_eq('SELECT id FROM extremes ORDER BY id', $$SELECT id FROM x_jobs.claim(ARRAY['c-091'], 'w', 5)$$, 'C-091: the least and the greatest id of version 7 are enqueued and claimed');
SELECT results_eq($$SELECT id FROM x_jobs.jobs(name => 'c-091')$$, 'SELECT id FROM extremes ORDER BY id DESC', 'C-091: they are listed');
SELECT is((SELECT count(DISTINCT x_jobs.new_id()) FROM generate_series(1, 100)), 100::bigint, 'C-091: a caller''s id at the end of time does not stop new ids');

-- C-092

CREATE FUNCTION pg_temp.delay_after(attempt integer, OUT outcome text, OUT at_least interval, OUT at_most interval, OUT run_at_kept boolean)
    LANGUAGE plpgsql AS $$
DECLARE
    held x_jobs.claimed_job := pg_temp.held('c-092:' || attempt, 2147483647, attempt - 1);
    failed x_jobs.failure;
    called timestamptz := clock_timestamp();
BEGIN
    failed := x_jobs.fail(held.id, 'w', held.claim, 'boom');
    outcome := CASE WHEN held.attempt = attempt THEN failed.outcome ELSE 'attempt ' || held.attempt END;
    at_least := failed.retry_at - clock_timestamp();
    at_most := failed.retry_at - called;
    run_at_kept := (x_jobs.job(held.id)).run_at = failed.retry_at;
END $$;
CREATE TEMP TABLE delays AS
    SELECT attempt, cap, d.* FROM (VALUES (1, '1 s'::interval), (2, '2 s'), (3, '4 s'), (12, '2048 s'), (13, '1 h'), (31, '1 h'), (32, '1 h'), (33, '1 h'), (62, '1 h'), (63, '1 h'), (64, '1 h'),
        (65, '1 h'), (103, '1 h'), (1024, '1 h'), (1025, '1 h'), (100000, '1 h'), (2147483646, '1 h')) AS t (attempt, cap), LATERAL pg_temp.delay_after(attempt) AS d;
SELECT ok(
    outcome = 'retried' AND at_most >= cap / 2 AND at_least <= cap AND run_at_kept,
    format('C-092: attempt %s fails and is retried after %s to %s', attempt, cap / 2, cap)) FROM delays ORDER BY attempt;
SELECT is(
    (SELECT (landed, outcome, retry_at, stop_reason)::text FROM x_jobs.fail(h.id, 'w', h.claim, 'boom')), '(t,dead-lettered,,attempts-exhausted)',
    'C-092: the last attempt that 32 bits can count ends in the dead letters') FROM pg_temp.held('c-092:last', 2147483647, 2147483646) AS h;
CREATE TEMP TABLE jitter AS SELECT d.* FROM generate_series(13, 52) AS attempt, LATERAL pg_temp.delay_after(attempt) AS d;
SELECT ok((SELECT min(at_most) >= '30 min' AND max(at_least) <= '1 h' FROM jitter), 'C-092: jitter stays within its bounds');
SELECT cmp_ok((SELECT max(at_most) - min(at_most) FROM jitter), '>', '5 min'::interval, 'C-092: jitter spreads the retries');

-- C-094

SELECT count(*) AS made FROM x_jobs.enqueue_many('c-094', array_fill('1'::jsonb, ARRAY[1000]), queue => 'c-094', dedupe => false) \gset
SELECT pg_temp.refused(
    format($$SELECT * FROM x_jobs.claim(ARRAY['c-094'], 'w', %s => %s)$$, argument, value), 'XJ001', 'X_INVARIANT: ' || argument || ' ', format('C-094: %s => %s is refused', argument, value))
  FROM (VALUES (1, 'max_jobs', '-1'), (2, 'max_jobs', 'NULL'), (3, 'max_jobs', '2147483647'), (4, 'wait', '''-1'''), (5, 'wait', 'NULL'), (6, 'wait', '''10000 years'''),
               (7, 'visibility_timeout', '''-5 s'''), (8, 'visibility_timeout', 'NULL'), (9, 'visibility_timeout', '''10000 years''')) AS t (n, argument, value) ORDER BY n;
SELECT throws_ok(
    format($$SELECT * FROM x_jobs.claim(ARRAY['c-094'], 'w', %s)$$, call), code, NULL, format('C-094: %s is refused by the server', call))
  FROM (VALUES (1, 'max_jobs => 2147483648', '42883'), (2, 'max_jobs => 2147483648::bigint::integer', '22003'), (3, 'wait => ''NaN''', '22007'),
               (4, 'wait => ''NaN''::float8 * interval ''1 s''', '22008')) AS t (n, call, code) ORDER BY n;
SELECT pg_temp.refused(
    format($$SELECT x_jobs.enqueue('c-094', dedupe => false, queue => 'c-094', priority => %s)$$, priority), 'XJ001', 'X_INVARIANT: priority ', format('C-094: priority %s is refused', priority))
  FROM unnest(ARRAY[-1, 10, -2147483648, 2147483647, 65541]) AS priority;
SELECT is((SELECT (ready, delayed, running)::text FROM x_jobs.stats() WHERE queue = 'c-094'), '(1000,0,0)', 'C-094: nothing was claimed or made on error');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['c-094'], 'w', 0)), 0::bigint, 'C-094: zero means none');
SELECT is((SELECT (ready, delayed, running)::text FROM x_jobs.stats() WHERE queue = 'c-094'), '(1000,0,0)', 'C-094: zero never means all');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['c-094'], 'w', wait => '0')), 1::bigint, 'C-094: a wait of zero is legal');

-- C-096

SELECT pg_temp.refused(
    format($$SELECT x_jobs.enqueue('c-096', dedupe => false, max_attempts => %s)$$, attempts), 'XJ001', 'X_INVARIANT: max_attempts ', format('C-096: max_attempts of %s is refused', attempts))
  FROM unnest(ARRAY[0, -1, -2147483648]) AS attempts;
SELECT is((SELECT final_attempt FROM pg_temp.held('c-096:one', 1)), true, 'C-096: with max_attempts of 1 the first attempt is the final one');
SELECT is(
    (SELECT (outcome, stop_reason)::text FROM x_jobs.fail(j.id, 'w', j.claim, 'cannot be decoded')), '(dead-lettered,attempts-exhausted)',
    'C-096: with max_attempts of 1 the first failure ends in the dead letters') FROM x_jobs.jobs(queue => 'c-096:one') AS j;
-- Claims and fails the one job of the queue until nothing is handed out; answers each attempt's outcome and the state.
CREATE FUNCTION pg_temp.failures(own_queue text) RETURNS text[]
    LANGUAGE plpgsql AS $$
DECLARE
    held x_jobs.claimed_job;
    outcomes text[] := '{}';
BEGIN
    FOR n IN 1 .. 10 LOOP
        PERFORM set_config('x_jobs.test_clock_offset', (n * 2) || 'h', true);
        SELECT * INTO held FROM x_jobs.claim(ARRAY[own_queue], 'w');
        EXIT WHEN NOT FOUND;
        outcomes := outcomes || (SELECT concat_ws(' ', held.attempt, outcome) FROM x_jobs.fail(held.id, 'w', held.claim, 'cannot be decoded'));
    END LOOP;
    PERFORM set_config('x_jobs.test_clock_offset', '0', true);
    RETURN outcomes || (SELECT state FROM x_jobs.jobs(queue => own_queue));
END $$;
SELECT x_jobs.enqueue('c-096', '{"not": "what the handler reads"}', dedupe => false, queue => 'c-096:default', max_attempts => NULL) AS made \gset
SELECT is(
    pg_temp.failures('c-096:default'), ARRAY['1 retried', '2 retried', '3 dead-lettered', 'dead'],
    'C-096: NULL means 3: a job that cannot be read uses up its attempts and reaches the dead letters');
SELECT x_jobs.enqueue('c-096', dedupe => false, queue => 'c-096:five', max_attempts => 5) AS made \gset
SELECT is(
    pg_temp.failures('c-096:five'), ARRAY['1 retried', '2 retried', '3 retried', '4 retried', '5 dead-lettered', 'dead'], 'C-096: max_attempts is the number of attempts, the first included');

-- C-084: who holds a key, printed and compared. Last in the file: it empties the history.

CREATE TEMP TABLE keys (n integer, state text, kept boolean);
INSERT INTO keys (n, state) VALUES
    (1, 'ready'), (2, 'delayed'), (3, 'running'), (4, 'running, its worker killed'), (5, 'suspended'), (6, 'done'), (7, 'failed'), (8, 'dead'),
    (9, 'dead, its last worker killed'), (10, 'cancelled'), (11, 'removed'), (12, 'done and purged');
-- Makes the job of this key and brings it into the state.
CREATE FUNCTION pg_temp.bring_into(state text) RETURNS void
    LANGUAGE plpgsql AS $$
DECLARE
    own_queue text := 'c-084:' || state;
    lease interval := CASE WHEN state LIKE '%killed' THEN '0' ELSE '30 s' END;
    made uuid := (x_jobs.enqueue('c-084', idempotency_key => state, queue => own_queue, max_attempts => CASE WHEN state LIKE 'dead,%' THEN 1 END,
                                 delay => CASE WHEN state = 'delayed' THEN '1 h'::interval END)).id;
    held x_jobs.claimed_job;
BEGIN
    IF state NOT IN ('ready', 'delayed', 'cancelled', 'removed') THEN
        SELECT * INTO STRICT held FROM x_jobs.claim(ARRAY[own_queue], 'w', visibility_timeout => lease);
    END IF;
    CASE
        WHEN state = 'suspended' THEN PERFORM x_jobs.nack(made, 'w', held.claim, park => true, counts_as_attempt => false);
        WHEN state LIKE 'done%' THEN PERFORM x_jobs.ack(made, 'w', held.claim);
        WHEN state = 'failed' THEN PERFORM x_jobs.nack(made, 'w', held.claim, fail => true);
        WHEN state = 'dead' THEN PERFORM x_jobs.nack(made, 'w', held.claim, dead_letter => true);
        WHEN state LIKE 'dead,%' THEN PERFORM x_jobs.claim(ARRAY[own_queue], 'another');
        WHEN state = 'cancelled' THEN PERFORM x_jobs.cancel(made);
        WHEN state = 'removed' THEN PERFORM x_jobs.remove(made);
        ELSE NULL;
    END CASE;
END $$;
SELECT count(pg_temp.bring_into(state)::text) AS brought FROM keys \gset
SELECT is(
    (SELECT array_agg(split_part(k.state, ',', 1) ORDER BY n) FROM keys k JOIN x_jobs.all_jobs j ON j.name = 'c-084' AND j.idempotency_key = k.state AND starts_with(k.state, j.state)),
    ARRAY['ready', 'delayed', 'running', 'running', 'suspended', 'done', 'failed', 'dead', 'dead', 'cancelled', 'done and purged'], 'C-084: each job stands in its state');
SET LOCAL x_jobs.test_clock_offset = '20d';
SELECT count(*) AS tasks FROM x_jobs.maintain() \gset
SET LOCAL x_jobs.test_clock_offset = 0;
SELECT is(
    (SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'c-084' AND idempotency_key = 'done and purged'), 0::bigint, 'C-084: the purged job is gone');
UPDATE keys SET kept = (x_jobs.enqueue('c-084', idempotency_key => state)).deduped;
SELECT diag('C-084: ' || rpad(state, 30) || CASE WHEN kept THEN 'holds its key' ELSE 'has freed its key' END) FROM keys ORDER BY n;
SELECT is(
    (SELECT string_agg(state || '=' || kept, E'\n' ORDER BY n) FROM keys),
    'ready=true
delayed=true
running=true
running, its worker killed=true
suspended=true
done=false
failed=false
dead=false
dead, its last worker killed=false
cancelled=false
removed=false
done and purged=false', 'C-084: a live job holds its key, a finished one never does');

SELECT * FROM finish();
ROLLBACK;
