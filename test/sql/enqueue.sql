-- If this failed, a producer would get no job, two jobs for one key, or no word about what it did wrong.
-- ENQ-1 ENQ-2 ENQ-8 ENQ-9 ENQ-11 ENQ-12 X-5 X-13 ROW-7 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Normal: a fresh job, with its defaults.
SELECT id AS job, run_id AS run, deduped FROM x_jobs.enqueue('mail.send', '{"to": "a@example.org"}', idempotency_key => 'welcome-1',
                        queue => 'enqueue') \gset
\echo :deduped
SELECT name, queue, state, priority, input, idempotency_key, attempt, max_attempts, claim, tenant_id, tags,
       id = :'job' AS same_id, run_id = :'run' AS same_run, id <> run_id AS distinct_ids, run_at = created_at AS due_at_once
  FROM x_jobs.job(:'job');

-- Every option, by name.
SELECT id AS job2 FROM x_jobs.enqueue(name => 'report', input => '[1, 2]', idempotency_key => 'monthly', queue => 'enqueue',
                        delay => '2 hours',
    priority => 0, max_attempts => 7, tenant_id => 'acme', on_conflict => 'error', expires_at => now() + interval '1 day',
        tags => ARRAY['eu', 'slow'],
    traceparent => '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', enqueued_by => 'scheduler',
        id => '01890000-0000-7000-8000-000000000001',
    run_id => '01890000-0000-7000-8000-000000000002') \gset
SELECT id, run_id, state, priority, input, max_attempts, tenant_id, tags, traceparent, enqueued_by, run_at - created_at AS delay,
    expires_at > run_at AS expires_later
  FROM x_jobs.job(:'job2');

-- Empty: only a name; no queue, no input, no tenant.
SELECT id AS job3 FROM x_jobs.enqueue('bare', dedupe => false) \gset
SELECT queue, input, idempotency_key, tenant_id, priority, max_attempts FROM x_jobs.job(:'job3');
SELECT (SELECT queue FROM x_jobs.job(e.id)) AS queue, (SELECT tenant_id FROM x_jobs.job(e.id)) AS tenant
  FROM x_jobs.enqueue('bare', queue => '', tenant_id => '', dedupe => false) AS e;

-- Conflicts: dedupe, error, replace, and a caller's own id.
SELECT id = :'job' AS same_id, run_id = :'run' AS same_run, deduped
  FROM x_jobs.enqueue('mail.send', '{"to": "b@example.org"}', 'welcome-1', 'enqueue');
SELECT deduped FROM x_jobs.enqueue('mail.other', idempotency_key => 'welcome-1', queue => 'enqueue');
SELECT deduped FROM x_jobs.enqueue('mail.send', idempotency_key => 'welcome-1', queue => 'enqueue', tenant_id => 'acme');
SELECT id = :'job' AS same_id, deduped FROM x_jobs.enqueue('mail.send', '{"to": "c@example.org"}', 'welcome-1', 'enqueue',
                        priority => 1, on_conflict => 'replace');
SELECT input, priority FROM x_jobs.job(:'job');
SELECT x_jobs.enqueue('report', idempotency_key => 'monthly', queue => 'enqueue', tenant_id => 'acme', on_conflict => 'error');
\echo :LAST_ERROR_SQLSTATE
SELECT id, run_id, deduped FROM x_jobs.enqueue('another', idempotency_key => 'another',
                        id => '01890000-0000-7000-8000-000000000001', on_conflict => 'error');

-- Wrong.
SELECT x_jobs.enqueue('mail.send', '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', '');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', dedupe => false);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue(NULL, '{}', 'key');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', run_at => now(), delay => '1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', delay => '-1 s');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', run_at => 'infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', priority => 10);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', max_attempts => 0);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', on_conflict => 'ignore');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.enqueue('mail.send', '{}', 'key', id => 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
\echo :LAST_ERROR_SQLSTATE
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT x_jobs.enqueue('mail.send', '{not json', 'key');
\set VERBOSITY default

-- Forbidden: a role that may only work.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.enqueue('mail.send', dedupe => false);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE

SELECT name, state, count(*) FROM x_jobs.all_jobs WHERE queue = 'enqueue' GROUP BY name, state ORDER BY name, state;
