-- Who may call what. A grant has two halves that are kept together here: EXECUTE on the functions, which the
-- server checks, and a row in _x_jobs.grants, which the library checks again before it touches a table.

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA x_jobs, _x_jobs FROM PUBLIC;
REVOKE ALL ON ALL PROCEDURES IN SCHEMA x_jobs FROM PUBLIC;
REVOKE ALL ON ALL TABLES IN SCHEMA x_jobs, _x_jobs FROM PUBLIC;

CREATE FUNCTION _x_jobs.surface(capability text) RETURNS SETOF pg_catalog.regprocedure
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT p.oid::regprocedure FROM pg_proc p
     WHERE p.pronamespace = 'x_jobs'::regnamespace
       AND p.proname = ANY (CASE capability
           WHEN 'producer' THEN ARRAY['enqueue', 'enqueue_many', 'new_id', 'version', 'schedule', 'unschedule', 'pause_task', 'resume_task',
                                      'fire_task', 'task_list', 'task_history', 'cron_next', 'cron_explain']
           WHEN 'worker' THEN ARRAY['claim', 'heartbeat', 'heartbeat_many', 'ack', 'nack', 'fail', 'release', 'settle', 'exchange',
                                    'guard', 'wait', 'progress', 'worker_announce', 'worker_forget', 'version']
           WHEN 'operator' THEN ARRAY['job', 'jobs', 'dead_letters', 'stats', 'attempts', 'requeue', 'remove', 'cancel', 'promote',
                                      'pause_queue', 'resume_queue', 'paused', 'counters', 'counter_totals', 'workers',
                                      'leader', 'leader_acquire', 'leader_release', 'maintain', 'version', 'schedule', 'unschedule', 'pause_task',
                                      'resume_task', 'fire_task', 'task_list', 'task_history', 'cron_next', 'cron_explain', 'task_fires',
                                      'fire', 'watermark_get', 'watermark_mark', 'record_fire', 'background_workers', 'health']
           END)
     ORDER BY p.proname COLLATE "C", p.oid
$$;

-- Only the extension's owner, a member of that role, or a superuser.
CREATE FUNCTION _x_jobs.require_owner() RETURNS void
    LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_require_owner';

CREATE FUNCTION _x_jobs.give(role pg_catalog.regrole, capability text, queues text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    procedure regprocedure;
    queue_name text;
BEGIN
    IF role IS NULL THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['role', 'must not be NULL']);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = $1) THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['role', 'must be a role that exists']);
    END IF;
    IF cardinality(queues) = 0 OR array_position(queues, NULL) IS NOT NULL THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['queues', 'must be NULL for every queue, or an array of names']);
    END IF;
    FOREACH queue_name IN ARRAY COALESCE(queues, '{}') LOOP
        PERFORM _x_jobs.require_name(queue_name, 'queues');
    END LOOP;
    EXECUTE format('GRANT USAGE ON SCHEMA x_jobs TO %s', role);
    FOR procedure IN SELECT _x_jobs.surface(capability) LOOP
        EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %s', procedure, role);
    END LOOP;
    IF capability = 'operator' THEN
        EXECUTE format('GRANT SELECT ON x_jobs.all_jobs TO %s', role);
    END IF;
    IF capability IN ('producer', 'operator') THEN
        EXECUTE format('GRANT SELECT ON x_jobs.tasks TO %s', role);
    END IF;
    INSERT INTO _x_jobs.grants (role, capability, queue)
         SELECT $1, $2, wanted FROM unnest(COALESCE($3, ARRAY[NULL]::text[])) AS wanted
    ON CONFLICT DO NOTHING;
END $$;

CREATE FUNCTION _x_jobs.take(role pg_catalog.regrole, capability text, queues text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    procedure regprocedure;
BEGIN
    IF role IS NULL THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['role', 'must not be NULL']);
    END IF;
    DELETE FROM _x_jobs.grants g WHERE g.role = $1 AND g.capability = $2 AND ($3 IS NULL OR g.queue = ANY ($3));
    IF EXISTS (SELECT FROM _x_jobs.grants g WHERE g.role = $1 AND g.capability = $2) THEN
        RETURN;
    END IF;
    FOR procedure IN
        SELECT taken FROM _x_jobs.surface($2) AS taken
        EXCEPT SELECT kept FROM _x_jobs.grants g CROSS JOIN LATERAL _x_jobs.surface(g.capability) AS kept WHERE g.role = $1
    LOOP
        EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM %s', procedure, role);
    END LOOP;
    IF capability = 'operator' THEN
        EXECUTE format('REVOKE SELECT ON x_jobs.all_jobs FROM %s', role);
    END IF;
    IF NOT EXISTS (SELECT FROM _x_jobs.grants g WHERE g.role = $1 AND g.capability IN ('producer', 'operator')) THEN
        EXECUTE format('REVOKE SELECT ON x_jobs.tasks FROM %s', role);
    END IF;
    IF NOT EXISTS (SELECT FROM _x_jobs.grants g WHERE g.role = $1) THEN
        EXECUTE format('REVOKE USAGE ON SCHEMA x_jobs FROM %s', role);
    END IF;
END $$;

CREATE FUNCTION x_jobs.grant_producer(role pg_catalog.regrole) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM _x_jobs.require_owner();
    PERFORM _x_jobs.give(role, 'producer', NULL);
END $$;

CREATE FUNCTION x_jobs.grant_worker(role pg_catalog.regrole, queues text[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM _x_jobs.require_owner();
    PERFORM _x_jobs.give(role, 'worker', queues);
END $$;

CREATE FUNCTION x_jobs.grant_operator(role pg_catalog.regrole) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM _x_jobs.require_owner();
    PERFORM _x_jobs.give(role, 'operator', NULL);
END $$;

CREATE FUNCTION x_jobs.revoke_producer(role pg_catalog.regrole) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM _x_jobs.require_owner();
    PERFORM _x_jobs.take(role, 'producer', NULL);
END $$;

CREATE FUNCTION x_jobs.revoke_worker(role pg_catalog.regrole, queues text[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM _x_jobs.require_owner();
    PERFORM _x_jobs.take(role, 'worker', queues);
END $$;

CREATE FUNCTION x_jobs.revoke_operator(role pg_catalog.regrole) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM _x_jobs.require_owner();
    PERFORM _x_jobs.take(role, 'operator', NULL);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA x_jobs, _x_jobs FROM PUBLIC;

-- Everything works without shared_preload_libraries, some of it slower; said once, here.
DO $$
BEGIN
    IF NOT _x_jobs.preloaded() THEN
        -- The server quietens an extension's script to warnings; this one notice is for the person who installs.
        PERFORM pg_catalog.set_config('client_min_messages', 'notice', true);
        RAISE NOTICE 'x_jobs is not in shared_preload_libraries'
            USING DETAIL = 'Every function works, but no task fires by itself, upkeep is left to x_jobs.maintain(), a waiting claim polls instead of being woken, and every commit that enqueues sends a notification.',
                  HINT = 'Add x_jobs to shared_preload_libraries and restart the server.';
        PERFORM pg_catalog.set_config('client_min_messages', 'warning', true);
    END IF;
END $$;
