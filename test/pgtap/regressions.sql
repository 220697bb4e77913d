-- If this failed, a fault that was once found and mended would be back.
SELECT plan(20);

CREATE FUNCTION pg_temp.held(named text, lease interval DEFAULT '30 s') RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job.' || named, queue => named, dedupe => false);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w', 1, lease) AS c
$$;

-- An exclusion constraint that an owner adds was not looked at, since a B-tree behind one says nothing itself.
ALTER TABLE _x_jobs.jobs ADD CONSTRAINT one_trace EXCLUDE USING btree (traceparent WITH =);
SELECT lives_ok($$SELECT x_jobs.enqueue('excluded', dedupe => false, traceparent => 'a')$$, 'a constraint of the owner lets a first job in');
SELECT throws_ok($$SELECT x_jobs.enqueue('excluded', dedupe => false, traceparent => 'a')$$, '23P01', NULL, 'and keeps a second one out');
SELECT throws_ok($$SELECT x_jobs.enqueue_many('excluded', '{null,null}', dedupe => false, traceparent => 'b')$$, '23P01', NULL, 'of a batch too');
ALTER TABLE _x_jobs.jobs DROP CONSTRAINT one_trace;

-- A priority beyond the claims' own, written by hand, was never found.
SELECT throws_ok($$INSERT INTO _x_jobs.jobs (id, run_id, name, run_at, priority) VALUES (x_jobs.new_id(), x_jobs.new_id(), 'n', now(), 10)$$,
                 '23514', NULL, 'X-1 the table takes priorities of 0 to 9 only');

-- A pause made with triggers of origin switched off was not seen by a session that had its mirror already.
SELECT x_jobs.enqueue('replica', queue => 'replica', dedupe => false) \g /dev/null
SELECT count(*) FROM x_jobs.claim(ARRAY['replica'], 'w', 0) \g /dev/null
SET session_replication_role = replica;
SELECT x_jobs.pause_queue('replica') \g /dev/null
RESET session_replication_role;
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY['replica'], 'w')), 0::bigint, 'CLAIM-14 a pause counts whatever session_replication_role says');

-- A roll-up with an old snapshot emptied a tally of rows that it had not seen.
SELECT * FROM pg_temp.held('counted') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \g /dev/null
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT is((SELECT string_agg(affected::text, ' ' ORDER BY task) FROM x_jobs.maintain() WHERE task IN ('roll_up', 'advance_ring', 'lay_out_ring')),
          '0 0 0', 'C-076 upkeep leaves ring and tallies alone in a transaction with one snapshot');
COMMIT;
SELECT is((SELECT count(*) FROM _x_jobs.tally WHERE name = 'job.counted'), 1::bigint, 'ACK-4 and no count is lost by it');

-- A guard asked for rights again at the commit, when another role may be the current one.
CREATE ROLE regress_x_jobs_guard;
SELECT x_jobs.grant_worker('regress_x_jobs_guard', ARRAY['guarded']) \g /dev/null
CREATE TABLE effect (what text);
SELECT * FROM pg_temp.held('guarded') \gset
CREATE ROLE regress_x_jobs_bystander;
GRANT INSERT, SELECT ON effect TO regress_x_jobs_bystander;
BEGIN;
SET LOCAL ROLE regress_x_jobs_guard;
SELECT x_jobs.guard(:'id', 'w', :claim) \g /dev/null
SET LOCAL ROLE regress_x_jobs_bystander;
INSERT INTO effect VALUES ('guarded');
COMMIT;
SELECT is((SELECT count(*) FROM effect), 1::bigint, 'X-20 a guard holds under whatever role the transaction ends');

-- A worker that died left no word of the attempt unless it was the last.
SELECT id FROM pg_temp.held('lapses', '0') \gset
SELECT is((SELECT attempt FROM x_jobs.claim(ARRAY['lapses'], 'other')), 2, 'C-037 a lapsed job is taken again');
SELECT is((SELECT string_agg(concat_ws(' ', attempt, claim, outcome, worker_id, error), ', ') FROM x_jobs.attempts(:'id')),
          '1 1 lapsed w the lease lapsed', 'C-037 the attempt whose worker died is on record');
SELECT is((SELECT count(*) FROM _x_jobs.tally WHERE name = 'job.lapses'), 0::bigint, 'BURY-8 a redelivery is not counted');

-- Bounds and roles that went past the checks.
SELECT throws_ok($$SELECT x_jobs.claim(ARRAY(SELECT 'q' || g FROM generate_series(1, 1001) AS g), 'w')$$, 'XJ001', NULL,
                 'ROW-18 a claim names at most 1,000 queues');
SELECT is((SELECT count(*) FROM x_jobs.claim(ARRAY(SELECT 'q' || g FROM generate_series(1, 1000) AS g), 'w')), 0::bigint,
          'ROW-18 and that many it may name');
SELECT throws_ok($$SELECT x_jobs.grant_producer('-')$$, 'XJ001', NULL, 'X-17 a role that does not exist is refused by name');
SELECT throws_ok($$SELECT x_jobs.grant_worker(99999::oid::regrole)$$, 'XJ001', NULL, 'X-17 so is a number that is no role');

-- Two thousand new queues and as many savepoints in one transaction, whose cost was once their square.
SELECT is((SELECT count(x_jobs.enqueue('many', queue => 'many.' || g, dedupe => false)) FROM generate_series(1, 2000) AS g), 2000::bigint,
          'ENQ-1 a statement may use thousands of new queues');
SELECT is((SELECT count(*) FROM x_jobs.stats() WHERE queue LIKE 'many.%'), 2000::bigint, 'STAT-1 each of them has its row');
DO $$
BEGIN
    FOR n IN 1 .. 2000 LOOP
        BEGIN
            PERFORM x_jobs.enqueue('saved', queue => 'saved', dedupe => false);
            IF n % 2 = 0 THEN RAISE EXCEPTION USING ERRCODE = 'XX999'; END IF;
        EXCEPTION WHEN SQLSTATE 'XX999' THEN NULL;
        END;
    END LOOP;
END $$;
SELECT is((SELECT ready FROM x_jobs.stats() WHERE queue = 'saved'), 1000::bigint, 'ENQ-1 what a savepoint undid is not there');

-- A result type wider than the library knows was filled from unset memory.
ALTER TYPE x_jobs.enqueued ADD ATTRIBUTE later text;
SELECT throws_ok($$SELECT * FROM x_jobs.enqueue('wide', dedupe => false)$$, '42804', NULL, 'ERR-4 a type of another version is refused');
ALTER TYPE x_jobs.enqueued DROP ATTRIBUTE later;
ALTER TYPE x_jobs.claimed_job ADD ATTRIBUTE later text;
SELECT throws_ok($$SELECT * FROM x_jobs.claim(ARRAY['saved'], 'w')$$, '42804', NULL, 'ERR-4 also where rows are answered');

SELECT x_jobs.revoke_worker('regress_x_jobs_guard') \g /dev/null
DROP TABLE effect;
DROP ROLE regress_x_jobs_guard, regress_x_jobs_bystander;
SELECT * FROM finish();
