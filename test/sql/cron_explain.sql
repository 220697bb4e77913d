-- If this failed, nobody could check what a schedule means before it fires.
-- CRON-5 CRON-12 C-007 C-017
\set VERBOSITY default
\set SHOW_CONTEXT never
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
-- The last sentence says when it fires next.
CREATE FUNCTION pg_temp.words(cron text, zone text DEFAULT 'UTC', day_rule text DEFAULT 'or') RETURNS text LANGUAGE sql AS $$
    SELECT regexp_replace(x_jobs.cron_explain($1, $2, $3), ' Next at .*$', '')
$$;

-- Normal.
SELECT split_part(pg_temp.words(cron, zone), ', in the time zone', 1) AS words
  FROM (VALUES (1, '30 2 * * *', 'UTC'), (2, '0 9-17/4 * * mon-fri', 'UTC'), (3, '*/15 * * * *', 'UTC'), (4, '*/10 * * * * *', 'UTC'), (5, '5/20 8-18 * * *', 'UTC'),
               (6, '15 30 9 1,15 jan ?', 'UTC'), (7, '0 0 L * *', 'UTC'), (8, '0 9 LW,15W * *', 'UTC'), (9, '0 9 * * fri#2,monL', 'UTC'),
               (10, '0 0 29 2 *', 'UTC'), (11, '@weekly', 'UTC'), (12, '0 0 1 4-6,9 0', 'UTC'),
               (13, '*/7 * * * *', 'UTC'), (14, '0 */5 * * *', 'UTC'), (15, '* */6 * * *', 'UTC'), (16, '*/50 * * * *', 'UTC')) AS v (place, cron, zone) ORDER BY place;
-- C-007 Both modes in words.
SELECT rule, split_part(pg_temp.words('0 12 13 * 5', day_rule => rule), ', in the time zone', 1) AS words
  FROM unnest(ARRAY['or', 'and']) AS rule;
-- The rule of clock changes that applies, and the zone as the catalogue spells it.
SELECT pg_temp.words('30 2 * * *', 'europe/berlin');
SELECT pg_temp.words('*/30 * * * *', 'America/New_York');
SELECT x_jobs.cron_explain('@every 90 s');
SELECT x_jobs.cron_explain(cron => '@every 1 day', time_zone => 'Europe/Berlin', day_rule => 'and');
-- When it fires next, in local time with its offset: half hours, and behind UTC.
SELECT substring(x_jobs.cron_explain('0 12 1 1 *', zone) FROM ' Next at \d{4}(.*)$') AS next FROM unnest(ARRAY['Asia/Kolkata', 'America/St_Johns', 'UTC']) AS zone;

-- Wrong.
SELECT x_jobs.cron_explain('0 0 30 2 *');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.cron_explain('0 25 * * *');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.cron_explain('0 12 * * *', 'CST');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.cron_explain('0 12 * * *', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.cron_explain(NULL);
SELECT x_jobs.cron_explain('0 12 * * *', day_rule => 'xor');
\echo :LAST_ERROR_SQLSTATE

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.cron_explain('0 12 * * *');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
