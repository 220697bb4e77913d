-- If this failed, a healthy worker would lose its job in the middle of a run, or a worker that lost it would never be told.
SELECT plan(60);

-- A job of the named queue, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s', attempts integer DEFAULT 3) RETURNS x_jobs.claimed_job
LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job.' || named, queue => named, dedupe => false, max_attempts => attempts);
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

-- A renewal.
SELECT * FROM pg_temp.held('plain') \gset
SELECT is(:'visible_at'::timestamptz - :'claimed_at'::timestamptz, interval '30 s',
          'HB-7 the default lease of a claim is 30,000 ms');
SELECT to_jsonb(j) - 'visible_at' - 'updated_at' AS before FROM _x_jobs.jobs AS j WHERE id = :'id' \gset
SELECT ok(x_jobs.heartbeat(:'id', 'w', :claim, '10 min'), 'HB-1 a heartbeat by the holding claim lands');
SELECT is(visible_at - updated_at, interval '10 min', 'HB-3 visible_at is now + the visibility timeout, updated_at is now')
  FROM x_jobs.job(:'id');
SELECT ok(updated_at > :'claimed_at'::timestamptz AND updated_at <= clock_timestamp(), 'HB-3 updated_at moves')
  FROM x_jobs.job(:'id');
SELECT is(to_jsonb(j) - 'visible_at' - 'updated_at', :'before'::jsonb, 'HB-3 nothing else moves') FROM _x_jobs.jobs AS j
 WHERE id = :'id';
SELECT ok(x_jobs.heartbeat(id => :'id', worker_id => 'w', claim => :claim), 'HB-1 the visibility timeout is optional');
SELECT is(visible_at - updated_at, interval '30 s',
          'HB-7 the default visibility timeout is 30,000 ms; a renewal may shorten a lease')
  FROM x_jobs.job(:'id');
SELECT ok(x_jobs.heartbeat(:'id', 'w', :claim, '30 days'), 'X-4 30 days are the longest lease');
SELECT is(visible_at - updated_at, interval '30 days', 'X-4 and are granted') FROM x_jobs.job(:'id');

-- A renewed job is not handed out, the moment its lease lapses it is.
SELECT * FROM pg_temp.held('renewed') \gset
SELECT x_jobs.heartbeat(:'id', 'w', :claim, '1 h') \gset
SET x_jobs.test_clock_offset = '59min';
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['renewed'], 'w2')), 0::bigint,
          'HB-3 a renewed job is not handed out within its lease');
SET x_jobs.test_clock_offset = '61min';
SELECT is((SELECT id FROM x_jobs.claim(ARRAY['renewed'], 'w2')), :'id'::uuid, 'HB-3 and is once the renewed lease has lapsed');
RESET x_jobs.test_clock_offset;

-- The fence.
SELECT * FROM pg_temp.held('fence') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(x_jobs.heartbeat(x_jobs.new_id(), 'w', :claim), false, 'HB-2 an unknown id answers false');
SELECT is(x_jobs.heartbeat(:'id', 'other', :claim), false, 'HB-2 another worker answers false');
SELECT is(x_jobs.heartbeat(:'id', 'W', :claim), false, 'HB-2 a worker id is compared exactly');
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim + 1), false, 'HB-2 another ordinal answers false');
SELECT is(x_jobs.heartbeat(:'id', 'w', 0), false, 'HB-2 ordinal 0 answers false');
SELECT is(pg_temp.stored(:'id'), :'before', 'HB-2 a mismatch changes nothing');
SELECT id FROM x_jobs.enqueue('job.ready', queue => 'idle', dedupe => false) \gset
SELECT is(x_jobs.heartbeat(:'id', 'w', 0), false, 'HB-2 a job that is not running answers false');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.heartbeat(NULL, %L, 1)', 'w')), '^XJ001 X_INVARIANT: id ',
               'HB-2 a NULL id is refused');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.heartbeat(%L, NULL, 1)', :'id')), '^XJ001 X_INVARIANT: worker_id ',
               'HB-2 a NULL worker is refused');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.heartbeat(%L, %L, NULL)', :'id', 'w')), '^XJ001 X_INVARIANT: claim ',
               'HB-2 a NULL claim is refused');

-- A lapse alone loses nothing.
SELECT * FROM pg_temp.held('lapsed', '0') \gset
SELECT ok(visible_at <= clock_timestamp(), 'X-4 a lease of zero is granted and has lapsed at once') FROM x_jobs.job(:'id');
SELECT ok(x_jobs.heartbeat(:'id', 'w', :claim, '1 h'), 'HB-4 a lapsed job that nobody took over can be renewed by its claimer');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['lapsed'], 'w2')), 0::bigint, 'HB-4 and is held again');
SELECT ok(x_jobs.heartbeat(:'id', 'w', :claim, '0'), 'X-4 a renewal of zero is legal');
SELECT is((SELECT claim FROM x_jobs.claim(ARRAY['lapsed'], 'w2')), :claim + 1::bigint, 'X-4 and lapses at once');

-- Every way to have lost the job.
SELECT * FROM pg_temp.held('settled') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim), false, 'HB-5 false after the job was settled');
SELECT * FROM pg_temp.held('handed_back') \gset
SELECT x_jobs.nack(:'id', 'w', :claim) \gset
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim), false, 'HB-5 false after the job was handed back');
SELECT * FROM pg_temp.held('cancelled') \gset
SELECT id AS cancelled_id FROM x_jobs.cancel(:'id') \gset
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim), false, 'HB-5 false after the job was cancelled');
SELECT * FROM pg_temp.held('buried', '0', 1) \gset
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['buried'], 'w2')), 0::bigint, 'HB-5 (the next claim buries the job)');
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim), false, 'HB-5 false after the job was buried');
SELECT is(state, 'dead', 'HB-5 and the burial stands') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('taken_over', '0') \gset
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['taken_over'], 'w2') \gset
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim), false, 'HB-5 false after another worker claimed the job again');
SELECT ok(x_jobs.heartbeat(:'id', 'w2', :second_claim), 'HB-5 whose own renewal lands');
SELECT * FROM pg_temp.held('own', '0') \gset
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['own'], 'w') \gset
SELECT is(x_jobs.heartbeat(:'id', 'w', :claim), false, 'HB-6 false for a worker''s own earlier claim');
SELECT ok(x_jobs.heartbeat(:'id', 'w', :second_claim), 'HB-6 and true for its present one');

-- Five minutes of a worker that beats at a third of its lease, and of one whose lease covers its whole run.
SELECT * FROM pg_temp.held('beating', '30 s') \gset one_
SELECT * FROM pg_temp.held('declared', '10 min') \gset two_
CREATE TEMP TABLE beat (seconds integer, renewed boolean, taken bigint);
DO $$
DECLARE
    job uuid := (SELECT j.id FROM _x_jobs.jobs AS j WHERE j.queue = 'beating');
BEGIN
    FOR seconds IN 10 .. 300 BY 10 LOOP
        PERFORM set_config('x_jobs.test_clock_offset', seconds || 's', false);
        INSERT INTO beat SELECT seconds, x_jobs.heartbeat(job, 'w', 1, '30 s'),
                                (SELECT count(*) FROM x_jobs.claim(ARRAY['beating', 'declared'], 'w2', 10));
        COMMIT;
    END LOOP;
END $$;
SELECT is((SELECT count(*) FROM beat WHERE renewed AND taken = 0), 30::bigint, 'C-031 while beats arrive nobody else gets the job');
SELECT ok(x_jobs.ack(:'one_id', 'w', :one_claim) AND x_jobs.ack(:'two_id', 'w', :two_claim),
          'C-031 after five minutes both are acked by their first claim');
SELECT is((SELECT array_agg(attempt) FROM x_jobs.all_jobs WHERE id IN (:'one_id', :'two_id')), ARRAY[1, 1],
          'C-031 as their first attempt');
RESET x_jobs.test_clock_offset;

-- Many old jobs under long leases, and a few newer ones whose leases have lapsed.
SELECT x_jobs.enqueue('long', queue => 'sweep', dedupe => false) FROM generate_series(1, 2000) \g /dev/null
SELECT count(*) FROM x_jobs.claim(ARRAY['sweep'], 'w', 2000, '30 days') \gset
SELECT x_jobs.enqueue('short', queue => 'sweep', dedupe => false) FROM generate_series(1, 50) \g /dev/null
SELECT count(*) FROM x_jobs.claim(ARRAY['sweep'], 'w', 50, '30 s') \gset
SET x_jobs.test_clock_offset = '1min';
SELECT is((SELECT string_agg(DISTINCT name || ' ' || attempt, ', ') || ': ' || count(*)
           FROM x_jobs.claim(ARRAY['sweep'], 'w2', 1000)), 'short 2: 50',
          'C-033 one claim brings back all 50 lapsed jobs from behind 2,000 older ones that are held');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'sweep' AND name = 'long' AND worker_id = 'w' AND attempt = 1),
          2000::bigint,
          'C-033 and touches none of those');
RESET x_jobs.test_clock_offset;

-- Durations that are no lease.
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.heartbeat(%L, ''w'', 1, %s)', :'id', value)),
               '^XJ001 X_INVARIANT: visibility_timeout ',
               'X-4 heartbeat refuses the visibility timeout ' || value)
  FROM unnest(ARRAY['NULL', '''-1 ms''', '''30 days 1 ms''', '''10000 years''']) AS value;

-- Many at once.
SELECT * FROM pg_temp.held('many1') \gset one_
SELECT * FROM pg_temp.held('many2') \gset two_
SELECT * FROM pg_temp.held('many3') \gset three_
SELECT x_jobs.ack(:'two_id', 'w', :two_claim) \gset
SELECT results_eq(format('SELECT id, held FROM x_jobs.heartbeat_many(ARRAY[%L, %L, %L, %L]::uuid[], ''w'', ARRAY[%s, %s, %s, 1], ''5 min'')',
                         :'three_id', :'two_id', :'one_id', :'one_run_id', :three_claim, :two_claim, :one_claim),
                  format('VALUES (%L::uuid, true), (%L, false), (%L, true), (%L, false)', :'three_id', :'two_id', :'one_id',
                         :'one_run_id'),
                  'HB-5 heartbeat_many answers for each id in the order given, also for those that are lost');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE id IN (:'one_id', :'three_id')
           AND visible_at - updated_at = interval '5 min'), 2::bigint,
          'HB-3 heartbeat_many renews each held job');
SELECT results_eq(format('SELECT held FROM x_jobs.heartbeat_many(ARRAY[%L, %L]::uuid[], ''w'', ARRAY[%s, %s])', :'one_id',
                        :'one_id', :one_claim, :one_claim + 1),
                  'VALUES (true), (false)', 'HB-2 the same job twice is judged claim by claim');
SELECT results_eq(format('SELECT held FROM x_jobs.heartbeat_many(ARRAY[%L]::uuid[], ''other'', ARRAY[%s])', :'one_id', :one_claim),
                  'VALUES (false)', 'HB-2 heartbeat_many compares the worker');
SELECT is_empty('SELECT * FROM x_jobs.heartbeat_many(''{}'', ''w'', ''{}'')', 'HB-1 no ids, no answers');
SELECT is((SELECT visible_at - updated_at FROM x_jobs.job(:'three_id')), interval '5 min', 'HB-1 and no renewal');
SELECT ok((SELECT bool_and(held) FROM x_jobs.heartbeat_many(ARRAY[:'three_id']::uuid[], 'w', ARRAY[:three_claim])),
          'HB-1 the visibility timeout of many is optional');
SELECT is(visible_at - updated_at, interval '30 s', 'HB-7 and 30,000 ms by default') FROM x_jobs.job(:'three_id');
SELECT matches(pg_temp.refusal(statement), '^XJ001 X_INVARIANT: ' || argument || ' ',
               'ROW-18 heartbeat_many refuses: ' || statement)
  FROM (VALUES
    ('ids', 'SELECT x_jobs.heartbeat_many(NULL, ''w'', ''{1}'')'),
    ('ids', 'SELECT x_jobs.heartbeat_many(''{NULL}'', ''w'', ''{1}'')'),
    ('worker_id', 'SELECT x_jobs.heartbeat_many(''{}'', NULL, ''{}'')'),
    ('claims', 'SELECT x_jobs.heartbeat_many(''{}'', ''w'', NULL)'),
    ('claims', 'SELECT x_jobs.heartbeat_many(''{}'', ''w'', ''{1}'')'),
    ('visibility_timeout', 'SELECT x_jobs.heartbeat_many(''{}'', ''w'', ''{}'', ''-1 s'')')
  ) AS refused (argument, statement);
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.heartbeat_many(ARRAY[%L]::uuid[], ''w'', ''{NULL}'')', :'one_id')),
               '^XJ001 X_INVARIANT: claims ',
               'ROW-18 heartbeat_many refuses a NULL claim');

SELECT * FROM finish();
