-- If this failed, a finished job could run again, or a claim that lost its job could still end somebody else's run.
SELECT plan(40);

-- A job of the named queue, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s') RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job.' || named, '{"n": 1}', queue => named, dedupe => false);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w', 1, lease) AS c
$$;
-- Every column of a stored row with the version of it, so that even a write of equal values is seen.
CREATE FUNCTION pg_temp.stored(job uuid) RETURNS text LANGUAGE sql AS $$
    SELECT j.xmin::text || ' ' || j.ctid::text || ' ' || j::text FROM _x_jobs.jobs AS j WHERE j.id = $1
    UNION ALL
    SELECT h.xmin::text || ' ' || h.ctid::text || ' ' || h::text FROM _x_jobs.history AS h WHERE h.id = $1
$$;

-- The plain case, with the result.
SELECT * FROM pg_temp.held('plain') \gset
SELECT ok(x_jobs.ack(:'id', 'w', :claim, '{"sent": 3}'), 'ACK-1 an ack by the holding claim lands');
SELECT is(state, 'done', 'ACK-3 a landed ack makes the job done') FROM x_jobs.job(:'id');
SELECT is(result, '{"sent": 3}'::jsonb, 'ACK-1 the result is kept on the row') FROM x_jobs.job(:'id');
SELECT ok(worker_id IS NULL AND visible_at IS NULL, 'ACK-3 claimer and visible_at are cleared') FROM x_jobs.job(:'id');
SELECT is(claim, :claim::bigint, 'ACK-3 the ordinal stays on the row') FROM x_jobs.job(:'id');
SELECT ok(updated_at >= :'claimed_at'::timestamptz AND finished_at = updated_at, 'ACK-3 updated_at moves to the instant of the ack')
  FROM x_jobs.job(:'id');
SELECT is((SELECT count(*) FROM _x_jobs.jobs AS j WHERE j.id = :'id'), 0::bigint, 'ACK-3 a done row leaves the live table');
SELECT is((SELECT count(*) FROM _x_jobs.history AS h WHERE h.id = :'id'), 1::bigint, 'ACK-3 a done row stands once in the history');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['plain'], 'w2')), 0::bigint, 'ACK-3 a done job is not handed out again');

-- Optional arguments left out, by position and by name.
SELECT * FROM pg_temp.held('bare') \gset
SELECT ok(x_jobs.ack(id => :'id', worker_id => 'w', claim => :claim), 'ACK-1 result and duration are optional');
SELECT ok(result IS NULL, 'ACK-1 without a result the row has none') FROM x_jobs.job(:'id');

-- What a run left on the row outlives the ack.
SELECT * FROM pg_temp.held('keeps') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => 'first failure', stack => 'at line 1') \gset
SELECT * FROM x_jobs.claim(ARRAY['keeps'], 'w') \gset
SELECT x_jobs.progress(:'id', 'w', :claim, 5, 10, 'half') \gset
SELECT run_at AS run_at_before, attempt AS attempt_before, progress AS progress_before FROM x_jobs.job(:'id') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(run_at, :'run_at_before'::timestamptz, 'ACK-3 run_at is kept') FROM x_jobs.job(:'id');
SELECT is(attempt, :attempt_before, 'ACK-3 attempt is kept') FROM x_jobs.job(:'id');
SELECT is(attempt, 2, 'ACK-3 the attempt kept is the one that the claim set') FROM x_jobs.job(:'id');
SELECT is(last_error, 'first failure', 'ACK-3 last error is kept') FROM x_jobs.job(:'id');
SELECT is(last_error_stack, 'at line 1', 'ACK-3 error stack is kept') FROM x_jobs.job(:'id');
SELECT is(progress, :'progress_before'::jsonb, 'ACK-3 progress is kept') FROM x_jobs.job(:'id');
SELECT ok((progress ->> 'done')::numeric = 5, 'ACK-3 the progress kept is the one reported') FROM x_jobs.job(:'id');

-- Every way to miss the fence: nothing moves, and the answer is false.
SELECT * FROM pg_temp.held('fence') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(x_jobs.ack(x_jobs.new_id(), 'w', :claim), false, 'ACK-2 an unknown id answers false');
SELECT is(x_jobs.ack(:'id', 'other', :claim), false, 'ACK-2 another worker answers false');
SELECT is(x_jobs.ack(:'id', 'W', :claim), false, 'ACK-2 a worker id is compared exactly');
SELECT is(x_jobs.ack(:'id', 'w', :claim + 1), false, 'ACK-2 a later ordinal answers false');
SELECT is(x_jobs.ack(:'id', 'w', 0), false, 'ACK-2 ordinal 0 answers false');
SELECT is(x_jobs.ack(:'id', 'w', -1), false, 'ACK-2 a negative ordinal answers false');
SELECT is(x_jobs.ack(:'run_id', 'w', :claim), false, 'ACK-2 the run id is not the job id');
SELECT is(pg_temp.stored(:'id'), :'before', 'ACK-2 a mismatch changes nothing');
SELECT ok(x_jobs.ack(:'id', 'w', :claim), 'ACK-2 after all the mismatches the claim still lands');

-- A job that nobody holds.
SELECT id FROM x_jobs.enqueue('job.ready', queue => 'idle', dedupe => false) \gset
SELECT is(x_jobs.ack(:'id', 'w', 0), false, 'ACK-2 a job that was never claimed answers false');
SELECT is(state, 'ready', 'ACK-2 and it stays ready') FROM x_jobs.job(:'id');

-- Twice.
SELECT * FROM pg_temp.held('twice') \gset
SELECT x_jobs.ack(:'id', 'w', :claim, '1') \gset
SELECT pg_temp.stored(:'id') AS before \gset
SELECT is(x_jobs.ack(:'id', 'w', :claim, '2'), false, 'ACK-6 a second ack of the same claim answers false');
SELECT is(pg_temp.stored(:'id'), :'before', 'ACK-6 and changes nothing of the finished row');

-- A cancellation stands.
SELECT * FROM pg_temp.held('cancelled') \gset
SELECT id AS cancelled_id FROM x_jobs.cancel(:'id', 'no longer wanted') \gset
SELECT is(x_jobs.ack(:'id', 'w', :claim), false, 'ACK-7 an ack after a cancel answers false');
SELECT is(state, 'cancelled', 'ACK-7 the cancellation stands') FROM x_jobs.job(:'id');

-- A lapse alone costs nobody the job; a later claim does, even by the same worker.
SELECT * FROM pg_temp.held('lapsed', '0') \gset
SELECT ok(x_jobs.ack(:'id', 'w', :claim), 'ACK-2 a claim that lapsed but was not taken over still lands');
SELECT * FROM pg_temp.held('again', '0') \gset
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['again'], 'w') \gset
SELECT is(x_jobs.ack(:'id', 'w', :claim), false, 'ACK-8 the older ordinal of the same worker answers false');
SELECT is(state, 'running', 'ACK-8 and the job runs on under the newer one') FROM x_jobs.job(:'id');
SELECT ok(x_jobs.ack(:'id', 'w', :second_claim), 'ACK-8 the newer ordinal lands');

-- An ack belongs to its transaction.
SELECT * FROM pg_temp.held('undone') \gset
BEGIN;
SAVEPOINT attempt;
SELECT x_jobs.ack(:'id', 'w', :claim) AS landed \gset
ROLLBACK TO attempt;
COMMIT;
SELECT is(:'landed' || ' ' || state, 't running', 'ACK-1 an ack that was rolled back leaves the job held') FROM x_jobs.job(:'id');
SELECT ok(x_jobs.ack(:'id', 'w', :claim), 'ACK-1 and the same claim can settle it afterwards');

SELECT is((SELECT count(*) FROM _x_jobs.tally AS t WHERE t.name = 'job.again'), 1::bigint, 'ACK-4 each landed ack left one tally');

SELECT * FROM finish();
