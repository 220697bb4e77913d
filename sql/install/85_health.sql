-- What is wrong with this installation, in words, and which background workers there are.

CREATE FUNCTION _x_jobs.workers_of_server() RETURNS SETOF x_jobs.background_worker
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_background_workers';

CREATE FUNCTION _x_jobs.background_workers() RETURNS SETOF x_jobs.background_worker
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT w.worker, w.database, w.pid, w.state, w.since, w.starts, w.rounds FROM _x_jobs.workers_of_server() w
     ORDER BY w.worker, w.database COLLATE "C"
$$;

-- What the scheduler's state means for this database.
CREATE FUNCTION _x_jobs.scheduler_health(OUT state text, OUT detail text, OUT hint text) RETURNS record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    own record;
BEGIN
    state := 'warning';
    SELECT w.* INTO own FROM _x_jobs.workers_of_server() w WHERE w.worker = 'scheduler' AND w.database = current_database();
    IF NOT _x_jobs.preloaded() THEN
        detail := 'There are no background workers, since x_jobs is not in shared_preload_libraries: no task fires, and upkeep is done by x_jobs.maintain() only.';
        hint := 'Add x_jobs to shared_preload_libraries and restart the server.';
    ELSIF pg_is_in_recovery() THEN
        state := 'ok';
        detail := 'This server is a standby: the scheduler starts when it is promoted.';
    ELSIF own.state = 'running' THEN
        state := 'ok';
        detail := format('The scheduler has been running since %s, as process %s; start number %s.', own.since, own.pid, own.starts);
    ELSIF own.state = 'switched off' THEN
        detail := 'The scheduler of this database is switched off: no task fires, and upkeep is done by x_jobs.maintain() only.';
        hint := 'ALTER DATABASE ... RESET x_jobs.scheduler, or set x_jobs.scheduler = on in the configuration file.';
    ELSIF own.state = 'no background worker left' THEN
        state := 'error';
        detail := format('The scheduler cannot start, since all %s background workers of the server are in use.', current_setting('max_worker_processes'));
        hint := 'Raise max_worker_processes by one for the launcher of x_jobs and one for each database that uses it, and restart the server.';
    ELSIF NOT EXISTS (SELECT FROM _x_jobs.workers_of_server() w WHERE w.worker = 'launcher' AND w.pid IS NOT NULL) AND own.state IS NULL THEN
        state := 'error';
        detail := 'The launcher is not running, so that no scheduler starts.';
        hint := 'If it stays so, raise max_worker_processes, of which the launcher takes one, and restart the server.';
    ELSIF own.state IS NULL THEN
        state := 'error';
        detail := format('The launcher has no place for this database; it has %s.', current_setting('x_jobs.max_databases'));
        hint := 'Raise x_jobs.max_databases and restart the server.';
    ELSE
        detail := format('The scheduler is not running: %s, since %s.', own.state, own.since);
        hint := 'Wait a few seconds and ask again; if it stays so, the log of the server says why.';
    END IF;
END $$;

-- One line of health(): what is said where all is well, and otherwise.
CREATE FUNCTION _x_jobs.checked(name text, well boolean, good text, state text, bad text, hint text) RETURNS x_jobs.health_check
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ROW(name, CASE WHEN well THEN 'ok' ELSE state END, CASE WHEN well THEN good ELSE bad END, CASE WHEN well THEN NULL ELSE hint END)::x_jobs.health_check
$$;

CREATE FUNCTION _x_jobs.health() RETURNS SETOF x_jobs.health_check
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    instant timestamptz := _x_jobs.clock();
    step interval := current_setting('x_jobs.history_step')::interval;
    shown record;
    amount bigint;
    share numeric := round((pg_notification_queue_usage() * 100)::numeric, 1);
    bound timestamptz;
    shift interval := current_setting('x_jobs.test_clock_offset')::interval;
BEGIN
    RETURN NEXT _x_jobs.checked('library', _x_jobs.preloaded(), 'The library is preloaded.', 'warning',
        'The library is not preloaded: waiting claims poll, and claims look through their queue from its front.',
        'Add x_jobs to shared_preload_libraries and restart the server.');
    SELECT s.* INTO shown FROM _x_jobs.scheduler_health() s;
    -- With tasks that do not fire it is more than a warning.
    IF shown.state = 'warning' AND EXISTS (SELECT FROM _x_jobs.tasks t WHERE t.paused_at IS NULL) THEN
        shown.state := 'error';
    END IF;
    RETURN NEXT _x_jobs.checked('scheduler', shown.state = 'ok', shown.detail, shown.state, shown.detail, shown.hint);
    SELECT count(*) INTO amount FROM _x_jobs.task_list() t WHERE t.state IN ('failing', 'no owner');
    RETURN NEXT _x_jobs.checked('tasks', amount = 0, format('None of the tasks fails; there are %s.', (SELECT count(*) FROM _x_jobs.tasks)), 'error',
        format('Tasks that cannot fire: %s.', amount), 'SELECT task, state, error FROM x_jobs.tasks WHERE state IN (''failing'', ''no owner'')');
    amount := _x_jobs.overdue_tasks();
    RETURN NEXT _x_jobs.checked('overdue', amount = 0, 'No task is overdue by more than a minute.', 'warning',
        format('Tasks that are overdue by more than a minute: %s.', amount),
        'Without a scheduler nothing fires; a task that fails says why in x_jobs.tasks; else a function of entries takes long: pg_stat_activity shows which task the scheduler is at.');
    SELECT min(l.upper) INTO bound FROM _x_jobs.history_leaves l;
    RETURN NEXT _x_jobs.checked('history', COALESCE(bound > instant - greatest(step, interval '10 minutes'), true),
        CASE WHEN bound IS NULL THEN 'The history ring is not laid out yet.' ELSE format('The next leaf of history is emptied after %s.', bound) END, 'warning',
        format('A leaf of history could have been emptied since %s.', bound),
        'A long transaction reads or writes it: look for it in pg_stat_activity; without a scheduler, call x_jobs.maintain().');
    SELECT extract(epoch FROM clock_timestamp() - min(a.xact_start)) / 60 INTO amount FROM pg_stat_activity a
     WHERE (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.pid <> pg_backend_pid() AND a.datname = current_database();
    RETURN NEXT _x_jobs.checked('old snapshot', COALESCE(amount, 0) < 60, 'No transaction of this database is older than an hour.', 'warning',
        format('A transaction is %s minutes old and keeps dead rows from being removed.', amount),
        'Find it: SELECT pid, xact_start, state, query FROM pg_stat_activity ORDER BY xact_start LIMIT 1.');
    RETURN NEXT _x_jobs.checked('notifications', share < 50, format('%s percent of the notification queue is in use.', share), 'warning',
        format('%s percent of the notification queue is in use; x_jobs holds x_jobs_wake back and leaves x_jobs_settled out meanwhile.', share),
        'A session that listens has been in a transaction for long: look for it in pg_stat_activity.');
    RETURN NEXT _x_jobs.checked('clock', shift = interval '0', 'The clock is the server''s.', 'warning',
        format('x_jobs.test_clock_offset shifts the clock by %s.', shift), 'Reset it outside tests.');
END $$;

CREATE FUNCTION x_jobs.background_workers() RETURNS SETOF x_jobs.background_worker
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.health() RETURNS SETOF x_jobs.health_check
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
