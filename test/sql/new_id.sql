-- If this failed, sorting by id would no longer be sorting by creation.
-- ROW-5 X-5
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Normal: version 7, variant 2, of the present moment, and monotonic within a session.
SELECT substr(id::text, 15, 1) AS version, substr(id::text, 20, 1) IN ('8', '9', 'a', 'b') AS variant,
       abs(extract(epoch FROM clock_timestamp()) * 1000 - ('x'
                               || left(replace(id::text, '-', ''), 12))::bit(48)::bigint) < 60000 AS recent
  FROM x_jobs.new_id() AS id;
SELECT count(*) AS made, count(DISTINCT id) AS distinct_ids, bool_and(id > previous) FILTER (WHERE n > 1) AS increasing
  FROM (SELECT n, id, lag(id) OVER (ORDER BY n) AS previous FROM (SELECT n, x_jobs.new_id() AS id
                          FROM generate_series(1, 10000) AS n) AS ids) AS pairs;
-- A caller's own id is one of these.
SELECT deduped FROM x_jobs.enqueue('own', queue => 'new_id', dedupe => false, id => x_jobs.new_id());

-- Wrong.
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT x_jobs.new_id(1);
\set VERBOSITY default

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SELECT x_jobs.new_id();
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
