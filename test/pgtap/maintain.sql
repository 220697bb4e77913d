-- If this failed, finished jobs would be kept for ever or purged too soon, or a count would be lost or doubled on its
-- way into the counters.
SELECT plan(91);

-- A job called and queued as named, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text) RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue(named, queue => named, dedupe => false);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w') AS c
$$;
-- One call of maintain(): the tasks that had something to do.
CREATE FUNCTION pg_temp.maintained() RETURNS text LANGUAGE sql AS $$
    SELECT COALESCE(string_agg(task || ' ' || affected, ', ' ORDER BY place), 'nothing')
      FROM x_jobs.maintain() WITH ORDINALITY AS m (task, affected, place) WHERE affected <> 0
$$;
-- Where a finished job stands: its leaf, and whether that is the leaf which the ring's bounds ask for.
CREATE FUNCTION pg_temp.placed(job uuid) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN h.segment = 32 AND h.tableoid = '_x_jobs.history_keep'::regclass THEN 'kept'
                WHEN h.segment = (SELECT l.segment FROM _x_jobs.history_leaves AS l WHERE l.upper > h.purge_at
                                  ORDER BY l.upper LIMIT 1)
                 AND h.tableoid = format('_x_jobs.history_%s', lpad(h.segment::text, 2, '0'))::regclass THEN 'right leaf'
                ELSE 'wrong leaf' END
      FROM _x_jobs.history AS h WHERE h.id = job
$$;
-- What is wrong with the bounds of the ring; NULL when nothing is.
CREATE FUNCTION pg_temp.ring_fault() RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(', ', CASE WHEN count(*) <> 32 OR min(segment) <> 0 OR max(segment) <> 31 THEN 'not 32 leaves' END,
                           CASE WHEN count(DISTINCT upper) <> 32 OR max(upper) - min(upper) <> interval '31 days'
                               THEN 'not one step apart' END,
                           CASE WHEN min(upper) <= _x_jobs.clock() THEN 'a bound has passed' END,
                           CASE WHEN min(upper) > _x_jobs.clock() + interval '1 day' THEN 'the first bound lies too far ahead' END,
                           CASE WHEN bool_or(extract(epoch FROM upper)::bigint % 86400 <> 0) THEN 'not at the ends of steps' END)
      FROM _x_jobs.history_leaves
$$;
-- Done jobs of one name as the counters and the tallies know them, and as the history does.
CREATE FUNCTION pg_temp.counted(named text) RETURNS bigint LANGUAGE sql AS $$
    SELECT COALESCE((SELECT sum(done) FROM _x_jobs.counters WHERE name = named), 0)::bigint + (SELECT count(*) FROM _x_jobs.tally
                            WHERE name = named AND outcome = 'd')
$$;
-- Everything that upkeep may change, as one text.
CREATE FUNCTION pg_temp.everything() RETURNS text LANGUAGE sql AS $$
    SELECT md5(concat((SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.jobs AS t),
                      (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.history AS t),
                      (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.history_leaves AS t),
                          (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.counters AS t),
                      (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.queue_totals AS t),
                          (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.tally AS t),
                      (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.attempts AS t),
                          (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.workers AS t),
                      (SELECT string_agg(t::text, '|' ORDER BY t::text) FROM _x_jobs.task_log AS t)))
$$;

-- The ring is laid out by whoever needs it first.
SELECT is((SELECT count(*) FROM _x_jobs.history_leaves), 0::bigint,
          'X-16 a fresh installation has no bounds yet, so that a restored dump brings its own');
SELECT * FROM pg_temp.held('first') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(pg_temp.ring_fault(), '',
          'X-16 the first settle lays the ring out: 32 leaves, one step apart, the first ending with the present step');
SELECT is(pg_temp.placed(:'id'), 'right leaf', 'X-16 and its row goes into the leaf of its purge instant');
DELETE FROM _x_jobs.history;
DELETE FROM _x_jobs.history_leaves;
SELECT is(pg_temp.maintained(), 'lay_out_ring 32', 'X-16 so does maintain()');
SELECT is(pg_temp.ring_fault(), '', 'X-16 in the same way');
SELECT is(pg_temp.maintained(), 'nothing', 'X-16 a second call finds nothing to do');
SELECT is(ARRAY(SELECT task FROM x_jobs.maintain()), ARRAY['lay_out_ring', 'advance_ring', 'roll_up', 'roll_up_tiers',
                        'purge_kept', 'purge_attempts', 'expire_waiting', 'bury_lapsed', 'purge_task_log', 'forget_lapsed_workers',
                        'forget_dropped_roles'],
    'X-16 maintain answers one row for each task');
SELECT is((SELECT count(*) FROM pg_inherits WHERE inhparent = '_x_jobs.history'::regclass), 33::bigint,
          'X-16 the ring has 32 leaves and one that is kept');

-- Which leaf a finished row goes to.
SELECT * FROM pg_temp.held('done0') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
\set done0 :id
SELECT is(purge_at - finished_at, interval '14 days', 'X-16 a done row is kept for 14 days by default') FROM _x_jobs.history
 WHERE id = :'done0';
SELECT is(pg_temp.placed(:'done0'), 'right leaf', 'X-16 in the leaf of its purge instant');
SELECT * FROM pg_temp.held('dead0') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, dead_letter => true, error => 'gave up') \gset
\set dead0 :id
SELECT is(pg_temp.placed(:'dead0') || ' ' || (purge_at IS NULL), 'kept true',
          'X-16 a dead letter goes to the leaf that is kept, with no purge instant') FROM _x_jobs.history WHERE id = :'dead0';
SELECT * FROM pg_temp.held('failed0') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, fail => true, error => 'no') \gset
\set failed0 :id
SELECT is(pg_temp.placed(:'failed0') || ' ' || (purge_at - finished_at), 'right leaf 14 days',
          'X-16 a failed row is kept for 14 days') FROM _x_jobs.history WHERE id = :'failed0';
SET x_jobs.test_clock_offset = '25h';
SELECT id AS cancelled1 FROM x_jobs.enqueue('cancelled1', dedupe => false) \gset
SELECT id FROM x_jobs.cancel(:'cancelled1') \gset
SELECT is(pg_temp.placed(:'cancelled1') || ' ' || (purge_at - finished_at), 'right leaf 14 days', 'X-16 so is a cancelled one')
  FROM _x_jobs.history WHERE id = :'cancelled1';
SET x_jobs.test_clock_offset = '52h';
SELECT * FROM pg_temp.held('done2') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
\set done2 :id
SELECT is(pg_temp.placed(:'done2'), 'right leaf', 'X-16 a row of another day goes to another leaf');
SELECT is((SELECT count(DISTINCT segment) FROM _x_jobs.history WHERE id IN (:'done0', :'cancelled1', :'done2')), 3::bigint,
          'X-16 (three days, three leaves)');
RESET x_jobs.test_clock_offset;
SET x_jobs.retention = '100d';
SELECT * FROM pg_temp.held('long') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
\set long :id
RESET x_jobs.retention;
SELECT is(pg_temp.placed(:'long') || ' ' || (purge_at - finished_at), 'kept 100 days',
          'X-16 a retention beyond the ring goes to the leaf that is kept, with its instant') FROM _x_jobs.history
 WHERE id = :'long';
SET x_jobs.retention = '1h';
SELECT * FROM pg_temp.held('short') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
\set short :id
RESET x_jobs.retention;
SELECT is(pg_temp.placed(:'short') || ' ' || (purge_at - finished_at), 'right leaf 01:00:00',
          'X-16 a shorter retention goes to an earlier leaf') FROM _x_jobs.history WHERE id = :'short';
SELECT id AS live FROM x_jobs.enqueue('live', queue => 'live', dedupe => false) \gset
SELECT * FROM pg_temp.held('running') \gset
\set running :id

-- Who is still there.
CREATE FUNCTION pg_temp.present() RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM x_jobs.all_jobs WHERE queue <> 'other'
$$;
SELECT is(pg_temp.present(), 'cancelled1 dead0 done0 done2 failed0 live long running short', 'X-16 (nine jobs)');

-- The ring advances: a leaf is emptied when its bound has passed, and never before the instant of any row in it.
SET x_jobs.test_clock_offset = '59min';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT is(pg_temp.present(), 'cancelled1 dead0 done0 done2 failed0 live long running short',
          'X-16 within the retention nothing is purged');
SET x_jobs.test_clock_offset = '26h';
SELECT isnt(pg_temp.maintained(), 'nothing', 'X-16 after a step the ring advances');
SELECT is(pg_temp.present(), 'cancelled1 dead0 done0 done2 failed0 live long running',
          'X-16 and the leaf of the short retention is emptied');
SELECT is(pg_temp.ring_fault(), '', 'X-16 an emptied leaf is set behind the newest');
SET x_jobs.test_clock_offset = '335h';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT is(pg_temp.present(), 'cancelled1 dead0 done0 done2 failed0 live long running',
          'X-16 an hour before 14 days have passed every row is there');
SELECT is(pg_temp.ring_fault(), '', 'X-16 although the ring has advanced by many leaves at once');
BEGIN;
SET LOCAL x_jobs.test_clock_offset = '15d';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT pg_temp.present() AS within \gset
ROLLBACK;
SELECT is(:'within' || ', then ' || pg_temp.present(),
          'cancelled1 dead0 done2 live long running, then cancelled1 dead0 done0 done2 failed0 live long running',
    'X-16 a purge that is rolled back has purged nothing');
SELECT * FROM pg_temp.held('other') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(pg_temp.placed(:'id'), 'right leaf', 'X-16 and a settle after it finds the right leaf');
SET x_jobs.test_clock_offset = '15d';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT is(pg_temp.present(), 'cancelled1 dead0 done2 live long running',
          'X-16 after 15 days the rows of the first day are gone, and only they');
SELECT ok(x_jobs.job(:'done0') IS NULL, 'X-16 a purged job is unknown');
SELECT is((SELECT count(*) FROM pg_class WHERE relnamespace = '_x_jobs'::regnamespace AND relname LIKE 'history\___'
           AND relpages > 0 AND oid NOT IN (SELECT tableoid FROM _x_jobs.history)), 0::bigint,
    'X-16 a purged leaf is truncated, not deleted from');
SET x_jobs.test_clock_offset = '386h';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT is(pg_temp.present(), 'dead0 done2 live long running', 'X-16 after 16 days those of the second');
SET x_jobs.test_clock_offset = '413h';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT is(pg_temp.present(), 'dead0 live long running', 'X-16 after 17 days those of the third');
SELECT is(pg_temp.ring_fault(), '', 'X-16 the ring is still whole');
SELECT is((SELECT count(*) FROM x_jobs.dead_letters()), 1::bigint, 'X-16 dead letters never age by themselves');
SELECT is(pg_temp.maintained(), 'nothing', 'X-16 and at the same instant a further call does nothing');

-- Single rows in the kept leaf.
UPDATE _x_jobs.history SET purge_at = _x_jobs.clock() + interval '1 s' WHERE id = :'long';
SELECT is(pg_temp.maintained(), 'nothing', 'X-16 a row of the kept leaf stays until its instant');
UPDATE _x_jobs.history SET purge_at = _x_jobs.clock() - interval '1 s' WHERE id = :'long';
SELECT is(pg_temp.maintained(), 'purge_kept 1', 'X-16 and is purged after it');
SELECT is(pg_temp.present(), 'dead0 live running', 'X-16 alone');
RESET x_jobs.test_clock_offset;

-- After a long absence every leaf is overdue.
UPDATE _x_jobs.history_leaves SET upper = upper - interval '57 days';
SELECT is(pg_temp.maintained(), 'advance_ring 32', 'X-16 after more steps than there are leaves the whole ring is emptied');
SELECT is(pg_temp.ring_fault(), '', 'X-16 and laid out anew from the present step on');
SELECT is(pg_temp.present(), 'dead0 live running', 'X-16 what is kept or live is not touched');
SELECT * FROM pg_temp.held('other') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(pg_temp.placed(:'id'), 'right leaf', 'X-16 the next settle finds the right leaf');

-- Records of failed attempts.
SELECT * FROM pg_temp.held('retried') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => 'first') \gset
SELECT claim FROM x_jobs.claim(ARRAY['retried'], 'w') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
\set retried :id
SELECT is((SELECT count(*) FROM x_jobs.attempts(:'retried')), 1::bigint, 'X-16 a failed attempt is on record');
SET x_jobs.test_clock_offset = '13d';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT is((SELECT count(*) FROM x_jobs.attempts(:'retried')), 1::bigint, 'X-16 for as long as its job');
SET x_jobs.test_clock_offset = '16d';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT matches(pg_temp.maintained(), 'purge_attempts [1-9]', 'X-16 and is purged by the call after the one that purged its job');
SELECT is((SELECT count(*) FROM x_jobs.attempts(:'retried')), 0::bigint, 'X-16 with every trace');
SELECT is((SELECT count(*) FROM x_jobs.attempts(:'dead0')), 1::bigint, 'X-16 the attempts of a dead letter stay with it');
RESET x_jobs.test_clock_offset;
SELECT * FROM pg_temp.held('soon_removed') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, error => 'first') \gset
SELECT id FROM x_jobs.remove(:'id') \gset
SELECT is((SELECT count(*) FROM x_jobs.attempts(:'id')), 0::bigint, 'OPW-1 the attempts of a removed job go with it');

-- Jobs that expired before they started.
SELECT id AS waiting FROM x_jobs.enqueue('waiting', queue => 'expiry', dedupe => false, expires_at => now() + interval '1 h') \gset
SELECT id AS delayed FROM x_jobs.enqueue('delayed', queue => 'expiry', dedupe => false, delay => '3 h',
                        expires_at => now() + interval '1 h') \gset
SELECT id AS later FROM x_jobs.enqueue('later', queue => 'expiry', dedupe => false, expires_at => now() + interval '1 day') \gset
SELECT id AS started FROM x_jobs.enqueue('started', queue => 'started', dedupe => false, expires_at => now() + interval '1 h') \gset
SELECT claim FROM x_jobs.claim(ARRAY['started'], 'w') \gset
SELECT x_jobs.nack(:'started', 'w', :claim, '1 min', error => 'first') \gset
SELECT id AS held FROM x_jobs.enqueue('held', queue => 'held', dedupe => false, expires_at => now() + interval '1 h') \gset
SELECT claim FROM x_jobs.claim(ARRAY['held'], 'w', 1, '1 day') \gset
SET x_jobs.test_clock_offset = '59min';
SELECT unalike(pg_temp.maintained(), '%expire%', 'X-19 before expires_at nothing expires');
SET x_jobs.test_clock_offset = '2h';
SELECT alike(pg_temp.maintained(), '%expire_waiting 2%', 'X-19 past expires_at upkeep ends the jobs that have not started');
SELECT is(state || ' ' || reason || ' ' || attempt, 'cancelled expired 0', 'X-19 they are cancelled, reason expired')
  FROM x_jobs.job(:'waiting');
SELECT is(state || ' ' || reason || ' ' || attempt, 'cancelled expired 0', 'X-19 also the one that was not due yet')
  FROM x_jobs.job(:'delayed');
SELECT is((SELECT count(*) FROM _x_jobs.tally WHERE name IN ('waiting', 'delayed')), 0::bigint, 'X-19 uncounted');
SELECT is(state, 'ready', 'X-19 a job whose expires_at lies ahead stays') FROM x_jobs.job(:'later');
SELECT is(state, 'ready', 'X-19 one that has started is retried all the same') FROM x_jobs.job(:'started');
SELECT is(state, 'running', 'X-19 and one that is running runs on') FROM x_jobs.job(:'held');
SELECT is((SELECT array_agg(id ORDER BY id) FROM x_jobs.claim(ARRAY['expiry', 'started'], 'w', 10)),
          ARRAY[:'later', :'started']::uuid[], 'X-19 an expired job is never handed out');
RESET x_jobs.test_clock_offset;
SELECT id AS met FROM x_jobs.enqueue('met', queue => 'met', dedupe => false, expires_at => now() + interval '1 h') \gset
SET x_jobs.test_clock_offset = '2h';
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['met'], 'w')), 0::bigint,
          'X-19 the next claim that meets an expired job does not hand it out');
SELECT is(state || ' ' || reason || ' ' || (SELECT count(*) FROM _x_jobs.tally WHERE name = 'met'), 'cancelled expired 0',
          'X-19 but ends it the same way') FROM x_jobs.job(:'met');
RESET x_jobs.test_clock_offset;

-- Workers that fell silent.
SELECT x_jobs.worker_announce('short-lived', 'host-a', ARRAY['q'], 2, ttl => '30 s') \g /dev/null
SELECT x_jobs.worker_announce('long-lived', 'host-b', ARRAY['q'], 2, ttl => '1 h') \g /dev/null
SET x_jobs.test_clock_offset = '1min';
SELECT alike(pg_temp.maintained(), '%forget_lapsed_workers 1%', 'X-16 upkeep forgets a worker whose announcement has lapsed');
SELECT is((SELECT string_agg(worker_id, ' ') FROM _x_jobs.workers), 'long-lived', 'X-16 and no other');
RESET x_jobs.test_clock_offset;

-- Jobs whose worker died on their final attempt, where no claim comes by.
CREATE FUNCTION pg_temp.lapsing(named text, attempts integer, lease interval DEFAULT '1 min') RETURNS uuid LANGUAGE sql AS $$
    SELECT x_jobs.enqueue(named, idempotency_key => 'key', queue => named, max_attempts => attempts);
    SELECT id FROM x_jobs.claim(ARRAY[named], 'died', 1, lease)
$$;
-- How often a job of this name was counted as dead or failed, in tallies and counters.
CREATE FUNCTION pg_temp.ended_badly(named text) RETURNS text LANGUAGE sql AS $$
    SELECT concat_ws(' ', COALESCE((SELECT sum(dead) FROM _x_jobs.counters WHERE name = named), 0)
                          + (SELECT count(*) FROM _x_jobs.tally WHERE name = named AND outcome = 'x'),
                          COALESCE((SELECT sum(failed) FROM _x_jobs.counters WHERE name = named), 0)
                          + (SELECT count(*) FROM _x_jobs.tally WHERE name = named AND outcome = 'f'))
$$;
SELECT pg_temp.lapsing('final', 1) AS final, pg_temp.lapsing('quiet', 1) AS quiet, pg_temp.lapsing('attempts_left', 2) AS attempts_left,
    pg_temp.lapsing('alive', 1, '1 h') AS alive, pg_temp.lapsing('halted', 1) AS halted \gset
UPDATE _x_jobs.jobs SET dead_letters = false WHERE id = :'quiet';
SELECT x_jobs.pause_queue('halted') \g /dev/null
SET x_jobs.test_clock_offset = '50s';
SELECT unalike(pg_temp.maintained(), '%bury_lapsed%', 'X-14 BURY-1 while leases hold upkeep buries nothing');
SET x_jobs.test_clock_offset = '2min';
SELECT alike(pg_temp.maintained(), '%bury_lapsed 2%', 'X-14 BURY-1 upkeep ends the lapsed jobs of a final attempt, without a claim');
SELECT is(concat_ws(' ', state, reason, attempt, last_error), 'dead lease-lapsed 1 the lease lapsed on the final attempt',
          'X-14 BURY-1 BURY-3 the job is in the history, dead, with the reason') FROM x_jobs.job(:'final');
SELECT is(state, 'failed', 'BURY-2 one that does not dead-letter is failed') FROM x_jobs.job(:'quiet');
SELECT is(pg_temp.ended_badly('final') || ', ' || pg_temp.ended_badly('quiet'), '1 0, 0 1', 'BURY-5 each is counted once');
SELECT is((SELECT array_agg(attempt || ' ' || error) FROM x_jobs.attempts(:'final')),
          ARRAY['1 the lease lapsed on the final attempt'], 'BURY-5 and its attempt is on record');
SELECT is(state, 'running', 'BURY-8 a lapsed job with an attempt left is none of upkeep''s business') FROM x_jobs.job(:'attempts_left');
SELECT is(state, 'running', 'BURY-1 nor is one whose lease holds') FROM x_jobs.job(:'alive');
SELECT is(state, 'running', 'CLAIM-13 one of a paused queue is not buried while the pause lasts') FROM x_jobs.job(:'halted');
SELECT unalike(pg_temp.maintained(), '%bury_lapsed%', 'X-14 a further call buries none');
SELECT is((SELECT deduped FROM x_jobs.enqueue('final', idempotency_key => 'key', queue => 'final')), false,
          'BURY-13 the key of a buried job is free');
SELECT is((SELECT array_agg(id) FROM x_jobs.claim(ARRAY['attempts_left'], 'w')), ARRAY[:'attempts_left']::uuid[],
          'BURY-8 the one with an attempt left is handed out again');
SELECT x_jobs.resume_queue('halted') \g /dev/null
SELECT alike(pg_temp.maintained(), '%bury_lapsed 1%', 'CLAIM-13 after the pause upkeep buries it');
SELECT is(state, 'dead', 'CLAIM-13 (dead)') FROM x_jobs.job(:'halted');
RESET x_jobs.test_clock_offset;

-- What became of the occurrences of tasks is told for as long as finished jobs are kept.
SELECT (x_jobs.fire('logged', now(), '{}')).fired \g /dev/null
SET x_jobs.test_clock_offset = '13d';
SELECT (x_jobs.fire('logged', _x_jobs.clock(), '{}')).fired \g /dev/null
SELECT unalike(pg_temp.maintained(), '%purge_task_log%', 'X-16 the history of tasks is kept for 14 days');
SET x_jobs.test_clock_offset = '15d';
SELECT alike(pg_temp.maintained(), '%purge_task_log 1%', 'X-16 and purged after them');
SELECT is((SELECT array_agg(decided_at < _x_jobs.clock() - interval '3 days') FROM x_jobs.task_history('logged')), ARRAY[false],
          'X-16 the older of two rows, and no other');
RESET x_jobs.test_clock_offset;
SET x_jobs.retention = '1h';
SELECT (x_jobs.fire('brief', now(), '{}')).fired \g /dev/null
SET x_jobs.test_clock_offset = '2h';
SELECT alike(pg_temp.maintained(), '%purge_task_log 1%', 'X-16 a shorter retention purges sooner');
RESET x_jobs.test_clock_offset;
RESET x_jobs.retention;
DELETE FROM _x_jobs.task_log;
INSERT INTO _x_jobs.task_log (task, occurrence, upto, outcome, slots, decided_at)
     SELECT t.task, now() - n * interval '1 s', now() - n * interval '1 s', 'fired', 1, now()
       FROM (VALUES ('busy', 10005), ('full', 10000), ('calm', 3)) AS t (task, rows), generate_series(1, t.rows) AS n;
SELECT is(_x_jobs.purge_task_log(2), 2::bigint, 'X-16 in bounded batches');
SELECT alike(pg_temp.maintained(), '%purge_task_log 3%', 'X-16 of more than 10,000 rows of a task the oldest are purged');
SELECT is((SELECT string_agg(task || ' ' || rows || ' ' || least, ', ' ORDER BY task COLLATE "C")
             FROM (SELECT task, count(*) AS rows, round(extract(epoch FROM now() - min(occurrence)) / 1000) AS least
                     FROM _x_jobs.task_log GROUP BY task) AS t), 'busy 10000 10, calm 3 0, full 10000 10',
          'X-16 the newest stay, and what other tasks did');
SELECT is((SELECT count(*) FROM _x_jobs.task_log WHERE occurrence < (SELECT min(occurrence) FROM _x_jobs.task_log WHERE task = 'full')),
          0::bigint, 'X-16 (none older than the 10,000th)');
SELECT unalike(pg_temp.maintained(), '%purge_task_log%', 'X-16 a further call finds nothing');

-- The roll-up over several turns of the three tallies, with settles in between and in different minutes.
CREATE TEMP TABLE sums (round integer, counted bigint, settled bigint);
DO $$
DECLARE
    taken x_jobs.claimed_job;
BEGIN
    FOR round IN 1 .. 9 LOOP
        PERFORM set_config('x_jobs.test_clock_offset', (round * 20)::text || 's', false);
        FOR n IN 1 .. round LOOP
            taken := pg_temp.held('turned');
            PERFORM x_jobs.ack(taken.id, 'w', taken.claim, duration => '3 ms');
        END LOOP;
        COMMIT;
        INSERT INTO sums SELECT round, pg_temp.counted('turned'), round * (round + 1) / 2;
        PERFORM x_jobs.maintain();
        COMMIT;
        INSERT INTO sums SELECT round, pg_temp.counted('turned'), round * (round + 1) / 2;
        COMMIT;
    END LOOP;
END $$;
SELECT is_empty('SELECT * FROM sums WHERE counted <> settled',
                'X-9 CNT-8 over nine turns counters and tallies always sum to what was settled');
RESET x_jobs.test_clock_offset;
SELECT count(*) FROM x_jobs.maintain(), x_jobs.maintain() AS second, x_jobs.maintain() AS third \g /dev/null
SELECT is((SELECT count(*) FROM _x_jobs.tally), 0::bigint, 'X-9 three quiet turns leave no tally');
SELECT is((SELECT sum(done) || ' ' || sum(duration_ms) FROM _x_jobs.counters WHERE name = 'turned'), '45 135',
          'X-9 all of it is in the counters');
SELECT cmp_ok((SELECT count(*) FROM _x_jobs.counters WHERE name = 'turned'), '>=', 3::bigint, 'X-9 CNT-1 minute by minute');
SELECT is((SELECT count(*) FROM _x_jobs.counters WHERE name = 'turned' AND (width <> interval '1 minute'
           OR bucket_start <> date_trunc('minute', bucket_start))), 0::bigint, 'CNT-1 each bucket is a whole minute');
SELECT is((SELECT done FROM _x_jobs.queue_totals WHERE queue = 'turned'), 45::bigint, 'X-9 and in the totals of the queue');

-- Repetition.
SELECT pg_temp.everything() AS before \gset
SELECT is(pg_temp.maintained(), 'nothing', 'CNT-6 with nothing to do a call answers 0 for every task');
SELECT is(pg_temp.everything(), :'before', 'CNT-6 and changes nothing');

SELECT * FROM finish();
