-- If this failed, nobody could see how far a running job is, or a lost claim could still write to it.
-- END-2 END-3 ROW-16 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT count(x_jobs.enqueue('job', queue => 'progress', dedupe => false));
SELECT id AS job, claim FROM x_jobs.claim(ARRAY['progress'], 'worker-1') \gset

-- Normal: the latest value stays, also after the settle.
SELECT x_jobs.progress(:'job', 'worker-1', :claim, 3, 10, 'reading');
SELECT progress - 'at' AS progress, progress ? 'at' AS dated FROM x_jobs.job(:'job');
SELECT x_jobs.progress(id => :'job', worker_id => 'worker-1', claim => :claim, done => 7.5, total => 10);
SELECT progress - 'at' AS progress FROM x_jobs.job(:'job');
SELECT x_jobs.progress(:'job', 'worker-1', :claim, 8, 10, repeat('n', 300));
SELECT char_length(progress ->> 'note') AS note_characters FROM x_jobs.job(:'job');

-- Fenced.
SELECT x_jobs.progress(:'job', 'worker-2', :claim, 9, 10) AS other_worker,
    x_jobs.progress(:'job', 'worker-1', :claim + 1, 9, 10) AS other_claim,
    x_jobs.progress(x_jobs.new_id(), 'worker-1', :claim, 9, 10) AS unknown;
SELECT x_jobs.ack(:'job', 'worker-1', :claim);
SELECT x_jobs.progress(:'job', 'worker-1', :claim, 10, 10);
SELECT progress - 'at' - 'note' AS progress FROM x_jobs.job(:'job');

-- Wrong.
SELECT x_jobs.progress(NULL, 'worker-1', 1, 1, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.progress(:'job', NULL, 1, 1, 2);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.progress(:'job', 'worker-1', NULL, 1, 2);
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.progress(:'job', 'worker-1', 1, 1, 2);
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
