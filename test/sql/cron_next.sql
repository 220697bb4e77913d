-- If this failed, a task would fire on the wrong day or at the wrong hour, or a text that is no schedule would be taken for one.
-- CRON-1 CRON-2 CRON-3 CRON-4 CRON-5 CRON-6 CRON-7 CRON-8 CRON-9 CRON-11 CRON-12 C-003 C-005 C-007 C-009 C-017
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
CREATE FUNCTION pg_temp.preview(cron text, zone text, after timestamptz, n integer, day_rule text DEFAULT 'or') RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(to_char(c, 'YYYY-MM-DD HH24:MI:SS'), ', ') FROM x_jobs.cron_next($1, $2, $3, $4, $5) AS c
$$;
-- What a call is refused with; NULLs when it is not.
CREATE FUNCTION pg_temp.refusal(statement text, OUT code text, OUT message text, OUT detail text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END $$;
SELECT pg_backend_pid() AS backend \gset

-- Normal: the grammar.
SELECT cron, pg_temp.preview(cron, 'UTC', '2026-12-01 00:00:00+00', 3) AS next
  FROM (VALUES (1, '30 2 * * *'), (2, '15 30 2 * * *'), (3, '*/20 * * * *'), (4, '50/5 3 * * *'), (5, '0 23-3/2 * * *'), (6, '0 0 * * 6-2/2'),
               (7, '0 12 * * MON-fri'), (8, '0 12 * * monday,7'), (9, '0 0 ? jan ?'), (10, '0 0 1 nov-feb *'), (11, '0 0 L * *'),
               (12, '0 0 LW * *'), (13, '0 0 15W * *'), (14, '0 0 * * fri#2'), (15, '0 0 * * 5L'), (16, '0 0 29 2 *'), (17, '0 0 13 * 5'),
               (18, '@Yearly'), (19, '@annually'), (20, '@monthly'), (21, '@weekly'), (22, '@daily'), (23, '@midnight'), (24, '@hourly'),
               (25, '@every 90 s'), (26, '@every 1 day 1 hour'), (27, E' 5\t4  * * * ')) AS v (place, cron) ORDER BY place;
-- Strictly after the instant, at whole seconds; now, when none is given.
SELECT * FROM x_jobs.cron_next('30 2 * * *', after => '2026-12-01 02:30:00+00');
SELECT * FROM x_jobs.cron_next('30 2 * * *', after => '2026-12-01 02:29:59.999999+00');
SELECT c > now() AND c <= now() + interval '61 s' AS within_a_minute FROM x_jobs.cron_next('* * * * *') AS c;
SELECT count(*) FROM x_jobs.cron_next('* * * * * *', n => 10000);

-- C-007 Both kinds of days, in both modes, in August 2027, whose 13th is a Friday. The star with a step restricts like a list.
SELECT cron, day_rule, (SELECT string_agg(extract(day FROM c)::text, ' ') FROM x_jobs.cron_next(cron, 'UTC', '2027-07-31 23:59:59+00', 31, day_rule) AS c
                         WHERE c < '2027-09-01 00:00:00+00') AS august_2027
  FROM (VALUES ('0 12 13 * 5', 'or'), ('0 12 13 * 5', 'and'), ('0 0 */2 * 1', 'or'), ('0 0 */2 * 1', 'and')) AS v (cron, day_rule);

-- Changes of the clock: moved out of the gap, once in the hour that comes twice, real time under a star.
SELECT cron, zone, pg_temp.preview(cron, zone, after::timestamptz, 3) AS next
  FROM (VALUES (1, '0 2 * * *', 'Europe/Berlin', '2026-03-28 12:00:00+00'), (2, '30 2 * * *', 'Europe/Berlin', '2026-03-28 12:00:00+00'),
               (3, '0 2 * * *', 'Europe/Berlin', '2026-10-24 12:00:00+00'), (4, '*/30 * * * *', 'Europe/Berlin', '2026-10-25 00:15:00+00'),
               (5, '*/15 2 * * *', 'Europe/Berlin', '2026-03-29 00:00:00+00'), (6, '0,30 2,3 * * *', 'Europe/Berlin', '2026-03-29 00:00:00+00'),
               (7, '30 2 * * *', 'America/New_York', '2027-03-13 12:00:00+00'), (8, '30 1 * * *', 'America/New_York', '2027-11-07 05:00:00+00'),
               (9, '15 2 * * *', 'Australia/Lord_Howe', '2026-10-03 00:00:00+00'), (10, '45 1 * * *', 'Australia/Lord_Howe', '2027-04-03 14:30:00+00')) AS v (place, cron, zone, after) ORDER BY place;

-- Empty: none asked for, none before the year 10000, no such day.
SELECT * FROM x_jobs.cron_next('* * * * *', n => 0);
SELECT * FROM x_jobs.cron_next('* * * * *', after => '9999-12-31 23:59:00+00');

-- C-003 Days that no calendar has: a preview is empty, a task is refused.
SELECT clock_timestamp() AS before \gset
SELECT cron, pg_temp.preview(cron, 'UTC', '2026-12-01 00:00:00+00', 3) AS next, code, message, detail
  FROM unnest(ARRAY['0 0 30 2 *', '0 0 31 4 *', '0 0 31 4,6,9,11 *', '0 0 30,31 2 *', '0 0 30W 2 *']) AS cron,
       pg_temp.refusal(format('SELECT x_jobs.schedule(''cron_next'', %L, entries => ''{"name": "job"}'')', cron));
SELECT hint FROM pg_temp.refusal('SELECT x_jobs.schedule(''cron_next'', ''0 0 30 2 *'', entries => ''{"name": "job"}'')');
SELECT clock_timestamp() - :'before' < interval '5 s' AS soon;

-- Wrong. C-005 Steps that are none.
SELECT cron, code, message, detail FROM unnest(ARRAY['*/0 * * * *', '*/00 * * * *', '5/0 * * * *', '*/-1 * * * *', '*/4294967297 * * * *',
    '*/18446744073709551617 * * * *', '*/ * * * *', '0-59/ * * * *', '*/60 * * * *', '*/2/3 * * * *', '*/1.5 * * * *', '*/x * * * *', '/5 * * * *']) AS cron,
       pg_temp.refusal(format('SELECT x_jobs.schedule(''cron_next'', %L, entries => ''{"name": "job"}'')', cron));
-- Other texts that are no schedule: the message names the field, what stands there, and what may.
SELECT cron, code, detail FROM unnest(ARRAY['', '   ', '* * * *', '* * * * * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 13 *', '* * * * 8',
    '61 * * * * *', '5x * * * *', '-5 * * * *', '5- * * * *', '1,,2 * * * *', ',1 * * * *', '1, * * * *', '* * * ja *', '* * * * foo', '* * * * mon-', 'L * * * *', '* * * L *',
    '* * 32W * *', '* * L-3 * *', '* * * * fri#6', '* * * * fri#0', '* * * * #2', '* * 5#2 * *', '@reboot', '@often', '@daily 5', '@every soon', '@every 1 month', '@every 0.5 s',
    '@every -1 h', '@every 0 s', '@every 4000 days', '@every', 'é * * * *']) AS cron, pg_temp.refusal(format('SELECT * FROM x_jobs.cron_next(%L)', cron));
-- C-009 Long texts: above 1,024 bytes refused, below it repeated numbers work.
SELECT name, length(cron) AS length, code, detail
  FROM (VALUES (1, 'letters', repeat('a', 1000)), (2, 'letters', repeat('a', 100000)), (3, 'letters', repeat('a', 10000000)),
               (4, 'a legal list', repeat('0,', 4999) || '0 * * * *'), (5, 'cut off', left(repeat('0-59/2,', 200), 1000)), (6, 'cut off', repeat('0-59/2,', 20000)),
               (7, 'at the limit', repeat('0,', 507) || '0 * * * * '), (8, 'beyond it', repeat('0,', 508) || '0 * * * *')) AS v (place, name, cron),
       pg_temp.refusal(format('SELECT * FROM x_jobs.cron_next(%L)', cron)) ORDER BY place;
SELECT pg_temp.preview(repeat('0,', 507) || '0 * * * * ', 'UTC', '2026-12-01 00:00:00+00', 2);
-- C-017 Zones: names of the catalogue in any case, and nothing else.
SELECT left(zone, 20) AS zone, code, message, detail FROM unnest(ARRAY['CST', 'EST5', 'Europe/Berln', 'GMT+24', 'Foo5', '', 'CEST', '+02', 'UTC+3', '<+05>-5', '/etc/passwd', '../UTC', repeat('x', 300), NULL]) AS zone,
       pg_temp.refusal(format('SELECT x_jobs.schedule(''cron_next'', ''0 12 * * *'', %L, ''{"name": "job"}'')', zone));
SELECT hint FROM pg_temp.refusal('SELECT x_jobs.cron_next(''0 12 * * *'', ''CST'')');
SELECT zone, code, pg_temp.preview('0 12 * * *', zone, '2026-12-01 00:00:00+00', 1) AS next FROM unnest(ARRAY['america/new_york', 'America/New_York', 'UTC', 'Etc/GMT+5']) AS zone,
       pg_temp.refusal(format('SELECT x_jobs.cron_next(''0 12 * * *'', %L)', zone));
-- The other arguments.
SELECT * FROM x_jobs.cron_next(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.cron_next('* * * * *', after => 'infinity');
\echo :LAST_ERROR_SQLSTATE
SELECT * FROM x_jobs.cron_next('* * * * *', n => NULL);
SELECT * FROM x_jobs.cron_next('* * * * *', n => 10001);
SELECT * FROM x_jobs.cron_next('* * * * *', day_rule => 'xor');
SELECT * FROM x_jobs.cron_next('* * * * *', day_rule => NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT pg_backend_pid() = :backend AS same_connection;
SELECT count(*) FROM x_jobs.tasks WHERE task = 'cron_next';

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT * FROM x_jobs.cron_next('* * * * *');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
