-- If this failed, a cancelled job would run to its end all the same, or a finished one would be rewritten.
SELECT plan(58);

CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s') RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job.' || named, '{"n": 1}', 'key of ' || named, named);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w', 1, lease) AS c
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

-- The four live states.
CREATE TEMP TABLE sample (state text PRIMARY KEY, id uuid, claim bigint, before x_jobs.job, stored text);
DO $$
DECLARE
    named text;
    taken x_jobs.claimed_job;
BEGIN
    INSERT INTO sample SELECT 'ready', e.id FROM x_jobs.enqueue('job.ready', idempotency_key => 'key of ready',
                            queue => 'ready') AS e;
    INSERT INTO sample SELECT 'delayed', e.id FROM x_jobs.enqueue('job.delayed', idempotency_key => 'key of delayed',
                            queue => 'delayed', delay => '1 h') AS e;
    FOREACH named IN ARRAY ARRAY['running', 'suspended'] LOOP
        taken := pg_temp.held(named);
        PERFORM x_jobs.nack(taken.id, 'w', taken.claim, error => 'first failure', stack => 'at line 1');
        SELECT c.* INTO taken FROM x_jobs.claim(ARRAY[named], 'w') AS c;
        INSERT INTO sample VALUES (named, taken.id, taken.claim);
    END LOOP;
    PERFORM x_jobs.nack(taken.id, 'w', taken.claim, '1 h', park => true);
    UPDATE sample SET before = x_jobs.job(id);
END $$;
CREATE TEMP TABLE cancelled AS SELECT s.state, s.id, s.claim, s.before,
    x_jobs.cancel(s.id, CASE WHEN s.state IN ('running', 'delayed') THEN 'no longer wanted' END) AS after FROM sample AS s;
SELECT is((before).state || ' -> ' || (after).state, state || ' -> cancelled', 'CANCEL-1 a ' || state || ' job can be cancelled')
  FROM cancelled ORDER BY state;
SELECT is(x_jobs.job(id), after, 'CANCEL-1 cancel answers the row as it is stored: ' || state) FROM cancelled ORDER BY state;
SELECT ok((after).worker_id IS NULL AND (after).visible_at IS NULL AND (after).finished_at = (after).updated_at
          AND (after).updated_at > (before).updated_at,
          'CANCEL-1 the claim of a ' || state || ' job is released, its end recorded') FROM cancelled ORDER BY state;
SELECT is((after).last_error, CASE WHEN state IN ('running', 'delayed') THEN 'no longer wanted' ELSE (before).last_error END,
          'CANCEL-1 last error is replaced only if a reason is given: ' || state) FROM cancelled ORDER BY state;
SELECT is((after).reason, CASE WHEN state IN ('running', 'delayed') THEN 'no longer wanted' END,
          'CANCEL-1 the reason given is the reason of the row: ' || state) FROM cancelled ORDER BY state;
SELECT is((after).last_error_stack, (before).last_error_stack, 'CANCEL-1 the stack is kept: ' || state) FROM cancelled
 ORDER BY state;
SELECT is((before).last_error_stack, 'at line 1', 'CANCEL-1 (there was a stack to keep: ' || state || ')') FROM cancelled
 WHERE state IN ('running', 'suspended') ORDER BY state;
SELECT is(((after).run_at, (after).attempt, (after).claim, (after).created_at, (after).input, (after).idempotency_key)::text,
          ((before).run_at, (before).attempt, (before).claim, (before).created_at, (before).input, (before).idempotency_key)::text,
          'CANCEL-5 run_at, attempt and ordinal of a ' || state || ' job are kept') FROM cancelled ORDER BY state;
SELECT is(deduped, false, 'CANCEL-5 cancel frees the key of a ' || state || ' job') FROM cancelled,
    x_jobs.enqueue('job.' || cancelled.state, idempotency_key => 'key of ' || cancelled.state, queue => 'new') ORDER BY state;
SELECT is_empty('SELECT * FROM x_jobs.claim(ARRAY[''ready'', ''delayed'', ''running'', ''suspended''], ''w2'', 10)',
                'CANCEL-1 a cancelled job is not handed out');
SELECT is_empty('SELECT * FROM _x_jobs.tally WHERE name NOT IN (''job.running'', ''job.suspended'')',
                'CANCEL-5 cancel adds nothing to the counters');
SELECT is((SELECT string_agg(name || ' ' || outcome::text, ', ' ORDER BY name) FROM _x_jobs.tally),
          'job.running r, job.suspended r', 'CANCEL-5 (only the two retries of before are counted)');

-- A running body learns of it.
SELECT id, claim FROM sample WHERE state = 'running' \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim), false, 'CANCEL-4 the next heartbeat answers false');
SELECT is(x_jobs.progress(:'id', 'w', :claim, 1, 2), false, 'CANCEL-4 so does a progress report');
SELECT is(x_jobs.ack(:'id', 'w', :claim), false, 'CANCEL-4 the ack misses');
SELECT is(x_jobs.nack(:'id', 'w', :claim), false, 'CANCEL-4 so does the nack');
SELECT is(landed, false, 'CANCEL-4 and fail()') FROM x_jobs.fail(:'id', 'w', :claim, 'no');
SELECT is(x_jobs.release(:'id', 'w', :claim), false, 'CANCEL-4 and the release');
SELECT is(pg_temp.stored(:'id'), :'before', 'CANCEL-4 nothing of it touches the row');
SELECT * FROM pg_temp.held('lapsed', '0') \gset
SELECT is(state, 'cancelled', 'CANCEL-1 a running job whose lease has lapsed can be cancelled') FROM x_jobs.cancel(:'id');

-- Finished rows.
TRUNCATE sample;
DO $$
DECLARE
    ending text;
    taken x_jobs.claimed_job;
BEGIN
    FOREACH ending IN ARRAY ARRAY['done', 'failed', 'dead', 'cancelled'] LOOP
        taken := pg_temp.held(ending);
        CASE ending
            WHEN 'done' THEN PERFORM x_jobs.ack(taken.id, 'w', taken.claim);
            WHEN 'failed' THEN PERFORM x_jobs.nack(taken.id, 'w', taken.claim, fail => true, error => 'no');
            WHEN 'dead' THEN PERFORM x_jobs.nack(taken.id, 'w', taken.claim, dead_letter => true, error => 'no');
            WHEN 'cancelled' THEN PERFORM x_jobs.cancel(taken.id, 'the first reason');
        END CASE;
        INSERT INTO sample (state, id, stored) VALUES (ending, taken.id, pg_temp.stored(taken.id));
    END LOOP;
END $$;
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.cancel(%L, ''too late'')', id)), '^XJ006 X_JOB_NOT_CANCELLABLE: .*' || state,
               'CANCEL-2 a ' || state || ' job is X_JOB_NOT_CANCELLABLE, naming the state') FROM sample ORDER BY state;
SELECT is(pg_temp.stored(id), stored, 'CANCEL-2 and not a column of it moves: ' || state) FROM sample ORDER BY state;

-- Nobody's id.
SELECT ok(x_jobs.cancel(x_jobs.new_id()) IS NULL, 'CANCEL-3 an unknown id answers nothing');
SELECT ok(x_jobs.cancel(x_jobs.new_id(), 'a reason') IS NULL, 'CANCEL-3 with a reason too');
SELECT matches(pg_temp.refusal('SELECT x_jobs.cancel(NULL)'), '^XJ001 X_INVARIANT: id ', 'CANCEL-3 a NULL id is refused');

-- A cancellation belongs to its transaction.
SELECT * FROM pg_temp.held('undone') \gset
BEGIN;
SAVEPOINT attempt;
SELECT state AS within FROM x_jobs.cancel(:'id') \gset
SELECT x_jobs.heartbeat(:'id', 'w', :claim) AS held_within \gset
ROLLBACK TO attempt;
SELECT x_jobs.heartbeat(:'id', 'w', :claim) AS held_after \gset
COMMIT;
SELECT is(:'within' || ' ' || :'held_within' || ' ' || :'held_after', 'cancelled f t',
          'CANCEL-4 a cancellation that was rolled back costs the worker nothing');
SELECT ok(x_jobs.ack(:'id', 'w', :claim), 'CANCEL-4 and its ack lands');

SELECT * FROM finish();
