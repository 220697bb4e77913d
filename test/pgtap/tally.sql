-- If this failed, the counters would not add up to what was settled.
SELECT plan(45);

-- A job called and queued as named, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s', attempts integer DEFAULT 3) RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue(named, queue => named, dedupe => false, max_attempts => attempts);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w', 1, lease) AS c
$$;
-- The tally rows of one job name.
CREATE FUNCTION pg_temp.tallied(named text) RETURNS text LANGUAGE sql AS $$
    SELECT COALESCE(string_agg(format('%s %s %s', outcome, duration_ms, queue), ', ' ORDER BY outcome, duration_ms), 'nothing')
      FROM _x_jobs.tally WHERE name = named
$$;
-- What counts for one job name, wherever it stands now: done, failed, dead, retried, milliseconds.
CREATE FUNCTION pg_temp.counted(named text) RETURNS text LANGUAGE sql AS $$
    SELECT format('done %s, failed %s, dead %s, retried %s, ms %s', sum(done), sum(failed), sum(dead), sum(retried),
                  sum(duration_ms))
      FROM (SELECT done, failed, dead, retried, duration_ms FROM _x_jobs.counters WHERE name = named
            UNION ALL
            SELECT (outcome = 'd')::int, (outcome = 'f')::int, (outcome = 'x')::int, (outcome = 'r')::int, duration_ms
              FROM _x_jobs.tally WHERE name = named) AS parts
$$;

-- Ack.
SELECT * FROM pg_temp.held('done') \gset
SELECT is(pg_temp.tallied('done'), 'nothing', 'ACK-4 a claim counts nothing');
SELECT x_jobs.ack(:'id', 'w', :claim, duration => '1234567 microseconds') \gset
SELECT is(pg_temp.tallied('done'), 'd 1235 done', 'ACK-4 an ack counts one done and the rounded duration');
SELECT is((SELECT ended_at FROM _x_jobs.tally WHERE name = 'done'), (SELECT finished_at FROM x_jobs.job(:'id')),
          'ACK-4 at the instant at which the job finished');
SELECT x_jobs.ack(:'id', 'w', :claim, duration => '9 s') \gset
SELECT is(pg_temp.tallied('done'), 'd 1235 done', 'ACK-6 a second ack counts nothing');
SELECT x_jobs.ack(:'id', 'other', :claim, duration => '9 s') \gset
SELECT is(pg_temp.tallied('done'), 'd 1235 done', 'CNT-9 a stale settle counts nothing');
SELECT * FROM pg_temp.held('silent') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(pg_temp.tallied('silent'), 'd 0 silent', 'ACK-9 a missing duration counts as 0 ms');
SELECT * FROM pg_temp.held('silent2') \gset
SELECT x_jobs.ack(:'id', 'w', :claim, duration => NULL) \gset
SELECT is(pg_temp.tallied('silent2'), 'd 0 silent2', 'ACK-9 so does a NULL one');
CREATE FUNCTION pg_temp.rounded(named text, took interval) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    taken x_jobs.claimed_job := pg_temp.held(named);
BEGIN
    PERFORM x_jobs.ack(taken.id, 'w', taken.claim, duration => took);
    RETURN (SELECT duration_ms FROM _x_jobs.tally WHERE name = named);
END $$;
SELECT is(pg_temp.rounded('round' || n, took), ms, format('ACK-4 a duration of %s is %s ms', took, ms))
  FROM (VALUES (1, interval '0', 0::bigint), (2, '499 microseconds', 0), (3, '501 microseconds', 1), (4, '1 day', 86400000),
        (5, '2 h 0.001 s', 7200001)) AS durations (n, took, ms);
SELECT * FROM pg_temp.held('undone') \gset
BEGIN;
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT pg_temp.tallied('undone') AS within \gset
ROLLBACK;
SELECT is(:'within' || ', then ' || pg_temp.tallied('undone'), 'd 0 undone, then nothing',
          'ACK-4 the count stands and falls with the settle''s transaction');
SELECT is((SELECT count(DISTINCT tableoid) FROM (SELECT tableoid FROM _x_jobs.tally_0 UNION ALL SELECT tableoid FROM _x_jobs.tally_1
                        UNION ALL SELECT tableoid FROM _x_jobs.tally_2) AS t), 1::bigint,
    'ACK-4 all settles of a turn write one table');

-- Nack: every combination of the flags.
CREATE FUNCTION pg_temp.after_nack(named text, counted boolean, dead_letter boolean, fail boolean, park boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    taken x_jobs.claimed_job := pg_temp.held(named);
BEGIN
    PERFORM x_jobs.nack(taken.id, 'w', taken.claim, '1 h', 'no', NULL, counted, park, dead_letter, fail, '8 ms');
    RETURN split_part(pg_temp.tallied(named), ' ', 1);
END $$;
SELECT is(pg_temp.after_nack(format('nack%s%s%s%s', counted::int, dead_letter::int, fail::int, park::int), counted, dead_letter,
                        fail, park), expected,
          format('%s counted %s, dead_letter %s, fail %s, park %s: %s', id, counted, dead_letter, fail, park, expected))
  FROM (VALUES
    ('NACK-10', true, true, true, true, 'x'), ('NACK-10', true, true, true, false, 'x'), ('NACK-10', true, true, false, true, 'x'),
        ('NACK-10', true, true, false, false, 'x'),
    ('NACK-10', true, false, true, true, 'f'), ('NACK-10', true, false, true, false, 'f'),
        ('NACK-12', true, false, false, true, 'nothing'), ('NACK-10', true, false, false, false, 'r'),
    ('NACK-10', false, true, true, true, 'x'), ('NACK-10', false, true, true, false, 'x'),
        ('NACK-10', false, true, false, true, 'x'), ('NACK-10', false, true, false, false, 'x'),
    ('NACK-11', false, false, true, true, 'f'), ('NACK-11', false, false, true, false, 'f'),
        ('NACK-10', false, false, false, true, 'nothing'), ('NACK-10', false, false, false, false, 'nothing')
  ) AS flags (id, counted, dead_letter, fail, park, expected);
SELECT is(pg_temp.tallied('nack1000') || ', ' || pg_temp.tallied('nack1001'), 'r 8 nack1000, nothing',
          'NACK-10 NACK-12 a retry counts with its duration, a parked run not at all');
SELECT * FROM pg_temp.held('handed_back') \gset
SELECT x_jobs.release(:'id', 'w', :claim) \gset
SELECT is(pg_temp.tallied('handed_back'), 'nothing', 'NACK-10 a drained hand-back adds nothing');

-- fail().
SELECT * FROM pg_temp.held('retries') \gset
SELECT x_jobs.fail(:'id', 'w', :claim, 'no', duration => '3 ms') \gset
SELECT is(pg_temp.tallied('retries'), 'r 3 retries', 'NACK-10 a failed attempt that is retried counts one retried');
SELECT * FROM pg_temp.held('dies', attempts => 1) \gset
SELECT x_jobs.fail(:'id', 'w', :claim, 'no', duration => '4 ms') \gset
SELECT is(pg_temp.tallied('dies'), 'x 4 dies', 'NACK-10 the one that exhausts the attempts counts one dead');

-- Burial.
SELECT * FROM pg_temp.held('buried', '0', 1) \gset
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['buried'], 'w2')), 0::bigint, 'BURY-5 (a claim buries the job)');
SELECT is(pg_temp.tallied('buried'), 'x 0 buried', 'BURY-5 a burial counts one dead and 0 ms');
SELECT * FROM pg_temp.held('dropped', '0', 1) \gset
UPDATE _x_jobs.jobs SET dead_letters = false WHERE id = :'id';
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['dropped'], 'w2')), 0::bigint,
          'BURY-5 (a claim buries a job that does not dead-letter)');
SELECT is(pg_temp.tallied('dropped'), 'f 0 dropped', 'BURY-5 which counts one failed and 0 ms');
SELECT * FROM pg_temp.held('unburied', '0', 1) \gset
BEGIN;
SELECT count(*) AS claimed FROM x_jobs.claim(ARRAY['unburied'], 'w2') \gset
ROLLBACK;
SELECT is(pg_temp.tallied('unburied') || ', ' || state, 'nothing, running', 'BURY-5 in the burial''s own transaction')
  FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('redelivered', '0') \gset
SELECT claim FROM x_jobs.claim(ARRAY['redelivered'], 'w2') \gset
SELECT is(pg_temp.tallied('redelivered'), 'nothing', 'BURY-8 an ordinary redelivery is no ended attempt');

-- The roll-up: at every moment the sum of counters and tallies is what was settled.
SELECT * FROM pg_temp.held('rolled') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, duration => '10 ms') \gset
SELECT claim FROM x_jobs.claim(ARRAY['rolled'], 'w') \gset
SELECT x_jobs.ack(:'id', 'w', :claim, duration => '20 ms') \gset
SELECT * FROM pg_temp.held('rolled') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, fail => true, duration => '40 ms') \gset
SELECT * FROM pg_temp.held('rolled') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, dead_letter => true, duration => '80 ms') \gset
CREATE TEMP TABLE turns (turn integer, counted text, rows_left bigint);
INSERT INTO turns SELECT 0, pg_temp.counted('rolled'), count(*) FROM _x_jobs.tally;
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
INSERT INTO turns SELECT 1, pg_temp.counted('rolled'), count(*) FROM _x_jobs.tally;
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
INSERT INTO turns SELECT 2, pg_temp.counted('rolled'), count(*) FROM _x_jobs.tally;
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
INSERT INTO turns SELECT 3, pg_temp.counted('rolled'), count(*) FROM _x_jobs.tally;
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
INSERT INTO turns SELECT 4, pg_temp.counted('rolled'), count(*) FROM _x_jobs.tally;
SELECT is(ARRAY(SELECT DISTINCT counted FROM turns), ARRAY['done 1, failed 1, dead 1, retried 1, ms 150'],
          'X-9 CNT-8 before, during and after the roll-up the sum is exact');
SELECT is((SELECT rows_left FROM turns WHERE turn = 4), 0::bigint, 'X-9 and after the turn has gone round no tally is left');
SELECT is((SELECT count(*) FROM x_jobs.remove(:'id')), 1::bigint, 'X-9 (one of the jobs is removed)');
SELECT is(pg_temp.counted('rolled'), 'done 1, failed 1, dead 1, retried 1, ms 150',
          'X-9 whatever a removal does to the rows since');
SELECT is((SELECT format('%s %s %s', done, failed, dead) FROM _x_jobs.queue_totals WHERE queue = 'rolled'), '1 1 1',
          'X-9 the totals of the queue follow');

SELECT * FROM finish();
