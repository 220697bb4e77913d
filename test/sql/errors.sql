-- If this failed, an error's code or wording would have changed, and clients that read it would break.
-- X-17 ERR-1 ERR-3 ERR-4
\set VERBOSITY default
\set SHOW_CONTEXT never
\x on
SELECT name, sqlstate, message, detail, hint FROM _x_jobs.error_catalog() ORDER BY sqlstate;
\x off

-- A raised error has the SQLSTATE, the message, a detail that starts with the name, and the hint of this table.
SELECT _x_jobs.raise('X_JOB_PAGE_INVALID', ARRAY['200']);
\echo :LAST_ERROR_SQLSTATE
SELECT _x_jobs.raise('X_JOB_ROW_STATUS_UNKNOWN', ARRAY['jobs', 'state', '''odd''', 'ready, delayed'], 'warning');
SELECT _x_jobs.raise('X_UNHEARD_OF');
\echo :LAST_ERROR_SQLSTATE
