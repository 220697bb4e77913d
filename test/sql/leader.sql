-- If this failed, no scheduler would lead, or each of them. With leader_acquire and leader_release.
-- LEAD-1 LEAD-2 LEAD-3 LEAD-4 LEAD-5 ROW-18
\set VERBOSITY default
\set SHOW_CONTEXT never

-- Empty: nobody leads.
SELECT * FROM x_jobs.leader();
SELECT x_jobs.leader('leader') IS NULL AS nobody;
SELECT x_jobs.leader_release('leader', 'a');

-- Normal: won, refused to another, renewed, given back, won by the other. Keys do not touch each other.
SELECT x_jobs.leader_acquire('leader', 'a');
SELECT key, holder, acquired_at = renewed_at AS new, expires_at - renewed_at AS ttl FROM x_jobs.leader('leader');
SELECT x_jobs.leader_acquire('leader', 'b');
SELECT x_jobs.leader_acquire('leader', 'a', '1 min');
SELECT key, holder, acquired_at < renewed_at AS renewed, expires_at - renewed_at AS ttl FROM x_jobs.leader('leader');
SELECT x_jobs.leader_acquire(holder => 'b');
SELECT key, holder FROM x_jobs.leader();
SELECT x_jobs.leader_release('leader', 'b');
SELECT holder FROM x_jobs.leader('leader');
SELECT x_jobs.leader_release(key => 'leader', holder => 'a');
SELECT x_jobs.leader_release('leader', 'a');
SELECT holder FROM x_jobs.leader('leader');
SELECT x_jobs.leader_acquire('leader', 'b');
-- Past its end a lease leads nobody, and whoever asks next has it.
SET x_jobs.test_clock_offset = '10s';
SELECT x_jobs.leader_acquire('leader', 'a');
SET x_jobs.test_clock_offset = '31s';
SELECT holder FROM x_jobs.leader('leader');
SELECT x_jobs.leader_acquire('leader', 'a', ttl => '1 day');
SELECT holder, acquired_at = renewed_at AS new, expires_at - renewed_at AS ttl FROM x_jobs.leader('leader');
RESET x_jobs.test_clock_offset;
-- 0 ends at once.
SELECT x_jobs.leader_acquire('leader.zero', 'a', '0');
SELECT holder FROM x_jobs.leader('leader.zero');
SELECT x_jobs.leader_acquire('leader.zero', 'b', '0');

-- Wrong.
SELECT x_jobs.leader_acquire();
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.leader_acquire(NULL, 'a');
SELECT x_jobs.leader_acquire('', 'a');
SELECT x_jobs.leader_acquire('leader', '');
SELECT x_jobs.leader_acquire('leader', 'a', NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT x_jobs.leader_acquire('leader', 'a', '-1 us');
SELECT x_jobs.leader_acquire('leader', 'a', '1 day 1 us');
SELECT x_jobs.leader_release(NULL, 'a');
SELECT x_jobs.leader_release('leader', NULL);
SELECT x_jobs.leader(NULL);
\echo :LAST_ERROR_SQLSTATE
SELECT holder FROM x_jobs.leader('leader');
DELETE FROM _x_jobs.leaders;

-- Forbidden.
BEGIN;
CREATE ROLE regress_x_jobs_worker;
SELECT x_jobs.grant_worker('regress_x_jobs_worker');
SET LOCAL ROLE regress_x_jobs_worker;
SAVEPOINT before;
SELECT x_jobs.leader();
ROLLBACK TO before;
SELECT x_jobs.leader_acquire('leader', 'a');
ROLLBACK TO before;
SELECT x_jobs.leader_release('leader', 'a');
ROLLBACK;
\echo :LAST_ERROR_SQLSTATE
