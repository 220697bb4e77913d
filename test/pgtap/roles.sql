-- If this failed, somebody could make, take, end or see jobs without having been given the right to.
SELECT plan(629);

-- Roles are shared by all databases of the server: these are made here and dropped at the end.
DO $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['nobody', 'producer', 'worker_one', 'worker_all', 'operator', 'alice', 'Alice', 'bob', 'team',
                            'inheriting', 'not_inheriting', 'lead', 'writer', 'low', 'odd "role"; --'] LOOP
        wanted := 'regress_x_jobs_' || wanted;
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted) THEN
            EXECUTE format('CREATE ROLE %I', wanted);
        END IF;
    END LOOP;
END $$;
ALTER ROLE regress_x_jobs_not_inheriting NOINHERIT;

-- What a role gets for a statement: 'done', or the SQLSTATE of the error. Whatever the statement does is undone.
CREATE FUNCTION pg_temp.tried(called text, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SET LOCAL ROLE %I', 'regress_x_jobs_' || called);
    EXECUTE statement;
    RAISE EXCEPTION 'undo' USING ERRCODE = 'ZZ000';
EXCEPTION WHEN OTHERS THEN
    RETURN CASE SQLSTATE WHEN 'ZZ000' THEN 'done' ELSE SQLSTATE END;
END $$;
-- What a role is answered: the rows as text, or SQLSTATE, message, detail and hint. Undone as well.
CREATE FUNCTION pg_temp.answered(called text, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
    detail text;
    hint text;
BEGIN
    BEGIN
        EXECUTE format('SET LOCAL ROLE %I', 'regress_x_jobs_' || called);
        EXECUTE format('SELECT COALESCE(string_agg(a::text, '' ''), ''no rows'') FROM (%s) AS a', statement) INTO answer;
        RAISE EXCEPTION 'undo' USING ERRCODE = 'ZZ000';
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
        RETURN CASE SQLSTATE WHEN 'ZZ000' THEN answer ELSE concat_ws(' | ', SQLSTATE, SQLERRM, detail, hint) END;
    END;
END $$;

SELECT x_jobs.grant_producer('regress_x_jobs_producer') \g /dev/null
SELECT x_jobs.grant_worker('regress_x_jobs_worker_one', ARRAY['mine']) \g /dev/null
SELECT x_jobs.grant_worker('regress_x_jobs_worker_all') \g /dev/null
SELECT x_jobs.grant_operator('regress_x_jobs_operator') \g /dev/null

-- A task of the producer, which the operator may touch too.
SET ROLE regress_x_jobs_producer;
SELECT x_jobs.schedule('owned', '0 0 * * *', entries => '{"name": "n"}') \g /dev/null
RESET ROLE;

-- The matrix: every routine of the schema, a call of it, what the call gets where it is allowed, and to whom it is.
CREATE TEMP TABLE matrix (place serial, routine text, statement text, outcome text, producer boolean, worker_one boolean,
                        worker_all boolean, operator boolean);
INSERT INTO matrix (routine, statement, outcome, producer, worker_one, worker_all, operator) VALUES
    ('enqueue', $$SELECT x_jobs.enqueue('n', dedupe => false)$$, 'done', true, false, false, false),
    ('enqueue_many', $$SELECT x_jobs.enqueue_many('n', '{1}', dedupe => false)$$, 'done', true, false, false, false),
    ('enqueue_many(new_job[])', $$SELECT x_jobs.enqueue_many('{}'::x_jobs.new_job[])$$, 'done', true, false, false, false),
    ('new_id', $$SELECT x_jobs.new_id()$$, 'done', true, false, false, false),
    ('claim', $$SELECT x_jobs.claim('{mine}', 'w')$$, 'done', false, true, true, false),
    ('heartbeat', $$SELECT x_jobs.heartbeat('JOB', 'w', 1)$$, 'done', false, true, true, false),
    ('heartbeat_many', $$SELECT x_jobs.heartbeat_many('{JOB}', 'w', '{1}')$$, 'done', false, true, true, false),
    ('guard', $$SELECT x_jobs.guard('JOB', 'w', 1)$$, 'XJ102', false, true, true, false),
    ('wait', $$CALL x_jobs.wait('{mine}', '1 s')$$, 'XJ103', false, true, true, false),
    ('progress', $$SELECT x_jobs.progress('JOB', 'w', 1, 1, 2)$$, 'done', false, true, true, false),
    ('worker_announce', $$SELECT x_jobs.worker_announce('w')$$, 'done', false, true, true, false),
    ('worker_forget', $$SELECT x_jobs.worker_forget('w')$$, 'done', false, true, true, false),
    ('ack', $$SELECT x_jobs.ack('JOB', 'w', 1)$$, 'done', false, true, true, false),
    ('nack', $$SELECT x_jobs.nack('JOB', 'w', 1)$$, 'done', false, true, true, false),
    ('fail', $$SELECT x_jobs.fail('JOB', 'w', 1, 'e')$$, 'done', false, true, true, false),
    ('release', $$SELECT x_jobs.release('JOB', 'w', 1)$$, 'done', false, true, true, false),
    ('settle', $$SELECT x_jobs.settle('{}', 'w')$$, 'done', false, true, true, false),
    ('exchange', $$SELECT x_jobs.exchange('{}', '{mine}', 'w')$$, 'done', false, true, true, false),
    ('cancel', $$SELECT x_jobs.cancel('JOB')$$, 'done', false, false, false, true),
    ('requeue', $$SELECT x_jobs.requeue('JOB')$$, 'XJ005', false, false, false, true),
    ('remove', $$SELECT x_jobs.remove('JOB')$$, 'done', false, false, false, true),
    ('promote', $$SELECT x_jobs.promote('JOB')$$, 'XJ009', false, false, false, true),
    ('job', $$SELECT x_jobs.job('JOB')$$, 'done', false, false, false, true),
    ('jobs', $$SELECT x_jobs.jobs()$$, 'done', false, false, false, true),
    ('dead_letters', $$SELECT x_jobs.dead_letters()$$, 'done', false, false, false, true),
    ('stats', $$SELECT x_jobs.stats()$$, 'done', false, false, false, true),
    ('attempts', $$SELECT x_jobs.attempts('JOB')$$, 'done', false, false, false, true),
    ('pause_queue', $$SELECT x_jobs.pause_queue('mine')$$, 'done', false, false, false, true),
    ('resume_queue', $$SELECT x_jobs.resume_queue('mine')$$, 'done', false, false, false, true),
    ('paused', $$SELECT x_jobs.paused()$$, 'done', false, false, false, true),
    ('counters', $$SELECT x_jobs.counters()$$, 'done', false, false, false, true),
    ('counter_totals', $$SELECT x_jobs.counter_totals()$$, 'done', false, false, false, true),
    ('workers', $$SELECT x_jobs.workers()$$, 'done', false, false, false, true),
    ('leader', $$SELECT x_jobs.leader()$$, 'done', false, false, false, true),
    ('leader_acquire', $$SELECT x_jobs.leader_acquire(holder => 'h')$$, 'done', false, false, false, true),
    ('leader_release', $$SELECT x_jobs.leader_release('scheduler', 'h')$$, 'done', false, false, false, true),
    ('schedule', $$SELECT x_jobs.schedule('owned', '0 1 * * *', entries => '{"name": "n"}')$$, 'done', true, false, false, true),
    ('unschedule', $$SELECT x_jobs.unschedule('owned')$$, 'done', true, false, false, true),
    ('pause_task', $$SELECT x_jobs.pause_task('owned')$$, 'done', true, false, false, true),
    ('resume_task', $$SELECT x_jobs.resume_task('owned')$$, 'done', true, false, false, true),
    ('fire_task', $$SELECT x_jobs.fire_task('owned')$$, 'done', true, false, false, true),
    ('task_list', $$SELECT x_jobs.task_list()$$, 'done', true, false, false, true),
    ('task_history', $$SELECT x_jobs.task_history('owned')$$, 'done', true, false, false, true),
    ('cron_next', $$SELECT x_jobs.cron_next('* * * * *')$$, 'done', true, false, false, true),
    ('cron_explain', $$SELECT x_jobs.cron_explain('* * * * *')$$, 'done', true, false, false, true),
    ('task_fires', $$SELECT x_jobs.task_fires()$$, 'done', false, false, false, true),
    ('fire', $$SELECT x_jobs.fire('outside', now(), '{}')$$, 'done', false, false, false, true),
    ('watermark_get', $$SELECT x_jobs.watermark_get('owned')$$, 'done', false, false, false, true),
    ('watermark_mark', $$SELECT x_jobs.watermark_mark('owned', now())$$, 'done', false, false, false, true),
    ('record_fire', $$SELECT x_jobs.record_fire('owned', now())$$, 'done', false, false, false, true),
    ('background_workers', $$SELECT x_jobs.background_workers()$$, 'done', false, false, false, true),
    ('health', $$SELECT x_jobs.health()$$, 'done', false, false, false, true),
    ('maintain', $$SELECT x_jobs.maintain()$$, 'done', false, false, false, true),
    ('version', $$SELECT x_jobs.version()$$, 'done', true, true, true, true),
    ('grant_producer', $$SELECT x_jobs.grant_producer('regress_x_jobs_nobody')$$, NULL, false, false, false, false),
    ('grant_worker', $$SELECT x_jobs.grant_worker('regress_x_jobs_nobody')$$, NULL, false, false, false, false),
    ('grant_operator', $$SELECT x_jobs.grant_operator('regress_x_jobs_nobody')$$, NULL, false, false, false, false),
    ('revoke_producer', $$SELECT x_jobs.revoke_producer('regress_x_jobs_producer')$$, NULL, false, false, false, false),
    ('revoke_worker', $$SELECT x_jobs.revoke_worker('regress_x_jobs_worker_all')$$, NULL, false, false, false, false),
    ('revoke_operator', $$SELECT x_jobs.revoke_operator('regress_x_jobs_operator')$$, NULL, false, false, false, false);
UPDATE matrix SET statement = replace(statement, 'JOB', '00000000-0000-7000-8000-000000000000');
CREATE TEMP VIEW surface AS
    SELECT CASE WHEN proname = 'enqueue_many' AND pronargs = 1 THEN 'enqueue_many(new_job[])' ELSE proname::text END AS routine, p.*
      FROM pg_proc AS p WHERE pronamespace = 'x_jobs'::regnamespace;
SELECT is_empty('SELECT routine FROM surface EXCEPT SELECT routine FROM matrix',
                'C-059 every routine of the schema stands in the matrix');
SELECT is_empty('SELECT routine FROM matrix EXCEPT SELECT routine FROM surface', 'C-059 and the matrix names nothing else');
SELECT is((SELECT count(*) FROM surface), (SELECT count(*) FROM matrix), 'C-059 each once');
SELECT is(pg_temp.tried('nobody', statement), '42501', format('C-059 nobody may not call %s', routine)) FROM matrix ORDER BY place;
SELECT is(pg_temp.tried('producer', statement), CASE WHEN producer THEN outcome ELSE '42501' END,
          format('C-059 a producer %s call %s', CASE WHEN producer THEN 'may' ELSE 'may not' END, routine)) FROM matrix
 ORDER BY place;
SELECT is(pg_temp.tried('worker_one', statement), CASE WHEN worker_one THEN outcome ELSE '42501' END,
          format('C-059 a worker of one queue %s call %s', CASE WHEN worker_one THEN 'may' ELSE 'may not' END, routine)) FROM matrix
 ORDER BY place;
SELECT is(pg_temp.tried('worker_all', statement), CASE WHEN worker_all THEN outcome ELSE '42501' END,
          format('C-059 a worker of all queues %s call %s', CASE WHEN worker_all THEN 'may' ELSE 'may not' END, routine))
  FROM matrix ORDER BY place;
SELECT is(pg_temp.tried('operator', statement), CASE WHEN operator THEN outcome ELSE '42501' END,
          format('C-059 an operator %s call %s', CASE WHEN operator THEN 'may' ELSE 'may not' END, routine)) FROM matrix
 ORDER BY place;

-- Tables, and everything private.
CREATE TEMP TABLE five AS SELECT unnest(ARRAY['nobody', 'producer', 'worker_one', 'worker_all', 'operator']) AS called;
SELECT is_empty($$SELECT called, nspname FROM five, pg_namespace WHERE nspname = '_x_jobs'
                AND (has_schema_privilege('regress_x_jobs_' || called, oid, 'USAGE')
                     OR has_schema_privilege('regress_x_jobs_' || called, oid, 'CREATE'))$$,
                'C-063 none of the five may use the private schema');
SELECT is_empty($$SELECT called FROM five WHERE has_schema_privilege('regress_x_jobs_' || called, 'x_jobs', 'CREATE')$$,
                'C-061 none of the five may create anything in x_jobs');
SELECT is_empty($$SELECT called, c.oid::regclass FROM five, pg_class AS c
                WHERE c.relnamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm')
                   AND has_table_privilege('regress_x_jobs_' || called, c.oid,
                                           CASE WHEN c.relname IN ('all_jobs', 'tasks') AND c.relkind = 'v' THEN '' ELSE 'SELECT, ' END
                                           || 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')$$,
                'C-063 none of the five has any right on any table, nor more than SELECT on the two views');
SELECT is_empty($$SELECT called, c.oid::regclass FROM five, pg_class AS c
                WHERE c.relnamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm')
                   AND has_any_column_privilege('regress_x_jobs_' || called, c.oid,
                                           CASE WHEN c.relname IN ('all_jobs', 'tasks') AND c.relkind = 'v' THEN '' ELSE 'SELECT, ' END
                                           || 'INSERT, UPDATE, REFERENCES')$$,
                'C-063 nor on any column');
SELECT is_empty($$SELECT called, p.oid::regprocedure FROM five, pg_proc AS p WHERE p.pronamespace = '_x_jobs'::regnamespace
                AND has_function_privilege('regress_x_jobs_' || called, p.oid, 'EXECUTE')$$,
                'C-063 nor on any private function');
SELECT is(pg_temp.tried(called, statement), '42501', format('C-063 %s: %s', called, statement))
  FROM five, unnest(ARRAY['SELECT * FROM _x_jobs.jobs',
                          'INSERT INTO _x_jobs.grants (role, capability) VALUES (CURRENT_USER::regrole, ''operator'')',
      'SELECT _x_jobs.job(NULL)', 'SELECT _x_jobs.task_turn(''owned'')',
                          'UPDATE _x_jobs.tasks SET owner = ''postgres''']) AS statement ORDER BY called, statement;
SELECT is(pg_temp.tried(called, 'SELECT count(*) FROM x_jobs.all_jobs'), CASE called WHEN 'operator' THEN 'done' ELSE '42501' END,
          'C-059 the view all_jobs is the operator''s: ' || called) FROM five ORDER BY called;
SELECT is(pg_temp.tried(called, 'SELECT count(*) FROM x_jobs.tasks'), CASE WHEN called IN ('producer', 'operator') THEN 'done'
                                                                      ELSE '42501' END,
          'C-059 the view tasks is for producers and operators: ' || called) FROM five ORDER BY called;
SELECT is(pg_temp.tried('operator', statement), '55000', 'C-063 not even an operator can write through them: ' || statement)
  FROM unnest(ARRAY['UPDATE x_jobs.all_jobs SET state = ''done''', 'DELETE FROM x_jobs.all_jobs',
                    'UPDATE x_jobs.tasks SET owner = ''postgres''', 'DELETE FROM x_jobs.tasks']) AS statement;
SELECT is_empty($$SELECT oid::regprocedure FROM pg_proc WHERE pronamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)
                   AND (proacl IS NULL OR EXISTS (SELECT FROM aclexplode(proacl) AS granted WHERE granted.grantee = 0))$$,
                       'C-061 PUBLIC may execute no function');
SELECT is_empty($$SELECT oid::regclass FROM pg_class WHERE relnamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)
                AND EXISTS (SELECT FROM aclexplode(relacl) AS granted WHERE granted.grantee = 0)$$,
                'C-061 PUBLIC has no right on any table or view');

-- A worker of one queue.
SELECT id AS mine FROM x_jobs.enqueue('n', queue => 'mine', dedupe => false) \gset
SELECT id AS other FROM x_jobs.enqueue('n', queue => 'other', dedupe => false) \gset
SELECT claim AS my_claim FROM x_jobs.claim('{mine}', 'w') \gset
SELECT claim AS other_claim FROM x_jobs.claim('{other}', 'w') \gset
SELECT id AS waiting FROM x_jobs.enqueue('n', queue => 'other', dedupe => false) \gset
SELECT x_jobs.new_id() AS unknown \gset
CREATE TEMP TABLE verb (verb text, statement text, lands text);
INSERT INTO verb VALUES
    ('heartbeat', $$SELECT x_jobs.heartbeat('JOB', 'w', 1)$$, '(t)'),
    ('heartbeat_many', $$SELECT * FROM x_jobs.heartbeat_many('{JOB}', 'w', '{1}')$$, '(JOB,t)'),
    ('guard', $$SELECT x_jobs.guard('JOB', 'w', 1)$$, '("")'),
    ('progress', $$SELECT x_jobs.progress('JOB', 'w', 1, 1, 2)$$, '(t)'),
    ('ack', $$SELECT x_jobs.ack('JOB', 'w', 1)$$, '(t)'),
    ('nack', $$SELECT x_jobs.nack('JOB', 'w', 1)$$, '(t)'),
    ('nack, dead_letter', $$SELECT x_jobs.nack('JOB', 'w', 1, dead_letter => true)$$, '(t)'),
    ('fail', $$SELECT landed, outcome, stop_reason FROM x_jobs.fail('JOB', 'w', 1, 'e')$$, '(t,retried,)'),
    ('release', $$SELECT x_jobs.release('JOB', 'w', 1)$$, '(t)'),
    ('settle', $$SELECT *
     FROM x_jobs.settle(ARRAY[ROW('JOB', 1, 'ack', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::x_jobs.settlement], 'w')$$,
     '(1,JOB,t,completed)'),
    ('exchange', $$SELECT status, id
     FROM x_jobs.exchange(ARRAY[ROW('JOB', 1, 'ack', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::x_jobs.settlement], '{mine}',
                          'w')$$,
     'no rows');
CREATE FUNCTION pg_temp.for_job(statement text, job text) RETURNS text LANGUAGE sql AS 'SELECT replace(statement, ''JOB'', job)';
SELECT j::text AS before FROM _x_jobs.jobs AS j WHERE j.id = :'other' \gset
SELECT is(pg_temp.answered('worker_one', pg_temp.for_job(statement, :'mine')), pg_temp.for_job(lands, :'mine'),
          format('C-059 %s of a job of its own queue lands', verb)) FROM verb ORDER BY verb;
SELECT is(replace(pg_temp.answered('worker_one', pg_temp.for_job(statement, :'other')), :'other', 'JOB'),
          replace(pg_temp.answered('worker_one', pg_temp.for_job(statement, :'unknown')), :'unknown', 'JOB'),
          format('C-059 %s of another queue''s job is answered exactly as for an unknown id', verb)) FROM verb ORDER BY verb;
SELECT isnt(pg_temp.answered('worker_one', pg_temp.for_job(statement, :'other')), pg_temp.for_job(lands, :'other'),
            format('C-059 %s of another queue''s job does not land', verb)) FROM verb ORDER BY verb;
SELECT is(pg_temp.answered('worker_all', pg_temp.for_job(statement, :'other')), pg_temp.for_job(lands, :'other'),
          format('C-059 %s of the same job by a worker of all queues does', verb)) FROM verb ORDER BY verb;
-- The same once more, not undone: the job must be as it was.
SET ROLE regress_x_jobs_worker_one;
SELECT x_jobs.ack(:'other', 'w', :other_claim) AS acked, x_jobs.nack(:'other', 'w', :other_claim, fail => true) AS nacked,
    x_jobs.heartbeat(:'other', 'w', :other_claim, '1 h') AS renewed,
       x_jobs.release(:'other', 'w', :other_claim) AS released, x_jobs.progress(:'other', 'w', :other_claim, 1, 2) AS reported \gset
RESET ROLE;
SELECT is(:'acked' || :'nacked' || :'renewed' || :'released' || :'reported', 'fffff',
          'C-059 a worker of one queue lands nothing on another queue''s job');
SELECT is(j::text, :'before', 'C-059 and the job is as it was') FROM _x_jobs.jobs AS j WHERE j.id = :'other';
SELECT is(pg_temp.tried('worker_one', statement), '42501', 'C-059 a worker of one queue: ' || statement)
  FROM unnest(ARRAY[$$SELECT x_jobs.claim('{other}', 'w')$$, $$SELECT x_jobs.claim('{mine,other}', 'w')$$,
                    $$SELECT x_jobs.claim('{nowhere}', 'w')$$, $$SELECT x_jobs.claim('{Mine}', 'w')$$,
      $$SELECT x_jobs.claim('{other}', 'w', 0)$$,
                    $$SELECT x_jobs.exchange('{}', '{other}', 'w')$$,
                        $$SELECT x_jobs.exchange('{}', '{mine,other}', 'w')$$]) AS statement;
SELECT is(state, 'ready', 'C-059 nothing was claimed') FROM x_jobs.job(:'waiting');
SELECT is(replace(pg_temp.answered('worker_one', $$SELECT x_jobs.claim('{other}', 'w')$$), 'other', 'no such queue'),
          pg_temp.answered('worker_one', $$SELECT x_jobs.claim('{no such queue}', 'w')$$),
    'C-059 whether a foreign queue exists is not told');

-- Grants are idempotent, add up, and can be taken back one by one.
SELECT format('%s %s %s', role, capability, COALESCE(queue, '*')) AS before FROM _x_jobs.grants
 WHERE role = 'regress_x_jobs_worker_all'::regrole \gset
SELECT x_jobs.grant_worker('regress_x_jobs_worker_all'), x_jobs.grant_worker('regress_x_jobs_worker_all', NULL) \g /dev/null
SELECT is(string_agg(format('%s %s %s', role, capability, COALESCE(queue, '*')), ', '), :'before',
          'C-059 granting the same again changes nothing') FROM _x_jobs.grants WHERE role = 'regress_x_jobs_worker_all'::regrole;
SELECT x_jobs.grant_worker('regress_x_jobs_bob', ARRAY['a', 'b']), x_jobs.grant_worker('regress_x_jobs_bob', ARRAY['b', 'c']),
    x_jobs.grant_worker('regress_x_jobs_bob', ARRAY['c', 'c']) \g /dev/null
SELECT is(string_agg(queue, ' ' ORDER BY queue), 'a b c', 'C-059 queues granted one after another add up') FROM _x_jobs.grants
 WHERE role = 'regress_x_jobs_bob'::regrole;
SELECT is(pg_temp.tried('bob', $$SELECT x_jobs.claim('{a,b,c}', 'w')$$), 'done', 'C-059 and can be claimed from together');
SELECT x_jobs.revoke_worker('regress_x_jobs_bob', ARRAY['b']) \g /dev/null
SELECT is(pg_temp.tried('bob', $$SELECT x_jobs.claim('{a,c}', 'w')$$) || ' '
          || pg_temp.tried('bob', $$SELECT x_jobs.claim('{b}', 'w')$$), 'done 42501',
    'C-059 the revoke of one queue takes that one');
SELECT x_jobs.revoke_worker('regress_x_jobs_bob', ARRAY['b']),
    x_jobs.revoke_worker('regress_x_jobs_bob', ARRAY['never granted']) \g /dev/null
SELECT is(pg_temp.tried('bob', $$SELECT x_jobs.claim('{a,c}', 'w')$$), 'done', 'C-059 revoking what is not granted is fine');
SELECT x_jobs.revoke_worker('regress_x_jobs_bob', ARRAY['a', 'c']) \g /dev/null
SELECT is_empty($$SELECT routine FROM surface WHERE has_function_privilege('regress_x_jobs_bob', oid, 'EXECUTE')$$,
                'C-059 with the last queue goes the right to call anything');
SELECT is(has_schema_privilege('regress_x_jobs_bob', 'x_jobs', 'USAGE'), false, 'C-059 and to use the schema');
SELECT x_jobs.revoke_worker('regress_x_jobs_bob'), x_jobs.revoke_producer('regress_x_jobs_bob'),
    x_jobs.revoke_operator('regress_x_jobs_bob') \g /dev/null
SELECT is((SELECT count(*) FROM _x_jobs.grants WHERE role = 'regress_x_jobs_bob'::regrole), 0::bigint,
          'C-059 revoking everything from a role that has nothing is fine');
SELECT x_jobs.grant_producer('regress_x_jobs_bob'), x_jobs.grant_worker('regress_x_jobs_bob', ARRAY['a']),
    x_jobs.grant_operator('regress_x_jobs_bob') \g /dev/null
SELECT x_jobs.revoke_worker('regress_x_jobs_bob') \g /dev/null
SELECT is(concat_ws(' ', pg_temp.tried('bob', $$SELECT x_jobs.enqueue('n', dedupe => false)$$),
                    pg_temp.tried('bob', $$SELECT x_jobs.claim('{a}', 'w')$$), pg_temp.tried('bob', 'SELECT x_jobs.stats()'),
    pg_temp.tried('bob', 'SELECT x_jobs.version()')),
          'done 42501 done done', 'C-059 one capability is taken, the others stay, what they share stays too');
SELECT x_jobs.revoke_operator('regress_x_jobs_bob') \g /dev/null
SELECT is(concat_ws(' ', pg_temp.tried('bob', $$SELECT x_jobs.enqueue('n', dedupe => false)$$),
                    pg_temp.tried('bob', 'SELECT count(*) FROM x_jobs.all_jobs'), pg_temp.tried('bob', 'SELECT x_jobs.version()'),
    pg_temp.tried('bob', 'SELECT count(*) FROM x_jobs.tasks')),
    'done 42501 done done', 'C-059 the view all_jobs goes with the operator''s right, tasks stays with the producer''s');
SELECT x_jobs.revoke_producer('regress_x_jobs_bob') \g /dev/null
SELECT is(pg_temp.tried('bob', 'SELECT count(*) FROM x_jobs.tasks'), '42501', 'C-059 and goes with that');
SELECT is((SELECT count(*) FROM pg_shdepend WHERE refclassid = 'pg_authid'::regclass AND refobjid = 'regress_x_jobs_bob'::regrole),
          0::bigint, 'C-059 after all revokes nothing holds the role: it can be dropped');
BEGIN;
SELECT x_jobs.grant_producer('regress_x_jobs_bob') \g /dev/null
SELECT pg_temp.tried('bob', $$SELECT x_jobs.enqueue('n', dedupe => false)$$) AS within \gset
ROLLBACK;
SELECT is(:'within' || ' ' || pg_temp.tried('bob', $$SELECT x_jobs.enqueue('n', dedupe => false)$$), 'done 42501',
          'C-059 a grant stands and falls with its transaction');

BEGIN;
SAVEPOINT given;
SELECT x_jobs.grant_worker('regress_x_jobs_bob', ARRAY['a']) \g /dev/null
SELECT pg_temp.tried('bob', $$SELECT x_jobs.claim('{a}', 'w')$$) AS within \gset
ROLLBACK TO given;
SELECT pg_temp.tried('bob', $$SELECT x_jobs.claim('{a}', 'w')$$) AS after \gset
COMMIT;
SELECT is(:'within' || ' ' || :'after', 'done 42501', 'C-059 and with its subtransaction');

-- A role that was dropped with its grants leaves nothing that would disturb the others.
CREATE ROLE regress_x_jobs_gone;
SELECT x_jobs.grant_worker('regress_x_jobs_gone', ARRAY['mine']), x_jobs.grant_operator('regress_x_jobs_gone') \g /dev/null
DROP OWNED BY regress_x_jobs_gone;
DROP ROLE regress_x_jobs_gone;
SELECT is(concat_ws(' ', pg_temp.tried('worker_one', $$SELECT x_jobs.claim('{mine}', 'w')$$),
                    pg_temp.tried('operator', 'SELECT x_jobs.stats()'),
                    pg_temp.tried('bob', 'SELECT x_jobs.stats()')), 'done done 42501', 'C-059 a dropped role disturbs no other');
SELECT lives_ok($$SELECT x_jobs.grant_worker('regress_x_jobs_worker_one', ARRAY['mine'])$$, 'C-059 and grants go on');

-- Only the owner, a member of the owner, or a superuser may grant.
GRANT USAGE ON SCHEMA x_jobs TO regress_x_jobs_operator, regress_x_jobs_nobody;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA x_jobs TO regress_x_jobs_operator;
SELECT is(pg_temp.tried('operator', statement), '42501',
          'C-059 EXECUTE alone does not make an operator somebody who may grant: ' || routine) FROM matrix
 WHERE routine ~ '^(grant|revoke)_' ORDER BY place;
SELECT is((SELECT count(*) FROM _x_jobs.grants WHERE role IN ('regress_x_jobs_nobody'::regrole,
                        'regress_x_jobs_operator'::regrole)), 1::bigint, 'C-059 and no row of the grants has changed');
SELECT format('GRANT %I TO regress_x_jobs_lead', (SELECT pg_get_userbyid(extowner) FROM pg_extension
                        WHERE extname = 'x_jobs')) \gexec
SELECT is(pg_temp.tried('lead', statement), 'done', 'C-059 a member of the owner may: ' || routine) FROM matrix
 WHERE routine ~ '^(grant|revoke)_' ORDER BY place;
SELECT format('REVOKE %I FROM regress_x_jobs_lead', (SELECT pg_get_userbyid(extowner) FROM pg_extension
                        WHERE extname = 'x_jobs')) \gexec

-- The two halves of a grant: each alone is nothing.
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA x_jobs TO regress_x_jobs_nobody;
SELECT is(pg_temp.tried('nobody', statement), '42501', 'C-063 EXECUTE without a grant of x_jobs does not open ' || routine)
  FROM matrix WHERE routine NOT IN ('new_id', 'version', 'cron_next', 'cron_explain') ORDER BY place;
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA x_jobs FROM regress_x_jobs_nobody;
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA x_jobs FROM regress_x_jobs_operator;
SELECT is(pg_temp.tried('operator', 'SELECT x_jobs.stats()'), '42501', 'C-063 nor a grant of x_jobs without EXECUTE');
SELECT x_jobs.grant_operator('regress_x_jobs_operator') \g /dev/null
SELECT is(pg_temp.tried('operator', 'SELECT x_jobs.stats()'), 'done', 'C-059 granting again puts the missing half back');
REVOKE USAGE ON SCHEMA x_jobs FROM regress_x_jobs_nobody;

-- Names of roles are names: quoted, and with their case.
SELECT x_jobs.grant_producer('"regress_x_jobs_Alice"') \g /dev/null
SELECT is(pg_temp.tried('Alice', $$SELECT x_jobs.enqueue('n', dedupe => false)$$) || ' '
          || pg_temp.tried('alice', $$SELECT x_jobs.enqueue('n', dedupe => false)$$), 'done 42501',
    'C-059 what is granted to "Alice" is not granted to alice');
SELECT x_jobs.grant_worker('regress_x_jobs_alice', ARRAY['alice']),
    x_jobs.grant_worker('"regress_x_jobs_Alice"', ARRAY['Alice']) \g /dev/null
SELECT x_jobs.grant_producer('"regress_x_jobs_odd ""role""; --"'), x_jobs.grant_worker('"regress_x_jobs_odd ""role""; --"'),
    x_jobs.grant_operator('"regress_x_jobs_odd ""role""; --"') \g /dev/null
SELECT is(pg_temp.tried('odd "role"; --', $$SELECT x_jobs.enqueue('n', dedupe => false)$$), 'done',
          'C-061 a role with an odd name can be granted to');
SELECT x_jobs.revoke_producer('"regress_x_jobs_odd ""role""; --"'), x_jobs.revoke_worker('"regress_x_jobs_odd ""role""; --"'),
    x_jobs.revoke_operator('"regress_x_jobs_odd ""role""; --"') \g /dev/null
SELECT is(pg_temp.tried('odd "role"; --', $$SELECT x_jobs.enqueue('n', dedupe => false)$$), '42501', 'C-061 and taken from');
SELECT throws_ok($$SELECT x_jobs.grant_producer('regress_x_jobs_there_is_no_such_role')$$, '42704', NULL,
                 'C-059 a role that does not exist is the server''s own error');
SELECT throws_ok($$SELECT x_jobs.grant_producer('public')$$, NULL, NULL, 'C-059 PUBLIC is no role to grant to');

-- alice, "Alice" and bob each have jobs, and try everything on each other's.
SELECT id AS her FROM x_jobs.enqueue('n', queue => 'alice', dedupe => false) \gset
SELECT id AS hers FROM x_jobs.enqueue('n', queue => 'Alice', dedupe => false) \gset
SELECT claim FROM x_jobs.claim('{alice}', 'worker of alice') \gset
SELECT claim FROM x_jobs.claim('{Alice}', 'worker of Alice') \gset
SELECT j::text AS before FROM _x_jobs.jobs AS j WHERE j.id = :'her' \gset
CREATE TEMP TABLE attempted AS
    SELECT verb, called, pg_temp.answered(called, replace(pg_temp.for_job(statement, job), '''w''',
                            '''worker of alice''')) AS answer
      FROM verb, (VALUES ('Alice', :'her'), ('alice', :'unknown')) AS tries (called, job);
SELECT is((SELECT replace(answer, :'her', 'JOB') FROM attempted AS a WHERE a.called = 'Alice' AND a.verb = v.verb),
          (SELECT replace(answer, :'unknown', 'JOB') FROM attempted AS a WHERE a.called = 'alice' AND a.verb = v.verb),
          format('C-059 "Alice" who tries %s on a job of alice is answered as if it did not exist', verb)) FROM verb AS v
           ORDER BY verb;
SELECT is(pg_temp.tried(called, 'SET LOCAL row_security = off; ' || statement), '42501',
          format('C-059 %s, with row rules off: %s', called, statement))
  FROM unnest(ARRAY['alice', 'Alice', 'bob']) AS called,
      unnest(ARRAY['SELECT * FROM x_jobs.all_jobs', 'SELECT * FROM _x_jobs.jobs', format('SELECT x_jobs.job(%L)', :'her'),
                   format('SELECT x_jobs.cancel(%L)', :'her'),
       format('SELECT x_jobs.remove(%L)', :'her'), format('SELECT x_jobs.requeue(%L)', :'hers'),
           'SELECT x_jobs.jobs(queue => ''alice'')', 'SELECT x_jobs.pause_queue(''alice'')']) AS statement;
SELECT is(j::text, :'before', 'C-059 after all that the job of alice is as it was') FROM _x_jobs.jobs AS j WHERE j.id = :'her';
SELECT is(pg_temp.tried('operator', format('SELECT x_jobs.cancel(%L)', :'her')), 'done', 'C-059 the operator may cancel it');

-- Membership works by inheritance.
SELECT x_jobs.grant_worker('regress_x_jobs_team', ARRAY['mine']) \g /dev/null
GRANT regress_x_jobs_team TO regress_x_jobs_inheriting, regress_x_jobs_not_inheriting;
SELECT is(pg_temp.tried('inheriting', $$SELECT x_jobs.claim('{mine}', 'w')$$), 'done',
          'C-059 a member that inherits has the rights of its group');
SELECT is(pg_temp.tried('inheriting', $$SELECT x_jobs.claim('{other}', 'w')$$), '42501', 'C-059 and no more');
SELECT is(pg_temp.answered('inheriting', pg_temp.for_job($$SELECT x_jobs.heartbeat('JOB', 'w', 1)$$, :'mine')), '(t)',
          'C-059 for the verbs on a job too');
SELECT is(pg_temp.tried('not_inheriting', $$SELECT x_jobs.claim('{mine}', 'w')$$), '42501',
          'C-059 a member that does not inherit has nothing by itself');
SELECT is(pg_temp.tried('not_inheriting', $$SET LOCAL ROLE regress_x_jobs_team; SELECT x_jobs.claim('{mine}', 'w')$$), 'done',
          'C-059 until it takes the role of its group');
REVOKE regress_x_jobs_team FROM regress_x_jobs_inheriting;
SELECT is(pg_temp.tried('inheriting', $$SELECT x_jobs.claim('{mine}', 'w')$$), '42501',
          'C-059 who leaves the group leaves its rights');
CREATE FUNCTION public.enqueue_for_everybody() RETURNS boolean LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog,
    pg_temp AS $$SELECT (x_jobs.enqueue('n', dedupe => false)).id IS NOT NULL$$;
ALTER FUNCTION public.enqueue_for_everybody() OWNER TO regress_x_jobs_producer;
SELECT is(pg_temp.tried('nobody', 'SELECT public.enqueue_for_everybody()'), 'done',
          'C-059 a SECURITY DEFINER function of a producer acts as that producer');
ALTER FUNCTION public.enqueue_for_everybody() OWNER TO regress_x_jobs_bob;
SELECT is(pg_temp.tried('producer', 'SELECT public.enqueue_for_everybody()'), '42501',
          'C-059 one of somebody without rights does not borrow the caller''s');

-- What a task's function may is what its owner may, whoever fires it.
CREATE FUNCTION public.regress_x_jobs_greedy(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql
    AS $$BEGIN PERFORM count(*) FROM _x_jobs.jobs; END$$;
CREATE FUNCTION public.regress_x_jobs_climbing(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql
    AS $$BEGIN RESET ROLE; END$$;
CREATE FUNCTION public.regress_x_jobs_modest(timestamptz) RETURNS x_jobs.new_job LANGUAGE sql
    AS $$SELECT jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', CURRENT_USER))$$;
SET ROLE regress_x_jobs_producer;
SELECT x_jobs.schedule(t, '0 0 * * *', entries_function => ('public.regress_x_jobs_' || t || '(timestamptz)')::regprocedure)
  FROM unnest(ARRAY['greedy', 'climbing', 'modest']) AS t \g /dev/null
RESET ROLE;
SELECT is(pg_temp.tried('operator', format('SELECT x_jobs.fire_task(%L)', t)), '42501',
          'C-063 a task''s function has not the rights of an operator who fires it: ' || t) FROM unnest(ARRAY['greedy', 'climbing']) AS t;
UPDATE _x_jobs.task_states SET watermark = '2020-01-01 00:00+00' WHERE task IN ('greedy', 'climbing', 'modest');
SELECT throws_ok(format('SELECT _x_jobs.task_turn(%L)', t), '42501', NULL, 'C-063 nor those of the scheduler: ' || t)
  FROM unnest(ARRAY['greedy', 'climbing']) AS t;
SELECT _x_jobs.task_turn('modest') \g /dev/null
SELECT is((SELECT name FROM x_jobs.all_jobs WHERE idempotency_key LIKE 'modest:%'), 'regress_x_jobs_producer',
          'C-063 it runs as the owner of the task');
SELECT x_jobs.unschedule(t) FROM unnest(ARRAY['greedy', 'climbing', 'modest']) AS t \g /dev/null
DROP FUNCTION public.regress_x_jobs_greedy(timestamptz), public.regress_x_jobs_climbing(timestamptz),
    public.regress_x_jobs_modest(timestamptz);

-- Somebody who may write the tables.
GRANT USAGE ON SCHEMA _x_jobs TO regress_x_jobs_writer;
GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA _x_jobs TO regress_x_jobs_writer;
SELECT id AS good FROM x_jobs.enqueue('n', queue => 'written', dedupe => false) \gset
SET ROLE regress_x_jobs_writer;
INSERT INTO _x_jobs.grants (role, capability) SELECT 'regress_x_jobs_writer', unnest(ARRAY['producer', 'worker', 'operator']);
INSERT INTO _x_jobs.jobs (id, run_id, run_at, state, queue, name, claim, attempt, claimed_by, visible_at)
     SELECT ('01890000-0000-7000-8000-00000000000' || n)::uuid, '01890000-0000-7000-8000-00000000000f', now() - interval '1 day',
         state, 'written', 'forged', 9, 1, claimed_by, visible_at
       FROM (VALUES (1, 'superuser', NULL, NULL), (2, 'READY', NULL, NULL), (3, 'done', NULL, NULL), (4, '', NULL, NULL),
             (5, 'running', 'w', '-infinity'::timestamptz - interval '0'), (6, 'running', NULL, NULL)) AS forged (n, state,
                               claimed_by, visible_at);
RESET ROLE;
SELECT is(pg_temp.tried('writer', statement), '42501', format('C-063 who forged a grant for itself may still not call %s', routine))
  FROM matrix WHERE routine <> 'version' ORDER BY place;
SELECT is((SELECT array_agg(id) FROM x_jobs.claim('{written}', 'w', 100) WHERE name <> 'forged'), ARRAY[:'good']::uuid[],
          'C-063 forged rows do not keep a claim from the good ones');
SELECT is((SELECT count(*) FROM x_jobs.claim('{written}', 'w', 100) WHERE id::text ~ '[1234]$' AND name = 'forged'), 0::bigint,
          'C-063 a row of a state that does not exist, or is no live one, is never handed out');
SELECT is((SELECT string_agg(state, ' ' ORDER BY id) FROM _x_jobs.jobs WHERE name = 'forged' AND id::text ~ '[1234]$'),
          'superuser READY done ', 'C-063 nor changed');
SELECT throws_ok($$SELECT x_jobs.job('01890000-0000-7000-8000-000000000001')$$, 'XJ011', NULL, 'C-063 ROW-8 and reading it raises');
SELECT is(x_jobs.ack('01890000-0000-7000-8000-000000000001', 'w', 9), false, 'C-063 it cannot be settled');
SELECT throws_ok($$INSERT INTO _x_jobs.grants (role, capability) VALUES ('regress_x_jobs_writer', 'superuser')$$, '23514', NULL,
                 'C-063 a capability that does not exist cannot be stored');
DELETE FROM _x_jobs.jobs WHERE name = 'forged';
CREATE FUNCTION pg_temp.forged_task(owner text) RETURNS text LANGUAGE sql AS $$
    SELECT format('INSERT INTO _x_jobs.tasks (task, owner, cron, time_zone, day_rule, entries_function, catch_up, max_catch_up, overlap, anchor, created_at, updated_at)'
        ' VALUES (%L, %L, ''* * * * *'', ''UTC'', ''or'', ''public.f(timestamptz)'', ''all'', 1, ''allow'', now(), now(), now())', 'forged ' || owner, owner)
$$;
SELECT x_jobs.schedule('honest', '* * * * *', entries => '{"name":"n"}') \gset
SELECT is(pg_temp.tried('writer', pg_temp.forged_task('postgres')), '42501', 'C-063 who may write the table makes no task for another role');
SELECT isnt(pg_temp.tried('writer', pg_temp.forged_task('regress_x_jobs_writer')), '42501', 'C-063 but one for itself');
SELECT is(pg_temp.tried('writer', $$UPDATE _x_jobs.tasks SET entries = NULL, entries_function = 'public.f(timestamptz)' WHERE task = 'honest'$$), '42501',
          'C-063 nor changes what another''s task runs');
DELETE FROM _x_jobs.tasks WHERE task = 'honest' OR task LIKE 'forged %';
DELETE FROM _x_jobs.task_states WHERE task = 'honest';

-- The functions themselves.
SELECT is_empty($$SELECT oid::regprocedure FROM pg_proc WHERE pronamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)
                AND prosecdef$$,
                'C-061 no function is SECURITY DEFINER');
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
                WHERE pronamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace) AND lanname <> 'c'
                   AND NOT 'search_path=pg_catalog, pg_temp' = ANY (COALESCE(proconfig, '{}'))$$,
                       'C-061 every function that is not C has a fixed search_path, pg_temp last');
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang
                WHERE pronamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace) AND lanname = 'c'
    AND probin <> '$libdir/x_jobs'$$,
                'C-061 every C function is the library''s');
CREATE TABLE pg_temp.jobs (id uuid, state text);
CREATE TABLE pg_temp.all_jobs (id uuid, state text);
CREATE TABLE pg_temp.tasks (task text);
CREATE TABLE pg_temp.task_states (task text);
SET search_path = pg_temp, public;
SELECT is((SELECT count(*) FROM x_jobs.jobs(queue => 'other')), 2::bigint, 'C-061 temporary tables of the same names are not read');
SELECT is((SELECT count(*) FROM x_jobs.tasks), 1::bigint, 'C-061 nor are those of tasks');
SELECT is((SELECT count(*) FROM x_jobs.fire_task('owned')), 1::bigint, 'C-061 which fire what is theirs');
RESET search_path;

-- Installing where somebody was first.
DROP VIEW surface;
SELECT id AS kept FROM x_jobs.enqueue('n', dedupe => false) \gset
DROP EXTENSION x_jobs;
SELECT format('GRANT CREATE ON DATABASE %I TO regress_x_jobs_low', current_database()) \gexec
GRANT CREATE ON SCHEMA public TO regress_x_jobs_low;
SET ROLE regress_x_jobs_low;
CREATE SCHEMA x_jobs;
RESET ROLE;
SELECT throws_ok('CREATE EXTENSION x_jobs', '42P06', NULL,
                 'C-061 a schema x_jobs that somebody made before stops the installation');
SET ROLE regress_x_jobs_low;
CREATE TABLE x_jobs.all_jobs (id uuid);
CREATE FUNCTION x_jobs.version() RETURNS text LANGUAGE sql AS 'SELECT ''planted''';
RESET ROLE;
SELECT throws_ok('CREATE EXTENSION x_jobs', '42P06', NULL, 'C-061 so do tables and functions planted in it');
SELECT throws_ok('CREATE EXTENSION x_jobs SCHEMA public', NULL, NULL, 'C-061 another schema does not help');
SELECT is((SELECT count(*) FROM pg_extension WHERE extname = 'x_jobs'), 0::bigint, 'C-061 nothing is left half installed');
SELECT is(x_jobs.version(), 'planted', 'C-061 and nothing planted has become a part of it');
SET ROLE regress_x_jobs_low;
DROP SCHEMA x_jobs CASCADE;
CREATE SCHEMA _x_jobs;
CREATE TABLE _x_jobs.jobs (id uuid);
RESET ROLE;
SELECT throws_ok('CREATE EXTENSION x_jobs', '42P06', NULL, 'C-061 a private schema that somebody made before stops it too');
DROP SCHEMA _x_jobs CASCADE;

-- What is planted in public is not looked at.
SET ROLE regress_x_jobs_low;
CREATE TABLE public.jobs (id uuid);
CREATE TYPE public.job AS (id uuid);
CREATE FUNCTION public.trap(text) RETURNS text LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'a planted function was called'; END$$;
CREATE FUNCTION public.trapped(text,
                        text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'a planted operator was called'; END$$;
CREATE FUNCTION public.lpad(text, integer, text) RETURNS text LANGUAGE sql AS 'SELECT public.trap($1)';
CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE sql AS 'SELECT public.trap($1)';
CREATE FUNCTION public.pg_extension_config_dump(text, text) RETURNS text LANGUAGE sql AS 'SELECT public.trap($1)';
CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT public.trap('''')::timestamptz';
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, FUNCTION = public.trapped);
CREATE OPERATOR public.<> (LEFTARG = text, RIGHTARG = text, FUNCTION = public.trapped);
RESET ROLE;
SET search_path = public, pg_catalog;
CREATE EXTENSION x_jobs;
SELECT id AS made FROM x_jobs.enqueue('n', queue => 'q', dedupe => false) \gset
SELECT claim FROM x_jobs.claim('{q}', 'w') \gset
SELECT x_jobs.nack(:'made', 'w', :claim, error => 'e') AS landed \gset
SELECT count(*) AS listed FROM x_jobs.jobs(queue => 'q', state => 'ready') \gset
SELECT count(*) AS tasks FROM x_jobs.maintain() \gset
SELECT x_jobs.schedule('t', '30 2 * * mon-fri', 'Europe/Berlin', '{"name": "n", "idempotency_key": "k"}') IS NOT NULL AS scheduled \gset
UPDATE _x_jobs.task_states SET watermark = timestamptz '2020-01-01 00:00+00';
SELECT _x_jobs.task_turn(task) AS turned FROM _x_jobs.due_tasks() \gset
SELECT x_jobs.pause_task('t') IS NOT NULL AS halted, x_jobs.resume_task('t') AS resumed, (SELECT count(*) FROM x_jobs.fire_task('t')) AS by_hand \gset
SELECT count(*) AS fires FROM x_jobs.tasks, x_jobs.task_history('t') \gset
SELECT (x_jobs.fire('outside', pg_catalog.now(), '{}')).fired AS outside, x_jobs.record_fire('outside', pg_catalog.now()) IS NOT NULL AS recorded \gset
SELECT x_jobs.cron_explain('0 0 1 1 *') IS NOT NULL AS explained, (SELECT count(*) FROM x_jobs.cron_next('0 0 1 1 *', n => 2)) AS foretold \gset
SELECT count(*) AS checks FROM x_jobs.health(), (SELECT count(*) FROM x_jobs.background_workers()) AS b \gset
SELECT x_jobs.leader_acquire(holder => 'h') AS leads, x_jobs.leader_release('scheduler', 'h') AS led \gset
SELECT count(*) AS totals FROM x_jobs.counters(), x_jobs.counter_totals() \gset
SELECT x_jobs.unschedule('t') \g /dev/null
SELECT x_jobs.grant_worker('regress_x_jobs_nobody', ARRAY['q']) \g /dev/null
RESET search_path;
DROP OPERATOR public.= (text, text);
DROP OPERATOR public.<> (text, text);
DROP FUNCTION public.format(text, text), public.lpad(text, integer, text), public.clock_timestamp();
SELECT is(concat_ws(' ', :'scheduled', :'turned', :'halted', :'resumed', :'by_hand', :'fires', :'outside', :'recorded', :'explained', :'foretold',
                    :'checks', :'leads', :'led'), 't t t t 1 3 t t t 2 8 t t', 'C-061 nor by tasks, their fires, health or the leader lease');
SELECT is(:'landed' || ' ' || :'listed' || ' ' || :'tasks', 't 1 11',
          'C-061 planted functions and operators are neither resolved at installation nor called afterwards, whatever the search_path');
SELECT is_empty($$SELECT d.objid FROM pg_depend AS d JOIN pg_depend AS member ON member.classid = d.classid
                AND member.objid = d.objid AND member.deptype = 'e'
    AND member.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'x_jobs')
                   WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid IN (SELECT oid FROM pg_proc
                                           WHERE pronamespace = 'public'::regnamespace)$$,
                       'C-061 and nothing of the extension depends on them');

-- The roles go again.
DROP EXTENSION x_jobs;
DROP OWNED BY regress_x_jobs_nobody, regress_x_jobs_producer, regress_x_jobs_worker_one, regress_x_jobs_worker_all,
    regress_x_jobs_operator, regress_x_jobs_alice, "regress_x_jobs_Alice", regress_x_jobs_bob,
    regress_x_jobs_team, regress_x_jobs_inheriting, regress_x_jobs_not_inheriting, regress_x_jobs_lead, regress_x_jobs_writer,
        regress_x_jobs_low, "regress_x_jobs_odd ""role""; --" CASCADE;
DROP ROLE regress_x_jobs_nobody, regress_x_jobs_producer, regress_x_jobs_worker_one, regress_x_jobs_worker_all,
    regress_x_jobs_operator, regress_x_jobs_alice, "regress_x_jobs_Alice", regress_x_jobs_bob,
    regress_x_jobs_team, regress_x_jobs_inheriting, regress_x_jobs_not_inheriting, regress_x_jobs_lead, regress_x_jobs_writer,
        regress_x_jobs_low, "regress_x_jobs_odd ""role""; --";

SELECT * FROM finish();
