-- If this failed, a failing job would be lost, retried at the wrong moment, or charged for attempts that were not its own.
SELECT plan(113);

-- A job of the named queue, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text, attempts integer DEFAULT 3, lease interval DEFAULT '30 s') RETURNS x_jobs.claimed_job
LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job.' || named, '{"n": 1}', 'key of ' || named, named, max_attempts => attempts);
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

-- Every combination of the three flags, counted and not: state, attempt, and the columns that every nack sets.
CREATE TEMP TABLE combination AS
    SELECT row_number() OVER (ORDER BY counted, dead_letter, fail, park) AS n, counted, dead_letter, fail, park,
           CASE WHEN dead_letter THEN 'dead' WHEN fail THEN 'failed' WHEN park THEN 'suspended' ELSE 'ready' END AS state
      FROM unnest(ARRAY[true, false]) AS counted, unnest(ARRAY[true, false]) AS dead_letter,
           unnest(ARRAY[true, false]) AS fail, unnest(ARRAY[true, false]) AS park;
CREATE TEMP TABLE handed_back (n bigint, landed boolean, claimed_at timestamptz, job x_jobs.job);
DO $$
DECLARE
    c record;
    taken x_jobs.claimed_job;
    landed boolean;
BEGIN
    FOR c IN SELECT * FROM combination ORDER BY n LOOP
        taken := pg_temp.held('flags' || c.n);
        landed := x_jobs.nack(taken.id, 'w', taken.claim, '90 s', 'went wrong', 'at line 1', c.counted, c.park, c.dead_letter,
                              c.fail);
        INSERT INTO handed_back SELECT c.n, landed, taken.claimed_at, j FROM x_jobs.job(taken.id) AS j;
        COMMIT;
    END LOOP;
END $$;
SELECT ok(landed, format('NACK-1 lands: counted %s, dead_letter %s, fail %s, park %s', counted, dead_letter, fail, park))
  FROM combination JOIN handed_back USING (n) ORDER BY n;
SELECT is((job).state, c.state, format('NACK-3 target state: dead_letter %s, fail %s, park %s, counted %s', dead_letter, fail, park,
                        counted))
  FROM combination c JOIN handed_back USING (n) ORDER BY n;
SELECT is((job).attempt, counted::integer, format('NACK-4 attempt of a %s row, counted %s', c.state, counted))
  FROM combination c JOIN handed_back USING (n) ORDER BY n;
SELECT ok((job).run_at = (job).updated_at + interval '90 s' AND (job).updated_at >= claimed_at
      AND (job).worker_id IS NULL AND (job).visible_at IS NULL,
          format('NACK-6 run_at is now + delay, the claim is cleared and updated_at moves: %s, counted %s', c.state, counted))
  FROM combination c JOIN handed_back USING (n) ORDER BY n;

-- Counting and parking are independent.
SELECT is((job).state || ' ' || (job).attempt, 'ready 0',
          'NACK-5 an uncounted nack without park is a shed: ready, attempt given back')
  FROM combination JOIN handed_back USING (n) WHERE NOT counted AND NOT dead_letter AND NOT fail AND NOT park;
SELECT is((job).state || ' ' || (job).attempt, 'suspended 0', 'NACK-5 with park it is a sleep: suspended, attempt given back')
  FROM combination JOIN handed_back USING (n) WHERE NOT counted AND NOT dead_letter AND NOT fail AND park;
SELECT is((job).state || ' ' || (job).attempt, 'suspended 1', 'NACK-5 a counted nack parks as well')
  FROM combination JOIN handed_back USING (n) WHERE counted AND NOT dead_letter AND NOT fail AND park;

-- Defaults: at once, counted, nothing else.
SELECT * FROM pg_temp.held('defaults') \gset
SELECT ok(x_jobs.nack(:'id', 'w', :claim), 'NACK-1 everything behind the claim is optional');
SELECT is(state || ' ' || attempt, 'ready 1', 'NACK-1 by default the attempt counts and the job is ready') FROM x_jobs.job(:'id');
SELECT is(run_at, updated_at, 'NACK-6 the default delay is 0') FROM x_jobs.job(:'id');
SELECT is((SELECT id FROM x_jobs.claim(ARRAY['defaults'], 'w2')), :'id'::uuid, 'NACK-6 and the job is claimable at once');

-- The fence.
SELECT * FROM pg_temp.held('fence') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(x_jobs.nack(x_jobs.new_id(), 'w', :claim), false, 'NACK-2 an unknown id answers false');
SELECT is(x_jobs.nack(:'id', 'other', :claim), false, 'NACK-2 another worker answers false');
SELECT is(x_jobs.nack(:'id', 'w', :claim + 1), false, 'NACK-2 another ordinal answers false');
SELECT is(x_jobs.nack(:'id', 'other', :claim, dead_letter => true), false, 'NACK-2 no flag opens the fence');
SELECT is(pg_temp.stored(:'id'), :'before', 'NACK-2 a mismatch changes nothing');
SELECT * FROM pg_temp.held('retaken', lease => '0') \gset
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['retaken'], 'w') \gset
SELECT is(x_jobs.nack(:'id', 'w', :claim, fail => true), false, 'NACK-2 an older ordinal of the same worker answers false');
SELECT is(state, 'running', 'NACK-2 and the newer claim keeps the job') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('cancelled') \gset
SELECT id AS cancelled_id FROM x_jobs.cancel(:'id') \gset
SELECT is(x_jobs.nack(:'id', 'w', :claim), false, 'NACK-2 a nack after a cancel answers false');
SELECT is(state, 'cancelled', 'NACK-2 and the cancellation stands') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('lapsed', lease => '0') \gset
SELECT ok(x_jobs.nack(:'id', 'w', :claim), 'NACK-2 a lapsed claim that nobody took over lands');

-- The attempt given back never falls below zero.
SELECT * FROM pg_temp.held('floor') \gset
UPDATE _x_jobs.jobs SET attempt = 0 WHERE id = :'id';
SELECT x_jobs.nack(:'id', 'w', :claim, counts_as_attempt => false) \gset
SELECT is(attempt, 0, 'NACK-4 attempt is floored at 0') FROM x_jobs.job(:'id');

-- Error and stack.
SELECT * FROM pg_temp.held('errors', 9) \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => 'first', stack => 'stack of first') \gset
SELECT is(last_error || ', ' || last_error_stack, 'first, stack of first', 'NACK-7 error and stack are stored')
  FROM x_jobs.job(:'id');
SELECT claim FROM x_jobs.claim(ARRAY['errors'], 'w') \gset
SELECT is(last_error || ', ' || last_error_stack, 'first, stack of first', 'NACK-7 a claim keeps both') FROM x_jobs.job(:'id');
SELECT x_jobs.nack(:'id', 'w', :claim) \gset
SELECT is(last_error || ', ' || last_error_stack, 'first, stack of first', 'NACK-8 without an error both are kept')
  FROM x_jobs.job(:'id');
SELECT claim FROM x_jobs.claim(ARRAY['errors'], 'w') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, stack => 'alone') \gset
SELECT is(last_error || ', ' || last_error_stack, 'first, stack of first', 'NACK-8 a stack given alone is ignored')
  FROM x_jobs.job(:'id');
SELECT claim FROM x_jobs.claim(ARRAY['errors'], 'w') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => 'second') \gset
SELECT is(last_error, 'second', 'NACK-7 an error replaces the previous one') FROM x_jobs.job(:'id');
SELECT ok(last_error_stack IS NULL, 'NACK-7 a new failure never keeps the previous stack') FROM x_jobs.job(:'id');

-- What is too long is cut by characters, not bytes.
SELECT * FROM pg_temp.held('long', 9) \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => 'long', stack => repeat('é', 8001)) \gset
SELECT is(char_length(last_error_stack), 8000, 'NACK-9 a stack is cut to 8,000 characters') FROM x_jobs.job(:'id');
SELECT claim FROM x_jobs.claim(ARRAY['long'], 'w') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => 'long', stack => repeat('é', 8000)) \gset
SELECT is(last_error_stack, repeat('é', 8000), 'NACK-9 a stack of 8,000 characters stays whole') FROM x_jobs.job(:'id');
SELECT claim FROM x_jobs.claim(ARRAY['long'], 'w') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => repeat('e', 5000000)) \gset
SELECT ok(octet_length(last_error) <= 65536 AND last_error LIKE repeat('e', 60000) || '%' AND right(last_error, 1) <> 'e',
          'ROW-16 C-089 an error text of 5 MB is recorded, cut to 64 KiB with a mark') FROM x_jobs.job(:'id');

-- A failed row.
SELECT * FROM pg_temp.held('failed') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, fail => true) \gset
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['failed'], 'w2')), 0::bigint, 'NACK-13 a failed row is never claimed');
SELECT is((SELECT count(*) FROM x_jobs.dead_letters() d WHERE d.id = :'id'), 0::bigint, 'NACK-13 and is no dead letter');
SELECT is(state, 'ready', 'NACK-13 but can be requeued') FROM x_jobs.requeue(:'id');
SELECT is((SELECT id FROM x_jobs.claim(ARRAY['failed'], 'w2')), :'id'::uuid, 'NACK-13 and runs again then');
SELECT * FROM pg_temp.held('dead') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, dead_letter => true) \gset
SELECT is((SELECT reason FROM x_jobs.dead_letters() d WHERE d.id = :'id'), 'dead-letter',
          'NACK-3 a dead-lettered row is listed with its reason');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['dead'], 'w2')), 0::bigint, 'NACK-3 and is never claimed');

-- Repetition.
SELECT * FROM pg_temp.held('repeated') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, counts_as_attempt => false) \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(x_jobs.nack(:'id', 'w', :claim, counts_as_attempt => false), false, 'NACK-14 a repeated nack answers false');
SELECT is(x_jobs.nack(:'id', 'w', :claim, counts_as_attempt => false, fail => true), false, 'NACK-14 whatever it asks for');
SELECT is(pg_temp.stored(:'id'), :'before', 'NACK-14 and changes nothing; the attempt stays at 0');

-- The key.
SELECT * FROM pg_temp.held('asleep') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, '1 h', counts_as_attempt => false, park => true) \gset
SELECT is(id::text || ' ' || deduped, :'id' || ' true', 'NACK-15 a suspended row keeps its key')
  FROM x_jobs.enqueue('job.asleep', idempotency_key => 'key of asleep');
SELECT * FROM pg_temp.held('freed1') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, fail => true) \gset
SELECT is(id = :'id' OR deduped, false, 'NACK-15 a failed row frees its key')
  FROM x_jobs.enqueue('job.freed1', idempotency_key => 'key of freed1');
SELECT * FROM pg_temp.held('freed2') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, dead_letter => true) \gset
SELECT is(id = :'id' OR deduped, false, 'NACK-15 a dead row frees its key')
  FROM x_jobs.enqueue('job.freed2', idempotency_key => 'key of freed2');

-- Arguments that are refused before anything moves.
SELECT * FROM pg_temp.held('wrong') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.nack(%L, ''w'', 1, %s)', :'id', value)), '^XJ001 X_INVARIANT: delay ',
               'ROW-18 nack refuses the delay ' || value)
  FROM unnest(ARRAY['NULL', '''-1 ms''', '''-1 day''', '''36501 days''', '''170000000 years''']) AS value;
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.nack(%L, ''w'', 1, duration => ''-1 ms'')', :'id')),
               '^XJ001 X_INVARIANT: duration ', 'ROW-18 nack refuses a negative duration');
SELECT matches(pg_temp.refusal('SELECT x_jobs.nack(NULL, ''w'', 1)'), '^XJ001 X_INVARIANT: id ',
               'NACK-1 a NULL id is refused by name');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.nack(%L, NULL, 1)', :'id')), '^XJ001 X_INVARIANT: worker_id ',
               'NACK-1 a NULL worker is refused by name');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.nack(%L, ''w'', NULL)', :'id')), '^XJ001 X_INVARIANT: claim ',
               'NACK-1 a NULL claim is refused by name');
SELECT is(pg_temp.stored(:'id'), :'before', 'NACK-1 a refused call changes nothing');

SELECT * FROM finish();
