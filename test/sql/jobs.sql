-- If this failed, a list of jobs would leave some out, or show some twice.
-- OPR-2 OPR-3 OPR-4 OPR-7 OPR-8 X-6 ROW-8
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue(CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END, to_jsonb(n), queue => 'jobs', dedupe => false,
                        tenant_id => CASE n WHEN 3 THEN 'acme' END, tags => CASE n WHEN 4 THEN ARRAY['t'] END,
       id => ('01890000-0000-7000-8000-00000000010' || n)::uuid)) FROM generate_series(1, 6) AS n;
SELECT x_jobs.ack(id, 'worker-1', claim) FROM x_jobs.claim(ARRAY['jobs'], 'worker-1');

-- Normal: newest first, without payload.
SELECT id, name, state, input, attempt, worker_id FROM x_jobs.jobs(queue => 'jobs');
SELECT id FROM x_jobs.jobs(queue => 'jobs', max => 2);
SELECT id FROM x_jobs.jobs(queue => 'jobs', name => 'odd', state => 'ready');
SELECT id, tenant_id FROM x_jobs.jobs(queue => 'jobs', tenant_id => 'acme');
SELECT id, tags FROM x_jobs.jobs(queue => 'jobs', tag => 't');
SELECT id FROM x_jobs.jobs(id_prefix => '01890000-0000-7000-8000-000000000103');
SELECT count(*) FROM x_jobs.jobs(id_prefix => '01890000-0000-7000-8000-00000000010_');
SELECT count(*) FROM x_jobs.jobs(queue => 'jobs', created_from => now() - interval '1 hour',
                        created_to => now() + interval '1 hour');
SELECT count(*) FROM x_jobs.jobs(queue => 'jobs', created_from => now() + interval '1 hour');
SELECT id FROM x_jobs.jobs(queue => 'jobs', after => '01890000-0000-7000-8000-000000000104', max => 2);
SELECT id FROM x_jobs.jobs(queue => 'jobs', before => '01890000-0000-7000-8000-000000000104', max => 1);
SELECT id FROM x_jobs.jobs(queue => 'jobs', after => '01890000-0000-7000-8000-0000000001ff', max => 1);

-- Empty.
SELECT count(*) FROM x_jobs.jobs(queue => 'no such queue');
SELECT count(*) FROM x_jobs.jobs(max => 0);

-- A row whose stored state this build does not know is left out with a warning.
UPDATE _x_jobs.jobs SET state = 'Ready' WHERE id = '01890000-0000-7000-8000-000000000105';
SELECT id FROM x_jobs.jobs(queue => 'jobs', max => 3);
UPDATE _x_jobs.jobs SET state = 'ready' WHERE id = '01890000-0000-7000-8000-000000000105';

-- Wrong.
SELECT * FROM x_jobs.jobs(max => 201);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.jobs(max => -1);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.jobs(max => NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.jobs(state => 'finished');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.jobs(after => '01890000-0000-7000-8000-000000000104', before => '01890000-0000-7000-8000-000000000105');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.jobs();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
