-- If this failed, a watermark could go back, and what has been dealt with would be fired again.
-- SCHED-15 SCHED-17
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
-- Normal: forward only, and no fire.
SELECT x_jobs.watermark_mark('watermark_mark', '2026-11-02 00:00:00+00');
SELECT x_jobs.watermark_mark(task => 'watermark_mark', instant => '2026-11-01 00:00:00+00');
SELECT x_jobs.watermark_get('watermark_mark');
SELECT fired FROM x_jobs.fire('watermark_mark', '2026-11-01 02:00:00+00', '{}');
SELECT fired FROM x_jobs.fire('watermark_mark', '2026-11-02 02:00:00+00', '{}');
SELECT x_jobs.watermark_mark('watermark_mark', '2026-11-03 00:00:00+00');
SELECT task, last_occurrence FROM x_jobs.task_fires() WHERE task = 'watermark_mark';
-- A backlog of a task that was scheduled is let be: nothing is due any more.
SELECT x_jobs.schedule('watermark_mark.made', '@every 1 h', entries => '{"name": "job", "queue": "watermark_mark"}', catch_up => 'all') > now() AS next;
SET x_jobs.test_clock_offset = '210 min';
SELECT x_jobs.watermark_mark('watermark_mark.made', now() + interval '210 min') IS NOT NULL AS marked;
SELECT next_at FROM _x_jobs.task_states WHERE task = 'watermark_mark.made';
SELECT _x_jobs.task_turn('watermark_mark.made') AS more;
SELECT count(*) FROM x_jobs.task_history('watermark_mark.made');
RESET x_jobs.test_clock_offset;

-- Empty: the same instant again.
SELECT x_jobs.watermark_mark('watermark_mark', '2026-11-03 00:00:00+00');

-- Wrong.
SELECT x_jobs.watermark_mark(NULL, '2026-11-03 00:00:00+00');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.watermark_mark('', '2026-11-03 00:00:00+00');
SELECT x_jobs.watermark_mark(repeat('t', 256), '2026-11-03 00:00:00+00');
SELECT x_jobs.watermark_mark('watermark_mark', NULL);
SELECT x_jobs.watermark_mark('watermark_mark', 'infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.watermark_get('watermark_mark');

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_producer;
SELECT x_jobs.grant_producer('regress_x_jobs_producer');
SET LOCAL ROLE regress_x_jobs_producer;
SELECT x_jobs.watermark_mark('watermark_mark', '2026-11-04 00:00:00+00');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.unschedule('watermark_mark.made');
DELETE FROM _x_jobs.task_states WHERE task = 'watermark_mark';
DELETE FROM _x_jobs.task_log WHERE task = 'watermark_mark';
