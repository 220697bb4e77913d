-- If this failed, people would not see which workers there are, or would see ghosts.
SELECT plan(27);

CREATE FUNCTION pg_temp.ids(several text) RETURNS uuid[] LANGUAGE sql AS $$
    SELECT array_agg(('01890000-0000-7000-8000-' || lpad(n, 12, '0'))::uuid ORDER BY place) FROM regexp_split_to_table(several, ' ') WITH ORDINALITY AS s (n, place)
$$;
CREATE FUNCTION pg_temp.in_flight(of text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(ltrim(right(id::text, 12), '0'), ' ' ORDER BY place) FROM x_jobs.workers() AS w, unnest(w.in_flight) WITH ORDINALITY AS h (id, place)
     WHERE w.worker_id = of
$$;
CREATE FUNCTION pg_temp.listed() RETURNS text LANGUAGE sql AS $$
    SELECT COALESCE(string_agg(worker_id, ' ' ORDER BY place), 'nobody')
      FROM x_jobs.workers() WITH ORDINALITY AS w (worker_id, host, queues, slots, in_flight, started_at, heartbeat_at, expires_at, place)
$$;

-- Announcing.
SELECT is(pg_temp.listed(), 'nobody', 'REG-3 nobody is listed who has not announced');
SELECT x_jobs.worker_announce('one', 'host-a', '{mail,default}', 4, pg_temp.ids('3 1 2'), '1 min') \g /dev/null
SELECT is((SELECT concat_ws(' ', worker_id, host, queues, slots, started_at = heartbeat_at, expires_at - heartbeat_at) FROM x_jobs.workers()),
          'one host-a {mail,default} 4 t 00:01:00', 'REG-1 an announcement holds host, queues and slots, the heartbeat now and the expiry ttl later');
SELECT is(pg_temp.in_flight('one'), '3 1 2', 'REG-1 and the ids in flight, in the order given');
SELECT started_at AS first_start FROM x_jobs.workers() \gset
SET x_jobs.test_clock_offset = '20s';
SELECT x_jobs.worker_announce('one', 'host-b', '{}', 0, NULL, '2 min') \g /dev/null
SELECT is((SELECT concat_ws(' ', worker_id, host, queues, slots, in_flight, expires_at - heartbeat_at) FROM x_jobs.workers()), 'one host-b {} 0 {} 00:02:00',
          'REG-1 a second announcement replaces all of it');
SELECT is((SELECT started_at FROM x_jobs.workers()), :'first_start', 'REG-1 but the start is the first announcement''s');
SELECT ok((SELECT heartbeat_at >= started_at + interval '20 s' FROM x_jobs.workers()), 'REG-1 the heartbeat is the last one''s');
SET x_jobs.test_clock_offset = '1h';
SELECT x_jobs.worker_announce('one') \g /dev/null
SELECT is((SELECT started_at FROM x_jobs.workers()), :'first_start', 'REG-1 also if it had lapsed and was not removed yet');
SELECT is((SELECT expires_at - heartbeat_at FROM x_jobs.workers()), interval '30 s', 'REG-4 ttl is by default the visibility timeout of a claim');
RESET x_jobs.test_clock_offset;
SELECT is((SELECT count(*) FROM _x_jobs.workers), 1::bigint, 'REG-1 one row for each id');

-- Ids in flight.
SELECT x_jobs.worker_announce('many', in_flight => pg_temp.ids((SELECT string_agg(n::text, ' ' ORDER BY n DESC) FROM generate_series(1, 101) AS n))) \g /dev/null
SELECT is(pg_temp.in_flight('many'), (SELECT string_agg(n::text, ' ' ORDER BY n DESC) FROM generate_series(2, 101) AS n), 'REG-2 of 101 ids the first 100 are kept');
SELECT x_jobs.worker_announce('many', in_flight => pg_temp.ids('5 7 5 5 3 7 9')) \g /dev/null
SELECT is(pg_temp.in_flight('many'), '5 7 3 9', 'REG-2 an id that is there twice is kept once, at its first place');
SELECT x_jobs.worker_announce('many', in_flight => pg_temp.ids((SELECT string_agg((n / 2)::text, ' ' ORDER BY n) FROM generate_series(2, 203) AS n))) \g /dev/null
SELECT is(pg_temp.in_flight('many'), (SELECT string_agg(n::text, ' ' ORDER BY n) FROM generate_series(1, 100) AS n), 'REG-2 and takes no other''s place');
SELECT x_jobs.worker_announce('many', in_flight => ARRAY[NULL, '01890000-0000-7000-8000-000000000001', NULL]::uuid[]) \g /dev/null
SELECT is(pg_temp.in_flight('many'), '1', 'REG-2 what is no id is left out');

-- Listing.
UPDATE _x_jobs.workers SET expires_at = 'infinity', started_at = CASE worker_id WHEN 'one' THEN '2001-01-02'::timestamptz ELSE '2001-01-01' END;
SELECT x_jobs.worker_announce(w, ttl => '1 h') FROM unnest(ARRAY['émile', 'Zeta', '_x', 'alpha']) AS w \g /dev/null
UPDATE _x_jobs.workers SET started_at = '2001-01-03' WHERE worker_id NOT IN ('one', 'many');
SELECT is(pg_temp.listed(), 'many one Zeta _x alpha émile', 'REG-3 oldest start first, then by id in code units');
SELECT x_jobs.worker_announce('brief', ttl => '0') \g /dev/null
SELECT is(pg_temp.listed(), 'many one Zeta _x alpha émile', 'REG-3 one that has expired is not listed');
SET x_jobs.test_clock_offset = '2h';
SELECT is(pg_temp.listed(), 'many one', 'REG-3 nor are those that expire later, once they have');
SELECT is((SELECT count(*) FROM _x_jobs.workers), 7::bigint, 'REG-3 a listing removes nothing');
SELECT is((SELECT affected FROM x_jobs.maintain() WHERE task = 'forget_lapsed_workers'), 5::bigint, 'REG-3 upkeep removes the lapsed ones');
SELECT is((SELECT string_agg(worker_id, ' ' ORDER BY worker_id) FROM _x_jobs.workers), 'many one', 'REG-3 and no other');
RESET x_jobs.test_clock_offset;
SELECT x_jobs.worker_forget('many') \g /dev/null
SELECT is((SELECT string_agg(worker_id, ' ') FROM _x_jobs.workers), 'one', 'REG-4 forget deletes at once, only the one');

-- Arguments. Servers before 17 have no infinite interval, and refuse it themselves.
CREATE FUNCTION pg_temp.refused(ttl text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT x_jobs.worker_announce(''one'', ttl => %L)', ttl);
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    RETURN CASE WHEN SQLSTATE IN ('XJ001', '22007') THEN 'refused' ELSE SQLSTATE END;
END $$;
SELECT is(pg_temp.refused(ttl), 'refused', 'REG-5 a ttl of ' || ttl || ' is refused') FROM unnest(ARRAY['infinity', '-infinity', '178000000 years', '-1 us']) AS ttl;
SELECT x_jobs.worker_announce('month', ttl => '1 month') \g /dev/null
SELECT is((SELECT extract(epoch FROM expires_at - heartbeat_at)::bigint FROM _x_jobs.workers WHERE worker_id = 'month'), 30 * 86400::bigint, 'REG-5 a month is 30 days in every month');

-- The registry is for people: nothing else depends on it.
SELECT x_jobs.enqueue('work', queue => 'registry', dedupe => false) \g /dev/null
SELECT pg_temp.refused('-1 us') AS announced \gset
SELECT id, claim FROM x_jobs.claim('{registry}', 'unannounced') \gset
SELECT pg_temp.refused('-1 us') AS announced \gset
SELECT is(:'announced' || ' ' || x_jobs.heartbeat(:'id', 'unannounced', :claim) || ' ' || x_jobs.ack(:'id', 'unannounced', :claim), 'refused true true',
          'REG-6 a worker whose announcement fails claims, renews and settles all the same');
SELECT is((SELECT count(*) FROM x_jobs.workers() WHERE worker_id = 'unannounced'), 0::bigint, 'REG-6 (it has never been listed)');

SELECT * FROM finish();
