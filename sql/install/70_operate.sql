-- The operator's surface. Each public function is a gate: C code that checks the caller's right and then runs the
-- function of the same name in _x_jobs as the extension's owner, with a fixed search_path. The private functions
-- are granted to nobody.

-- Live and finished rows as one. Reads nothing by itself: a filter on id, or newest-first with a limit, is
-- answered from the primary key and from the ids of the leaves.
CREATE VIEW x_jobs.all_jobs AS
    SELECT id, name, queue, state, priority::integer AS priority, input, idempotency_key, run_id, attempt, max_attempts,
           attempt >= max_attempts AS final_attempt, NULLIF(claim, 0) AS claim, claimed_by AS worker_id,
           NULLIF(tenant_id, '') AS tenant_id, tags, run_at, created_at, updated_at, claimed_at, visible_at,
           NULL::timestamptz AS finished_at, expires_at, timeout, last_error, last_error_code, last_error_stack,
           progress, NULL::jsonb AS result, NULL::text COLLATE "C" AS reason, traceparent, enqueued_by
      FROM _x_jobs.jobs
    UNION ALL
    SELECT id, name, queue, state, priority::integer, input, idempotency_key, run_id, attempt, max_attempts,
           attempt >= max_attempts, NULLIF(claim, 0), claimed_by,
           NULLIF(tenant_id, ''), tags, run_at, created_at, updated_at, claimed_at, visible_at,
           finished_at, expires_at, timeout, last_error, last_error_code, last_error_stack,
           progress, result, reason, traceparent, enqueued_by
      FROM _x_jobs.history;

-- The states of this build: exact, in the order of a job's life.
CREATE FUNCTION _x_jobs.states() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
    RETURN ARRAY['ready', 'delayed', 'running', 'suspended', 'done', 'failed', 'dead', 'cancelled'];

CREATE FUNCTION _x_jobs.refuse_unknown_state(state text, severity text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF state = ANY (_x_jobs.states()) THEN
        RETURN false;
    END IF;
    PERFORM _x_jobs.raise('X_JOB_ROW_STATUS_UNKNOWN',
        ARRAY['jobs', 'state', pg_catalog.quote_literal(state), pg_catalog.array_to_string(_x_jobs.states(), ', ')], severity);
    RETURN true;
END $$;

-- A count argument: not NULL, not negative.
CREATE FUNCTION _x_jobs.require_count(value integer, argument text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR value < 0 THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY[argument, 'must be a whole number of at least 0']);
    END IF;
END $$;

CREATE FUNCTION _x_jobs.job(id uuid) RETURNS x_jobs.job
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    found_job x_jobs.job;
BEGIN
    SELECT j.* INTO found_job FROM x_jobs.all_jobs j WHERE j.id = $1;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    PERFORM _x_jobs.refuse_unknown_state(found_job.state, 'error');
    RETURN found_job;
END $$;

-- A list never reads what may be large: input, result and error stack are NULL in it.
CREATE FUNCTION _x_jobs.without_payload(whole x_jobs.job) RETURNS x_jobs.job
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    whole.input := NULL;
    whole.result := NULL;
    whole.last_error_stack := NULL;
    RETURN whole;
END $$;

CREATE FUNCTION _x_jobs.jobs(
    queue text, name text, state text, tenant_id text, id_prefix text, tag text,
    created_from timestamptz, created_to timestamptz, after uuid, before uuid, max integer
) RETURNS SETOF x_jobs.job
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    page x_jobs.job[];
    one x_jobs.job;
    lowest uuid;
    highest uuid;
BEGIN
    PERFORM _x_jobs.require_count(max, 'max');
    IF max > 200 THEN
        PERFORM _x_jobs.raise('X_JOB_PAGE_INVALID', ARRAY['200']);
    END IF;
    IF after IS NOT NULL AND before IS NOT NULL THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['after', 'and before exclude each other']);
    END IF;
    IF state IS NOT NULL AND state <> ALL (_x_jobs.states()) THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['state', 'must be one of ' || pg_catalog.array_to_string(_x_jobs.states(), ', ')]);
    END IF;
    -- The bounds only narrow the index range; the literal comparison below decides.
    IF id_prefix <> '' AND id_prefix ~ '^[0-9a-f]{1,8}$' THEN
        lowest := (pg_catalog.rpad(id_prefix, 8, '0') || '-0000-0000-0000-000000000000')::uuid;
        highest := (pg_catalog.rpad(id_prefix, 8, 'f') || '-ffff-ffff-ffff-ffffffffffff')::uuid;
    ELSIF id_prefix ~ '^[0-9a-f]{8}-' THEN
        lowest := (pg_catalog.left(id_prefix, 8) || '-0000-0000-0000-000000000000')::uuid;
        highest := (pg_catalog.left(id_prefix, 8) || '-ffff-ffff-ffff-ffffffffffff')::uuid;
    END IF;
    lowest := COALESCE(lowest, '00000000-0000-0000-0000-000000000000');
    highest := COALESCE(highest, 'ffffffff-ffff-ffff-ffff-ffffffffffff');

    IF before IS NULL THEN
        page := ARRAY(
            SELECT ROW(j.id, j.name, j.queue, j.state, j.priority, NULL, j.idempotency_key, j.run_id, j.attempt, j.max_attempts,
                       j.final_attempt, j.claim, j.worker_id, j.tenant_id, j.tags, j.run_at, j.created_at, j.updated_at,
                       j.claimed_at, j.visible_at, j.finished_at, j.expires_at, j.timeout, j.last_error, j.last_error_code,
                       NULL, j.progress, NULL, j.reason, j.traceparent, j.enqueued_by)::x_jobs.job
              FROM x_jobs.all_jobs j
             WHERE ($1 IS NULL OR j.queue = $1) AND ($2 IS NULL OR j.name = $2) AND ($3 IS NULL OR j.state = $3)
               AND ($4 IS NULL OR j.tenant_id = $4) AND ($5 IS NULL OR pg_catalog.starts_with(j.id::text, $5))
               AND ($6 IS NULL OR $6 = ANY (j.tags)) AND ($7 IS NULL OR j.created_at >= $7) AND ($8 IS NULL OR j.created_at < $8)
               AND j.id >= lowest AND j.id <= highest AND ($9 IS NULL OR j.id < $9)
             ORDER BY j.id DESC LIMIT $11);
    ELSE
        page := ARRAY(
            SELECT nearest.found FROM (
                SELECT j.id, ROW(j.id, j.name, j.queue, j.state, j.priority, NULL, j.idempotency_key, j.run_id, j.attempt, j.max_attempts,
                       j.final_attempt, j.claim, j.worker_id, j.tenant_id, j.tags, j.run_at, j.created_at, j.updated_at,
                       j.claimed_at, j.visible_at, j.finished_at, j.expires_at, j.timeout, j.last_error, j.last_error_code,
                       NULL, j.progress, NULL, j.reason, j.traceparent, j.enqueued_by)::x_jobs.job AS found
                  FROM x_jobs.all_jobs j
                 WHERE ($1 IS NULL OR j.queue = $1) AND ($2 IS NULL OR j.name = $2) AND ($3 IS NULL OR j.state = $3)
                   AND ($4 IS NULL OR j.tenant_id = $4) AND ($5 IS NULL OR pg_catalog.starts_with(j.id::text, $5))
                   AND ($6 IS NULL OR $6 = ANY (j.tags)) AND ($7 IS NULL OR j.created_at >= $7) AND ($8 IS NULL OR j.created_at < $8)
                   AND j.id >= lowest AND j.id <= highest AND j.id > $10
                 ORDER BY j.id LIMIT $11) nearest
             ORDER BY nearest.id DESC);
    END IF;
    FOREACH one IN ARRAY page LOOP
        CONTINUE WHEN _x_jobs.refuse_unknown_state(one.state, 'warning');
        RETURN NEXT one;
    END LOOP;
END $$;

CREATE FUNCTION _x_jobs.dead_letters(max integer, reason text) RETURNS SETOF x_jobs.job
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM _x_jobs.require_count(max, 'max');
    RETURN QUERY
        SELECT (_x_jobs.without_payload(j)).*
          FROM (SELECT h.id, h.name, h.queue, h.state, h.priority::integer, NULL::jsonb, h.idempotency_key, h.run_id, h.attempt,
                       h.max_attempts, h.attempt >= h.max_attempts, NULLIF(h.claim, 0), h.claimed_by, NULLIF(h.tenant_id, ''),
                       h.tags, h.run_at, h.created_at, h.updated_at, h.claimed_at, h.visible_at, h.finished_at, h.expires_at,
                       h.timeout, h.last_error, h.last_error_code, NULL::text, h.progress, NULL::jsonb, h.reason, h.traceparent,
                       h.enqueued_by
                  FROM _x_jobs.history h
                 WHERE h.state = 'dead' AND ($2 IS NULL OR h.reason = $2)
                 ORDER BY h.updated_at DESC, h.id DESC LIMIT $1) j;
END $$;

CREATE FUNCTION _x_jobs.stats() RETURNS SETOF x_jobs.queue_stats
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH clock AS MATERIALIZED (SELECT _x_jobs.clock() AS now),
    live AS (
        SELECT j.queue,
               count(*) FILTER (WHERE j.state IN ('ready', 'delayed') AND j.run_at <= clock.now) AS ready,
               count(*) FILTER (WHERE j.state IN ('ready', 'delayed') AND j.run_at > clock.now) AS delayed,
               count(*) FILTER (WHERE j.state = 'running') AS running,
               count(*) FILTER (WHERE j.state = 'suspended') AS suspended,
               max(clock.now - j.run_at) FILTER (WHERE j.state IN ('ready', 'delayed') AND j.run_at <= clock.now) AS oldest
          FROM _x_jobs.jobs j, clock GROUP BY j.queue),
    stopped AS (
        SELECT h.queue, count(*) FILTER (WHERE h.state = 'failed') AS failed, count(*) FILTER (WHERE h.state = 'dead') AS dead
          FROM _x_jobs.history h WHERE h.state IN ('dead', 'failed') GROUP BY h.queue),
    named AS (
        SELECT q.queue FROM _x_jobs.queues q UNION SELECT live.queue FROM live UNION SELECT stopped.queue FROM stopped)
    SELECT named.queue, COALESCE(live.ready, 0), COALESCE(live.delayed, 0), COALESCE(live.running, 0),
           COALESCE(live.suspended, 0), COALESCE(stopped.failed, 0), COALESCE(stopped.dead, 0),
           COALESCE(date_trunc('milliseconds', live.oldest), '0'::interval)
      FROM named LEFT JOIN live ON live.queue = named.queue LEFT JOIN stopped ON stopped.queue = named.queue
     WHERE live.queue IS NOT NULL OR stopped.queue IS NOT NULL
        OR EXISTS (SELECT FROM _x_jobs.history h WHERE h.queue = named.queue)
     ORDER BY named.queue COLLATE "C"
$$;

-- Counters and tallies in one snapshot, which the gate takes: not volatile, so that it is also the one of the query.
CREATE FUNCTION _x_jobs.counters(name text, since timestamptz) RETURNS SETOF x_jobs.counter
    LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
        SELECT c.name, c.width, c.bucket_start, sum(c.done)::bigint, sum(c.failed)::bigint, sum(c.dead)::bigint,
               sum(c.retried)::bigint, sum(c.duration_ms)::double precision * '1 millisecond'::interval
          FROM (SELECT k.name, k.width, k.bucket_start, k.done, k.failed, k.dead, k.retried, k.duration_ms
                  FROM _x_jobs.counters AS k WHERE $1 IS NULL OR k.name = $1
                UNION ALL
                SELECT t.name, '1 minute'::interval, date_bin('1 minute', t.ended_at, '2000-01-01 00:00:00+00'),
                       count(*) FILTER (WHERE t.outcome = 'd'), count(*) FILTER (WHERE t.outcome = 'f'),
                       count(*) FILTER (WHERE t.outcome = 'x'), count(*) FILTER (WHERE t.outcome = 'r'), sum(t.duration_ms)
                  FROM _x_jobs.tally AS t WHERE $1 IS NULL OR t.name = $1 GROUP BY 1, 2, 3) AS c
         WHERE $2 IS NULL OR c.bucket_start >= $2
         GROUP BY c.name, c.width, c.bucket_start
         ORDER BY c.name COLLATE "C", c.bucket_start, c.width;
END $$;

CREATE FUNCTION _x_jobs.counter_totals(since timestamptz) RETURNS SETOF x_jobs.counter_total
    LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT c.name, sum(c.done)::bigint, sum(c.failed)::bigint, sum(c.dead)::bigint, sum(c.retried)::bigint, sum(c.duration)
      FROM _x_jobs.counters(NULL, $1) AS c GROUP BY c.name ORDER BY c.name COLLATE "C"
$$;

CREATE FUNCTION _x_jobs.attempts(id uuid) RETURNS SETOF x_jobs.attempt
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.job_id, a.run_id, a.attempt, a.claim, a.worker_id, a.started_at, a.ended_at, a.outcome, a.error, a.error_code,
           a.error_stack, a.duration_ms * '1 millisecond'::interval
      FROM _x_jobs.attempts a WHERE a.job_id = $1 ORDER BY a.claim
$$;

CREATE FUNCTION _x_jobs.require_name(value text, argument text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR value = '' OR octet_length(value) > 255 THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY[argument, 'must be a text of 1 to 255 bytes']);
    END IF;
END $$;

-- A time that something holds: from 0 to the limit, neither NULL nor infinite. Answered in hours and less, so that
-- adding it asks no calendar.
CREATE FUNCTION _x_jobs.require_span(value interval, upper interval, argument text) RETURNS interval
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR value < '0'::interval OR value > upper THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY[argument, format('must lie between 0 and %s %s',
            extract(day FROM upper), CASE WHEN upper = '1 day' THEN 'day' ELSE 'days' END)]);
    END IF;
    RETURN make_interval(secs => extract(epoch FROM value)::double precision);
END $$;

CREATE FUNCTION _x_jobs.pause_queue(queue text, reason text) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    since timestamptz;
BEGIN
    PERFORM _x_jobs.require_name($1, 'queue');
    INSERT INTO _x_jobs.queues AS q (queue, created_at, paused_at, paused_reason, paused_by)
         VALUES ($1, _x_jobs.clock(), _x_jobs.clock(), left($2, 8000), _x_jobs.caller())
    ON CONFLICT (queue) DO UPDATE
            SET paused_at = COALESCE(q.paused_at, excluded.paused_at),
                paused_reason = CASE WHEN q.paused_at IS NULL THEN excluded.paused_reason ELSE q.paused_reason END,
                paused_by = CASE WHEN q.paused_at IS NULL THEN excluded.paused_by ELSE q.paused_by END
      RETURNING paused_at INTO since;
    RETURN since;
END $$;

CREATE FUNCTION _x_jobs.resume_queue(queue text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    was_paused boolean;
BEGIN
    PERFORM _x_jobs.require_name($1, 'queue');
    UPDATE _x_jobs.queues AS q SET paused_at = NULL, paused_reason = NULL, paused_by = NULL
     WHERE q.queue = $1 AND q.paused_at IS NOT NULL;
    was_paused := FOUND;
    PERFORM _x_jobs.announce($1);
    RETURN was_paused;
END $$;

CREATE FUNCTION _x_jobs.paused() RETURNS SETOF x_jobs.paused_queue
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT q.queue, q.paused_at, q.paused_reason, q.paused_by FROM _x_jobs.queues q
     WHERE q.paused_at IS NOT NULL ORDER BY q.queue COLLATE "C"
$$;

CREATE FUNCTION _x_jobs.worker_announce(
    worker_id text, host text, queues text[], slots integer, in_flight uuid[], ttl interval
) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    instant timestamptz := _x_jobs.clock();
    span interval;
    -- The first 100 different ones, in the order given.
    held uuid[] := ARRAY(SELECT h.id FROM unnest($5) WITH ORDINALITY AS h (id, place)
                          WHERE h.id IS NOT NULL GROUP BY h.id ORDER BY min(h.place) LIMIT 100);
BEGIN
    PERFORM _x_jobs.require_name($1, 'worker_id');
    PERFORM _x_jobs.require_count($4, 'slots');
    IF $3 IS NULL OR array_position($3, NULL) IS NOT NULL THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['queues', 'must be an array of names']);
    END IF;
    span := _x_jobs.require_span($6, '30 days', 'ttl');
    INSERT INTO _x_jobs.workers AS w (worker_id, host, queues, slots, in_flight, started_at, heartbeat_at, expires_at)
         VALUES ($1, $2, $3, $4, held, instant, instant, instant + span)
    ON CONFLICT (worker_id) DO UPDATE
            SET host = excluded.host, queues = excluded.queues, slots = excluded.slots, in_flight = excluded.in_flight,
                heartbeat_at = excluded.heartbeat_at, expires_at = excluded.expires_at;
END $$;

CREATE FUNCTION _x_jobs.worker_forget(worker_id text) RETURNS void
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    DELETE FROM _x_jobs.workers AS w WHERE w.worker_id = $1
$$;

CREATE FUNCTION _x_jobs.workers() RETURNS SETOF x_jobs.worker
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT w.worker_id, w.host, w.queues, w.slots, w.in_flight, w.started_at, w.heartbeat_at, w.expires_at
      FROM _x_jobs.workers AS w WHERE w.expires_at > _x_jobs.clock() ORDER BY w.started_at, w.worker_id COLLATE "C"
$$;

-- The gates.
CREATE FUNCTION x_jobs.job(id uuid) RETURNS x_jobs.job
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.jobs(
    queue text DEFAULT NULL,
    name text DEFAULT NULL,
    state text DEFAULT NULL,
    tenant_id text DEFAULT NULL,
    id_prefix text DEFAULT NULL,
    tag text DEFAULT NULL,
    created_from timestamptz DEFAULT NULL,
    created_to timestamptz DEFAULT NULL,
    after uuid DEFAULT NULL,
    before uuid DEFAULT NULL,
    max integer DEFAULT 100
) RETURNS SETOF x_jobs.job
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.dead_letters(max integer DEFAULT 100, reason text DEFAULT NULL) RETURNS SETOF x_jobs.job
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.stats() RETURNS SETOF x_jobs.queue_stats
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.counters(name text DEFAULT NULL, since timestamptz DEFAULT NULL) RETURNS SETOF x_jobs.counter
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_counters_gate';
CREATE FUNCTION x_jobs.counter_totals(since timestamptz DEFAULT NULL) RETURNS SETOF x_jobs.counter_total
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_counters_gate';
CREATE FUNCTION x_jobs.attempts(id uuid) RETURNS SETOF x_jobs.attempt
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.pause_queue(queue text, reason text DEFAULT NULL) RETURNS timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.resume_queue(queue text) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.paused() RETURNS SETOF x_jobs.paused_queue
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.workers() RETURNS SETOF x_jobs.worker
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.worker_announce(
    worker_id text,
    host text DEFAULT NULL,
    queues text[] DEFAULT '{}',
    slots integer DEFAULT 1,
    in_flight uuid[] DEFAULT '{}',
    ttl interval DEFAULT '30 s'
) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_worker_gate';
CREATE FUNCTION x_jobs.worker_forget(worker_id text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_worker_gate';
CREATE FUNCTION x_jobs.version() RETURNS text
    LANGUAGE c STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'x_jobs_version';
