-- If this failed, a right could not be given or taken back, or would be given by somebody who may not.
-- C-059 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE ROLE regress_x_jobs_a;
CREATE ROLE "regress_x_jobs_B";
CREATE VIEW pg_temp.given AS SELECT role, capability, queue FROM _x_jobs.grants WHERE role::text LIKE '%regress\_x\_jobs\_%'
 ORDER BY role::text COLLATE "C", capability, queue;

-- Normal: given, given again, taken, taken again.
SELECT x_jobs.grant_producer('regress_x_jobs_a');
SELECT x_jobs.grant_producer(role => 'regress_x_jobs_a');
SELECT x_jobs.grant_worker('regress_x_jobs_a', ARRAY['mail', 'default']);
SELECT x_jobs.grant_worker(role => '"regress_x_jobs_B"', queues => NULL);
SELECT x_jobs.grant_operator('"regress_x_jobs_B"');
SELECT * FROM pg_temp.given;
SELECT grantee::regrole, routine, privilege_type
  FROM (SELECT p.oid::regprocedure AS routine, (aclexplode(proacl)).* FROM pg_proc AS p WHERE pronamespace = 'x_jobs'::regnamespace
        AND proname IN ('enqueue', 'claim', 'stats', 'version', 'wait')) AS acl
 WHERE grantee::regrole::text LIKE '%regress\_x\_jobs\_%' ORDER BY grantee::regrole::text COLLATE "C", routine::text COLLATE "C";
SELECT has_schema_privilege('regress_x_jobs_a', 'x_jobs', 'USAGE') AS uses,
    has_table_privilege('regress_x_jobs_a', 'x_jobs.all_jobs', 'SELECT') AS a_sees_all,
    has_table_privilege('regress_x_jobs_B', 'x_jobs.all_jobs', 'SELECT') AS b_sees_all;
SELECT x_jobs.revoke_worker('regress_x_jobs_a', ARRAY['mail']);
SELECT x_jobs.revoke_worker('regress_x_jobs_a', ARRAY['mail', 'never granted']);
SELECT x_jobs.revoke_operator('"regress_x_jobs_B"');
SELECT * FROM pg_temp.given;
SELECT has_table_privilege('regress_x_jobs_B', 'x_jobs.all_jobs', 'SELECT') AS b_sees_all;
SELECT x_jobs.revoke_worker(role => 'regress_x_jobs_a', queues => NULL), x_jobs.revoke_producer('regress_x_jobs_a'),
    x_jobs.revoke_worker('"regress_x_jobs_B"'), x_jobs.revoke_operator('"regress_x_jobs_B"');
SELECT * FROM pg_temp.given;
SELECT has_schema_privilege('regress_x_jobs_a', 'x_jobs', 'USAGE') AS uses;

-- Wrong.
SELECT x_jobs.grant_producer(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.grant_worker('regress_x_jobs_a', '{}');
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.grant_worker('regress_x_jobs_a', ARRAY['mail', NULL]);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.grant_worker('regress_x_jobs_a', ARRAY['']);
\echo :LAST_ERROR_SQLSTATE
-- The server's own refusals, by SQLSTATE alone: their wording is not ours.
\set VERBOSITY sqlstate
SELECT x_jobs.grant_operator('regress_x_jobs_b');
\set VERBOSITY default
SELECT x_jobs.revoke_operator(NULL);
\echo :LAST_ERROR_SQLSTATE

-- Forbidden: an operator may not grant, even with EXECUTE.
SELECT x_jobs.grant_operator('regress_x_jobs_a');
SET ROLE regress_x_jobs_a;
SELECT x_jobs.grant_operator('regress_x_jobs_a');
\echo :LAST_ERROR_SQLSTATE
RESET ROLE;
GRANT EXECUTE ON FUNCTION x_jobs.grant_producer(regrole) TO regress_x_jobs_a;
SET ROLE regress_x_jobs_a;
\set VERBOSITY sqlstate
SELECT x_jobs.grant_producer('regress_x_jobs_a');
\set VERBOSITY default
RESET ROLE;
REVOKE EXECUTE ON FUNCTION x_jobs.grant_producer(regrole) FROM regress_x_jobs_a;
SELECT x_jobs.revoke_operator('regress_x_jobs_a');

-- After all revokes nothing is left that would keep a role.
DROP ROLE regress_x_jobs_a;
DROP ROLE "regress_x_jobs_B";
