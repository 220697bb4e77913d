-- If this failed, what the counters say would not be what was settled, or they would grow for ever.
SELECT plan(60);

-- A job called and queued as named, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s', attempts integer DEFAULT 3) RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue(named, queue => named, dedupe => false, max_attempts => attempts);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w', 1, lease) AS c
$$;
-- What counters() says of one job, without regard to time: done, failed, dead, retried, milliseconds.
CREATE FUNCTION pg_temp.counted(named text) RETURNS text LANGUAGE sql AS $$
    SELECT COALESCE(NULLIF(concat_ws(' ', sum(done), sum(failed), sum(dead), sum(retried), extract(epoch FROM sum(duration))::numeric(20, 3)), ''), 'nothing')
      FROM x_jobs.counters(named)
$$;
-- The buckets of one job: start, width and done.
CREATE FUNCTION pg_temp.buckets(named text, since timestamptz DEFAULT NULL) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(concat_ws(' ', to_char(bucket_start AT TIME ZONE 'UTC', 'DD HH24:MI'), extract(epoch FROM width)::integer / 60, done), ', '
                      ORDER BY place)
      FROM x_jobs.counters(named, since) WITH ORDINALITY AS c (name, width, bucket_start, done, failed, dead, retried, duration, place)
$$;
CREATE FUNCTION pg_temp.at(instant timestamptz) RETURNS text LANGUAGE sql AS $$
    SELECT set_config('x_jobs.test_clock_offset', extract(epoch FROM instant - clock_timestamp())::bigint || 's', false)
$$;
CREATE FUNCTION pg_temp.stored(named text, width interval, start timestamptz, done bigint) RETURNS void LANGUAGE sql AS $$
    INSERT INTO _x_jobs.counters (name, width, bucket_start, done, failed, dead, retried, duration_ms)
         VALUES (named, width, start, done, 2 * done, 3 * done, 4 * done, 1000 * done)
$$;

-- Every kind of settle counts, once, in the transaction that changes the row.
SELECT is(pg_temp.counted('none'), 'nothing', 'CNT-4 a job without a settle has no bucket');
SELECT is_empty('SELECT * FROM x_jobs.counter_totals()', 'CNT-4 no rows, no entry');
SELECT * FROM pg_temp.held('one') \gset
SELECT is(pg_temp.counted('one'), 'nothing', 'CNT-9 a claim counts nothing');
BEGIN;
SELECT x_jobs.ack(:'id', 'w', :claim, duration => '1 s') \gset
SELECT pg_temp.counted('one') AS within \gset
ROLLBACK;
SELECT is(:'within' || ', then ' || pg_temp.counted('one'), '1 0 0 0 1.000, then nothing', 'CNT-8 count and row change together, and are rolled back together');
SELECT is(state, 'running', 'CNT-8 (the row is as it was)') FROM x_jobs.job(:'id');
SELECT x_jobs.ack(:'id', 'stranger', :claim) AS stranger, x_jobs.ack(:'id', 'w', :claim + 1) AS late \gset
SELECT is(pg_temp.counted('one'), 'nothing', 'CNT-9 a stale settle counts nothing');
SELECT x_jobs.ack(:'id', 'w', :claim, duration => '1 s') \gset
SELECT x_jobs.ack(:'id', 'w', :claim, duration => '1 s') AS again \gset
SELECT is(pg_temp.counted('one'), '1 0 0 0 1.000', 'X-9 the count is there in the minute of the settle, and a second ack adds nothing');
SELECT * FROM pg_temp.held('one') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, fail => true, duration => '1 s') \gset
SELECT * FROM pg_temp.held('one') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, dead_letter => true, duration => '1 s') \gset
\set dead :id
SELECT * FROM pg_temp.held('one') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, duration => '1 s') \gset
SELECT is(pg_temp.counted('one'), '1 1 1 1 4.000', 'X-9 each outcome in its own column');
SELECT * FROM pg_temp.held('buried', '0', 1) \gset
SELECT count(*) FROM x_jobs.claim(ARRAY['buried'], 'w2') \gset
SELECT is(pg_temp.counted('buried'), '0 0 1 0 0.000', 'X-9 a burial counts as dead');
SELECT is(sum(c.done)::text || sum(c.failed) || sum(c.dead),
          (SELECT concat(count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'failed'), count(*) FILTER (WHERE state = 'dead')) FROM x_jobs.all_jobs),
          'CNT-8 the sums match the finished rows') FROM x_jobs.counters() AS c;
SELECT is((SELECT string_agg(concat_ws(' ', name, done, failed, dead, retried, extract(epoch FROM duration)::integer), ', ') FROM x_jobs.counter_totals()),
          'buried 0 0 1 0 0, one 1 1 1 1 4', 'CNT-4 totals have one row for each job');
SELECT (x_jobs.remove(:'dead')).id AS removed \gset
SELECT id AS again FROM x_jobs.all_jobs WHERE name = 'one' AND state = 'done' \gset
SELECT id FROM x_jobs.requeue(:'again') \gset
SELECT is(pg_temp.counted('one'), '1 1 1 1 4.000', 'X-9 removal and requeue of the rows take no count back');
SET x_jobs.test_clock_offset = '20d';
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
RESET x_jobs.test_clock_offset;
SELECT is(pg_temp.counted('one'), '1 1 1 1 4.000', 'X-9 nor does retention');
SELECT is(ARRAY(SELECT task FROM x_jobs.maintain() WHERE task ~ '^roll'), ARRAY['roll_up', 'roll_up_tiers'],
          'X-15 what a scheduler calls once a minute rolls up, and widens');
CREATE TEMP TABLE seen (counted text);
INSERT INTO seen SELECT pg_temp.counted('one') FROM (SELECT count(*) FROM x_jobs.maintain()) AS m;
INSERT INTO seen SELECT pg_temp.counted('one') FROM (SELECT count(*) FROM x_jobs.maintain()) AS m;
INSERT INTO seen SELECT pg_temp.counted('one') FROM (SELECT count(*) FROM x_jobs.maintain()) AS m;
INSERT INTO seen SELECT pg_temp.counted('one') FROM (SELECT count(*) FROM x_jobs.maintain()) AS m;
SELECT is((SELECT string_agg(DISTINCT counted, ', ') FROM seen), '1 1 1 1 4.000', 'X-9 nor does a roll-up, wherever the rows stand');
SELECT is((SELECT count(*) FROM _x_jobs.tally), 0::bigint, 'X-9 (all of them are rolled up)');
SELECT * FROM pg_temp.held('one') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(pg_temp.counted('one'), '2 1 1 1 4.000', 'X-9 what is settled after it is added');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM x_jobs.all_jobs \g /dev/null
SELECT pg_temp.counted('one') AS repeatable \gset
SELECT is(ARRAY(SELECT affected FROM x_jobs.maintain() WHERE task ~ '^roll'), '{0,0}'::bigint[], 'X-15 at REPEATABLE READ upkeep leaves the counters alone');
COMMIT;
SELECT is(:'repeatable'::text, '2 1 1 1 4.000', 'X-9 and they can be read');
CREATE TEMP TABLE shared AS SELECT relname, n_tup_upd FROM pg_stat_xact_user_tables WHERE false;
BEGIN;
INSERT INTO shared SELECT relname, - n_tup_upd FROM pg_stat_xact_user_tables WHERE schemaname = '_x_jobs';
SELECT * FROM pg_temp.held('one') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
INSERT INTO shared SELECT relname, n_tup_upd FROM pg_stat_xact_user_tables WHERE schemaname = '_x_jobs';
COMMIT;
SELECT is((SELECT string_agg(relname, ' ') FROM (SELECT relname FROM shared GROUP BY relname HAVING sum(n_tup_upd) <> 0) AS s), 'jobs',
          'X-9 no settle updates a row but the job''s own');
DELETE FROM _x_jobs.counters;
TRUNCATE _x_jobs.tally_0, _x_jobs.tally_1, _x_jobs.tally_2;

-- Order, and since.
SELECT pg_temp.stored('q', w, s, d) FROM (VALUES ('1 minute'::interval, '2030-01-02 10:00+00'::timestamptz, 1), ('1 hour', '2030-01-02 10:00+00', 2),
    ('5 minutes', '2030-01-02 10:00+00', 3), ('1 hour', '2030-01-02 09:00+00', 4), ('5 minutes', '2030-01-02 09:55+00', 5)) AS v (w, s, d) \g /dev/null
SELECT is(pg_temp.buckets('q'), '02 09:00 60 4, 02 09:55 5 5, 02 10:00 1 1, 02 10:00 5 3, 02 10:00 60 2', 'CNT-3 oldest first, then narrower first');
SELECT is(pg_temp.buckets('q', '2030-01-02 09:55+00'), '02 09:55 5 5, 02 10:00 1 1, 02 10:00 5 3, 02 10:00 60 2', 'CNT-3 from since on, included');
SELECT is(pg_temp.buckets('q', '2030-01-02 09:55:00.000001+00'), '02 10:00 1 1, 02 10:00 5 3, 02 10:00 60 2', 'CNT-3 a bucket that starts before it is left out whole');
SELECT is(pg_temp.buckets('q', 'infinity'), NULL, 'CNT-3 none start after all time');
SELECT is(pg_temp.buckets('Q'), NULL, 'CNT-3 names are exact');
SELECT pg_temp.stored(n, '1 hour', '2030-01-02 11:00+00', 1) FROM unnest(ARRAY['émile', 'a', 'Zeta', '_internal', 'B']) AS n \g /dev/null
SELECT is(ARRAY(SELECT name FROM x_jobs.counters(since => '2030-01-02 11:00+00')), ARRAY['B', 'Zeta', '_internal', 'a', 'émile'], 'CNT-3 of all jobs by name, in code units');
SELECT is(ARRAY(SELECT name || ' ' || done FROM x_jobs.counter_totals()), ARRAY['B 1', 'Zeta 1', '_internal 1', 'a 1', 'q 15', 'émile 1'], 'CNT-4 totals in code units');
SELECT is((SELECT concat_ws(' ', done, failed, dead, retried, duration) FROM x_jobs.counter_totals('2030-01-02 10:00+00') WHERE name = 'q'), '6 12 18 24 00:00:06',
          'CNT-4 summed from since on');
SELECT is(ARRAY(SELECT name FROM x_jobs.counter_totals('2030-01-02 10:00:01+00')), ARRAY['B', 'Zeta', '_internal', 'a', 'émile'], 'CNT-4 no rows, no entry');
DELETE FROM _x_jobs.counters;

-- The edges of the tiers. It is noon of the 31st, and some seconds.
SELECT pg_temp.at('2030-01-31 12:00:30+00') \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 0::bigint, 'CNT-6 with nothing to do it answers 0');
SELECT pg_temp.stored('edge', '1 minute', s, 1) FROM unnest('{2030-01-30 11:58+00,2030-01-30 12:00+00,2030-01-30 12:01+00,2030-01-30 12:02+00}'::timestamptz[]) AS s \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 2::bigint, 'CNT-5 CNT-1 what begins more than 24 hours ago moves');
SELECT is(pg_temp.buckets('edge'), '30 11:55 5 1, 30 12:00 5 1, 30 12:01 1 1, 30 12:02 1 1', 'CNT-5 into the bucket that contains it, its start floored to the width');
SELECT is(_x_jobs.roll_up_tiers(), 0::bigint, 'CNT-6 a second call answers 0');
SELECT pg_temp.at('2030-01-31 12:01:30+00') \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 1::bigint, 'CNT-5 a minute later the next one moves');
SELECT is(pg_temp.buckets('edge'), '30 11:55 5 1, 30 12:00 5 2, 30 12:02 1 1', 'CNT-5 and is summed into the one that is there');
SELECT is((SELECT concat_ws(' ', done, failed, dead, retried, duration) FROM x_jobs.counters('edge') WHERE done = 2), '2 4 6 8 00:00:02', 'CNT-5 with all that it counts');
SELECT pg_temp.at('2030-02-06 11:59:30+00') \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 2::bigint, 'CNT-1 five minutes are kept for 7 days: one moves on, and the last minute becomes five');
SELECT is(pg_temp.buckets('edge'), '30 11:00 60 1, 30 12:00 5 3', 'CNT-5 an hour holds what was five minutes');
SELECT pg_temp.at('2030-02-07 12:00:30+00') \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 1::bigint, 'CNT-5 after 8 days the rest moves');
SELECT is(pg_temp.buckets('edge'), '30 11:00 60 1, 30 12:00 60 3', 'CNT-5 to the hour');
SELECT pg_temp.at('2030-03-01 10:59:30+00') \g /dev/null
SELECT is(_x_jobs.roll_up_tiers() || ': ' || pg_temp.buckets('edge'), '0: 30 11:00 60 1, 30 12:00 60 3', 'CNT-1 an hour is kept for 30 days');
SELECT pg_temp.at('2030-03-01 11:00:30+00') \g /dev/null
SELECT count(_x_jobs.roll_up_tiers()) \g /dev/null
SELECT is(pg_temp.buckets('edge'), '30 12:00 60 3', 'CNT-5 past the last tier a bucket is dropped');
SELECT pg_temp.at('2030-03-01 12:00:30+00') \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 1::bigint, 'CNT-6 and counts as one');
SELECT is(pg_temp.buckets('edge'), NULL, 'CNT-5 until none is left');

-- Several tiers in one call.
SELECT pg_temp.at('2030-01-31 12:00:30+00') \g /dev/null
SELECT pg_temp.stored('cascade', '1 minute', '2030-01-23 10:17+00', 1) \g /dev/null
SELECT pg_temp.stored('cascade', '1 minute', '2030-01-23 10:18+00', 1) \g /dev/null
SELECT pg_temp.stored('cascade', '5 minutes', '2030-01-23 10:20+00', 1) \g /dev/null
SELECT pg_temp.stored('cascade', '1 hour', '2030-01-23 10:00+00', 1) \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 4::bigint, 'CNT-7 two minutes become one of five, and that and another an hour');
SELECT is(pg_temp.buckets('cascade'), '23 10:00 60 4', 'CNT-7 a bucket goes two tiers in one call');
SELECT is(_x_jobs.roll_up_tiers(), 0::bigint, 'CNT-6 and a second call answers 0');
SELECT pg_temp.stored('gone', '1 minute', '2029-12-01 10:17+00', 1) \g /dev/null
SELECT is(_x_jobs.roll_up_tiers(), 3::bigint, 'CNT-7 three for one that is past all of them');
SELECT is(pg_temp.buckets('gone'), NULL, 'CNT-7 which is dropped at once');
SELECT pg_temp.stored('cascade', '1 minute', '2030-01-23 10:17+00', 1) \g /dev/null
BEGIN;
SELECT count(_x_jobs.roll_up_tiers()) \g /dev/null
SELECT pg_temp.buckets('cascade') AS within \gset
ROLLBACK;
SELECT is(:'within' || '; ' || pg_temp.buckets('cascade'), '23 10:00 60 5; 23 10:00 60 4, 23 10:17 1 1', 'CNT-6 what is rolled back moved nothing');

-- In whichever time zone the caller lives, a bucket begins at whole minutes, fives and hours of UTC.
DELETE FROM _x_jobs.counters;
SET TIME ZONE 'Asia/Kathmandu';
INSERT INTO _x_jobs.tally_0 SELECT s, 1, 'd', 'q', 'zone' FROM unnest('{2030-01-31 11:59:59+00,2030-01-31 12:00:10+00}'::timestamptz[]) AS s;
SELECT is(pg_temp.buckets('zone'), '31 11:59 1 1, 31 12:00 1 1', 'CNT-1 minutes are those of UTC in any time zone');
SELECT count(_x_jobs.roll_up()) FROM generate_series(1, 3) \g /dev/null
SELECT is((SELECT count(*) FROM _x_jobs.tally) || ': ' || pg_temp.buckets('zone'), '0: 31 11:59 1 1, 31 12:00 1 1', 'CNT-1 also of what is rolled up');
SELECT pg_temp.at('2030-02-15 12:00:00+00') \g /dev/null
SELECT count(_x_jobs.roll_up_tiers()) \g /dev/null
SELECT is(pg_temp.buckets('zone'), '31 11:00 60 1, 31 12:00 60 1', 'CNT-1 hours as well');
RESET TIME ZONE;
DELETE FROM _x_jobs.counters;

-- A month and a half of a job that ends every minute, rolled up twice a day.
CREATE TEMP TABLE month (step integer, rows bigint, counted numeric, expected bigint, too_old bigint);
DO $$
DECLARE
    first timestamptz := '2030-01-01 00:00+00';
    instant timestamptz;
    settled bigint := 0;
BEGIN
    FOR step IN 1 .. 90 LOOP
        instant := first + step * interval '12 hours';
        PERFORM pg_temp.at(instant);
        INSERT INTO _x_jobs.tally_0 SELECT instant - n * interval '1 minute', 1, 'd', 'q', 'month' FROM generate_series(1, 720) AS n;
        COMMIT;
        PERFORM x_jobs.maintain();
        COMMIT;
        INSERT INTO month
             SELECT step, count(*), sum(done), step * 720,
                    count(*) FILTER (WHERE c.bucket_start < instant - interval '721 hours')
               FROM x_jobs.counters('month') AS c;
        COMMIT;
    END LOOP;
END $$;
SELECT cmp_ok((SELECT max(rows) FROM month), '<=', 4176::bigint + 3 * 720, 'CNT-1 (never more rows than that, those still in the tallies included)');
SELECT is_empty('SELECT * FROM month WHERE step <= 59 AND counted <> expected', 'CNT-5 X-9 through all the moves of 30 days nothing is lost or doubled');
SELECT is_empty('SELECT * FROM month WHERE too_old > 0', 'CNT-1 what is older than 30 days is gone');
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT count(*) FROM x_jobs.maintain() \g /dev/null
SELECT cmp_ok((SELECT count(*) FROM _x_jobs.counters WHERE name = 'month'), '<=', 4176::bigint, 'CNT-1 at most 4,176 rows for one job');
SELECT is((SELECT done FROM x_jobs.counter_totals() WHERE name = 'month'), (SELECT sum(done)::bigint FROM _x_jobs.counters WHERE name = 'month'), 'CNT-4 the totals are their sum');
SELECT cmp_ok((SELECT done FROM x_jobs.counter_totals() WHERE name = 'month'), '>=', 30 * 1440::bigint - 60, 'CNT-1 of the last 30 days');
SELECT cmp_ok((SELECT done FROM x_jobs.counter_totals() WHERE name = 'month'), '<=', 30 * 1440::bigint, 'CNT-1 and of no more');
RESET x_jobs.test_clock_offset;

SELECT * FROM finish();
