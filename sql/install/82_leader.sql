-- The leader lease: who of several schedulers outside of the server leads. A lease saves work twice over; no correctness
-- rests on it, since what a scheduler fires is fenced by the task's watermark.

-- Not dumped: a lease means nothing where it was restored, and would keep the schedulers there waiting for a leader.
CREATE TABLE _x_jobs.leaders (
    lock_key text COLLATE "C" NOT NULL,
    holder text COLLATE "C" NOT NULL,
    acquired_at timestamptz NOT NULL,
    renewed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT leaders_pkey PRIMARY KEY (lock_key)
);

-- The clock is read again once the row is locked: whoever had it may have held this call up for as long as a lease.
CREATE FUNCTION _x_jobs.leader_acquire(key text, holder text, ttl interval) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    span interval;
BEGIN
    PERFORM _x_jobs.require_name($1, 'key');
    PERFORM _x_jobs.require_name($2, 'holder');
    span := _x_jobs.require_span($3, '1 day', 'ttl');
    INSERT INTO _x_jobs.leaders AS l (lock_key, holder, acquired_at, renewed_at, expires_at)
         SELECT $1, $2, n.instant, n.instant, n.instant + span FROM (SELECT _x_jobs.clock() AS instant) AS n
    ON CONFLICT (lock_key) DO UPDATE
            SET (holder, acquired_at, renewed_at, expires_at) = (
                SELECT excluded.holder, CASE WHEN l.expires_at > n.instant THEN l.acquired_at ELSE n.instant END, n.instant, n.instant + span
                  FROM (SELECT _x_jobs.clock() AS instant) AS n)
          WHERE l.holder = excluded.holder OR l.expires_at <= _x_jobs.clock();
    RETURN FOUND;
END $$;

CREATE FUNCTION _x_jobs.leader_release(key text, holder text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM _x_jobs.require_name($1, 'key');
    PERFORM _x_jobs.require_name($2, 'holder');
    DELETE FROM _x_jobs.leaders AS l WHERE l.lock_key = $1 AND l.holder = $2;
    RETURN FOUND;
END $$;

CREATE FUNCTION _x_jobs.leader(key text) RETURNS x_jobs.leadership
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    led x_jobs.leadership;
BEGIN
    PERFORM _x_jobs.require_name($1, 'key');
    SELECT l.lock_key, l.holder, l.acquired_at, l.renewed_at, l.expires_at INTO led
      FROM _x_jobs.leaders AS l WHERE l.lock_key = $1 AND l.expires_at > _x_jobs.clock();
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    RETURN led;
END $$;

CREATE FUNCTION x_jobs.leader_acquire(key text DEFAULT 'scheduler', holder text DEFAULT NULL, ttl interval DEFAULT '30 s') RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.leader_release(key text, holder text) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.leader(key text DEFAULT 'scheduler') RETURNS x_jobs.leadership
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
