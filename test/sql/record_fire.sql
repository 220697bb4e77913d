-- If this failed, a scheduler that enqueues elsewhere could not keep its place here.
-- SCHED-17 SCHED-19
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- Normal: the watermark and the last occurrence go forward only; the fire is entered each time.
SELECT x_jobs.record_fire('record_fire', '2026-11-02 02:00:00+00');
SELECT task, last_occurrence, dispatched_at BETWEEN now() - interval '1 min' AND clock_timestamp() AS just_now FROM x_jobs.task_fires() WHERE task = 'record_fire';
SELECT x_jobs.record_fire(task => 'record_fire', occurrence => '2026-11-01 02:00:00+00');
SELECT x_jobs.watermark_get('record_fire');
SELECT last_occurrence FROM x_jobs.task_fires() WHERE task = 'record_fire';
SELECT fired FROM x_jobs.fire('record_fire', '2026-11-02 02:00:00+00', '{}');
SELECT x_jobs.watermark_mark('record_fire', '2026-11-05 00:00:00+00');
SELECT x_jobs.record_fire('record_fire', '2026-11-04 02:00:00+00');
SELECT last_occurrence FROM x_jobs.task_fires() WHERE task = 'record_fire';

-- Empty: the same occurrence again.
SELECT x_jobs.record_fire('record_fire', '2026-11-04 02:00:00+00');

-- Wrong.
SELECT x_jobs.record_fire(NULL, '2026-11-01 02:00:00+00');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.record_fire('', '2026-11-01 02:00:00+00');
SELECT x_jobs.record_fire('record_fire', NULL);
SELECT x_jobs.record_fire('record_fire', '-infinity');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.record_fire('record_fire', '2026-11-05 02:00:00+00');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
DELETE FROM _x_jobs.task_states WHERE task = 'record_fire';
