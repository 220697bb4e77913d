-- If this failed, a worker that lost its job could still commit what it wrote for it.
SELECT plan(39);

-- A job of the named queue, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s') RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job.' || named, queue => named, dedupe => false);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w', 1, lease) AS c
$$;
CREATE TABLE effect (what text);
CREATE FUNCTION pg_temp.effects(pattern text) RETURNS text LANGUAGE sql AS $$
    SELECT COALESCE(string_agg(what, ' ' ORDER BY what), 'none') FROM effect WHERE what LIKE pattern
$$;

-- A claim that holds.
SELECT * FROM pg_temp.held('holds') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('holds');
COMMIT;
SELECT is(pg_temp.effects('holds'), 'holds', 'X-20 a transaction whose claim holds the job commits');
SELECT is(state || ' ' || claim, 'running 1', 'X-20 and the guard itself changes nothing of the job') FROM x_jobs.job(:'id');
SELECT ok(x_jobs.ack(:'id', 'w', :claim), 'X-20 which its claim can settle afterwards');
SELECT * FROM pg_temp.held('alone') \gset
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
SELECT is(:'SQLSTATE'::text, '00000', 'X-20 a guard alone is a transaction too');
SELECT * FROM pg_temp.held('twice') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('twice');
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
COMMIT;
SELECT is(pg_temp.effects('twice'), 'twice', 'X-20 guarding twice is guarding');

-- A lease that lapsed counts as held until somebody else claims the job.
SELECT * FROM pg_temp.held('lapsed', '0') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('lapsed');
COMMIT;
SELECT is(pg_temp.effects('lapsed'), 'lapsed', 'X-20 HB-4 a lapsed claim that nobody took over still holds');

-- A settle of the same transaction.
SELECT * FROM pg_temp.held('acked') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('acked');
SELECT x_jobs.ack(:'id', 'w', :claim) AS landed \gset
COMMIT;
SELECT is(:'landed' || ' ' || pg_temp.effects('acked'), 't acked', 'X-20 an ack after the guard counts as held');
SELECT is(state, 'done', 'X-20 and lands') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('acked_before') \gset
\set ON_ERROR_STOP off
BEGIN;
SELECT x_jobs.ack(:'id', 'w', :claim) AS landed \gset
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('acked_before');
COMMIT;
\set ON_ERROR_STOP on
SELECT is(:'landed' || ' ' || pg_temp.effects('acked_before'), 't acked_before', 'X-20 so does an ack before it');
SELECT * FROM pg_temp.held('settled') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('settled');
SELECT landed FROM x_jobs.settle(ARRAY[ROW(:'id', :claim, 'ack', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::x_jobs.settlement],
                        'w') \gset
COMMIT;
SELECT is(:'landed' || ' ' || pg_temp.effects('settled'), 't settled', 'X-20 an ack by settle() as well');
SELECT * FROM pg_temp.held('exchanged') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('exchanged');
SELECT count(*) AS rows
  FROM x_jobs.exchange(ARRAY[ROW(:'id', :claim, 'ack', NULL, NULL, NULL, NULL, NULL, NULL, NULL)::x_jobs.settlement],
                       ARRAY['nowhere'], 'w') \gset
COMMIT;
SELECT is(:'rows' || ' ' || pg_temp.effects('exchanged'), '0 exchanged', 'X-20 and by exchange()');

-- Renewals and reports of the same transaction.
SELECT * FROM pg_temp.held('renewed') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
SELECT x_jobs.heartbeat(:'id', 'w', :claim), x_jobs.progress(:'id', 'w', :claim, 1, 2) \gset
INSERT INTO effect VALUES ('renewed');
COMMIT;
SELECT is(pg_temp.effects('renewed') || ' ' || (progress ->> 'done'), 'renewed 1',
          'X-20 a renewal and a report after the guard do no harm') FROM x_jobs.job(:'id');

-- Claims that hold nothing: the transaction cannot commit, whatever it wrote.
SELECT * FROM pg_temp.held('lost', '0') \gset
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['lost'], 'w2') \gset
\set ON_ERROR_STOP off
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
INSERT INTO effect VALUES ('lost to another worker');
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
COMMIT;
\set ON_ERROR_STOP on
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('lost to%'), 'XJ102 none',
          'X-20 a job that another worker claimed again: X_JOB_LEASE_LOST, nothing is written');
SELECT is(state || ' ' || worker_id || ' ' || claim, 'running w2 2', 'X-20 and the present holder is not disturbed')
  FROM x_jobs.job(:'id');
SELECT ok(x_jobs.ack(:'id', 'w2', :second_claim), 'X-20 its ack lands');

\set ON_ERROR_STOP off
SELECT * FROM pg_temp.held('other_worker') \gset
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
INSERT INTO effect VALUES ('other worker');
SELECT x_jobs.guard(:'id', 'other', :claim) \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('other worker'), 'XJ102 none', 'X-20 another worker''s job');
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
INSERT INTO effect VALUES ('other ordinal');
SELECT x_jobs.guard(:'id', 'w', :claim + 1) \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('other ordinal'), 'XJ102 none', 'X-20 another ordinal');
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
INSERT INTO effect VALUES ('unknown');
SELECT x_jobs.guard(x_jobs.new_id(), 'w', 1) \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('unknown'), 'XJ102 none', 'X-20 an unknown job');
SELECT * FROM pg_temp.held('done') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
INSERT INTO effect VALUES ('done before');
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('done before'), 'XJ102 none',
          'X-20 a job that was settled in an earlier transaction');
SELECT id FROM x_jobs.enqueue('job.ready', queue => 'idle', dedupe => false) \gset
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
INSERT INTO effect VALUES ('ready');
SELECT x_jobs.guard(:'id', 'w', 0) \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('ready'), 'XJ102 none', 'X-20 a job that was never claimed');

-- What happens after the guard counts: it is the moment of the commit that decides.
SELECT * FROM pg_temp.held('cancelled') \gset
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('cancelled after');
SELECT state AS within FROM x_jobs.cancel(:'id') \gset
COMMIT;
SELECT is(:'within' || ' ' || :'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('cancelled after'), 'cancelled XJ102 none',
          'X-20 a job that is cancelled after the guard');
SELECT is(state, 'running', 'X-20 the failed commit took the cancellation back too') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('retaken', '0') \gset
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('retaken after');
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['retaken'], 'w') \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('retaken after'), 'XJ102 none',
          'X-20 HB-6 a job that the worker itself claims again after the guard');
SELECT is(claim, 1::bigint, 'X-20 the failed commit took the second claim back too') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('one') \gset one_
SELECT * FROM pg_temp.held('two') \gset two_
SELECT x_jobs.ack(:'two_id', 'w', :two_claim) \gset
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
SELECT x_jobs.guard(:'one_id', 'w', :one_claim) \gset
INSERT INTO effect VALUES ('two jobs');
SELECT x_jobs.guard(:'two_id', 'w', :two_claim) \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('two jobs'), 'XJ102 none',
          'X-20 of several guarded jobs each must be held');
\set ON_ERROR_STOP on
SELECT * FROM pg_temp.held('two') \gset two_
BEGIN;
SELECT x_jobs.guard(:'one_id', 'w', :one_claim), x_jobs.guard(:'two_id', 'w', :two_claim) \gset
INSERT INTO effect VALUES ('both jobs');
COMMIT;
SELECT is(pg_temp.effects('both jobs'), 'both jobs', 'X-20 and when each is the transaction commits');

-- Subtransactions.
SELECT * FROM pg_temp.held('savepoint') \gset
BEGIN;
INSERT INTO effect VALUES ('guard undone');
SAVEPOINT attempt;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
ROLLBACK TO attempt;
COMMIT;
SELECT is(pg_temp.effects('guard undone') || ' ' || state, 'guard undone running',
          'X-20 guard and ack of a subtransaction that was rolled back leave no trace') FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('gone', '0') \gset
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['gone'], 'w2') \gset
BEGIN;
INSERT INTO effect VALUES ('lost guard undone');
CREATE FUNCTION pg_temp.guard_and_undo(job uuid, claim bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM x_jobs.guard(job, 'w', claim);
    RAISE EXCEPTION 'undo';
EXCEPTION WHEN OTHERS THEN
    NULL;
END $$;
SELECT pg_temp.guard_and_undo(:'id', :claim) \gset
COMMIT;
SELECT is(pg_temp.effects('lost guard undone'), 'lost guard undone',
          'X-20 a guard that was rolled back does not bind, even one that is lost');
SELECT * FROM pg_temp.held('released', '0') \gset
\set ON_ERROR_STOP off
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
INSERT INTO effect VALUES ('guard released');
SAVEPOINT attempt;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
RELEASE attempt;
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['released'], 'w2') \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('guard released'), 'XJ102 none',
          'X-20 a guard of a released savepoint binds the whole transaction');
\set ON_ERROR_STOP on
SELECT * FROM pg_temp.held('cancel_undone') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('cancel undone');
SAVEPOINT attempt;
SELECT state AS within FROM x_jobs.cancel(:'id') \gset
ROLLBACK TO attempt;
COMMIT;
SELECT is(pg_temp.effects('cancel undone'), 'cancel undone', 'X-20 a cancellation that was rolled back costs the guard nothing');
SELECT * FROM pg_temp.held('ack_undone') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('ack undone');
SAVEPOINT attempt;
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
ROLLBACK TO attempt;
COMMIT;
SELECT is(pg_temp.effects('ack undone') || ' ' || state, 'ack undone running', 'X-20 nor does an ack that was rolled back')
  FROM x_jobs.job(:'id');
SELECT * FROM pg_temp.held('ack_then_lost', '0') \gset
\set ON_ERROR_STOP off
\set LAST_ERROR_SQLSTATE 00000
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('ack undone and lost');
SAVEPOINT attempt;
SELECT x_jobs.ack(:'id', 'w', :claim) AS landed \gset
ROLLBACK TO attempt;
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['ack_then_lost'], 'w2') \gset
COMMIT;
SELECT is(:'landed' || ' ' || :'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('ack undone and lost'), 't XJ102 none',
          'X-20 an ack that was rolled back does not count as held when the job is lost afterwards');
\set ON_ERROR_STOP on

-- A guard binds its own transaction only.
SELECT * FROM pg_temp.held('next', '0') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
ROLLBACK;
BEGIN;
INSERT INTO effect VALUES ('next transaction');
SELECT claim AS second_claim FROM x_jobs.claim(ARRAY['next'], 'w2') \gset
COMMIT;
SELECT is(pg_temp.effects('next transaction'), 'next transaction',
          'X-20 a guard of a transaction that was rolled back does not bind the next one');

-- At every isolation level.
SELECT * FROM pg_temp.held('serializable') \gset
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO effect VALUES ('serializable');
COMMIT;
SELECT is(pg_temp.effects('serializable'), 'serializable', 'X-20 X-21 a guard works at serializable');
SELECT * FROM pg_temp.held('repeatable') \gset
\set ON_ERROR_STOP off
\set LAST_ERROR_SQLSTATE 00000
BEGIN ISOLATION LEVEL REPEATABLE READ;
INSERT INTO effect VALUES ('repeatable');
SELECT x_jobs.guard(:'id', 'w', :claim + 1) \gset
COMMIT;
SELECT is(:'LAST_ERROR_SQLSTATE' || ' ' || pg_temp.effects('repeatable'), 'XJ102 none', 'X-20 X-21 and refuses at repeatable read');
\set ON_ERROR_STOP on

-- Where the error is raised: at the commit, so that all constraints deferred to it are judged the same way.
CREATE TABLE parent (id integer PRIMARY KEY);
CREATE TABLE child (id integer REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
SELECT * FROM pg_temp.held('deferred') \gset
BEGIN;
SELECT x_jobs.guard(:'id', 'w', :claim) \gset
INSERT INTO child VALUES (1);
INSERT INTO parent VALUES (1);
COMMIT;
SELECT is((SELECT count(*) FROM child), 1::bigint, 'X-20 deferred constraints and a guard get on');

-- NULL is not a claim.
SELECT throws_ok('SELECT x_jobs.guard(NULL, ''w'', 1)', 'XJ001', NULL, 'X-20 a NULL id is refused');
SELECT throws_ok(format('SELECT x_jobs.guard(%L, NULL, 1)', :'id'), 'XJ001', NULL, 'X-20 a NULL worker is refused');
SELECT throws_ok(format('SELECT x_jobs.guard(%L, ''w'', NULL)', :'id'), 'XJ001', NULL, 'X-20 a NULL claim is refused');

SELECT * FROM finish();
