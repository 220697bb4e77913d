-- If this failed, two schedulers would lead at once, or none.
SELECT plan(45);

-- What acquire answers for key k, with the clock shifted.
CREATE FUNCTION pg_temp.acquired(who text, ttl interval DEFAULT '30 s', shift text DEFAULT '0', key text DEFAULT 'k') RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    answer boolean;
BEGIN
    PERFORM set_config('x_jobs.test_clock_offset', shift, false);
    answer := x_jobs.leader_acquire(key, who, ttl);
    PERFORM set_config('x_jobs.test_clock_offset', '0', false);
    RETURN answer;
END $$;
-- Who leads, with the clock shifted.
CREATE FUNCTION pg_temp.leads(shift text DEFAULT '0', key text DEFAULT 'k') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    PERFORM set_config('x_jobs.test_clock_offset', shift, false);
    answer := COALESCE((x_jobs.leader(key)).holder, 'nobody');
    PERFORM set_config('x_jobs.test_clock_offset', '0', false);
    RETURN answer;
END $$;
CREATE FUNCTION pg_temp.refused(statement text, argument text, named text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
BEGIN
    EXECUTE statement;
    RETURN fail(named);
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN ok(SQLSTATE = 'XJ001' AND starts_with(detail, 'X_INVARIANT: ' || argument || ' '), named);
END $$;

-- Winning, renewing, being refused.
SELECT is(pg_temp.leads(), 'nobody', 'LEAD-5 nobody leads before the first acquire');
SELECT ok(pg_temp.acquired('a'), 'LEAD-1 an unheld key is won');
SELECT is(pg_temp.leads(), 'a', 'LEAD-5 the leader is answered');
SELECT is((SELECT concat_ws(' ', key, acquired_at = renewed_at, expires_at - renewed_at) FROM x_jobs.leader('k')), 'k t 00:00:30', 'LEAD-1 since now, for ttl');
SELECT ok(NOT pg_temp.acquired('b'), 'LEAD-1 another is refused');
SELECT is(pg_temp.leads(), 'a', 'LEAD-1 and has changed nothing');
SELECT acquired_at, renewed_at, expires_at FROM x_jobs.leader('k') \gset
SELECT ok(NOT pg_temp.acquired('b', shift => '10s'), 'LEAD-1 as long as the lease holds');
SELECT is((SELECT expires_at FROM _x_jobs.leaders WHERE lock_key = 'k'), :'expires_at', 'LEAD-1 a refusal shortens and lengthens nothing');
SELECT ok(pg_temp.acquired('a', '40 s', shift => '10s'), 'LEAD-2 acquire doubles as renewal');
SELECT is((SELECT acquired_at FROM _x_jobs.leaders WHERE lock_key = 'k'), :'acquired_at', 'LEAD-2 the instant of the first acquire stays');
SELECT ok((SELECT renewed_at > :'renewed_at' AND expires_at - renewed_at = '40 s' FROM _x_jobs.leaders WHERE lock_key = 'k'), 'LEAD-2 the lease is that of the last');
SELECT ok(NOT pg_temp.acquired('b', shift => '45s'), 'LEAD-2 which counts from the renewal on');
SELECT is(pg_temp.leads('45s'), 'a', 'LEAD-2 (the renewed lease)');
SELECT is(pg_temp.leads('60s'), 'nobody', 'LEAD-5 an expired row leads nobody');
SELECT is((SELECT count(*) FROM _x_jobs.leaders WHERE lock_key = 'k'), 1::bigint, 'LEAD-5 although it is there');
SELECT ok(x_jobs.leader('unknown') IS NULL, 'LEAD-5 nor does a missing one');
SELECT ok(pg_temp.acquired('a', '2 s'), 'LEAD-2 a renewal may shorten');
SELECT is(pg_temp.leads('10s'), 'nobody', 'LEAD-2 at its word');

-- Taking over.
SELECT ok(pg_temp.acquired('b', shift => '10s'), 'LEAD-1 an expired one is taken over');
SELECT is(pg_temp.leads('10s'), 'b', 'LEAD-1 by whoever asks next');
SELECT ok((SELECT acquired_at = renewed_at AND acquired_at > :'acquired_at' FROM _x_jobs.leaders WHERE lock_key = 'k'), 'LEAD-1 who leads from then on');
SELECT ok(NOT pg_temp.acquired('a', shift => '11s'), 'LEAD-1 and the one before is refused');
SELECT ok(pg_temp.acquired('b', shift => '60s'), 'LEAD-1 an expired one can be had again by its holder');
SELECT ok((SELECT acquired_at = renewed_at FROM _x_jobs.leaders WHERE lock_key = 'k'), 'LEAD-1 who leads anew, since others may have been asked in between');
SELECT ok(pg_temp.acquired('z', '0', key => 'zero'), 'LEAD-1 a ttl of 0 is legal');
SELECT is(pg_temp.leads(key => 'zero'), 'nobody', 'LEAD-5 and expires at once');
UPDATE _x_jobs.leaders SET expires_at = _x_jobs.clock() WHERE lock_key = 'zero';
SELECT ok(pg_temp.acquired('y', '0', key => 'zero'), 'LEAD-1 expiry at or before now is expired');
SELECT ok(pg_temp.acquired('a', key => 'K') AND pg_temp.acquired('b', key => 'k '), 'LEAD-1 keys are exact, and do not touch each other');

-- Giving back.
SELECT ok(NOT x_jobs.leader_release('k', 'a'), 'LEAD-3 a release by another is a no-op');
SELECT ok(NOT x_jobs.leader_release('unknown', 'b'), 'LEAD-3 and so is one of a key that nobody has');
SELECT is((SELECT holder FROM _x_jobs.leaders WHERE lock_key = 'k'), 'b', 'LEAD-3 the row is as it was');
SELECT ok(x_jobs.leader_release('k', 'b'), 'LEAD-3 the holder''s own row is deleted');
SELECT is(pg_temp.leads() || ' ' || (SELECT count(*) FROM _x_jobs.leaders WHERE lock_key = 'k'), 'nobody 0', 'LEAD-3 at once');
SELECT ok(NOT x_jobs.leader_release('k', 'b'), 'LEAD-3 a second release finds none');
SELECT ok(pg_temp.acquired('a'), 'LEAD-3 and the next wins');

-- Defaults.
SELECT ok(x_jobs.leader_acquire(holder => 'process 1'), 'LEAD-4 only the holder has to be named');
SELECT is((SELECT concat_ws(' ', key, holder, expires_at - renewed_at) FROM x_jobs.leader()), 'scheduler process 1 00:00:30', 'LEAD-4 the key is scheduler, the ttl 30 s');
SELECT pg_temp.refused('SELECT x_jobs.leader_acquire()', 'holder', 'LEAD-4 there is no default holder: each process has its own');

-- Arguments.
SELECT pg_temp.refused(format('SELECT x_jobs.leader_acquire(holder => ''x'', ttl => %s)', ttl), 'ttl', 'LEAD-1 ROW-18 ttl ' || ttl || ' is refused')
  FROM unnest(ARRAY['NULL', '''-1 us''', '''1 day 1 us''', '''1 month''', '''178000000 years''']) AS ttl;
SELECT ok(x_jobs.leader_acquire('day', 'x', '1 day'), 'LEAD-1 a day is legal');
SET TIME ZONE 'Europe/Berlin';
SET x_jobs.test_clock_offset = '0';
SELECT is((SELECT extract(epoch FROM expires_at - renewed_at)::integer FROM _x_jobs.leaders WHERE lock_key = 'day'), 86400, 'LEAD-1 of 24 hours');
RESET TIME ZONE;

SELECT * FROM finish();
