-- If this failed, a task would miss an occurrence, or fire one twice, somewhere in two years of turns taken as a scheduler takes
-- them: with changes of clocks, and with a clock that now and then jumps over a few days.
SELECT plan(9);
SET client_min_messages = warning;

CREATE FUNCTION pg_temp.at(instant timestamptz) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('x_jobs.test_clock_offset', (extract(epoch FROM instant - clock_timestamp()) * 1000)::text || 'ms', false)
$$;
SELECT pg_temp.at('2027-01-01 00:00:30Z') \gset
CREATE TEMPORARY TABLE years (task text, cron text, zone text);
INSERT INTO years VALUES
    ('daily in a gap', '30 2 * * *', 'America/New_York'), ('hourly', '0 */3 * * *', 'Australia/Lord_Howe'), ('office', '15 9-16/2 * * mon-fri', 'Europe/Berlin'),
    ('two in a gap', '0,30 2,3 * * *', 'Europe/Berlin'), ('last day', '0 0 L * *', 'UTC'), ('leap day', '0 0 29 2 *', 'UTC'), ('interval', '@every 7h30m', 'UTC'),
    ('working day', '0 6 15W,LW * fri#2', 'Africa/Cairo');
SELECT count(x_jobs.schedule(task, cron, zone, '{"name":"y"}', catch_up => 'all', max_catch_up => 100, overlap => 'allow')) AS made FROM years \gset

-- The clock goes from one instant that is due to the next; every hundredth time it jumps three days.
CREATE PROCEDURE pg_temp.live_until(finish timestamptz, INOUT rounds integer) LANGUAGE plpgsql AS $$
DECLARE
    instant timestamptz;
    due record;
BEGIN
    LOOP
        FOR due IN SELECT * FROM _x_jobs.due_tasks() LOOP
            WHILE _x_jobs.task_turn(due.task) LOOP
            END LOOP;
        END LOOP;
        instant := _x_jobs.next_task_at();
        EXIT WHEN instant >= finish OR rounds > 100000;
        rounds := rounds + 1;
        PERFORM pg_temp.at(greatest(instant, _x_jobs.clock()) + CASE WHEN rounds % 100 = 0 THEN interval '3 days' ELSE interval '5 ms' END);
        DELETE FROM _x_jobs.jobs;
        -- A transaction for each round, as in life: rows that are dead can go.
        COMMIT;
    END LOOP;
END $$;
SET synchronous_commit = off;
CALL pg_temp.live_until('2029-01-01Z', 0) \gset
SELECT cmp_ok(:rounds, '>', 4000, 'two years of rounds');
SELECT is((SELECT array_agg(l.occurrence ORDER BY l.occurrence) FROM _x_jobs.task_log l WHERE l.task = y.task AND l.outcome = 'fired' AND l.occurrence < '2029-01-01Z'),
          (SELECT array_agg(n ORDER BY n) FROM x_jobs.cron_next(y.cron, y.zone, '2027-01-01 00:00:30Z', 10000) n WHERE n < '2029-01-01Z'),
          'SCHED-6 CRON-7 C-015 each occurrence of two years fired once, in order: ' || y.task)
  FROM years y ORDER BY y.task;
SELECT * FROM finish();
