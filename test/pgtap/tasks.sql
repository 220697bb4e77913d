-- If these failed, a task would fire what it must not, miss what it owes, or fire an occurrence twice. The turns of the
-- scheduler are taken here by hand, under a clock that the test sets.
SELECT plan(126);

CREATE FUNCTION pg_temp.at(instant timestamptz) RETURNS void LANGUAGE sql AS $$
    SELECT set_config('x_jobs.test_clock_offset', (extract(epoch FROM instant - clock_timestamp()) * 1000)::text || 'ms', false)
$$;
-- Turns until nothing is due, as the rounds of a scheduler take them; how many there were.
CREATE FUNCTION pg_temp.turns(task text, most integer DEFAULT 100) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    n integer := 0;
BEGIN
    WHILE n < most AND _x_jobs.task_turn($1) LOOP
        n := n + 1;
    END LOOP;
    RETURN n;
END $$;
CREATE FUNCTION pg_temp.fired(task text) RETURNS SETOF timestamptz LANGUAGE sql AS $$
    SELECT l.occurrence FROM _x_jobs.task_log l WHERE l.task = $1 AND l.outcome = 'fired' ORDER BY 1
$$;
CREATE FUNCTION pg_temp.runs(task text) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM x_jobs.all_jobs j WHERE j.idempotency_key LIKE $1 || ':%'
$$;
CREATE FUNCTION pg_temp.outcomes(task text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(l.outcome || ' ' || to_char(l.occurrence AT TIME ZONE 'UTC', 'HH24:MI:SS') || CASE WHEN l.slots > 1 THEN ' x' || l.slots ELSE '' END, ', '
                      ORDER BY l.occurrence, l.decided_at)
      FROM _x_jobs.task_log l WHERE l.task = $1
$$;
-- Puts a task back to a watermark, as if it had been dealt with up to there.
CREATE FUNCTION pg_temp.watermark(task text, mark timestamptz) RETURNS void LANGUAGE sql AS $$
    UPDATE _x_jobs.task_states SET watermark = mark, next_at = NULL, moved_at = NULL WHERE task_states.task = $1
$$;

SELECT pg_temp.at('2027-03-01 12:00:30Z');

-- Arming.
SELECT is(x_jobs.schedule('armed', '0 * * * *', entries => '{"name":"a"}'), '2027-03-01 13:00Z', 'SCHED-1 a task is made of name, cron, zone, catch-up and entries, and says when it is due next');
SELECT is(x_jobs.watermark_get('armed'), '2027-03-01 12:59:59.999Z', 'SCHED-2 a task first seen is armed just before its next occurrence');
SELECT is(pg_temp.turns('armed'), 0, 'SCHED-2 history never fires');
SELECT is((SELECT (catch_up, max_catch_up, overlap, day_rule, time_zone)::text FROM x_jobs.tasks WHERE task = 'armed'), '(latest,10,skip,or,UTC)', 'SCHED-1 X-18 the defaults of a task');
SELECT pg_temp.at('2027-03-01 12:59:59.5Z');
SELECT is(pg_temp.turns('armed'), 0, 'SCHED-3 nothing is due before the occurrence');
SELECT pg_temp.at('2027-03-01 13:00:00.1Z');
SELECT is(pg_temp.turns('armed'), 1, 'SCHED-3 the occurrence is due at its instant');
SELECT results_eq($$SELECT * FROM pg_temp.fired('armed')$$, $$VALUES ('2027-03-01 13:00Z'::timestamptz)$$, 'SCHED-3 it fires once');
SELECT is((SELECT next_at FROM _x_jobs.task_states WHERE task = 'armed'), '2027-03-01 14:00Z', 'SCHED-22 the next due instant is known to the scheduler');
SELECT is((SELECT (idempotency_key, run_at, state, tenant_id, traceparent, enqueued_by)::text FROM x_jobs.all_jobs WHERE name = 'a'),
    ROW('armed:' || extract(epoch FROM timestamptz '2027-03-01 13:00Z')::bigint * 1000 || ':1', timestamptz '2027-03-01 13:00Z', 'ready', NULL, NULL, NULL)::text,
    'SCHED-11 SCHED-29 ENQ-27 a fired job has the occurrence in its key and as its run_at, is ready, and has no tenant, trace or asker');

-- Catching up.
CREATE FUNCTION pg_temp.missed(task text, catch_up text, max_catch_up integer DEFAULT 10) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_temp.at('2027-03-02 06:00:30Z');
    PERFORM x_jobs.schedule($1, '*/10 * * * *', entries => '{"name":"m"}', catch_up => $2, max_catch_up => $3, overlap => 'allow');
    PERFORM pg_temp.watermark($1, '2027-03-02 06:00Z');
    PERFORM pg_temp.at('2027-03-02 07:05:00Z');
END $$;
SELECT pg_temp.missed('latest', 'latest', 2);
SELECT pg_temp.turns('latest');
SELECT is(pg_temp.outcomes('latest'), 'missed 06:10:00 x5, fired 07:00:00', 'SCHED-4 X-18 latest fires the true latest missed occurrence, unbounded by max_catch_up, and records the others as missed');
SELECT is(x_jobs.watermark_get('latest'), '2027-03-02 07:00Z', 'SCHED-4 the watermark lands on it');
SELECT pg_temp.missed('alias', 'skip');
SELECT is((SELECT catch_up FROM x_jobs.tasks WHERE task = 'alias'), 'latest', 'X-18 skip is another word for latest');
SELECT pg_temp.missed('earliest', 'run-once');
SELECT pg_temp.turns('earliest');
SELECT is(pg_temp.outcomes('earliest'), 'fired 06:10:00, missed 06:20:00 x5', 'SCHED-5 X-18 earliest fires the earliest missed occurrence once, and drops the rest');
SELECT ok(x_jobs.watermark_get('earliest') BETWEEN '2027-03-02 07:05:00Z' AND _x_jobs.clock(), 'SCHED-5 the watermark moves to the round''s now');
SELECT pg_temp.missed('all', 'run-all', 4);
SELECT is(pg_temp.turns('all', 4), 4, 'SCHED-6 all fires up to max_catch_up in a round');
SELECT is(pg_temp.outcomes('all'), 'fired 06:10:00, fired 06:20:00, fired 06:30:00, fired 06:40:00', 'SCHED-6 X-18 all fires each, oldest first');
SELECT pg_temp.turns('all', 4);
SELECT is(pg_temp.outcomes('all'), 'fired 06:10:00, fired 06:20:00, fired 06:30:00, fired 06:40:00, fired 06:50:00, fired 07:00:00', 'SCHED-6 the next round goes on');
SELECT pg_temp.missed('none', 'none');
SELECT pg_temp.turns('none');
SELECT is(pg_temp.outcomes('none'), 'missed 06:10:00 x6', 'X-18 C-022 none fires nothing missed, and records it');
SELECT is(pg_temp.runs('none'), 0::bigint, 'X-18 C-022 none makes no job of what was missed');
SELECT pg_temp.at('2027-03-02 07:10:01Z');
SELECT pg_temp.turns('none');
SELECT is(pg_temp.outcomes('none'), 'missed 06:10:00 x6, fired 07:10:00', 'X-18 none fires what is on time');
SELECT is((SELECT input FROM x_jobs.all_jobs WHERE idempotency_key LIKE 'latest:%'), 'null', 'SCHED-29 entries without an input have the JSON null');

-- Entries.
SELECT pg_temp.at('2027-03-13 12:00Z');
SELECT x_jobs.schedule('input', '30 2 * * *', 'America/New_York', '[{"name":"one","input":{"at":"{{occurrence}}","here":["{{local_time}}","{{local_date}}"]},"idempotency_key":"k","queue":"q1","priority":2,"max_attempts":7,"tags":["t"]},{"name":"two","idempotency_key":"k"}]');
SELECT pg_temp.at('2027-03-14 09:00Z');
SELECT pg_temp.turns('input');
SELECT is((SELECT input FROM x_jobs.all_jobs WHERE name = 'one'), '{"at": "2027-03-14T07:30:00Z", "here": ["2027-03-14T03:30:00", "2027-03-14"]}', 'SCHED-30 inputs are built for the occurrence, not for the time of the late dispatch');
SELECT is((SELECT moved FROM x_jobs.task_history('input')), interval '1 hour', 'C-011 the record says that the occurrence was moved by the gap');
SELECT is((SELECT (queue, priority, max_attempts, tags)::text FROM x_jobs.all_jobs WHERE name = 'one'), '(q1,2,7,{t})', 'SCHED-1 an entry says queue, priority, attempts and tags');
SELECT is((SELECT count(DISTINCT id) FROM x_jobs.all_jobs WHERE name IN ('one', 'two') AND idempotency_key LIKE 'input:%:k'), 2::bigint, 'SCHED-12 two jobs of one occurrence that share a key get ids of their own');
CREATE FUNCTION public.entries_of_test(occurrence timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT (jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', 'made', 'idempotency_key', n, 'input', to_jsonb(occurrence),
            'tenant_id', 'acme', 'traceparent', 't', 'enqueued_by', 'me', 'run_at', '2030-01-01Z', 'dedupe', false, 'id', x_jobs.new_id()))).* FROM generate_series(1, 2) n
$$;
SELECT x_jobs.schedule('function', '0 12 * * *', entries_function => 'public.entries_of_test(timestamptz)');
SELECT pg_temp.at('2027-03-15 12:00:01Z');
SELECT pg_temp.turns('function');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'made' AND tenant_id IS NULL AND traceparent IS NULL AND enqueued_by IS NULL AND run_at = '2027-03-15 12:00Z'), 2::bigint,
    'SCHED-30 ENQ-27 a function of the occurrence makes the entries; what belongs to a request is left out');
CREATE FUNCTION public.no_entries_of_test(timestamptz) RETURNS x_jobs.new_job[] LANGUAGE sql AS $$ SELECT '{}'::x_jobs.new_job[] $$;
SELECT x_jobs.schedule('empty', '0 12 * * *', entries_function => 'public.no_entries_of_test(timestamptz)');
SELECT pg_temp.at('2027-03-16 12:00:01Z');
SELECT pg_temp.turns('empty');
SELECT is(x_jobs.watermark_get('empty'), '2027-03-16 12:00Z', 'SCHED-10 an occurrence with no jobs still moves the watermark');

CREATE SCHEMA "Odd ""Name""";
CREATE FUNCTION "Odd ""Name"""."Odd Entries"(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$ SELECT * FROM public.entries_of_test($1) $$;
SELECT x_jobs.schedule('odd function', '0 12 * * *', entries_function => '"Odd ""Name"""."Odd Entries"(timestamptz)');
SELECT pg_temp.at('2027-03-16 12:00:01Z');
SELECT pg_temp.watermark('odd function', '2027-03-15 12:30Z');
SELECT pg_temp.at('2027-03-16 12:00:01Z');
SELECT pg_temp.turns('odd function');
SELECT is(pg_temp.runs('odd function'), 2::bigint, 'SCHED-30 a function of any name, in a schema of any name');

-- The fence, for schedulers outside.
SELECT is((SELECT fired FROM x_jobs.fire('outside', '2027-03-16 10:00Z', ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"o","idempotency_key":"k"}')])), true, 'SCHED-7 a fire moves the watermark and makes the jobs in one act');
SELECT is(x_jobs.watermark_get('outside'), '2027-03-16 10:00Z', 'SCHED-9 the watermark lands on the occurrence');
SELECT is(pg_temp.runs('outside'), 1::bigint, 'SCHED-7 the job is there');
SELECT is((x_jobs.fire('outside', '2027-03-16 10:00Z', ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"other"}')]))::text, '(f,)', 'SCHED-8 an occurrence at the watermark is already fired: nothing happens');
SELECT is((x_jobs.fire('outside', '2027-03-16 09:00Z', '{}'))::text, '(f,)', 'SCHED-10 a fire without jobs behind the watermark answers nothing');
SELECT is((x_jobs.fire('outside', '2027-03-16 11:00Z', '{}'))::text, '(t,{})', 'SCHED-10 a fire without jobs answers an empty list');
SELECT is(x_jobs.watermark_get('outside'), '2027-03-16 11:00Z', 'SCHED-10 and moves the watermark');
SELECT x_jobs.fire('outside', '2027-03-16 11:10Z', '{}', landing => '2027-03-16 11:30Z');
SELECT is(x_jobs.watermark_get('outside'), '2027-03-16 11:30Z', 'SCHED-9 the watermark lands where it is asked to');
SELECT x_jobs.fire('outside', '2027-03-16 11:40Z', '{}', landing => '2027-03-16 11:35Z');
SELECT is(x_jobs.watermark_get('outside'), '2027-03-16 11:40Z', 'SCHED-9 a landing behind the occurrence is ignored');
SELECT is((SELECT array_agg(j.deduped ORDER BY j.ordinal) FROM unnest((x_jobs.fire('outside', '2027-03-16 12:00Z', ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"o","idempotency_key":"x"}'), jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"o","idempotency_key":"x"}')])).jobs) j), '{f,t}'::boolean[],
    'SCHED-13 a job that meets a live one of its key inserts nothing and is reported deduped');
SELECT is((SELECT count(*) FROM x_jobs.claim('{default}', 'w', 1000)) > 0, true, 'jobs are claimed');
DELETE FROM _x_jobs.jobs;
SELECT is((x_jobs.fire('outside', '2027-03-16 12:00Z', ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"o","idempotency_key":"x"}')]))::text, '(f,)', 'SCHED-14 an occurrence whose jobs are finished is not fired again');
SELECT is(x_jobs.watermark_get('nobody'), NULL, 'SCHED-16 the watermark of an unknown task is absent');
SELECT is(x_jobs.watermark_mark('outside', '2027-03-16 11:00Z'), '2027-03-16 12:00Z', 'SCHED-15 an older mark is ignored');
SELECT is(x_jobs.watermark_mark('marked', '2027-03-16 13:00Z'), '2027-03-16 13:00Z', 'SCHED-15 a mark moves the watermark forward');
SELECT is((SELECT count(*) FROM x_jobs.task_fires() WHERE task = 'marked'), 0::bigint, 'SCHED-15 SCHED-17 a mark is not a fire');
SELECT is((SELECT last_occurrence FROM x_jobs.task_fires() WHERE task = 'outside'), '2027-03-16 12:00Z', 'SCHED-17 the fire record is written by the fire itself');
SELECT is(x_jobs.record_fire('marked', '2027-03-16 12:00Z'), '2027-03-16 13:00Z', 'SCHED-19 recording a fire never rewinds the watermark');
SELECT is((SELECT last_occurrence FROM x_jobs.task_fires() WHERE task = 'marked'), '2027-03-16 12:00Z', 'SCHED-19 it is recorded');
SELECT is((SELECT array_agg(task) FROM x_jobs.task_fires()), (SELECT array_agg(task ORDER BY task COLLATE "C") FROM x_jobs.task_fires()), 'SCHED-18 fires are listed in code-unit order');
INSERT INTO _x_jobs.task_states (task, dispatched_at, last_occurrence) SELECT 'bulk' || n, now(), now() FROM generate_series(1, 1100) n;
SELECT is((SELECT count(*) FROM x_jobs.task_fires()), 1000::bigint, 'SCHED-18 at most 1,000 fires are listed');
DELETE FROM _x_jobs.task_states WHERE task LIKE 'bulk%';
SELECT x_jobs.fire('later', '2027-06-01Z', ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"later"}')]);
SELECT is((SELECT state FROM x_jobs.all_jobs WHERE name = 'later'), 'delayed', 'SCHED-29 a job whose occurrence is in the future is delayed');

-- Pausing.
SELECT pg_temp.at('2027-04-01 00:00:30Z');
SELECT x_jobs.schedule('paused', '* * * * *', entries => '{"name":"p"}', catch_up => 'all', overlap => 'allow');
SELECT ok(x_jobs.pause_task('paused', 'because') IS NOT NULL, 'SCHED-20 a task can be paused');
SELECT is(x_jobs.pause_task('paused'), (SELECT paused_at FROM x_jobs.tasks WHERE task = 'paused'), 'SCHED-20 pausing again keeps the first instant');
SELECT pg_temp.at('2027-04-01 00:03:30Z');
SELECT is(pg_temp.turns('paused'), 0, 'SCHED-20 a paused task is not dispatched');
SELECT is(x_jobs.watermark_get('paused'), '2027-04-01 00:00:59.999Z', 'SCHED-20 its watermark is untouched');
SELECT ok((SELECT next_at - _x_jobs.clock() FROM _x_jobs.task_states WHERE task = 'paused') BETWEEN interval '4 s' AND interval '5 s', 'SCHED-21 a task found paused is looked at again after 5 s');
SELECT is((SELECT count(*) FROM x_jobs.paused()), 0::bigint, 'OPW-12 pauses of tasks are no pauses of queues');
SELECT is(x_jobs.resume_task('paused'), true, 'SCHED-20 a task can be resumed');
SELECT is(x_jobs.resume_task('paused'), false, 'SCHED-20 resuming again is fine');
SELECT is(pg_temp.turns('paused'), 3, 'SCHED-20 on resume its own catch-up decides');

-- Overlap.
SELECT x_jobs.schedule('overlap', '* * * * *', entries => '{"name":"ov"}', catch_up => 'all');
SELECT pg_temp.at('2027-04-01 00:06:10Z');
SELECT pg_temp.turns('overlap');
SELECT is(pg_temp.outcomes('overlap'), 'fired 00:04:00, skipped 00:05:00 x2', 'X-18 an occurrence whose predecessor''s job is still live is recorded as skipped');
SELECT count(x_jobs.ack(c.id, 'w', c.claim)) FROM x_jobs.claim('{default}', 'w', 1000) c;
SELECT pg_temp.at('2027-04-01 00:07:10Z');
SELECT pg_temp.turns('overlap');
SELECT is(pg_temp.outcomes('overlap'), 'fired 00:04:00, skipped 00:05:00 x2, fired 00:07:00', 'X-18 it fires again once the predecessor is finished');
SELECT x_jobs.schedule('queued', '* * * * *', entries => '{"name":"qu","input":"{{occurrence}}"}', catch_up => 'all', overlap => 'queue');
SELECT pg_temp.at('2027-04-01 00:10:10Z');
SELECT pg_temp.turns('queued');
SELECT is(pg_temp.outcomes('queued'), 'fired 00:08:00, queued 00:09:00, skipped 00:10:00', 'X-18 overlap queue keeps one occurrence waiting');
SELECT count(x_jobs.ack(c.id, 'w', c.claim)) FROM x_jobs.claim('{default}', 'w', 1000) c;
SELECT pg_temp.turns('queued');
SELECT is((SELECT input FROM x_jobs.all_jobs WHERE name = 'qu' AND state = 'ready'), '"2027-04-01T00:09:00Z"', 'X-18 it fires when the predecessor is finished, for its own occurrence');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'qu'), 2::bigint, 'X-18 once');

-- By hand.
SELECT x_jobs.schedule('hand', '0 0 1 1 *', entries => '[{"name":"h1","idempotency_key":"plain"},{"name":"h2"}]');
SELECT is((SELECT array_agg(deduped ORDER BY ordinal) FROM x_jobs.fire_task('hand')), '{f,f}'::boolean[], 'SCHED-27 a manual fire enqueues every entry now');
SELECT is((SELECT array_agg(idempotency_key ORDER BY name) FROM x_jobs.all_jobs WHERE name IN ('h1', 'h2')), ARRAY['plain', NULL], 'SCHED-27 under each job''s plain key');
SELECT is((SELECT array_agg(deduped ORDER BY ordinal) FROM x_jobs.fire_task('hand')), '{t,f}'::boolean[], 'SCHED-27 whose live holder answers');
SELECT is((SELECT dispatched_at FROM _x_jobs.task_states WHERE task = 'hand'), NULL, 'SCHED-27 it is distinct from a scheduled fire');

-- Failures.
CREATE FUNCTION public.fails_of_test(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql AS $$ BEGIN RAISE 'no luck'; END $$;
SELECT x_jobs.schedule('fails', '* * * * *', entries_function => 'public.fails_of_test(timestamptz)');
SELECT pg_temp.at('2027-04-01 00:20:10Z');
SELECT throws_ok($$SELECT _x_jobs.task_turn('fails')$$, 'P0001', 'no luck', 'SCHED-23 a function that fails fails the turn');
SELECT is(x_jobs.watermark_get('fails'), '2027-04-01 00:10:59.999Z', 'SCHED-23 its watermark is left');
SELECT _x_jobs.task_failed('fails', 'no luck');
SELECT is((SELECT (state, failures, error)::text FROM x_jobs.tasks WHERE task = 'fails'), '(failing,1,"no luck")', 'SCHED-23 the failure is shown');
SELECT is((SELECT count(*) FROM _x_jobs.due_tasks() WHERE task = 'fails'), 0::bigint, 'SCHED-23 it is tried again later');

-- A clock that was set forward and back (C-020), and redefinition (C-026).
SELECT pg_temp.at('2027-05-01 10:00:30Z');
SELECT x_jobs.schedule('clock', '* * * * *', entries => '{"name":"c"}', overlap => 'allow');
SELECT pg_temp.at('2027-05-01 10:01:10Z');
SELECT pg_temp.turns('clock');
SELECT pg_temp.at('2027-05-01 18:00:10Z');
SELECT pg_temp.turns('clock');
SELECT is(pg_temp.outcomes('clock'), 'fired 10:01:00, missed 10:02:00 x478, fired 18:00:00', 'C-020 a clock set 8 hours ahead fires the latest occurrence once');
SELECT pg_temp.at('2027-05-01 10:02:10Z');
SELECT is((SELECT count(*) FROM _x_jobs.due_tasks() WHERE task = 'clock'), 1::bigint, 'C-020 after the step back the task is looked at at once');
SELECT pg_temp.turns('clock');
SELECT pg_temp.at('2027-05-01 10:03:05Z');
SELECT pg_temp.turns('clock');
SELECT results_eq($$SELECT * FROM pg_temp.fired('clock')$$, $$VALUES ('2027-05-01 10:01Z'::timestamptz), ('2027-05-01 10:03Z'), ('2027-05-01 18:00Z')$$, 'C-020 firings resume within one tick');
SELECT is((SELECT count(*) FROM _x_jobs.task_log WHERE task = 'clock' AND outcome = 'clock set back'), 1::bigint, 'C-020 one event records the jump');
SELECT pg_temp.watermark('clock', '2027-05-01 17:58:30Z');
SELECT pg_temp.at('2027-05-01 18:01:05Z');
UPDATE _x_jobs.tasks SET catch_up = 'all' WHERE task = 'clock';
SELECT pg_temp.turns('clock');
SELECT results_eq($$SELECT * FROM pg_temp.fired('clock') WHERE fired > '2027-05-01 17:00Z'$$, $$VALUES ('2027-05-01 17:59Z'::timestamptz), ('2027-05-01 18:00Z'), ('2027-05-01 18:01Z')$$, 'C-020 a slot that was fired ahead is not fired again');
SELECT pg_temp.at('2027-05-02 00:18:59Z');
SELECT x_jobs.schedule('again', '19 * * * *', entries => '{"name":"again"}', overlap => 'allow');
SELECT x_jobs.unschedule('again');
SELECT x_jobs.schedule('again', '19 * * * *', 'Europe/Berlin', entries => '{"name":"again"}', overlap => 'allow');
SELECT pg_temp.at('2027-05-02 00:19:00.5Z');
SELECT pg_temp.turns('again');
SELECT x_jobs.unschedule('again');
SELECT x_jobs.schedule('again', '19 * * * *', entries => '{"name":"again"}', overlap => 'allow');
SELECT is(pg_temp.turns('again'), 0, 'C-026 a task that is removed and added again after the slot does not fire it');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'again'), 1::bigint, 'C-026 a task that is removed and added again before the slot fires it once');
SELECT x_jobs.schedule('again', '18 * * * *', entries => '{"name":"again"}', overlap => 'allow');
SELECT is(pg_temp.turns('again'), 0, 'C-026 a changed timing fires nothing of the past');

-- Who may (C-059).
CREATE ROLE task_alice; CREATE ROLE task_bob; CREATE ROLE task_op; CREATE ROLE task_none;
SELECT x_jobs.grant_producer('task_alice'), x_jobs.grant_producer('task_bob'), x_jobs.grant_operator('task_op');
SET ROLE task_alice;
SELECT lives_ok($$SELECT x_jobs.schedule('alices', '0 0 * * *', entries => '{"name":"x"}')$$, 'C-059 a producer makes a task');
SELECT is((SELECT owner FROM x_jobs.tasks WHERE task = 'alices'), 'task_alice', 'a task belongs to the role that made it');
SELECT is((SELECT count(*) FROM x_jobs.tasks), 1::bigint, 'C-059 a producer sees the own tasks only');
RESET ROLE; SET ROLE task_bob;
SELECT throws_ok(format($$SELECT x_jobs.%s$$, verb), 'XJ303', 'the task does not exist', 'C-059 another producer cannot ' || verb)
  FROM unnest(ARRAY['unschedule(''alices'')', 'pause_task(''alices'')', 'resume_task(''alices'')', 'fire_task(''alices'')', 'task_history(''alices'')',
                    'schedule(''alices'', ''1 1 * * *'', entries => ''{"name":"x"}'')', 'unschedule(''nobodys'')']) verb;
SELECT throws_ok($$SELECT x_jobs.fire('alices', now(), '{}')$$, '42501', NULL, 'C-059 only operators drive tasks from outside');
SELECT throws_ok($$SELECT x_jobs.schedule('outside', '1 1 * * *', entries => '{"name":"x"}')$$, 'XJ303', NULL, 'C-059 a producer cannot take the name of a scheduler outside, and so break its fence');
RESET ROLE; SET ROLE task_op;
SELECT lives_ok($$SELECT x_jobs.pause_task('alices')$$, 'C-059 an operator may pause any task');
SELECT is((SELECT count(*) FROM x_jobs.tasks WHERE task = 'alices'), 1::bigint, 'C-059 an operator sees every task');
SELECT cmp_ok((SELECT count(*) FROM x_jobs.task_history('outside')), '>', 0::bigint, 'an operator reads the history of what is driven from outside');
SELECT lives_ok($$SELECT x_jobs.unschedule('outside')$$, 'and may forget it');
SELECT throws_ok($$SELECT x_jobs.task_history('outside')$$, 'XJ303', NULL, 'the history of a task goes with the task');
RESET ROLE; SET ROLE task_none;
SELECT throws_ok($$SELECT x_jobs.schedule('n', '1 1 * * *', entries => '{"name":"x"}')$$, '42501', NULL, 'C-059 without a grant nothing is scheduled');
RESET ROLE;
SELECT x_jobs.resume_task('alices');
SELECT x_jobs.revoke_producer('task_alice');
SELECT pg_temp.watermark('alices', '2027-05-01Z');
SELECT throws_ok($$SELECT _x_jobs.task_turn('alices')$$, 'XJ304', NULL, 'C-063 the owner''s right is asked again when the task fires');

-- A function that sets the search path for what follows it, where functions of its own lie in wait; and one that ends its task.
CREATE SCHEMA task_evil AUTHORIZATION task_bob;
SET ROLE task_bob;
CREATE FUNCTION task_evil.unnest(x_jobs.enqueued_item[]) RETURNS SETOF x_jobs.enqueued_item LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'ALTER ROLE task_bob SUPERUSER'; RETURN QUERY SELECT * FROM pg_catalog.unnest($1); END $$;
CREATE FUNCTION task_evil.sets(timestamptz) RETURNS x_jobs.new_job LANGUAGE plpgsql AS $$
BEGIN EXECUTE 'SET search_path = task_evil'; EXECUTE 'SET statement_timeout = 7000'; RETURN jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"evil"}'); END $$;
CREATE FUNCTION task_evil.ends(timestamptz) RETURNS x_jobs.new_job LANGUAGE plpgsql AS $$
BEGIN PERFORM x_jobs.unschedule('ends'); RETURN jsonb_populate_record(NULL::x_jobs.new_job, '{"name":"evil"}'); END $$;
SELECT x_jobs.schedule('sets', '* * * * *', entries_function => 'task_evil.sets(timestamptz)');
SELECT x_jobs.schedule('ends', '* * * * *', entries_function => 'task_evil.ends(timestamptz)');
RESET ROLE;
SELECT is((SELECT count(*) FROM x_jobs.fire_task('sets')), 1::bigint, 'C-061 a function that sets the search path is fired');
SELECT is(current_setting('search_path') || ' ' || current_setting('statement_timeout'), '"$user", public 0', 'and leaves no setting behind');
SELECT is((SELECT rolsuper FROM pg_roles WHERE rolname = 'task_bob'), false, 'C-061 nor does anything of its schema run with other rights');
SELECT pg_temp.at('2027-05-02 00:25Z');
SELECT pg_temp.turns('ends');
SELECT is((SELECT count(*) FROM _x_jobs.task_states WHERE task = 'ends'), 0::bigint, 'C-046 a function that ends its own task leaves nothing of it');
SET client_min_messages = warning;
DROP SCHEMA task_evil CASCADE;
RESET client_min_messages;

-- Entries that make no sense.
SELECT throws_ok(format($$SELECT x_jobs.schedule('bad', '* * * * *', entries => %L)$$, entries), 'XJ001', NULL, 'SCHED-1 refused: ' || entries)
  FROM unnest(ARRAY['[]', '5', '[5]', '{"nome":"x"}', '{"name":""}', '{"name":"x","priority":11}', '{"name":"x","tenant_id":"t"}', '{}', '{"name":"x","max_attempts":0}']) entries;
SELECT throws_ok(format($$SELECT x_jobs.schedule('bad', '* * * * *', entries => %L)$$, entries), 'XJ001', NULL, 'SCHED-1 refused for its kind, at once: ' || entries)
  FROM unnest(ARRAY['{"name":5}', '{"name":"x","priority":"a"}', '{"name":"x","priority":1.5}', '{"name":"x","tags":"a"}', '{"name":"x","tags":[1]}', '{"name":"x","idempotency_key":""}']) entries;
SELECT throws_ok($$SELECT x_jobs.record_fire('bad', NULL)$$, 'XJ001', 'invalid value for argument "occurrence"', 'SCHED-19 a fire that is recorded has an occurrence');
BEGIN READ ONLY;
SELECT lives_ok($$SELECT * FROM x_jobs.task_history('armed')$$, 'a history can be read in a read-only transaction');
SELECT lives_ok($$SELECT * FROM x_jobs.tasks$$, 'so can the list of tasks');
COMMIT;
SELECT throws_ok($$SELECT x_jobs.schedule('bad', '* * * * *')$$, 'XJ001', NULL, 'SCHED-1 entries are required');
SELECT throws_ok($$SELECT x_jobs.schedule('bad', '* * * * *', entries => '{"name":"x"}', max_catch_up => 0)$$, 'XJ001', NULL, 'SCHED-1 max_catch_up is at least 1');
SELECT throws_ok($$SELECT x_jobs.schedule('bad', '* * * * *', entries => '{"name":"x"}', catch_up => 'some')$$, 'XJ001', NULL, 'X-18 catch_up has four values');
SELECT throws_ok($$SELECT x_jobs.schedule('bad', '* * * * *', entries_function => 'pg_catalog.now()')$$, 'XJ001', NULL, 'SCHED-1 a function of something else is refused');
SELECT throws_ok($$SELECT x_jobs.schedule('', '* * * * *', entries => '{"name":"x"}')$$, 'XJ001', NULL, 'SCHED-1 a task has a name');

DROP OWNED BY task_alice, task_bob, task_op, task_none; DROP ROLE task_alice, task_bob, task_op, task_none;
SELECT * FROM finish();
