-- The error table, for SQL: src/errors/catalog.def is its one source.

CREATE FUNCTION _x_jobs.error_catalog(OUT name text, OUT sqlstate text, OUT message text, OUT detail text, OUT hint text)
    RETURNS SETOF record
    LANGUAGE c STABLE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_error_catalog';

-- Raises the named error with its arguments; `severity` is error or warning.
CREATE FUNCTION _x_jobs.raise(name text, arguments text[] DEFAULT '{}', severity text DEFAULT 'error') RETURNS void
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_raise';

-- The clock of every statement that reads the wall clock: clock_timestamp() shifted by x_jobs.test_clock_offset.
CREATE FUNCTION _x_jobs.clock() RETURNS timestamptz
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_clock';

-- The role that called the gate which runs the present function.
CREATE FUNCTION _x_jobs.caller() RETURNS text
    LANGUAGE c STABLE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_caller';

-- Announces at commit that a queue may have work; an empty name means any queue.
CREATE FUNCTION _x_jobs.announce(queue text) RETURNS void
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_announce';

-- Ends a waiting job whose expires_at has passed; false when it is no longer such a job.
CREATE FUNCTION _x_jobs.expire(id uuid) RETURNS boolean
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_expire';

-- Ends a running job whose lease lapsed on its final attempt; false when it is no longer such a job.
CREATE FUNCTION _x_jobs.bury(id uuid) RETURNS boolean
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_bury';

-- Wakes the scheduler of this database at commit.
CREATE FUNCTION _x_jobs.wake_scheduler() RETURNS void
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_wake_scheduler';

-- Whether the library is preloaded.
CREATE FUNCTION _x_jobs.preloaded() RETURNS boolean
    LANGUAGE c STABLE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_preloaded';
