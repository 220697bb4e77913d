-- What must happen from time to time. Everything is tried and nothing is waited for: a lock that is not free at
-- once is left for the next call.

-- Whether each statement of the transaction sees what others have committed: with an older snapshot a lock says
-- nothing about what may be emptied under it.
CREATE FUNCTION _x_jobs.sees_commits() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')
$$;

-- Lays the ring out: 32 leaves, the first to be purged at the end of the present step.
CREATE FUNCTION _x_jobs.lay_out_ring() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    step interval := current_setting('x_jobs.history_step')::interval;
    made bigint;
BEGIN
    IF NOT _x_jobs.sees_commits() THEN
        RETURN 0;
    END IF;
    BEGIN
        LOCK TABLE _x_jobs.history_leaves IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
    EXCEPTION WHEN lock_not_available THEN
        RETURN 0;
    END;
    IF EXISTS (SELECT FROM _x_jobs.history_leaves) THEN
        RETURN 0;
    END IF;
    INSERT INTO _x_jobs.history_leaves (segment, upper)
         SELECT n, date_bin(step, _x_jobs.clock(), '2000-01-01 00:00:00+00') + (n + 1) * step FROM generate_series(0, 31) AS n;
    GET DIAGNOSTICS made = ROW_COUNT;
    RETURN made;
END $$;

-- Empties every leaf whose bound has passed, oldest first, and sets it behind the newest. A leaf that is being
-- written or read stops the ring until the next call.
CREATE FUNCTION _x_jobs.advance_ring() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    step interval := current_setting('x_jobs.history_step')::interval;
    instant timestamptz := _x_jobs.clock();
    due record;
    leaf text;
    purged bigint := 0;
BEGIN
    IF NOT _x_jobs.sees_commits() THEN
        RETURN 0;
    END IF;
    FOR due IN SELECT segment, upper FROM _x_jobs.history_leaves WHERE upper <= instant ORDER BY upper LOOP
        leaf := format('_x_jobs.history_%s', lpad(due.segment::text, 2, '0'));
        BEGIN
            EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE NOWAIT', leaf);
        EXCEPTION WHEN lock_not_available THEN
            EXIT;
        END;
        -- Another call may have emptied the leaf and set it behind the newest while this one was on its way to the lock.
        CONTINUE WHEN NOT EXISTS (SELECT FROM _x_jobs.history_leaves l WHERE l.segment = due.segment AND l.upper <= instant);
        EXECUTE format('TRUNCATE %s', leaf);
        UPDATE _x_jobs.history_leaves
           SET upper = (SELECT greatest(max(upper), date_bin(step, instant, '2000-01-01 00:00:00+00')) FROM _x_jobs.history_leaves) + step
         WHERE segment = due.segment;
        purged := purged + 1;
    END LOOP;
    RETURN purged;
END $$;

-- Rolls the tally that has rested longest into the counters and passes the turn on. Writers of a tally hold its
-- lock to their end, so the lock says that nothing in it can still become visible.
CREATE FUNCTION _x_jobs.roll_up() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    turn smallint := COALESCE((SELECT max(current) FROM _x_jobs.tally_turn), 0);
    resting text := format('_x_jobs.tally_%s', (turn + 1) % 3);
    rolled bigint;
BEGIN
    IF NOT _x_jobs.sees_commits() THEN
        RETURN 0;
    END IF;
    -- The turn passes to a table that is known to be empty; the one that had the turn before rests meanwhile.
    BEGIN
        EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE NOWAIT', resting);
        LOCK TABLE _x_jobs.tally_turn IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
    EXCEPTION WHEN lock_not_available THEN
        RETURN 0;
    END;
    IF turn <> COALESCE((SELECT max(current) FROM _x_jobs.tally_turn), 0) THEN
        RETURN 0;
    END IF;
    EXECUTE format($roll$
        INSERT INTO _x_jobs.counters AS c (name, width, bucket_start, done, failed, dead, retried, duration_ms)
             SELECT name, '1 minute', date_bin('1 minute', ended_at, '2000-01-01 00:00:00+00'), count(*) FILTER (WHERE outcome = 'd'),
                    count(*) FILTER (WHERE outcome = 'f'), count(*) FILTER (WHERE outcome = 'x'),
                    count(*) FILTER (WHERE outcome = 'r'), sum(duration_ms)
               FROM %s GROUP BY 1, 3 ORDER BY 1, 3
        ON CONFLICT (name, width, bucket_start) DO UPDATE
                SET done = c.done + excluded.done, failed = c.failed + excluded.failed, dead = c.dead + excluded.dead,
                    retried = c.retried + excluded.retried, duration_ms = c.duration_ms + excluded.duration_ms $roll$, resting);
    EXECUTE format($roll$
        INSERT INTO _x_jobs.queue_totals AS q (queue, done, failed, dead)
             SELECT queue, count(*) FILTER (WHERE outcome = 'd'), count(*) FILTER (WHERE outcome = 'f'),
                    count(*) FILTER (WHERE outcome = 'x')
               FROM %s GROUP BY queue ORDER BY 1
        ON CONFLICT (queue) DO UPDATE
                SET done = q.done + excluded.done, failed = q.failed + excluded.failed, dead = q.dead + excluded.dead $roll$, resting);
    EXECUTE format('SELECT count(*) FROM %s', resting) INTO rolled;
    EXECUTE format('TRUNCATE %s', resting);
    DELETE FROM _x_jobs.tally_turn;
    INSERT INTO _x_jobs.tally_turn (current) VALUES ((turn + 1) % 3);
    RETURN rolled;
END $$;

-- Moves buckets that are older than their width is kept into the next wider one, and drops those past the last. The lock of
-- the turn is the one of every roll-up, so no two meet at a row and each bucket is moved once. Widths and times are hours
-- and less, so no bound depends on a time zone.
CREATE FUNCTION _x_jobs.roll_up_tiers() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    instant timestamptz := _x_jobs.clock();
    tier record;
    moved bigint;
    total bigint := 0;
BEGIN
    IF NOT _x_jobs.sees_commits() THEN
        RETURN 0;
    END IF;
    BEGIN
        LOCK TABLE _x_jobs.tally_turn IN SHARE UPDATE EXCLUSIVE MODE NOWAIT;
    EXCEPTION WHEN lock_not_available THEN
        RETURN 0;
    END;
    -- Narrow ones first, so that an old bucket goes all the way in one call.
    FOR tier IN SELECT t.width, t.wider, instant - t.keep AS oldest
                  FROM (VALUES (1, '1 minute'::interval, '5 minutes'::interval, '24 hours'::interval),
                               (2, '5 minutes', '1 hour', '168 hours'), (3, '1 hour', NULL, '720 hours')) AS t (place, width, wider, keep)
                 ORDER BY t.place
    LOOP
        WITH narrow AS (
            DELETE FROM _x_jobs.counters AS k WHERE k.width = tier.width AND k.bucket_start < tier.oldest
            RETURNING k.name, k.bucket_start, k.done, k.failed, k.dead, k.retried, k.duration_ms),
        widened AS (
            INSERT INTO _x_jobs.counters AS c (name, width, bucket_start, done, failed, dead, retried, duration_ms)
                 SELECT narrow.name, tier.wider, date_bin(tier.wider, narrow.bucket_start, '2000-01-01 00:00:00+00'), sum(narrow.done),
                        sum(narrow.failed), sum(narrow.dead), sum(narrow.retried), sum(narrow.duration_ms)
                   FROM narrow WHERE tier.wider IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 3
            ON CONFLICT (name, width, bucket_start) DO UPDATE
                    SET done = c.done + excluded.done, failed = c.failed + excluded.failed, dead = c.dead + excluded.dead,
                        retried = c.retried + excluded.retried, duration_ms = c.duration_ms + excluded.duration_ms)
        SELECT count(*) INTO moved FROM narrow;
        total := total + moved;
    END LOOP;
    RETURN total;
END $$;

-- Single rows that outlived their retention where no leaf can be emptied: in bounded batches.
CREATE FUNCTION _x_jobs.purge_kept(bound integer) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    purged bigint;
BEGIN
    DELETE FROM _x_jobs.history_keep WHERE ctid = ANY (ARRAY(
        SELECT k.ctid FROM _x_jobs.history_keep k WHERE k.purge_at <= _x_jobs.clock()
         ORDER BY k.purge_at LIMIT bound FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS purged = ROW_COUNT;
    RETURN purged;
END $$;

-- Records of failed attempts whose job is gone.
CREATE FUNCTION _x_jobs.purge_attempts(bound integer) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    purged bigint;
BEGIN
    DELETE FROM _x_jobs.attempts WHERE ctid = ANY (ARRAY(
        SELECT a.ctid FROM _x_jobs.attempts a
         WHERE a.ended_at < _x_jobs.clock() - current_setting('x_jobs.retention')::interval
           AND NOT EXISTS (SELECT FROM _x_jobs.jobs j WHERE j.id = a.job_id)
           AND NOT EXISTS (SELECT FROM _x_jobs.history h WHERE h.id = a.job_id)
         ORDER BY a.ended_at LIMIT bound FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS purged = ROW_COUNT;
    RETURN purged;
END $$;

CREATE FUNCTION _x_jobs.expire_waiting(bound integer) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*) FILTER (WHERE _x_jobs.expire(due.id))
      FROM (SELECT j.id FROM _x_jobs.jobs j
             WHERE j.expires_at <= _x_jobs.clock() AND j.claim = 0 AND j.state IN ('ready', 'delayed', 'suspended')
             ORDER BY j.id LIMIT bound) due
$$;

-- Jobs whose worker died on their final attempt, where no claim comes by to end them. Those of a paused queue stay as they are.
CREATE FUNCTION _x_jobs.bury_lapsed(bound integer) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*) FILTER (WHERE _x_jobs.bury(lapsed.id))
      FROM (SELECT j.id FROM _x_jobs.jobs j
             WHERE j.state = 'running' AND j.visible_at <= _x_jobs.clock() AND j.attempt >= j.max_attempts
               AND NOT EXISTS (SELECT FROM _x_jobs.queues q WHERE q.queue = j.queue AND q.paused_at IS NOT NULL)
             ORDER BY j.id LIMIT bound) lapsed
$$;

CREATE FUNCTION _x_jobs.forget_lapsed_workers() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgotten bigint;
BEGIN
    DELETE FROM _x_jobs.workers WHERE worker_id = ANY (ARRAY(
        SELECT w.worker_id FROM _x_jobs.workers w WHERE w.expires_at <= _x_jobs.clock() FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END $$;

-- A grant whose role is gone names only a number, which another role may get.
CREATE FUNCTION _x_jobs.forget_dropped_roles() RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    forgotten bigint;
BEGIN
    DELETE FROM _x_jobs.grants WHERE ctid = ANY (ARRAY(
        SELECT g.ctid FROM _x_jobs.grants g WHERE NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = g.role)
           FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    RETURN forgotten;
END $$;

-- The tasks that lock a leaf or a tally against everybody come last, since what they lock stays locked to the end of
-- the transaction.
CREATE FUNCTION _x_jobs.maintain() RETURNS SETOF x_jobs.maintained
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    kept bigint := _x_jobs.purge_kept(10000);
    attempts bigint := _x_jobs.purge_attempts(10000);
    expired bigint := _x_jobs.expire_waiting(10000);
    buried bigint := _x_jobs.bury_lapsed(10000);
    logged bigint := _x_jobs.purge_task_log(10000);
    workers bigint := _x_jobs.forget_lapsed_workers();
    roles bigint := _x_jobs.forget_dropped_roles();
BEGIN
    RETURN NEXT ROW('lay_out_ring', _x_jobs.lay_out_ring())::x_jobs.maintained;
    RETURN NEXT ROW('advance_ring', _x_jobs.advance_ring())::x_jobs.maintained;
    RETURN NEXT ROW('roll_up', _x_jobs.roll_up())::x_jobs.maintained;
    RETURN NEXT ROW('roll_up_tiers', _x_jobs.roll_up_tiers())::x_jobs.maintained;
    RETURN NEXT ROW('purge_kept', kept)::x_jobs.maintained;
    RETURN NEXT ROW('purge_attempts', attempts)::x_jobs.maintained;
    RETURN NEXT ROW('expire_waiting', expired)::x_jobs.maintained;
    RETURN NEXT ROW('bury_lapsed', buried)::x_jobs.maintained;
    RETURN NEXT ROW('purge_task_log', logged)::x_jobs.maintained;
    RETURN NEXT ROW('forget_lapsed_workers', workers)::x_jobs.maintained;
    RETURN NEXT ROW('forget_dropped_roles', roles)::x_jobs.maintained;
END $$;

CREATE FUNCTION x_jobs.maintain() RETURNS SETOF x_jobs.maintained
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';

-- Where the claims of each queue look, as shared memory has it; a row of NULLs for a queue that is closed everywhere, no
-- row for one that no claim has looked at. Places are ordered by (priority, run_at, id); the end is not part of a range.
CREATE FUNCTION _x_jobs.open_places(
    OUT queue text, OUT begin_priority smallint, OUT begin_run_at timestamptz, OUT begin_id uuid,
    OUT end_priority smallint, OUT end_run_at timestamptz, OUT end_id uuid
) RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_open_places';
