-- If this failed, a client library would have to know how the server sorts, or how it takes its arrays apart.
SELECT plan(34);

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

-- Names that a list must sort by code units, and that an array literal has to quote.
CREATE TEMP TABLE names (place integer, name text);
INSERT INTO names VALUES (1, ' a'), (2, '"q"'), (3, '10'), (4, '9'), (5, 'A'), (6, 'B,C'), (7, 'NULL'), (8, 'Zeta'), (9, '\b'),
    (10, '_internal'), (11, 'a'), (12, 'constructor'), (13, 'default'),
    (14, 'é'), (15, 'émile'), (16, 'ß'), (17, '{x}'), (18, 'Ω'), (19, '語'), (20, '😀');
UPDATE names SET place = sorted.place FROM (SELECT name, row_number() OVER (ORDER BY convert_to(name, 'UTF8')) AS place
                        FROM names) AS sorted WHERE sorted.name = names.name;
SELECT x_jobs.enqueue('job of ' || name, queue => name, dedupe => false) FROM names ORDER BY md5(name) \g /dev/null
SELECT is(ARRAY(SELECT queue FROM x_jobs.stats()), ARRAY(SELECT name FROM names ORDER BY place),
          'DRV-7 stats() is sorted by code units');
SELECT x_jobs.pause_queue(name) FROM names ORDER BY md5(name) \g /dev/null
SELECT is(ARRAY(SELECT queue FROM x_jobs.paused()), ARRAY(SELECT name FROM names ORDER BY place),
          'DRV-7 paused() is sorted by code units');
SELECT is((SELECT count(x_jobs.resume_queue(name)) FROM names), 20::bigint, 'DRV-7 (every one of these names is a queue)');
SELECT is((SELECT count(*) FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
            WHERE c.relnamespace = '_x_jobs'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
              AND a.attcollation <> 0 AND a.attcollation <> '"C"'::regcollation), 0::bigint,
                  'DRV-7 every stored text sorts in C collation');

-- A list of queues.
SELECT is((SELECT array_agg(c.queue ORDER BY c.queue COLLATE "C")
           FROM x_jobs.claim((SELECT array_agg(name) FROM names), 'w', 100) AS c), ARRAY(SELECT name FROM names ORDER BY place),
    'DRV-8 claim takes an aggregated array with every one of these names');
SELECT x_jobs.enqueue('job', to_jsonb(q), queue => q, dedupe => false) FROM unnest(ARRAY['a', 'b', 'c', 'a,b', 'NULL']) AS q,
    generate_series(1, 3) \g /dev/null
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['a,b'], 'w', 10)), 3::bigint, 'DRV-8 a comma in a name separates nothing');
SELECT is((SELECT count(*) FROM x_jobs.claim('{a,b}', 'w', 10)), 6::bigint, 'DRV-8 a literal is an array of its elements');
SELECT is((SELECT count(*) FROM x_jobs.claim('{"NULL"}', 'w', 10)), 3::bigint, 'DRV-8 a quoted NULL is a name');
SELECT is((SELECT count(*) FROM x_jobs.claim('[7:8]={nowhere,c}', 'w', 1)), 1::bigint,
          'DRV-8 the lower bound of an array does not matter');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['c', 'c', 'c'], 'w', 1)), 1::bigint,
          'DRV-8 a queue named several times is one queue');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['c', 'c', 'nowhere'], 'w', 10)), 1::bigint,
          'DRV-8 and gives each of its jobs once');
SELECT is((SELECT count(*) FROM x_jobs.claim((SELECT array_agg('q' || n) FROM generate_series(1, 500) AS n), 'w')), 0::bigint,
          'DRV-8 a list may be long');
SELECT matches(pg_temp.refusal(format('SELECT * FROM x_jobs.claim(%s, ''w'')', value)), expected,
               'DRV-8 claim refuses the queues ' || value)
  FROM (VALUES ('''{}''', '^XJ101 X_JOB_CLAIM_QUEUES_EMPTY: '), ('NULL', '^XJ001 X_INVARIANT: queues '),
        ('''{NULL}''', '^XJ001 X_INVARIANT: queues '), ('''{a,NULL}''', '^XJ001 X_INVARIANT: queues ')) AS refused (value,
                          expected);

-- A list of job names.
SELECT x_jobs.enqueue(n, queue => 'named', dedupe => false) FROM unnest(ARRAY['one', 'two', 'three', 'one,two']) AS n \g /dev/null
SELECT is((SELECT array_agg(name) FROM x_jobs.claim(ARRAY['named'], 'w', 10, names => ARRAY['one,two'])), ARRAY['one,two'],
          'DRV-8 a name filter is an array too');
SELECT is((SELECT array_agg(name ORDER BY name) FROM x_jobs.claim(ARRAY['named'], 'w', 10, names => '{two,three,absent}')),
          ARRAY['three', 'two'], 'DRV-8 with as many names as it has');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['named'], 'w', 10, names => '{ONE}')), 0::bigint, 'DRV-8 compared exactly');

-- Lists of ids, tags and inputs.
SELECT array_agg(id) AS ids, array_agg(claim) AS claims FROM x_jobs.all_jobs WHERE queue = 'b' AND state = 'running' \gset
SELECT is((SELECT count(*) FROM x_jobs.heartbeat_many(:'ids', 'w', :'claims') WHERE held), 3::bigint,
          'DRV-8 heartbeat_many takes aggregated arrays');
SELECT is((SELECT array_agg(held) FROM x_jobs.heartbeat_many(('[0:2]=' || :'ids')::uuid[], 'w', ('[5:7]=' || :'claims')::bigint[])),
          ARRAY[true, true, true], 'DRV-8 with any lower bounds');
SELECT id FROM x_jobs.enqueue('tagged', queue => 'tagged', dedupe => false, tags => ARRAY['x,y', '"', '{}', 'ü']) \gset
SELECT is((SELECT tags FROM x_jobs.job(:'id')), ARRAY['x,y', '"', '{}', 'ü'], 'DRV-8 tags come back as the array that was given');
SELECT is((SELECT tags FROM x_jobs.claim(ARRAY['tagged'], 'w')), ARRAY['x,y', '"', '{}', 'ü'], 'DRV-8 also from a claim');
SELECT is((SELECT array_agg(ordinal) FROM x_jobs.enqueue_many('batch', ARRAY['1', '2', '3']::jsonb[], ARRAY['a', 'b,c', '"d"'],
                        'batch')), ARRAY[1, 2, 3], 'DRV-8 enqueue_many takes its inputs and keys by position');
SELECT is((SELECT array_agg(idempotency_key || ' ' || input ORDER BY input) FROM x_jobs.all_jobs WHERE queue = 'batch'),
          ARRAY['a 1', 'b,c 2', '"d" 3'], 'DRV-8 each key with its input');
SELECT is((SELECT array_agg(input::text ORDER BY ordinality) FROM x_jobs.claim(ARRAY['batch'], 'w', 10) WITH ORDINALITY),
          ARRAY['1', '2', '3'], 'ROW-5 X-1 the jobs of a batch were made in the order of its inputs, and are claimed in it');
SELECT is((SELECT array_agg(ordinal ORDER BY ordinal) FROM x_jobs.enqueue_many('batch', '[3:4]={1,2}'::jsonb[],
                        '[8:9]={x,y}'::text[], 'bounds')), ARRAY[1, 2], 'DRV-8 ordinals count from 1 whatever the bounds');

-- Lists of rows.
SELECT is((SELECT array_agg(ordinal || ' ' || deduped)
           FROM x_jobs.enqueue_many(ARRAY(SELECT jsonb_populate_record(NULL::x_jobs.new_job, j)
                        FROM jsonb_array_elements('[{"name": "x", "idempotency_key": "1"},
                                {"name": "y", "idempotency_key": "1", "queue": "mixed", "tags": ["a", "b"]}]') AS j))),
          ARRAY['1 false', '2 false'], 'DRV-8 enqueue_many takes an array of rows');
SELECT is((SELECT tags FROM x_jobs.jobs(queue => 'mixed')), ARRAY['a', 'b'], 'DRV-8 with arrays inside');
SELECT is_empty('SELECT * FROM x_jobs.enqueue_many(''{}''::x_jobs.new_job[])', 'DRV-8 an empty array of rows is no job');
SELECT is_empty('SELECT * FROM x_jobs.enqueue_many(''batch'', ''{}'', ''{}'')', 'DRV-8 so are empty arrays of inputs and keys');
SELECT is((SELECT count(*)
           FROM x_jobs.settle(ARRAY(SELECT jsonb_populate_record(NULL::x_jobs.settlement, to_jsonb(j) || '{"verb": "ack"}')
                        FROM x_jobs.all_jobs AS j WHERE j.queue = 'b' AND j.state = 'running'), 'w') WHERE landed), 3::bigint,
          'DRV-8 settle takes an aggregated array of rows');

-- Nothing of this depends on how the client writes literals.
SET standard_conforming_strings = off;
SET escape_string_warning = off;
SET array_nulls = on;
SELECT is((SELECT count(*) FROM x_jobs.stats() WHERE queue = '\\b'), 1::bigint,
          'DRV-7 names are data: the same queue under another way of writing strings');
RESET standard_conforming_strings;
SET DateStyle = 'SQL, DMY';
SET IntervalStyle = 'iso_8601';
SET TimeZone = 'Asia/Kathmandu';
SELECT is((SELECT visible_at - claimed_at FROM x_jobs.claim(ARRAY['tagged', 'c', 'mixed'], 'w', 1, 'PT90S')), interval '90 seconds',
          'DRV-8 durations are intervals in whatever style');

SELECT * FROM finish();
