-- If this failed, tasks whose jobs take longer than their interval would get in the way of the others: at a limit of one job at
-- a time some would never run, and with room for all of them the short one would follow the pace of the slowest. Workers and
-- scheduler are played here, under a clock that the test sets: a job lasts as long as its name says.
SELECT plan(20);
SET client_min_messages = warning;
SET synchronous_commit = off;

CREATE FUNCTION pg_temp.at(instant timestamptz) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('x_jobs.test_clock_offset', (extract(epoch FROM instant - clock_timestamp()) * 1000)::text || 'ms', false)
$$;
-- The workers there are, each with the job that it works on; and all runs that were begun.
CREATE TEMPORARY TABLE workers (worker text, job uuid, claim bigint, ends timestamptz);
CREATE TEMPORARY TABLE runs (place bigserial, job uuid, task text, occurrence timestamptz, begun timestamptz, attempt integer);

-- Lets the time go by in steps of five seconds, each a transaction: what has ended is acknowledged, what is due is fired, who is
-- free takes a job. The worker of the run with the number `dies` is not heard of again, and another one takes its place.
CREATE PROCEDURE pg_temp.live(start timestamptz, span interval, dies integer) LANGUAGE plpgsql AS $$
DECLARE
    instant timestamptz := start;
    due record;
    worker record;
    got record;
BEGIN
    WHILE instant < start + span LOOP
        PERFORM pg_temp.at(instant + interval '100 ms');
        FOR worker IN SELECT * FROM workers w WHERE w.ends <= instant LOOP
            IF NOT x_jobs.ack(worker.job, worker.worker, worker.claim) THEN
                RAISE EXCEPTION 'the job of % was lost', worker.worker;
            END IF;
            UPDATE workers w SET job = NULL, ends = NULL WHERE w.worker = worker.worker;
        END LOOP;
        FOR due IN SELECT * FROM _x_jobs.due_tasks() LOOP
            WHILE _x_jobs.task_turn(due.task) LOOP
            END LOOP;
        END LOOP;
        FOR worker IN SELECT * FROM workers w WHERE w.job IS NULL ORDER BY w.worker LOOP
            SELECT * INTO got FROM x_jobs.claim('{pace}', worker.worker, 1, visibility_timeout => '400 s');
            CONTINUE WHEN NOT FOUND;
            INSERT INTO runs (job, task, occurrence, begun, attempt) VALUES (got.id, got.name, got.run_at, instant, got.attempt);
            IF currval(pg_get_serial_sequence('runs', 'place')) = dies THEN
                UPDATE workers w SET worker = w.worker || ', another' WHERE w.worker = worker.worker;
            ELSE
                UPDATE workers w SET job = got.id, claim = got.claim, ends = instant + interval '1 s' * got.name::integer WHERE w.worker = worker.worker;
            END IF;
        END LOOP;
        COMMIT;
        instant := instant + interval '5 s';
    END LOOP;
END $$;

-- Begins anew, with so many workers.
CREATE FUNCTION pg_temp.begin(start timestamptz, workers integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM _x_jobs.jobs;
    TRUNCATE workers;
    TRUNCATE runs RESTART IDENTITY;
    PERFORM pg_temp.at(start - interval '5 s');
    PERFORM x_jobs.unschedule(t.task) FROM x_jobs.tasks t;
    INSERT INTO workers SELECT 'worker ' || n FROM generate_series(1, workers) n;
    PERFORM x_jobs.schedule(name, '* * * * *', entries => jsonb_build_object('name', name, 'queue', 'pace')) FROM unnest(ARRAY['025', '055', '085', '300']) AS name;
END $$;
CREATE FUNCTION pg_temp.outcomes(task text, outcome text) RETURNS bigint LANGUAGE sql AS $$
    SELECT COALESCE(sum(h.slots), 0)::bigint FROM x_jobs.task_history(task, 1000) h WHERE h.outcome = $2
$$;

-- One at a time, for two hours: each of the four once takes 465 seconds.
SELECT pg_temp.begin('2027-05-01 12:00Z', 1) \g /dev/null
CALL pg_temp.live('2027-05-01 12:00Z', '2 hours', 0);
SELECT cmp_ok((SELECT count(*) FROM runs), '>=', 60::bigint, 'C-044 at a limit of one, the worker is busy all the time');
SELECT is((SELECT count(*) FROM (SELECT task = lag(task) OVER (ORDER BY place) AS again, occurrence < lag(occurrence) OVER (ORDER BY place) AS overtaken FROM runs) r WHERE again OR overtaken), 0::bigint,
    'C-044 at a limit of one, the jobs alternate for ever: none runs twice in a row, none is overtaken by a later one');
SELECT is((SELECT count(*) FROM runs WHERE begun - occurrence > interval '465 s' - interval '1 s' * task::integer), 0::bigint, 'C-044 each waits for one run of each of the others at most');
SELECT is((SELECT count(DISTINCT task) FROM runs WHERE begun > '2027-05-01 13:52Z'), 4::bigint, 'C-044 in the last minutes as in the first');
SELECT is((SELECT count(*) FROM runs WHERE attempt <> 1), 0::bigint, 'C-044 none of them was begun twice');
SELECT is(pg_temp.outcomes(task, 'fired') + pg_temp.outcomes(task, 'skipped') + pg_temp.outcomes(task, 'missed'), 120::bigint, 'C-044 SCHED-7 every minute is accounted for: ' || task)
  FROM unnest(ARRAY['025', '055', '085', '300']) AS task;
SELECT is((SELECT max(n) FROM (SELECT count(*) AS n FROM x_jobs.all_jobs WHERE queue = 'pace' AND state IN ('ready', 'running') GROUP BY name) live), 1::bigint, 'X-18 C-044 of each there is one that waits or runs, and no heap of them');

-- Four at a time.
SELECT pg_temp.begin('2027-05-02 12:00Z', 4) \g /dev/null
CALL pg_temp.live('2027-05-02 12:00Z', '15 minutes', 0);
SELECT is((SELECT array_agg(begun ORDER BY place) FROM runs WHERE task = '025'), (SELECT array_agg(m) FROM generate_series('2027-05-02 12:00Z'::timestamptz, '2027-05-02 12:14Z', '1 minute') m),
    'C-044 at a limit of four, the job of 25 seconds runs each minute, at its minute');
SELECT is((SELECT array_agg(begun ORDER BY place) FROM runs WHERE task = '055'), (SELECT array_agg(m) FROM generate_series('2027-05-02 12:00Z'::timestamptz, '2027-05-02 12:14Z', '1 minute') m),
    'C-044 that of 55 seconds too');
SELECT is((SELECT array_agg(begun ORDER BY place) FROM runs WHERE task = '085'), (SELECT array_agg(m) FROM generate_series('2027-05-02 12:00Z'::timestamptz, '2027-05-02 12:14Z', '2 minutes') m),
    'C-044 that of 85 seconds each second minute');
SELECT is((SELECT array_agg(begun ORDER BY place) FROM runs WHERE task = '300'), (SELECT array_agg(m) FROM generate_series('2027-05-02 12:00Z'::timestamptz, '2027-05-02 12:14Z', '5 minutes') m),
    'C-044 and that of five minutes each fifth');
SELECT is((SELECT pg_temp.outcomes('025', 'fired') || ' ' || pg_temp.outcomes('025', 'skipped')), '15 0', 'C-044 of the short one, none was skipped');

-- One at a time, and the worker dies in the middle of the third job: its lease lapses, the limit does not wait for it.
SELECT pg_temp.begin('2027-05-03 12:00Z', 1) \g /dev/null
CALL pg_temp.live('2027-05-03 12:00Z', '1 hour', 3);
SELECT is((SELECT string_agg(task, ' ' ORDER BY place) FROM runs WHERE place <= 4), '025 055 085 300', 'C-044 after a worker has died the next one goes on with the next job at once');
SELECT is((SELECT begun FROM runs WHERE place = 4) - (SELECT begun FROM runs WHERE place = 3), interval '5 s', 'C-044 without waiting for its lease');
SELECT is((SELECT string_agg(attempt::text, ' ' ORDER BY place) FROM runs r WHERE r.job = (SELECT job FROM runs WHERE place = 3)), '1 2', 'C-044 its job is begun once more');
SELECT is((SELECT state FROM x_jobs.all_jobs WHERE id = (SELECT job FROM runs WHERE place = 3)), 'done', 'C-044 and comes to its end');
SELECT is((SELECT count(*) FROM runs WHERE attempt > 1), 1::bigint, 'C-044 no other one is');
SELECT x_jobs.unschedule(task) FROM x_jobs.tasks \g /dev/null
SELECT * FROM finish();
