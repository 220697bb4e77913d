-- If this failed, the registry would not know which workers there are. With worker_forget, its other half.
-- REG-1 REG-2 REG-4 REG-5 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Normal: announced, announced again, forgotten.
SELECT x_jobs.worker_announce('worker_announce-1', 'host-a', ARRAY['mail', 'default'], 4,
                        ARRAY['01890000-0000-7000-8000-000000000001']::uuid[], '1 min');
SELECT worker_id, host, queues, slots, in_flight, started_at = heartbeat_at AS just_started, expires_at - heartbeat_at AS ttl
  FROM _x_jobs.workers WHERE worker_id = 'worker_announce-1';
SELECT started_at FROM _x_jobs.workers WHERE worker_id = 'worker_announce-1' \gset
SELECT x_jobs.worker_announce(worker_id => 'worker_announce-1', queues => ARRAY['mail'], slots => 2,
                        in_flight => ARRAY(SELECT x_jobs.new_id() FROM generate_series(1, 101)));
SELECT host, queues, slots, cardinality(in_flight) AS in_flight, started_at = :'started_at' AS first_start,
    heartbeat_at > started_at AS renewed, expires_at - heartbeat_at AS ttl FROM _x_jobs.workers
 WHERE worker_id = 'worker_announce-1';
SELECT x_jobs.worker_forget('worker_announce-1');
SELECT count(*) FROM _x_jobs.workers WHERE worker_id = 'worker_announce-1';

-- Empty: only an id; and nobody to forget.
SELECT x_jobs.worker_announce('worker_announce-2');
SELECT host, queues, slots, in_flight, expires_at - heartbeat_at AS ttl FROM _x_jobs.workers WHERE worker_id = 'worker_announce-2';
SELECT x_jobs.worker_forget('worker_announce-2');
SELECT x_jobs.worker_forget('no such worker');

-- Wrong.
SELECT x_jobs.worker_announce(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.worker_announce('');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.worker_announce('worker_announce-3', slots => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.worker_announce('worker_announce-3', queues => ARRAY['mail', NULL]);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.worker_announce('worker_announce-3', ttl => '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.worker_announce('worker_announce-3', ttl => NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT count(*) FROM _x_jobs.workers WHERE worker_id LIKE 'worker_announce-%';

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_operator;
SELECT x_jobs.grant_operator('regress_x_jobs_operator');
SET LOCAL ROLE regress_x_jobs_operator;
SAVEPOINT announce;
SELECT x_jobs.worker_announce('worker_announce-4');
ROLLBACK TO announce;
SELECT x_jobs.worker_forget('worker_announce-4');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
