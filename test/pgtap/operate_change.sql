-- If this failed, an operator's repair would lose work, run it twice, or touch jobs that it must leave alone.
SELECT plan(98);

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

-- One job in each state, by name of the state; the four finished ones carry everything that a run can leave behind.
CREATE TEMP TABLE sample (state text PRIMARY KEY, id uuid, before x_jobs.job);
DO $$
DECLARE
    ending text;
    taken x_jobs.claimed_job;
BEGIN
    INSERT INTO sample SELECT 'ready', e.id FROM x_jobs.enqueue('job.ready', idempotency_key => 'key of ready',
                            queue => 'ready') AS e;
    INSERT INTO sample SELECT 'delayed', e.id FROM x_jobs.enqueue('job.delayed', idempotency_key => 'key of delayed',
                            queue => 'delayed', delay => '1 h') AS e;
    INSERT INTO sample SELECT 'running', c.id FROM pg_temp.held('running') AS c;
    taken := pg_temp.held('suspended');
    PERFORM x_jobs.nack(taken.id, 'w', taken.claim, '1 h', park => true);
    INSERT INTO sample VALUES ('suspended', taken.id);
    FOREACH ending IN ARRAY ARRAY['done', 'failed', 'dead', 'cancelled'] LOOP
        taken := pg_temp.held(ending);
        PERFORM x_jobs.nack(taken.id, 'w', taken.claim, error => 'first failure', stack => 'at line 1');
        SELECT c.* INTO taken FROM x_jobs.claim(ARRAY[ending], 'w') AS c;
        PERFORM x_jobs.progress(taken.id, 'w', taken.claim, 1, 2);
        CASE ending
            WHEN 'done' THEN PERFORM x_jobs.ack(taken.id, 'w', taken.claim, '{"r": 1}');
            WHEN 'failed' THEN PERFORM x_jobs.nack(taken.id, 'w', taken.claim, fail => true);
            WHEN 'dead' THEN PERFORM x_jobs.nack(taken.id, 'w', taken.claim, dead_letter => true);
            WHEN 'cancelled' THEN PERFORM x_jobs.cancel(taken.id);
        END CASE;
        INSERT INTO sample VALUES (ending, taken.id);
    END LOOP;
    UPDATE sample SET before = x_jobs.job(id);
END $$;
SELECT results_eq('SELECT state FROM sample ORDER BY state', 'SELECT (before).state FROM sample ORDER BY state',
                  'OPW-4 (the sample has one job in each state)');

-- Requeue.
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.requeue(%L)', x_jobs.new_id())), '^XJ005 X_JOB_NOT_FOUND: ',
               'OPW-2 requeue of an unknown id is X_JOB_NOT_FOUND');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.requeue(%L)', id)), '^XJ007 X_JOB_NOT_REQUEUEABLE: .*' || state,
               'OPW-2 a ' || state || ' job is X_JOB_NOT_REQUEUEABLE, naming the state')
  FROM sample WHERE state IN ('ready', 'delayed', 'running', 'suspended') ORDER BY state;
SELECT is(ARRAY(SELECT x_jobs.job(id) FROM sample ORDER BY state), ARRAY(SELECT before FROM sample ORDER BY state),
          'OPW-2 a refused requeue changes nothing');
CREATE TEMP TABLE requeued AS SELECT s.state, clock_timestamp() AS asked_at, s.before, x_jobs.requeue(s.id) AS after
  FROM sample AS s WHERE s.state IN ('done', 'failed', 'dead', 'cancelled');
SELECT is((after).state || ' ' || (after).attempt, 'ready 0', 'OPW-4 OPW-3 a ' || state || ' job can be requeued: ready, attempt 0')
  FROM requeued ORDER BY state;
SELECT ok((after).run_at BETWEEN asked_at - interval '1 s' AND clock_timestamp(),
          'OPW-3 run_at of a requeued ' || state || ' job is now') FROM requeued ORDER BY state;
SELECT ok((after).worker_id IS NULL AND (after).visible_at IS NULL AND (after).finished_at IS NULL AND (after).reason IS NULL,
          'OPW-3 the claim of a requeued ' || state || ' job is released, its ending taken back')
  FROM requeued ORDER BY state;
SELECT is(((after).id, (after).run_id, (after).created_at, (after).input, (after).idempotency_key, (after).last_error,
           (after).last_error_stack, (after).progress, (after).claim, (after).max_attempts)::text,
          ((before).id, (before).run_id, (before).created_at, (before).input, (before).idempotency_key, (before).last_error,
           (before).last_error_stack, (before).progress, (before).claim, (before).max_attempts)::text,
          'OPW-3 a requeued ' || state || ' job keeps ids, created_at, input, key, last error, stack, progress and ordinal')
            FROM requeued ORDER BY state;
SELECT ok((before).last_error = 'first failure' AND (before).last_error_stack = 'at line 1' AND (before).progress IS NOT NULL
          AND (before).claim = 2, 'OPW-3 (there was something to keep: ' || state || ')')
  FROM requeued ORDER BY state;
SELECT is(x_jobs.job((after).id), after, 'OPW-3 requeue answers the row as it is stored: ' || state) FROM requeued ORDER BY state;
SELECT is((SELECT count(*) FROM _x_jobs.history h WHERE h.id IN (SELECT id FROM sample)), 0::bigint,
          'OPW-3 a requeued job has left the history');
SELECT is((SELECT count(*) FROM _x_jobs.jobs j WHERE j.id IN (SELECT id FROM sample)), 8::bigint, 'OPW-3 and is a live row again');
SELECT is((SELECT c.claim || ' ' || c.attempt FROM x_jobs.claim(ARRAY[s.state], 'w2') AS c WHERE c.id = s.id), '3 1',
          'OPW-3 a requeued ' || s.state || ' job starts over; its ordinal goes on')
  FROM sample AS s WHERE s.state IN ('done', 'failed', 'dead', 'cancelled') ORDER BY s.state;
SELECT is(x_jobs.ack(s.id, 'w', 2), false, 'OPW-3 the claim of before cannot settle a requeued ' || s.state || ' job')
  FROM sample AS s WHERE s.state IN ('done', 'failed', 'dead', 'cancelled') ORDER BY s.state;
SELECT id FROM x_jobs.enqueue('job.expires', queue => 'expires', dedupe => false, expires_at => now() + interval '1 h') \gset
SELECT state AS cancelled_state FROM x_jobs.cancel(:'id') \gset
SELECT ok(expires_at IS NULL, 'OPW-3 requeue clears expires_at, so that an expired job can run') FROM x_jobs.requeue(:'id');
SET x_jobs.test_clock_offset = '2h';
SELECT is((SELECT id FROM x_jobs.claim(ARRAY['expires'], 'w')), :'id'::uuid, 'OPW-3 and it does');
RESET x_jobs.test_clock_offset;

-- Requeue while the key has another holder.
SELECT * FROM pg_temp.held('held_key') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT id AS holder FROM x_jobs.enqueue('job.held_key', idempotency_key => 'key of held_key', queue => 'elsewhere') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.requeue(%L)', :'id')), '^XJ003 X_JOB_DUPLICATE: .*' || :'holder',
               'OPW-2 while a live job holds the key requeue is X_JOB_DUPLICATE, naming that job');
SELECT is(pg_temp.stored(:'id'), :'before', 'OPW-2 and nothing changes');
SELECT id AS cancelled_id FROM x_jobs.cancel(:'holder') \gset
SELECT is((SELECT state FROM x_jobs.requeue(:'id')), 'ready', 'OPW-2 once the holder has ended, requeue works');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.requeue(%L)', :'holder')), '^XJ003 X_JOB_DUPLICATE: .*' || :'id',
               'OPW-2 and the other one is the duplicate now');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.requeue(%L)', :'id')), '^XJ007 ',
               'OPW-2 a live job is not requeueable, although it holds its own key');
SELECT matches(pg_temp.refusal('SELECT x_jobs.requeue(NULL)'), '^XJ001 X_INVARIANT: id ', 'OPW-2 a NULL id is refused');

-- Remove.
SELECT ok(x_jobs.remove(x_jobs.new_id()) IS NULL, 'OPW-1 remove of an unknown id answers nothing');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.remove(%L)', id)), '^XJ008 X_JOB_NOT_REMOVABLE: .*running',
               'OPW-1 a running job is X_JOB_NOT_REMOVABLE') FROM sample WHERE state = 'running';
SELECT is((SELECT x_jobs.job(id) FROM sample WHERE state = 'running'), (SELECT before FROM sample WHERE state = 'running'),
          'OPW-1 and stays as it was');
SELECT is(x_jobs.remove(id), before, 'OPW-1 remove of a ' || state || ' job answers the removed record') FROM sample
 WHERE state IN ('ready', 'delayed', 'suspended') ORDER BY state;
SELECT ok(x_jobs.job(id) IS NULL, 'OPW-1 and it is gone: ' || state) FROM sample WHERE state IN ('ready', 'delayed', 'suspended')
 ORDER BY state;
SELECT ok(x_jobs.ack(s.id, 'w2', 3) AND (x_jobs.remove(s.id)).state = 'done', 'OPW-1 a finished job can be removed') FROM sample s
 WHERE s.state = 'done';
SELECT is((SELECT count(*) FROM x_jobs.all_jobs a JOIN sample s USING (id) WHERE s.state = 'done'), 0::bigint,
          'OPW-1 and leaves no row behind');
SELECT is(deduped, false, 'OPW-1 the key of a removed job is free')
  FROM x_jobs.enqueue('job.ready', idempotency_key => 'key of ready');
SELECT * FROM pg_temp.held('claimed_between', '0') \gset
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.remove(%L)', :'id')), '^XJ008 ',
               'OPW-1 a running job whose lease has lapsed is not removable either');
SELECT matches(pg_temp.refusal('SELECT x_jobs.remove(NULL)'), '^XJ001 X_INVARIANT: id ', 'OPW-1 a NULL id is refused');

-- Promote.
SELECT id FROM x_jobs.enqueue('job.later', queue => 'later', dedupe => false, delay => '1 h') \gset
SELECT is(state || ' ' || (run_at <= clock_timestamp()) || ' ' || (id = :'id'), 'ready true true',
          'OPW-8 promote makes a delayed job ready, due now, and answers the row') FROM x_jobs.promote(:'id');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.promote(%L)', :'id')), '^XJ009 X_JOB_NOT_PROMOTABLE: .*ready',
               'OPW-8 a job that is due is not promotable, naming its state');
SELECT is((SELECT id FROM x_jobs.claim(ARRAY['later'], 'w')), :'id'::uuid, 'OPW-8 a promoted job is claimable');
SELECT * FROM pg_temp.held('backing_off') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, '1 h', error => 'later') \gset
SELECT is(state || ' ' || attempt || ' ' || last_error || ' ' || claim || ' ' || (run_at <= clock_timestamp()),
          'ready 1 later 1 true', 'OPW-8 a retry that is backing off is promoted; its attempt, error and ordinal stay')
  FROM x_jobs.promote(:'id');
SELECT id FROM x_jobs.enqueue('job.fell_due', queue => 'fell_due', dedupe => false, delay => '1 h') \gset
SET x_jobs.test_clock_offset = '2h';
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.promote(%L)', :'id')), '^XJ009 X_JOB_NOT_PROMOTABLE: .*delayed',
               'OPW-8 a delayed job that fell due is not promotable');
RESET x_jobs.test_clock_offset;
SELECT * FROM pg_temp.held('sleeps') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, '1 h', park => true) \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.promote(%L)', :'id')), '^XJ009 X_JOB_NOT_PROMOTABLE: .*suspended',
               'OPW-8 a suspended job is not promotable');
SELECT is(pg_temp.stored(:'id'), :'before', 'OPW-8 and is not touched');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.promote(%L)', id)), '^XJ009 X_JOB_NOT_PROMOTABLE: .*running',
               'OPW-8 a running job is not promotable') FROM sample WHERE state = 'running';
SELECT * FROM pg_temp.held('finished') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, '1 h', dead_letter => true) \gset
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.promote(%L)', :'id')), '^XJ009 X_JOB_NOT_PROMOTABLE: .*dead',
               'OPW-8 a dead job is not promotable, although its run_at lies ahead');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.promote(%L)', x_jobs.new_id())), '^XJ009 X_JOB_NOT_PROMOTABLE: .*missing',
               'OPW-8 an unknown id is not promotable: missing');
SELECT matches(pg_temp.refusal('SELECT x_jobs.promote(NULL)'), '^XJ001 X_INVARIANT: id ', 'OPW-8 a NULL id is refused');

-- Pauses.
SELECT * FROM pg_temp.held('stopped', '0') \gset lapsed_
SELECT x_jobs.enqueue('job.stopped', queue => 'stopped', dedupe => false) \gset
SELECT x_jobs.pause_queue('stopped', 'the mail server is down') AS since \gset
SELECT ok(:'since'::timestamptz BETWEEN clock_timestamp() - interval '1 min' AND clock_timestamp(),
          'OPW-11 pause answers the instant of the pause');
SELECT is(x_jobs.pause_queue('stopped', 'another reason'), :'since'::timestamptz, 'OPW-11 pausing twice keeps the first instant');
SELECT is(p::text, format('(stopped,"%s","the mail server is down",%s)', :'since', current_user), 'OPW-11 and the first reason')
  FROM x_jobs.paused() p;
SELECT is_empty('SELECT * FROM x_jobs.claim(ARRAY[''stopped''], ''w2'', 10)',
                'CLAIM-13 a paused queue hands out neither waiting nor lapsed jobs');
SELECT ok(x_jobs.heartbeat(:'lapsed_id', 'w', :lapsed_claim), 'OPW-13 a pause touches no renewal');
SELECT ok(x_jobs.progress(:'lapsed_id', 'w', :lapsed_claim, 1, 2), 'OPW-13 nor a progress report');
SELECT is((SELECT state || ' ' || claim FROM x_jobs.job(:'lapsed_id')), 'running 1', 'OPW-13 nor a running job');
SELECT ok(x_jobs.ack(:'lapsed_id', 'w', :lapsed_claim), 'OPW-13 nor a settle');
SELECT is(deduped, false, 'OPW-13 nor an enqueue') FROM x_jobs.enqueue('job.stopped', queue => 'stopped', dedupe => false);
SELECT is(x_jobs.resume_queue('stopped'), true, 'OPW-11 resume answers that the queue was paused');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['stopped'], 'w2', 10)), 2::bigint, 'OPW-11 and its jobs are handed out again');
SELECT is_empty('SELECT * FROM x_jobs.paused()', 'OPW-11 nothing is listed as paused then');
SELECT is(x_jobs.resume_queue('stopped'), false, 'OPW-11 resuming a queue that is not paused is fine');
SELECT is(x_jobs.resume_queue('never seen'), false, 'OPW-11 so is resuming one that does not exist');
SELECT ok(x_jobs.pause_queue('stopped') > :'since'::timestamptz, 'OPW-11 a later pause has its own instant');
SELECT count(x_jobs.pause_queue(q)) FROM unnest(ARRAY['mail', 'émile', 'Zeta', 'default', '_internal']) AS q \gset
SELECT is(ARRAY(SELECT queue FROM x_jobs.paused()), ARRAY['Zeta', '_internal', 'default', 'mail', 'stopped', 'émile'],
          'OPW-11 DRV-7 pauses are listed by name in code-unit order');
SELECT is_empty('SELECT * FROM x_jobs.stats() AS s WHERE s.queue = ''émile''', 'OPW-11 a pause makes no job rows');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.%s(%s)', verb, value)), '^XJ001 X_INVARIANT: queue ',
               'OPW-11 ' || verb || ' refuses the queue ' || left(value, 20))
  FROM unnest(ARRAY['pause_queue', 'resume_queue']) AS verb, unnest(ARRAY['NULL', '''''', 'repeat(''q'', 256)']) AS value;

-- No operator verb counts.
SELECT * FROM pg_temp.held('uncounted') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, fail => true) \gset
SELECT count(*) AS before FROM _x_jobs.tally \gset
SELECT x_jobs.requeue(:'id'), x_jobs.cancel(:'id'), x_jobs.remove(:'id'), x_jobs.pause_queue('uncounted'),
    x_jobs.resume_queue('uncounted') \g /dev/null
SELECT x_jobs.promote(e.id) FROM x_jobs.enqueue('job.uncounted', dedupe => false, delay => '1 h') AS e \g /dev/null
SELECT is((SELECT count(*) FROM _x_jobs.tally), :before::bigint, 'OPW-14 no operator verb adds to the counters');

SELECT * FROM finish();
