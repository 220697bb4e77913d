-- If this failed, an operator would be shown too little, too much, or a list in which jobs are missing or appear twice.
SELECT plan(95);

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

-- Nothing there yet.
SELECT is_empty('SELECT * FROM x_jobs.jobs()', 'OPR-2 no jobs, no rows');
SELECT is_empty('SELECT * FROM x_jobs.dead_letters()', 'OPR-10 no dead letters, no rows');

-- Seven jobs of different kinds, made in this order.
SELECT id AS j1, run_id AS r1 FROM x_jobs.enqueue('mail.send', '{"to": "a"}', 'k1', 'mail', priority => 2, max_attempts => 7,
                        tenant_id => 'acme', tags => ARRAY['eu', 'bulk'],
    traceparent => '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', enqueued_by => 'shop',
        expires_at => now() + interval '3 days') \gset
SELECT id AS j2 FROM x_jobs.enqueue('mail.send', '{"to": "b"}', 'k2', 'mail', delay => '2 h') \gset
SELECT id AS j3 FROM x_jobs.enqueue('report', '{"to": "c"}', 'k3', 'reports', tenant_id => 'acme', tags => ARRAY['eu']) \gset
SELECT id AS j4 FROM x_jobs.enqueue('report', '{"to": "d"}', 'k4', 'done') \gset
SELECT id AS j5 FROM x_jobs.enqueue('report', '{"to": "e"}', 'k5', 'dead') \gset
SELECT id AS j6 FROM x_jobs.enqueue('Report', '{"to": "f"}', 'k6', 'failed', tenant_id => 'Acme') \gset
SELECT id AS j7 FROM x_jobs.enqueue('sleep', '{"to": "g"}', 'k7', 'asleep') \gset
SELECT claim AS claim4 FROM x_jobs.claim(ARRAY['done'], 'w') \gset
SELECT x_jobs.ack(:'j4', 'w', :claim4, '{"pages": 3}') \gset
SELECT claim AS claim5 FROM x_jobs.claim(ARRAY['dead'], 'w') \gset
SELECT x_jobs.nack(:'j5', 'w', :claim5, dead_letter => true, error => 'gave up', stack => 'at line 1') \gset
SELECT claim AS claim6 FROM x_jobs.claim(ARRAY['failed'], 'w') \gset
SELECT x_jobs.nack(:'j6', 'w', :claim6, fail => true, error => 'refused', stack => 'at line 2') \gset
SELECT claim AS claim7 FROM x_jobs.claim(ARRAY['asleep'], 'w') \gset
SELECT x_jobs.nack(:'j7', 'w', :claim7, '1 h', park => true, counts_as_attempt => false) \gset
SELECT claim AS claim3, timeout IS NULL AS untimed FROM x_jobs.claim(ARRAY['reports'], 'worker-3') \gset

-- One job.
SELECT ok(x_jobs.job(x_jobs.new_id()) IS NULL, 'OPR-1 an unknown id answers NULL');
SELECT ok(x_jobs.job(:'r1') IS NULL, 'OPR-1 a run id is no job id');
SELECT is((id, name, queue, state, priority, input, idempotency_key, run_id, attempt, max_attempts, final_attempt, claim, worker_id,
           tenant_id, tags, traceparent, enqueued_by)::text,
          (:'j1'::uuid, 'mail.send', 'mail', 'ready', 2, '{"to": "a"}'::jsonb, 'k1', :'r1'::uuid, 0, 7, false, NULL, NULL, 'acme',
           ARRAY['eu', 'bulk'],
           '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'shop')::text,
               'OPR-1 job shows a waiting job as it was enqueued') FROM x_jobs.job(:'j1');
SELECT ok(visible_at IS NULL AND claimed_at IS NULL AND finished_at IS NULL AND result IS NULL AND last_error IS NULL
          AND progress IS NULL AND reason IS NULL
      AND run_at = created_at AND expires_at > now(), 'OPR-1 and what has not happened is absent') FROM x_jobs.job(:'j1');
SELECT ok(state = 'running' AND attempt = 1 AND claim = :claim3 AND worker_id = 'worker-3' AND visible_at > claimed_at,
          'OPR-1 job shows who holds a running job') FROM x_jobs.job(:'j3');
SELECT ok(state = 'done' AND result = '{"pages": 3}' AND input = '{"to": "d"}' AND finished_at IS NOT NULL AND worker_id IS NULL,
          'OPR-1 job shows a finished job with input and result') FROM x_jobs.job(:'j4');
SELECT ok(state = 'dead' AND last_error = 'gave up' AND last_error_stack = 'at line 1' AND reason = 'dead-letter',
          'OPR-1 job shows a dead letter with error and stack') FROM x_jobs.job(:'j5');
SELECT ok(tenant_id IS NULL AND traceparent IS NULL AND tags IS NULL, 'OPR-1 a job without tenant has none') FROM x_jobs.job(:'j2');

-- The list: order, bounds and what it leaves out.
CREATE FUNCTION pg_temp.numbers(ids uuid[]) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(n::text, ' ' ORDER BY place)
      FROM unnest(ids) WITH ORDINALITY AS listed (id, place)
      JOIN (SELECT row_number() OVER (ORDER BY j.id) AS n, j.id FROM x_jobs.all_jobs AS j) AS numbered USING (id)
$$;
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs())), '7 6 5 4 3 2 1',
          'OPR-2 live and finished jobs come in one list, newest first by id');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(max => 3))), '7 6 5', 'OPR-2 max bounds it');
SELECT is_empty('SELECT * FROM x_jobs.jobs(max => 0)', 'OPR-2 a limit of 0 answers nothing');
SELECT is((SELECT count(*) FROM x_jobs.jobs() j WHERE j.input IS NOT NULL OR j.result IS NOT NULL
           OR j.last_error_stack IS NOT NULL), 0::bigint, 'C-089 a list never reads payloads');
SELECT is((SELECT last_error FROM x_jobs.jobs(state => 'dead')), 'gave up', 'OPR-2 but shows the error');
SELECT is((SELECT to_jsonb(l) FROM x_jobs.jobs(queue => 'reports') l),
          (SELECT to_jsonb(j) || '{"input": null}' FROM x_jobs.job(:'j3') j), 'OPR-2 a row of the list is the job without payload');
SELECT is(pg_temp.refusal('SELECT * FROM x_jobs.jobs(max => 200)'), 'no error', 'OPR-3 200 is the largest page');
SELECT matches(pg_temp.refusal('SELECT * FROM x_jobs.jobs(max => 201)'), '^XJ010 X_JOB_PAGE_INVALID: .*200',
               'OPR-3 a limit over 200 is refused, naming the bound');
SELECT matches(pg_temp.refusal('SELECT * FROM x_jobs.jobs(max => 2147483647)'), '^XJ010 X_JOB_PAGE_INVALID: .*200',
               'OPR-3 however large');
SELECT matches(pg_temp.refusal(format('SELECT * FROM x_jobs.jobs(max => %s)', value)), '^XJ001 X_INVARIANT: max ',
               'OPR-3 a limit that is no count is refused: ' || value)
  FROM unnest(ARRAY['NULL', '-1', '-2147483648']) AS value;

-- Filters.
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(queue => 'mail'))), '2 1', 'OPR-4 by queue');
SELECT is_empty('SELECT * FROM x_jobs.jobs(queue => ''Mail'')', 'OPR-4 a queue is compared exactly');
SELECT is_empty('SELECT * FROM x_jobs.jobs(queue => ''nowhere'')', 'OPR-4 C-114 a queue that nobody used is an empty list');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(name => 'report'))), '5 4 3', 'OPR-4 by name, exactly');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(state => s))), expected, 'OPR-4 by state ' || s)
  FROM (VALUES ('ready', '1'), ('delayed', '2'), ('running', '3'), ('suspended', '7'), ('done', '4'), ('failed', '6'),
        ('dead', '5'), ('cancelled', NULL)) AS by_state (s, expected);
SELECT matches(pg_temp.refusal('SELECT * FROM x_jobs.jobs(state => ''Ready'')'),
               '^XJ001 X_INVARIANT: state .*ready, delayed, running, suspended, done, failed, dead, cancelled',
    'OPR-4 a state that does not exist is refused, naming those that do');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(tenant_id => 'acme'))), '3 1', 'OPR-4 by tenant, exactly');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(tenant_id => 'Acme'))), '6', 'OPR-4 a tenant is compared exactly');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(tag => 'eu'))), '3 1', 'OPR-4 by tag');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(tag => 'bulk', queue => 'mail', name => 'mail.send', state => 'ready',
                        tenant_id => 'acme'))), '1', 'OPR-4 all filters together');
SELECT is_empty('SELECT * FROM x_jobs.jobs(tag => ''bulk'', queue => ''reports'')', 'OPR-4 every filter must match');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(id_prefix => left(:'j4', length)))), '4',
          format('OPR-4 by an id prefix of %s characters', length))
  FROM unnest(ARRAY[36, 35, 30]) AS length;
SELECT is((SELECT count(*) FROM x_jobs.jobs(id_prefix => left(:'j4', length))),
          (SELECT count(*) FROM x_jobs.all_jobs WHERE starts_with(id::text, left(:'j4', length))),
          format('OPR-4 an id prefix of %s characters', length)) FROM unnest(ARRAY[0, 1, 5, 8, 9, 10, 13, 18]) AS length;
SELECT is_empty(format('SELECT * FROM x_jobs.jobs(id_prefix => %L)', prefix), 'OPR-4 an id prefix is literal text: ' || prefix)
  FROM unnest(ARRAY['%', '_', left(:'j4', 3) || '%', left(:'j4', 7) || '_', '%' || right(:'j4', 12), upper(:'j4') || 'A', 'zz', '\',
                    left(:'j4', 8) || '-zz', '''']) AS prefix;
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(created_from => (SELECT created_at FROM x_jobs.job(:'j3'))))),
          '7 6 5 4 3', 'OPR-4 created_from is inclusive');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(created_to => (SELECT created_at FROM x_jobs.job(:'j3'))))), '2 1',
          'OPR-4 created_to is exclusive');

-- Cursors.
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(after => :'j5', max => 2))), '4 3',
          'OPR-2 after: the rows next to the cursor on the older side, newest first');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(before => :'j3', max => 2))), '5 4',
          'OPR-7 before: the rows nearest the cursor on the newer side, newest first');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(before => :'j3', max => 200))), '7 6 5 4',
          'OPR-7 and all of them when they fit');
SELECT is_empty(format('SELECT * FROM x_jobs.jobs(before => %L)', :'j7'), 'OPR-7 nothing is newer than the newest');
SELECT is_empty(format('SELECT * FROM x_jobs.jobs(after => %L)', :'j1'), 'OPR-2 nothing is older than the oldest');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(before => :'j1', name => 'report', max => 2))), '4 3',
          'OPR-7 a filter and a cursor together');
SELECT matches(pg_temp.refusal(format('SELECT * FROM x_jobs.jobs(after => %L, before => %L)', :'j1', :'j2')),
               '^XJ001 X_INVARIANT: ', 'OPR-8 after and before exclude each other');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(after => 'ffffffff-ffff-ffff-ffff-ffffffffffff', max => 2))), '7 6',
          'X-6 a cursor of an unknown row is still a page');
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(before => '00000000-0000-0000-0000-000000000000', max => 2))), '2 1',
          'X-6 in both directions');
SELECT id AS gone FROM x_jobs.remove(:'j4') \gset
SELECT is(pg_temp.numbers(ARRAY(SELECT id FROM x_jobs.jobs(after => :'gone', max => 2))), '3 2',
          'X-6 also when its row was removed');

-- A stored state that this build does not know.
UPDATE _x_jobs.jobs SET state = 'Ready' WHERE id = :'j2';
UPDATE _x_jobs.history SET state = 'lost' WHERE id = :'j6';
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.job(%L)', :'j2')),
               '^XJ011 X_JOB_ROW_STATUS_UNKNOWN: .*jobs.*state.*Ready.*ready, delayed, running, suspended, done, failed, dead, cancelled',
               'ROW-8 reading such a row is refused, naming table, column, value and what is known; case matters');
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.job(%L)', :'j6')), '^XJ011 X_JOB_ROW_STATUS_UNKNOWN: .*lost',
               'ROW-8 a finished row just as well');
SET client_min_messages = error;
SELECT is(ARRAY(SELECT id FROM x_jobs.jobs()), ARRAY[:'j7', :'j5', :'j3', :'j1']::uuid[],
          'ROW-8 the rest of a page stays readable');
RESET client_min_messages;
SELECT is((SELECT state FROM x_jobs.job(:'j1')), 'ready', 'ROW-8 only that one row fails');
UPDATE _x_jobs.jobs SET state = 'ready ' WHERE id = :'j2';
SELECT matches(pg_temp.refusal(format('SELECT x_jobs.job(%L)', :'j2')), '^XJ011 ', 'ROW-8 white space matters');
UPDATE _x_jobs.jobs SET state = 'delayed' WHERE id = :'j2';
UPDATE _x_jobs.history SET state = 'failed' WHERE id = :'j6';
SELECT is((SELECT state FROM x_jobs.job(:'j2')), 'delayed', 'ROW-8 a corrected row can be read again');

-- Dead letters: by the time of their last change, not by id.
CREATE FUNCTION pg_temp.bury(job uuid, named text) RETURNS boolean LANGUAGE sql AS $$
    SELECT x_jobs.nack(c.id, 'w', c.claim, dead_letter => true, error => 'gave up') FROM x_jobs.claim(ARRAY[named], 'w') c
     WHERE c.id = job
$$;
SELECT id AS d1 FROM x_jobs.enqueue('d', queue => 'd1', dedupe => false) \gset
SELECT id AS d2 FROM x_jobs.enqueue('d', queue => 'd2', dedupe => false) \gset
SELECT id AS d3 FROM x_jobs.enqueue('d', queue => 'd3', dedupe => false, max_attempts => 1) \gset
SELECT claim FROM x_jobs.claim(ARRAY['d3'], 'w') \gset
SELECT x_jobs.fail(:'d3', 'w', :claim, 'gave up') \gset
SELECT pg_temp.bury(:'d1', 'd1') \gset
SELECT pg_temp.bury(:'d2', 'd2') \gset
SELECT is(ARRAY(SELECT id FROM x_jobs.dead_letters()), ARRAY[:'d2', :'d1', :'d3', :'j5']::uuid[],
          'OPR-10 dead letters come newest updated first');
SELECT is(ARRAY(SELECT id FROM x_jobs.dead_letters(2)), ARRAY[:'d2', :'d1']::uuid[], 'OPR-10 bounded by max');
SELECT is(ARRAY(SELECT id FROM x_jobs.dead_letters(reason => 'attempts-exhausted')), ARRAY[:'d3']::uuid[], 'OPR-10 by reason');
SELECT is_empty('SELECT * FROM x_jobs.dead_letters(0)', 'OPR-10 max 0 answers nothing');
SELECT is((SELECT count(*) FROM x_jobs.dead_letters() d WHERE d.state <> 'dead' OR d.input IS NOT NULL
           OR d.last_error_stack IS NOT NULL), 0::bigint, 'OPR-10 C-089 only dead rows, without payload');
SELECT matches(pg_temp.refusal(format('SELECT * FROM x_jobs.dead_letters(%s)', value)), '^XJ001 X_INVARIANT: max ',
               'OPR-10 a limit that is no count is refused: ' || value)
  FROM unnest(ARRAY['NULL', '-1']) AS value;
SELECT x_jobs.enqueue('many', queue => 'many', dedupe => false, max_attempts => 1) FROM generate_series(1, 105) \g /dev/null
SELECT x_jobs.fail(id, 'w', claim, 'no') FROM x_jobs.claim(ARRAY['many'], 'w', 200) \g /dev/null
SELECT is((SELECT count(*) FROM x_jobs.dead_letters()), 100::bigint, 'OPR-10 100 rows by default');
SELECT is((SELECT count(*) FROM x_jobs.dead_letters(1000)), 109::bigint, 'OPR-10 and as many as are asked for');
SELECT is((SELECT count(*) FROM x_jobs.jobs()), 100::bigint, 'OPR-2 a list has 100 rows by default');
SELECT is((SELECT count(*) FROM x_jobs.jobs(queue => 'many', max => 200)), 105::bigint, 'OPR-2 and up to 200 when asked');

-- A walk over jobs of one second while the queue is at work: some are claimed, done, removed, and new ones arrive.
SELECT x_jobs.enqueue('walk', queue => 'walk', dedupe => false) FROM generate_series(1, 5000) \g /dev/null
CREATE TEMP TABLE expected AS SELECT id FROM _x_jobs.jobs WHERE queue = 'walk';
CREATE TEMP TABLE visited (id uuid, page integer);
DO $$
DECLARE
    page integer := 0;
    cursor_id uuid;
    found_rows integer;
BEGIN
    LOOP
        page := page + 1;
        INSERT INTO visited SELECT j.id, page FROM x_jobs.jobs(queue => 'walk', after => cursor_id) AS j;
        GET DIAGNOSTICS found_rows = ROW_COUNT;
        EXIT WHEN found_rows = 0;
        SELECT v.id INTO cursor_id FROM visited AS v ORDER BY v.id LIMIT 1;
        COMMIT;
        PERFORM x_jobs.ack(c.id, 'w', c.claim) FROM x_jobs.claim(ARRAY['walk'], 'w', 20) AS c;
        PERFORM x_jobs.claim(ARRAY['walk'], 'w2', 5);
        PERFORM x_jobs.enqueue('walk', queue => 'walk', dedupe => false) FROM generate_series(1, 10);
        IF (x_jobs.job(cursor_id)).state IN ('ready', 'running') THEN
            PERFORM x_jobs.cancel(cursor_id);
        END IF;
        COMMIT;
        EXIT WHEN page > 100;
    END LOOP;
END $$;
SELECT is((SELECT count(*) FROM visited), 5000::bigint,
          'OPR-9 C-114 a walk by 100 over 5,000 jobs of one second visits as many rows as there were');
SELECT is((SELECT count(DISTINCT id) FROM visited), 5000::bigint,
          'OPR-9 each exactly once, although they changed state in between');
SELECT is_empty('SELECT id FROM visited EXCEPT SELECT id FROM expected', 'OPR-9 rows made during the walk are never visited');
SELECT cmp_ok((SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'walk'), '=', 5500::bigint, 'OPR-9 (there were new rows)');
SELECT is((SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'walk'),
          (SELECT count(DISTINCT id) FROM x_jobs.all_jobs WHERE queue = 'walk'),
    'C-114 no job is listed both as live and as finished');

SELECT * FROM finish();
