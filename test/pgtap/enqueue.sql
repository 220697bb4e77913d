-- If this failed, an enqueue would lose a job, make it twice, or hand one caller another's job.
BEGIN;
SET LOCAL client_encoding = 'UTF8';
SET LOCAL synchronous_commit = on;
SELECT plan(138);

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

-- The whole text of the refusal of a statement: message, detail and hint.
CREATE FUNCTION pg_temp.refusal(statement text) RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(E'\n', message, detail, hint);
END $$;

-- Makes a job of this name and key in a queue of its own and brings it into the state.
CREATE FUNCTION pg_temp.job_in(state text, name text, key text) RETURNS x_jobs.enqueued
    LANGUAGE plpgsql AS $$
DECLARE
    own_queue text := name || '/' || key;
    made x_jobs.enqueued;
    held x_jobs.claimed_job;
BEGIN
    made := x_jobs.enqueue(name, '"first"', key, queue => own_queue, delay => CASE WHEN state = 'delayed' THEN '1 h'::interval END);
    IF state IN ('running', 'suspended', 'done', 'failed', 'dead') THEN
        SELECT * INTO STRICT held FROM x_jobs.claim(ARRAY[own_queue], 'holder');
    END IF;
    CASE state
        WHEN 'suspended' THEN PERFORM x_jobs.nack(held.id, 'holder', held.claim, delay => '1 h', counts_as_attempt => false, park => true);
        WHEN 'done' THEN PERFORM x_jobs.ack(held.id, 'holder', held.claim);
        WHEN 'failed' THEN PERFORM x_jobs.nack(held.id, 'holder', held.claim, fail => true);
        WHEN 'dead' THEN PERFORM x_jobs.nack(held.id, 'holder', held.claim, dead_letter => true);
        WHEN 'cancelled' THEN PERFORM x_jobs.cancel(made.id);
        ELSE NULL;
    END CASE;
    IF (x_jobs.job(made.id)).state IS DISTINCT FROM state THEN
        RAISE EXCEPTION 'the job is % instead of %', (x_jobs.job(made.id)).state, state;
    END IF;
    RETURN made;
END $$;
CREATE FUNCTION pg_temp.rows() RETURNS bigint LANGUAGE sql RETURN (SELECT count(*) FROM x_jobs.all_jobs);

CREATE TEMP TABLE states (position, state) AS VALUES
    (1, 'ready'), (2, 'delayed'), (3, 'running'), (4, 'suspended'), (5, 'done'), (6, 'failed'), (7, 'dead'), (8, 'cancelled');

-- ENQ-1

SELECT id AS first_id, run_id AS first_run, deduped AS first_deduped FROM x_jobs.enqueue('enq-1', '{"a": 1}', 'enq-1') \gset
SELECT is(:'first_deduped'::boolean, false, 'ENQ-1: a fresh row answers deduped false');
SELECT is(
    (SELECT ARRAY[id::text, run_id::text, name, input::text] FROM x_jobs.job(:'first_id')),
    ARRAY[:'first_id', :'first_run', 'enq-1', '{"a": 1}'], 'ENQ-1: the ids answered are those under which the row is stored');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'enq-1'), 1::bigint, 'ENQ-1: one enqueue makes one row');
CREATE TEMP TABLE batch AS
    SELECT * FROM x_jobs.enqueue_many('enq-1:many', ARRAY['"a"', '"b"', '"c"', '"é"']::jsonb[], ARRAY['ka', 'kb', 'kc', 'ké'], queue => 'many');
SELECT is(
    (SELECT array_agg(concat_ws(' ', b.ordinal, b.deduped, j.input, j.idempotency_key, j.queue) ORDER BY b.ordinal) FROM batch b JOIN x_jobs.all_jobs j USING (id, run_id)),
    ARRAY['1 f "a" ka many', '2 f "b" kb many', '3 f "c" kc many', '4 f "é" ké many'], 'ENQ-1: enqueue_many answers each input by its position');
SELECT is((SELECT array_agg(ordinal) FROM batch), ARRAY[1, 2, 3, 4], 'ENQ-1: enqueue_many answers in order');
SELECT is((SELECT count(*) FROM x_jobs.enqueue_many('enq-1:none', '{}', '{}')), 0::bigint, 'ENQ-1: enqueue_many of nothing makes nothing');
CREATE TEMP TABLE mix AS
    SELECT * FROM x_jobs.enqueue_many(ARRAY[
        jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "enq-1:x", "idempotency_key": "k", "priority": 0, "queue": "mix", "input": 7}'),
        jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "enq-1:y", "idempotency_key": "k", "tenant_id": "acme"}'),
        jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "enq-1:z", "dedupe": false, "delay": "1 h"}')]);
SELECT is(
    (SELECT array_agg(concat_ws(' ', m.ordinal, m.deduped, j.name, j.queue, j.priority, j.tenant_id, j.input, j.state) ORDER BY m.ordinal) FROM mix m JOIN x_jobs.all_jobs j USING (id, run_id)),
    ARRAY['1 f enq-1:x mix 0 7 ready', '2 f enq-1:y default 5 acme null ready', '3 f enq-1:z default 5 null delayed'],
    'ENQ-1: enqueue_many of a mix answers each job by its position, absent fields taking the defaults');

-- ENQ-2

SELECT id AS second_id, run_id AS second_run, deduped AS second_deduped
  FROM x_jobs.enqueue('enq-1', '{"a": 2}', 'enq-1', queue => 'elsewhere', priority => 0, run_at => '2000-01-01 00:00:00+00') \gset
SELECT is(ARRAY[:'second_id', :'second_run', :'second_deduped'], ARRAY[:'first_id', :'first_run', 't'],
    'ENQ-2: an enqueue that meets a live row of its key answers that row''s ids, deduped true');
SELECT is(
    (SELECT ARRAY[input::text, queue, priority::text, (run_at = now())::text] FROM x_jobs.job(:'first_id')),
    ARRAY['{"a": 1}', 'default', '5', 'true'], 'ENQ-2: the live row keeps its own input, queue, priority and run_at');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'enq-1'), 1::bigint, 'ENQ-2: a deduped enqueue inserts nothing');
CREATE TEMP TABLE again AS
    SELECT * FROM x_jobs.enqueue_many('enq-2', ARRAY['1', '2', '3']::jsonb[], ARRAY['same', 'other', 'same']);
SELECT is((SELECT array_agg(deduped ORDER BY ordinal) FROM again), ARRAY[false, false, true], 'ENQ-2: of two equal keys in a batch the second is deduped');
SELECT is(
    (SELECT id FROM again WHERE ordinal = 3), (SELECT id FROM again WHERE ordinal = 1), 'ENQ-2: the second of two equal keys answers the id of the first');
SELECT is(
    (SELECT input FROM x_jobs.job((SELECT id FROM again WHERE ordinal = 1))), '1'::jsonb, 'ENQ-2: the first of two equal keys is the one stored');
SELECT results_eq(
    $$SELECT m.ordinal, m.deduped, m.id = a.id FROM x_jobs.enqueue_many('enq-2', ARRAY['9', '9']::jsonb[], ARRAY['other', 'new']) m
        LEFT JOIN again a ON a.id = m.id ORDER BY 1$$,
    $$VALUES (1, true, true), (2, false, NULL)$$, 'ENQ-2: a batch is deduped item by item against what is live');
SELECT id AS rewritten FROM x_jobs.enqueue('enq-2', '"old"', 'replaced', queue => 'replace', delay => '1 h', priority => 8, max_attempts => 2) \gset
SELECT id AS replacing, deduped AS replacing_deduped
  FROM x_jobs.enqueue('enq-2', '"new"', 'replaced', on_conflict => 'replace', run_at => '2020-01-01 00:00:00+00', priority => 1) \gset
SELECT is(ARRAY[:'replacing', :'replacing_deduped'], ARRAY[:'rewritten', 't'], 'ENQ-2: on_conflict replace answers the ids of the live row');
SELECT is(
    (SELECT ARRAY[input::text, priority::text, run_at::timestamptz(0)::text, queue] FROM x_jobs.job(:'rewritten')),
    ARRAY['"new"', '1', '2020-01-01 00:00:00+00'::timestamptz::text, 'replace'],
    'ENQ-2: on_conflict replace gives a waiting row the new input, run_at and priority');
SELECT is(
    (SELECT array_agg(id) FROM x_jobs.claim(ARRAY['replace'], 'w', 5)), ARRAY[:'rewritten']::uuid[], 'ENQ-2: a row replaced with an earlier run_at is claimable at once');
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('enq-2', '"newer"', 'replaced', on_conflict => 'replace')), true, 'ENQ-2: on_conflict replace of a running row answers deduped');
SELECT is((SELECT input FROM x_jobs.job(:'rewritten')), '"new"'::jsonb, 'ENQ-2: on_conflict replace leaves a running row as it is');

CREATE TEMP TABLE asleep AS
    SELECT delay, made.id FROM (VALUES ('0'::interval), ('30 min')) AS given (delay),
           LATERAL pg_temp.job_in('suspended', 'enq-2:asleep', delay::text) AS made;
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-2:asleep', '"new"', delay::text, delay => delay, priority => 1, on_conflict => 'replace')),
    (id, true)::text, format('ENQ-2: on_conflict replace with delay %s answers the ids of a suspended row', delay)) FROM asleep ORDER BY delay;
SELECT is(
    (SELECT ARRAY[state, input::text, priority::text, (run_at - now())::text, attempt::text] FROM x_jobs.job(id)),
    ARRAY[CASE WHEN delay = '0' THEN 'ready' ELSE 'delayed' END, '"new"', '1', delay::text, '0'],
    format('ENQ-2: with delay %s it is changed like any waiting row, and sleeps no longer', delay)) FROM asleep ORDER BY delay;

-- ENQ-3

CREATE TEMP TABLE holding AS
    SELECT position, state, made.id, made.run_id FROM states, LATERAL pg_temp.job_in(state, 'enq-3', state) AS made WHERE position <= 4;
SELECT is(
    (SELECT (id, run_id, deduped)::x_jobs.enqueued FROM x_jobs.enqueue('enq-3', '"second"', state)),
    (id, run_id, true)::x_jobs.enqueued, format('ENQ-3: a %s job holds its key', state)) FROM holding ORDER BY position;
SELECT is(
    (SELECT array_agg(j.state || '=' || (j.input #>> '{}') ORDER BY position) FROM holding h JOIN x_jobs.all_jobs j USING (id)),
    ARRAY['ready=first', 'delayed=first', 'running=first', 'suspended=first'], 'ENQ-3: none of the four live rows was changed by it');
SET LOCAL x_jobs.test_clock_offset = '2h';
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('enq-3', idempotency_key => state)), true, format('ENQ-3: a %s job whose time or lease has passed holds its key', state))
  FROM holding ORDER BY position;
SET LOCAL x_jobs.test_clock_offset = 0;

-- ENQ-4

CREATE TEMP TABLE freed AS
    SELECT position, state, made.id, made.run_id FROM states, LATERAL pg_temp.job_in(state, 'enq-4', state) AS made WHERE position > 4;
CREATE TEMP TABLE anew AS
    SELECT position, state, f.id AS before, made.* FROM freed f, LATERAL x_jobs.enqueue('enq-4', '"second"', state) AS made;
SELECT ok(NOT deduped AND id <> before, format('ENQ-4: a %s job frees its key: the enqueue makes a new row with a new id', state)) FROM anew ORDER BY position;
SELECT is(
    (SELECT j.state FROM x_jobs.job(before) j), state, format('ENQ-4: the %s row stays what it was', state)) FROM anew ORDER BY position;
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('enq-4', idempotency_key => state)), true, format('ENQ-4: the new row holds the key that the %s row freed', state))
  FROM anew ORDER BY position;

-- ENQ-5 to ENQ-7

SELECT is((SELECT deduped FROM x_jobs.enqueue('enq-5:a', idempotency_key => 'natural')), false, 'ENQ-5: the first name makes a row');
SELECT is((SELECT deduped FROM x_jobs.enqueue('enq-5:b', idempotency_key => 'natural')), false, 'ENQ-5: another name of the same key makes another row');
SELECT is((SELECT deduped FROM x_jobs.enqueue('enq-5:A', idempotency_key => 'natural')), false, 'ENQ-5: a name that differs in case only is another name');

CREATE TEMP TABLE tenants AS
    SELECT tenant, made.* FROM unnest(ARRAY['acme', 'globex', 'Acme', 'acme ']) AS tenant, LATERAL x_jobs.enqueue('enq-6', idempotency_key => 'k', tenant_id => tenant) AS made;
SELECT is((SELECT count(DISTINCT id) FROM tenants WHERE NOT deduped), 4::bigint, 'ENQ-6: each tenant gets a row of its own for one name and key');
SELECT is(
    (SELECT (id, run_id, deduped)::x_jobs.enqueued FROM x_jobs.enqueue('enq-6', idempotency_key => 'k', tenant_id => tenant)),
    (id, run_id, true)::x_jobs.enqueued, format('ENQ-6: the answer to tenant "%s" names its own row', tenant)) FROM tenants ORDER BY id;
SELECT is(
    (SELECT (x_jobs.job(id)).tenant_id FROM x_jobs.enqueue('enq-6', idempotency_key => 'k', tenant_id => 'globex')), 'globex', 'ENQ-6: the row answered is the tenant''s');

SELECT id AS tenantless FROM x_jobs.enqueue('enq-7', idempotency_key => 'k') \gset
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-7', idempotency_key => 'k', tenant_id => NULL)), (:'tenantless'::uuid, true)::text,
    'ENQ-7: all rows without a tenant share one namespace');
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-7', idempotency_key => 'k', tenant_id => '')), (:'tenantless'::uuid, true)::text,
    'ENQ-7: the namespace of no tenant is that of the empty-text tenant');
SELECT is((SELECT tenant_id FROM x_jobs.job(:'tenantless')), NULL::text, 'ENQ-7: a row without a tenant shows NULL');
SELECT is(
    (SELECT (x_jobs.job(id)).tenant_id FROM x_jobs.enqueue('enq-7', idempotency_key => 'k2', tenant_id => '')), NULL::text,
    'ENQ-7: a row of the empty-text tenant shows NULL');
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('enq-7', idempotency_key => 'k', tenant_id => 'acme')), false, 'ENQ-7: a tenant does not share the namespace of no tenant');

-- ENQ-8

SELECT id AS guarded FROM x_jobs.enqueue('enq-8', idempotency_key => 'the secret key', queue => 'enq-8', on_conflict => 'error') \gset
SELECT pg_temp.refused(
    $$SELECT x_jobs.enqueue('enq-8', '"the payload"', 'the secret key', on_conflict => 'error')$$, 'XJ003', 'X_JOB_DUPLICATE: Job ' || :'guarded' || ' ',
    'ENQ-8: on_conflict error refuses the live key and names the existing id');
SELECT unalike(
    pg_temp.refusal($$SELECT x_jobs.enqueue('enq-8', '"the payload"', 'the secret key', on_conflict => 'error')$$), '%secret%',
    'ENQ-8: the refusal does not name the key');
SELECT unalike(
    pg_temp.refusal($$SELECT x_jobs.enqueue('enq-8', '"the payload"', 'the secret key', on_conflict => 'error')$$), '%payload%',
    'ENQ-8: the refusal does not name the payload');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'enq-8'), 1::bigint, 'ENQ-8: a refused enqueue inserts nothing');
SELECT pg_temp.refused(
    $$SELECT * FROM x_jobs.enqueue_many('enq-8', ARRAY['1', '2']::jsonb[], ARRAY['new key', 'the secret key'], on_conflict => 'error')$$, 'XJ003',
    'X_JOB_DUPLICATE: Job ' || :'guarded' || ' ', 'ENQ-8: on_conflict error holds for a batch');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'enq-8'), 1::bigint, 'ENQ-8: a refused batch inserts none of its jobs');
SELECT throws_ok(
    $$SELECT * FROM x_jobs.enqueue_many('enq-8', ARRAY['1', '2']::jsonb[], ARRAY['twice', 'twice'], on_conflict => 'error')$$, 'XJ003', NULL,
    'ENQ-8: on_conflict error refuses two equal keys in one batch');
SELECT claim AS held FROM x_jobs.claim(ARRAY['enq-8'], 'w') \gset
SELECT throws_ok(
    $$SELECT x_jobs.enqueue('enq-8', idempotency_key => 'the secret key', on_conflict => 'error')$$, 'XJ003', NULL, 'ENQ-8: a running row is a collision too');
SELECT x_jobs.ack(:'guarded', 'w', :held) AS landed \gset
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('enq-8', idempotency_key => 'the secret key', on_conflict => 'error')), false,
    'ENQ-8: after the row has finished on_conflict error inserts');
SELECT pg_temp.refused(
    format($$SELECT x_jobs.enqueue('enq-8', idempotency_key => 'k', on_conflict => %L)$$, policy), 'XJ001', 'X_INVARIANT: on_conflict ',
    format('ENQ-8: the policy "%s" is refused', policy)) FROM unnest(ARRAY['ignore', 'Error', '']) AS policy;

-- ENQ-9 to ENQ-11

CREATE TEMP TABLE taken AS SELECT position, state, made.id, made.run_id FROM states, LATERAL pg_temp.job_in(state, 'enq-9', state) AS made;
SELECT pg_temp.rows() AS rows_before \gset
SELECT is(
    (SELECT (id, run_id, deduped)::x_jobs.enqueued
       FROM x_jobs.enqueue('enq-9:other', '"second"', 'other ' || state, on_conflict => 'error', id => taken.id, run_id => x_jobs.new_id())),
    (id, run_id, true)::x_jobs.enqueued, format('ENQ-9: an id that names a %s row answers that row''s ids, even under on_conflict error', state))
  FROM taken ORDER BY position;
SELECT is(pg_temp.rows(), :rows_before::bigint, 'ENQ-9: none of them inserted a row');
SELECT is(
    (SELECT array_agg(DISTINCT j.input) FROM taken JOIN x_jobs.all_jobs j USING (id)), ARRAY['"first"'::jsonb], 'ENQ-9: none of them changed the row');
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('enq-9:other', idempotency_key => 'other ready')), false, 'ENQ-9: what was not inserted holds no key');
SELECT is(
    (SELECT id FROM x_jobs.enqueue('enq-9', idempotency_key => 'ready', on_conflict => 'error', id => dead.id)), dead.id,
    'ENQ-9: the id is checked before the key rule: the row of the id is answered, not the holder of the key') FROM taken AS dead WHERE state = 'dead';
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-9', idempotency_key => 'running', id => running.id)), (running.id, true)::text,
    'ENQ-9: the same id and the same key answer the row once') FROM taken AS running WHERE state = 'running';
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-9', dedupe => false, id => done.id)), (done.id, true)::text,
    'ENQ-9: dedupe => false does not lift the rule of the id') FROM taken AS done WHERE state = 'done';

SELECT x_jobs.new_id() AS own \gset
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-10', '"first"', 'k', id => :'own')), (:'own'::uuid, false)::text, 'ENQ-10: a caller''s own id is used');
SELECT is((x_jobs.remove(:'own')).id, :'own'::uuid, 'ENQ-10: the row is removed');
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-10', '"second"', 'k', id => :'own')), (:'own'::uuid, false)::text,
    'ENQ-10: the id of a removed row is free and inserts');
SELECT is((SELECT input FROM x_jobs.job(:'own')), '"second"'::jsonb, 'ENQ-10: the row under the id is the new one');
SELECT x_jobs.cancel(:'own') AS cancelled \gset
SELECT x_jobs.remove(:'own') AS removed \gset
SELECT is(
    (SELECT deduped FROM x_jobs.enqueue('enq-10', idempotency_key => 'k', id => :'own')), false, 'ENQ-10: so is the id of a finished row that was removed');

SELECT x_jobs.new_id() AS own_run \gset
SELECT is(
    (SELECT run_id FROM x_jobs.enqueue('enq-11', dedupe => false, run_id => :'own_run')), :'own_run'::uuid, 'ENQ-11: the run id may be named by the caller');
SELECT is(
    (SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'enq-11' AND run_id = :'own_run'), 1::bigint, 'ENQ-11: the named run id is stored');
SELECT isnt((SELECT run_id FROM x_jobs.enqueue('enq-11', dedupe => false)), NULL::uuid, 'ENQ-11: otherwise a run id is minted');
SELECT pg_temp.rows() AS rows_before \gset
SELECT pg_temp.refused(
    format('SELECT x_jobs.enqueue(%L, dedupe => false, %s => %L)', 'enq-11', argument, wrong), 'XJ004', 'X_ID_INVALID: ' || argument || ' ',
    format('ENQ-11: %s is refused as %s', what, argument))
  FROM unnest(ARRAY['id', 'run_id']) AS argument,
       (VALUES (1, 'a uuid of version 4', 'b4c2f9c8-6d1f-4b57-9a0e-3f2d1c0b9a87'), (2, 'a uuid of version 1', 'c232ab00-9414-11ec-b3c8-9f6bdeced846'),
               (3, 'a uuid of version 8', '01890a5d-ac96-8b57-9a0e-3f2d1c0b9a87'), (4, 'a version 7 of another variant', '01890a5d-ac96-774b-1cce-b302099a8057'),
               (5, 'the nil uuid', '00000000-0000-0000-0000-000000000000'), (6, 'the greatest uuid', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
       ) AS t (n, what, wrong) ORDER BY argument, n;
SELECT throws_ok(
    format($$SELECT * FROM x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "enq-11", "dedupe": false}'),
        jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "enq-11", "dedupe": false, "id": "%s"}')])$$, gen_random_uuid()), 'XJ004', NULL,
    'ENQ-11: a wrong id in a batch is refused');
SELECT is(pg_temp.rows(), :rows_before::bigint, 'ENQ-11: nothing was written before the refusal');

-- ENQ-12 and ENQ-14

SELECT is(
    (SELECT (x_jobs.job(id)).queue FROM x_jobs.enqueue('enq-12', dedupe => false, queue => '')), 'default', 'ENQ-12: an empty queue name means default');
CREATE TEMP TABLE unnamed AS SELECT id FROM x_jobs.enqueue_many('enq-12', ARRAY['1', '2']::jsonb[], queue => '', dedupe => false);
SELECT is(
    (SELECT array_agg(j.queue) FROM unnamed JOIN _x_jobs.jobs j USING (id)), ARRAY['default', 'default'], 'ENQ-12: so it does in a batch');

SELECT id AS later FROM x_jobs.enqueue('enq-14', idempotency_key => 'k', queue => 'later', delay => '1 h') \gset
SELECT ctid AS stored_at FROM _x_jobs.jobs WHERE id = :'later' \gset
SELECT is((SELECT state FROM x_jobs.job(:'later')), 'delayed', 'ENQ-14: a job for later is stored as delayed');
SELECT is((SELECT (ready, delayed)::text FROM x_jobs.stats() WHERE queue = 'later'), '(0,1)', 'ENQ-14: before its time it counts as delayed');
SET LOCAL x_jobs.test_clock_offset = '61min';
SELECT is((SELECT (ready, delayed)::text FROM x_jobs.stats() WHERE queue = 'later'), '(1,0)', 'ENQ-14: statistics read due-ness from run_at');
SELECT count(*) AS tasks FROM x_jobs.maintain() \gset
SELECT is((SELECT state || ctid::text FROM _x_jobs.jobs WHERE id = :'later'), 'delayed' || :'stored_at', 'ENQ-14: the row that fell due was not rewritten');
SELECT is((SELECT array_agg(id) FROM x_jobs.claim(ARRAY['later'], 'w', 5)), ARRAY[:'later']::uuid[], 'ENQ-14: the claim reads due-ness from run_at');
SET LOCAL x_jobs.test_clock_offset = 0;

-- ENQ-16: the part that one session can show; the race itself is told by the isolation specs.

CREATE FUNCTION pg_temp.around_the_ack(rounds integer) RETURNS text
    LANGUAGE plpgsql AS $$
DECLARE
    first x_jobs.enqueued;
    second x_jobs.enqueued;
    held x_jobs.claimed_job;
    seen uuid[] := '{}';
    most bigint := 0;
BEGIN
    FOR n IN 1 .. rounds LOOP
        first := x_jobs.enqueue('enq-16', idempotency_key => 'k', queue => 'enq-16');
        SELECT * INTO held FROM x_jobs.claim(ARRAY['enq-16'], 'w');
        second := x_jobs.enqueue('enq-16', idempotency_key => 'k', queue => 'enq-16');
        IF first.deduped OR NOT second.deduped OR first.id IS DISTINCT FROM second.id OR held.id IS DISTINCT FROM first.id THEN
            RETURN format('round %s: %s, %s, %s', n, first, second, held.id);
        END IF;
        most := greatest(most, (SELECT count(*) FROM _x_jobs.jobs WHERE name = 'enq-16'));
        PERFORM x_jobs.ack(held.id, 'w', held.claim);
        seen := seen || first.id;
    END LOOP;
    RETURN format('%s ids, %s live at most', (SELECT count(DISTINCT id) FROM unnest(seen) AS id), most);
END $$;
SELECT is(pg_temp.around_the_ack(25), '25 ids, 1 live at most', 'ENQ-16: around the holder''s ack every call gets an id and one row at most is live');
SELECT index_is_unique('_x_jobs', 'jobs', 'jobs_dedupe', 'ENQ-16: a unique index stands behind the rule');

-- ENQ-17 to ENQ-23

SELECT is(
    (SELECT tenant_id FROM x_jobs.enqueue('enq-17', '{"tenant_id": "globex", "org": "globex"}', 'k', queue => 'enq-17', tenant_id => 'acme') e
       JOIN LATERAL x_jobs.job(e.id) ON true), 'acme', 'ENQ-17: the tenant on the row is the enqueuer''s, whatever the input says');
SELECT is((SELECT tenant_id FROM x_jobs.claim(ARRAY['enq-17'], 'w')), 'acme', 'ENQ-17: the claim hands out the tenant of the row');

CREATE TEMP TABLE traced AS
    SELECT n, trace, made.* FROM (VALUES (1, '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'), (2, '  not a traceparent é 🐘 '), (3, E'a\nb\t''"\\'))
        AS t (n, trace), LATERAL x_jobs.enqueue('enq-18', idempotency_key => 'k' || n, queue => 'enq-18', traceparent => trace, enqueued_by => reverse(trace)) AS made;
SELECT is(
    (SELECT ARRAY[j.traceparent, j.enqueued_by] FROM x_jobs.job(id) j), ARRAY[trace, reverse(trace)], format('ENQ-18: traceparent and enqueued_by are stored verbatim (%s)', n))
  FROM traced ORDER BY n;
SELECT is(
    (SELECT (id, deduped)::text FROM x_jobs.enqueue('enq-18', idempotency_key => 'k1', traceparent => 'another', enqueued_by => 'another')), (id, true)::text,
    'ENQ-18: they play no part in dedupe') FROM traced WHERE n = 1;
SELECT is((SELECT traceparent FROM x_jobs.job(id)), trace, 'ENQ-18: a deduped enqueue does not change them') FROM traced WHERE n = 1;
SELECT results_eq(
    $$SELECT traceparent, enqueued_by FROM x_jobs.claim(ARRAY['enq-18'], 'w', 10)$$, 'SELECT trace, reverse(trace) FROM traced ORDER BY n',
    'ENQ-18: a claim hands them out and does not look at them');

SELECT id AS fixed FROM x_jobs.enqueue('enq-19', idempotency_key => 'k', queue => 'enq-19', max_attempts => 2) \gset
SELECT x_jobs.enqueue('enq-19', idempotency_key => 'k', max_attempts => 50) AS deduped \gset
SELECT is((SELECT max_attempts FROM x_jobs.job(:'fixed')), 2, 'ENQ-19: a deduped enqueue with other max_attempts leaves the row''s');
SELECT x_jobs.enqueue('enq-19', idempotency_key => 'k', max_attempts => 50, on_conflict => 'replace') AS replaced \gset
SELECT is((SELECT max_attempts FROM x_jobs.job(:'fixed')), 2, 'ENQ-19: so does one that replaces input, run_at and priority');
SELECT is(
    (SELECT (max_attempts, final_attempt)::text FROM x_jobs.claim(ARRAY['enq-19'], 'w', visibility_timeout => '0')), '(2,f)', 'ENQ-19: the claim hands out the row''s max_attempts');
SELECT is(
    (SELECT (max_attempts, final_attempt)::text FROM x_jobs.claim(ARRAY['enq-19'], 'w', visibility_timeout => '0')), '(2,t)',
    'ENQ-19: the row''s max_attempts say which attempt is the final one');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['enq-19'], 'w')), 0::bigint, 'ENQ-19: the claim''s burial uses the row''s max_attempts');
SELECT is((SELECT state FROM x_jobs.job(:'fixed')), 'dead', 'ENQ-19: after two attempts the job is dead');

SELECT x_jobs.pause_queue('enq-21') AS paused \gset
SELECT id AS held_back, deduped AS held_back_deduped FROM x_jobs.enqueue('enq-21', idempotency_key => 'k', queue => 'enq-21') \gset
SELECT is(:'held_back_deduped'::boolean, false, 'ENQ-21: an enqueue on a paused queue succeeds');
SELECT is((SELECT (ready, delayed)::text FROM x_jobs.stats() WHERE queue = 'enq-21'), '(1,0)', 'ENQ-21: its row counts as waiting');
SELECT is((SELECT deduped FROM x_jobs.enqueue('enq-21', idempotency_key => 'k')), true, 'ENQ-21: its row holds the key');
SELECT x_jobs.resume_queue('enq-21') AS resumed \gset
SELECT is((SELECT array_agg(id) FROM x_jobs.claim(ARRAY['enq-21'], 'w', 5)), ARRAY[:'held_back']::uuid[], 'ENQ-21: once resumed, the row is handed out');

SELECT pg_temp.refused($$SELECT x_jobs.enqueue('enq-23', idempotency_key => '')$$, 'XJ001', 'X_INVARIANT: idempotency_key ', 'ENQ-23: an empty key is refused');
SELECT throws_ok(
    $$SELECT * FROM x_jobs.enqueue_many('enq-23', ARRAY['1', '2']::jsonb[], ARRAY['k', ''])$$, 'XJ001', NULL, 'ENQ-23: an empty key in a batch is refused');
SELECT throws_ok(
    $$SELECT * FROM x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "enq-23", "idempotency_key": ""}')])$$, 'XJ001', NULL,
    'ENQ-23: an empty key in a mix is refused');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'enq-23'), 0::bigint, 'ENQ-23: nothing was inserted');
SELECT throws_ok(
    $$INSERT INTO _x_jobs.jobs (id, run_id, run_at, name, idempotency_key) VALUES (x_jobs.new_id(), x_jobs.new_id(), now(), 'enq-23', '')$$, '23514', NULL,
    'ENQ-23: the table itself refuses an empty key');

SELECT * FROM finish();
ROLLBACK;
