-- Recurring work. A task says when and what; its state says up to where it has been dealt with. A fire moves the watermark
-- and enqueues in one transaction, under the lock of the state's row, so two schedulers fire each occurrence once.

CREATE FUNCTION x_jobs.cron_next(
    cron text,
    time_zone text DEFAULT 'UTC',
    after timestamptz DEFAULT NULL,
    n integer DEFAULT 1,
    day_rule text DEFAULT 'or'
) RETURNS SETOF timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_cron_next';

CREATE FUNCTION x_jobs.cron_explain(cron text, time_zone text DEFAULT 'UTC', day_rule text DEFAULT 'or') RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_cron_explain';

-- Raises unless the schedule can fire; answers the zone as the server's catalogue spells it.
CREATE FUNCTION _x_jobs.check_schedule(cron text, time_zone text, day_rule text) RETURNS text
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_check_schedule';

-- The occurrences in (after, upto], the first `max` of them; `moved` is by how much a local time that does not exist was
-- moved. No upper end when `upto` is NULL.
CREATE FUNCTION _x_jobs.occurrences(
    cron text, time_zone text, day_rule text, anchor timestamptz, after timestamptz, upto timestamptz, max integer,
    OUT occurrence timestamptz, OUT moved interval
) RETURNS SETOF record
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_occurrences';

-- The last occurrence in (after, upto].
CREATE FUNCTION _x_jobs.latest_occurrence(
    cron text, time_zone text, day_rule text, anchor timestamptz, after timestamptz, upto timestamptz,
    OUT occurrence timestamptz, OUT moved interval
) RETURNS record
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_latest_occurrence';

-- What the function answers, run as the owner.
CREATE FUNCTION _x_jobs.entries_of(function text, owner oid, occurrence timestamptz) RETURNS x_jobs.new_job[]
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_entries_of';

-- Raises what enqueue_many would raise before it writes.
CREATE FUNCTION _x_jobs.check_jobs(jobs x_jobs.new_job[]) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_check_jobs';

CREATE FUNCTION _x_jobs.role_may(role oid, capability text) RETURNS boolean
    LANGUAGE c STABLE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_role_may';

-- Whether the caller of the gate is an operator, and whether it may touch a task of an owner.
CREATE FUNCTION _x_jobs.caller_operates() RETURNS boolean
    LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT _x_jobs.role_may((SELECT r.oid FROM pg_roles r WHERE r.rolname = _x_jobs.caller()), 'operator')
$$;

CREATE FUNCTION _x_jobs.caller_may(owner regrole) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.oid = $1) THEN pg_has_role(_x_jobs.caller(), $1, 'USAGE') ELSE false END
        OR _x_jobs.caller_operates()
$$;

-- Who may write the table by hand still makes tasks for no other role: a task's function runs with its owner's rights.
CREATE FUNCTION _x_jobs.guard_task_owner() RETURNS trigger
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    roles oid[] := ARRAY[NEW.owner::oid] || CASE WHEN TG_OP = 'UPDATE' THEN ARRAY[OLD.owner::oid] END;
BEGIN
    IF pg_has_role(current_user, (SELECT n.nspowner FROM pg_namespace n WHERE n.nspname = '_x_jobs'), 'USAGE') THEN
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT FROM unnest(roles) r WHERE NOT EXISTS (SELECT FROM pg_roles p WHERE p.oid = r) OR NOT pg_has_role(current_user, r, 'USAGE')) THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied for the task''s owner',
            DETAIL = 'A task can be given only to a role that the writer is a member of.', HINT = 'Make tasks with x_jobs.schedule().';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER guard_task_owner BEFORE INSERT OR UPDATE ON _x_jobs.tasks
    FOR EACH ROW EXECUTE FUNCTION _x_jobs.guard_task_owner();
ALTER TABLE _x_jobs.tasks ENABLE ALWAYS TRIGGER guard_task_owner;

-- The first occurrence after an instant, or NULL.
CREATE FUNCTION _x_jobs.next_occurrence(t _x_jobs.tasks, after timestamptz) RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT o.occurrence FROM _x_jobs.occurrences(t.cron, t.time_zone, t.day_rule, t.anchor, after, NULL, 1) o
$$;

-- The same for lists, where one task that cannot be understood (a zone that this server lacks) must not hide the others.
CREATE FUNCTION _x_jobs.shown_occurrence(t _x_jobs.tasks, after timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN _x_jobs.next_occurrence(t, after);
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

-- The watermark of a task that has fired nothing: history never fires.
CREATE FUNCTION _x_jobs.armed_watermark(t _x_jobs.tasks, after timestamptz) RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(_x_jobs.next_occurrence(t, after) - interval '1 ms', after)
$$;

-- The stored entries as jobs, with the occurrence in their inputs. What is put in has no character that JSON escapes.
CREATE FUNCTION _x_jobs.static_jobs(t _x_jobs.tasks, occurrence timestamptz) RETURNS x_jobs.new_job[]
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(jsonb_populate_record(NULL::x_jobs.new_job, e.entry) ORDER BY e.place), '{}')
      FROM jsonb_array_elements(replace(replace(replace(t.entries::text,
               '{{occurrence}}', to_char(occurrence AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
               '{{local_time}}', to_char(occurrence AT TIME ZONE t.time_zone, 'YYYY-MM-DD"T"HH24:MI:SS')),
               '{{local_date}}', to_char(occurrence AT TIME ZONE t.time_zone, 'YYYY-MM-DD'))::jsonb)
           WITH ORDINALITY AS e (entry, place)
$$;

CREATE FUNCTION _x_jobs.task_jobs(t _x_jobs.tasks, occurrence timestamptz) RETURNS x_jobs.new_job[]
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = t.owner) THEN
        PERFORM _x_jobs.raise('X_TASK_OWNER_INVALID', ARRAY['The role that made the task is gone']);
    ELSIF NOT _x_jobs.role_may(t.owner, 'producer') AND NOT _x_jobs.role_may(t.owner, 'operator') THEN
        PERFORM _x_jobs.raise('X_TASK_OWNER_INVALID', ARRAY['The role that made the task may no longer produce jobs']);
    END IF;
    IF t.entries_function IS NULL THEN
        RETURN _x_jobs.static_jobs(t, occurrence);
    END IF;
    RETURN COALESCE(_x_jobs.entries_of(t.entries_function, t.owner, occurrence), '{}');
END $$;

-- The jobs of an occurrence as they are enqueued: due at the occurrence, under a key that names it, with nothing that only
-- a person or a request could bring. A job without a key of its own takes its place in the list as one.
CREATE FUNCTION _x_jobs.jobs_of_occurrence(task text, occurrence timestamptz, jobs x_jobs.new_job[]) RETURNS x_jobs.new_job[]
    LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(ROW(j.name, j.input,
               task || ':' || trunc(extract(epoch FROM occurrence) * 1000)::bigint || ':' || COALESCE(j.idempotency_key, j.place::text),
               j.queue, occurrence, NULL, j.priority, j.max_attempts, NULL, 'dedupe', j.expires_at, j.tags, true,
               NULL, NULL, NULL, NULL)::x_jobs.new_job ORDER BY j.place), '{}')
      FROM unnest(jobs) WITH ORDINALITY AS j (name, input, idempotency_key, queue, run_at, delay, priority, max_attempts, tenant_id,
           on_conflict, expires_at, tags, dedupe, traceparent, enqueued_by, id, run_id, place)
$$;

-- The same jobs as a person enqueues them: now, under their own keys.
CREATE FUNCTION _x_jobs.jobs_by_hand(jobs x_jobs.new_job[]) RETURNS x_jobs.new_job[]
    LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(ROW(j.name, j.input, j.idempotency_key, j.queue, NULL, NULL, j.priority, j.max_attempts, NULL, 'dedupe',
               j.expires_at, j.tags, j.idempotency_key IS NOT NULL, NULL, NULL, NULL, NULL)::x_jobs.new_job ORDER BY j.place), '{}')
      FROM unnest(jobs) WITH ORDINALITY AS j (name, input, idempotency_key, queue, run_at, delay, priority, max_attempts, tenant_id,
           on_conflict, expires_at, tags, dedupe, traceparent, enqueued_by, id, run_id, place)
$$;

CREATE FUNCTION _x_jobs.enqueue_jobs(jobs x_jobs.new_job[]) RETURNS x_jobs.enqueued_item[]
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(ROW(e.ordinal, e.id, e.run_id, e.deduped)::x_jobs.enqueued_item ORDER BY e.ordinal), '{}')
      FROM x_jobs.enqueue_many(jobs) e
$$;

-- Takes the lock of a task's state, making it when there is none.
CREATE FUNCTION _x_jobs.lock_task_state(task text) RETURNS _x_jobs.task_states
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    state _x_jobs.task_states;
BEGIN
    LOOP
        SELECT s.* INTO state FROM _x_jobs.task_states s WHERE s.task = $1 FOR UPDATE;
        IF FOUND THEN
            RETURN state;
        END IF;
        INSERT INTO _x_jobs.task_states (task) VALUES ($1) ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

-- What became of occurrences, for people. Neighbours that went the same way become one row: a task that fires every second
-- and is held up for a night leaves one.
CREATE FUNCTION _x_jobs.log_task(task text, outcome text, occurrence timestamptz, upto timestamptz, slots bigint,
                                 moved interval DEFAULT NULL, jobs uuid[] DEFAULT NULL) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF $2 IN ('missed', 'skipped') THEN
        UPDATE _x_jobs.task_log l SET upto = $4, slots = l.slots + $5, decided_at = _x_jobs.clock()
         WHERE l.ctid = (SELECT last.ctid FROM _x_jobs.task_log last WHERE last.task = $1 ORDER BY last.occurrence DESC, last.decided_at DESC LIMIT 1)
           AND l.outcome = $2;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    INSERT INTO _x_jobs.task_log (task, occurrence, upto, outcome, slots, decided_at, moved, jobs)
         VALUES ($1, $3, $4, $2, $5, _x_jobs.clock(), NULLIF($6, interval '0'), $7);
END $$;

-- Enqueues an occurrence's jobs and records it; the caller holds the state's lock and has passed the fence.
CREATE FUNCTION _x_jobs.dispatch(task text, occurrence timestamptz, jobs x_jobs.new_job[], moved interval) RETURNS x_jobs.enqueued_item[]
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    made x_jobs.enqueued_item[] := _x_jobs.enqueue_jobs(_x_jobs.jobs_of_occurrence($1, $2, $3));
    ids uuid[] := ARRAY(SELECT m.id FROM unnest(made) m ORDER BY m.ordinal);
    instant timestamptz := _x_jobs.clock();
BEGIN
    UPDATE _x_jobs.task_states s
       SET last_occurrence = greatest(s.last_occurrence, $2), dispatched_at = instant, last_jobs = ids, moved_at = instant,
           failures = 0, error = NULL, failed_at = NULL
     WHERE s.task = $1;
    PERFORM _x_jobs.log_task($1, 'fired', $2, $2, 1, $4, ids);
    RETURN made;
END $$;

-- The fence is the occurrence: behind the watermark nothing happens.
CREATE FUNCTION _x_jobs.fire_fenced(task text, occurrence timestamptz, jobs x_jobs.new_job[], landing timestamptz, moved interval)
    RETURNS x_jobs.fired
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    state _x_jobs.task_states := _x_jobs.lock_task_state($1);
BEGIN
    IF state.watermark >= $2 THEN
        RETURN ROW(false, NULL)::x_jobs.fired;
    END IF;
    UPDATE _x_jobs.task_states s SET watermark = greatest($2, $4) WHERE s.task = $1;
    RETURN ROW(true, _x_jobs.dispatch($1, $2, $3, $5))::x_jobs.fired;
END $$;

CREATE FUNCTION _x_jobs.require_instant(value timestamptz, argument text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR NOT isfinite(value) OR value >= timestamptz '10000-01-01 00:00:00+00' THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY[argument, 'must be a finite instant before the year 10000']);
    END IF;
END $$;

-- For schedulers outside.

CREATE FUNCTION _x_jobs.fire(task text, occurrence timestamptz, jobs x_jobs.new_job[], landing timestamptz) RETURNS x_jobs.fired
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM _x_jobs.require_name($1, 'task');
    PERFORM _x_jobs.require_instant($2, 'occurrence');
    PERFORM _x_jobs.require_instant(COALESCE($4, $2), 'landing');
    IF $3 IS NULL THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['jobs', 'must not be NULL; an empty array fires nothing and moves the watermark']);
    END IF;
    RETURN _x_jobs.fire_fenced($1, $2, $3, $4, NULL);
END $$;

CREATE FUNCTION _x_jobs.watermark_get(task text) RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.watermark FROM _x_jobs.task_states s WHERE s.task = $1
$$;

CREATE FUNCTION _x_jobs.watermark_mark(task text, instant timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    state _x_jobs.task_states;
BEGIN
    PERFORM _x_jobs.require_name($1, 'task');
    PERFORM _x_jobs.require_instant($2, 'instant');
    state := _x_jobs.lock_task_state($1);
    UPDATE _x_jobs.task_states s SET watermark = greatest(s.watermark, $2), next_at = NULL WHERE s.task = $1;
    PERFORM _x_jobs.wake_scheduler();
    RETURN greatest(state.watermark, $2);
END $$;

CREATE FUNCTION _x_jobs.record_fire(task text, occurrence timestamptz) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    mark timestamptz;
BEGIN
    PERFORM _x_jobs.require_name($1, 'task');
    PERFORM _x_jobs.require_instant($2, 'occurrence');
    mark := _x_jobs.watermark_mark($1, $2);
    UPDATE _x_jobs.task_states s SET last_occurrence = greatest(s.last_occurrence, $2), dispatched_at = _x_jobs.clock() WHERE s.task = $1;
    RETURN mark;
END $$;

CREATE FUNCTION _x_jobs.task_fires() RETURNS SETOF x_jobs.task_fire
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT s.task, s.last_occurrence, s.dispatched_at FROM _x_jobs.task_states s
     WHERE s.dispatched_at IS NOT NULL ORDER BY s.task COLLATE "C" LIMIT 1000
$$;

-- Making tasks.

-- Text, whole numbers and an array of text stand where they belong.
CREATE FUNCTION _x_jobs.check_entry_types(entry jsonb) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    field record;
    fits boolean;
BEGIN
    FOR field IN SELECT e.key, e.value, jsonb_typeof(e.value) AS kind FROM jsonb_each(entry) e WHERE jsonb_typeof(e.value) <> 'null' AND e.key <> 'input' LOOP
        fits := CASE
            WHEN field.key IN ('name', 'idempotency_key', 'queue') THEN field.kind = 'string'
            WHEN field.key IN ('priority', 'max_attempts') THEN field.kind = 'number' AND field.value::text ~ '^-?[0-9]{1,9}$'
            ELSE field.kind = 'array' AND NOT jsonb_path_exists(field.value, '$[*] ? (@.type() != "string")') END;
        IF NOT fits THEN
            PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['entries', format('has a value of the wrong kind for %s', field.key)]);
        END IF;
    END LOOP;
END $$;

-- The entries of a call as they are stored: an array of objects with fields of x_jobs.new_job that make sense for a task.
CREATE FUNCTION _x_jobs.checked_entries(entries jsonb) RETURNS jsonb
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known text[] := ARRAY['name', 'input', 'idempotency_key', 'queue', 'priority', 'max_attempts', 'tags'];
    list jsonb := CASE jsonb_typeof(entries) WHEN 'object' THEN jsonb_build_array(entries) ELSE entries END;
    entry jsonb;
    field text;
BEGIN
    IF jsonb_typeof(list) IS DISTINCT FROM 'array' OR jsonb_array_length(list) NOT BETWEEN 1 AND 1000 THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['entries', 'must be an object, or an array of 1 to 1000 objects']);
    END IF;
    FOR entry IN SELECT e FROM jsonb_array_elements(list) e LOOP
        IF jsonb_typeof(entry) <> 'object' THEN
            PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['entries', 'must hold objects only']);
        END IF;
        SELECT k INTO field FROM jsonb_object_keys(entry) k WHERE k <> ALL (known) LIMIT 1;
        IF FOUND THEN
            PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['entries', format('may have the fields %s only', array_to_string(known, ', '))]);
        END IF;
        PERFORM _x_jobs.check_entry_types(entry);
    END LOOP;
    SELECT m[1] INTO field FROM regexp_matches(list::text, '\{\{([a-z_ ]*)\}\}', 'gi') m WHERE m[1] <> ALL (ARRAY['occurrence', 'local_time', 'local_date']) LIMIT 1;
    IF FOUND THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['entries', 'may have the placeholders {{occurrence}}, {{local_time}} and {{local_date}} only']);
    END IF;
    RETURN list;
END $$;

CREATE FUNCTION _x_jobs.require_choice(value text, argument text, known text[]) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL OR value <> ALL (known) THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY[argument, 'must be one of ' || array_to_string(known, ', ')]);
    END IF;
END $$;

-- The signature of a function that may answer a task's entries.
CREATE FUNCTION _x_jobs.checked_entries_function(function pg_catalog.regprocedure) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made pg_proc;
BEGIN
    SELECT p.* INTO made FROM pg_proc p WHERE p.oid = $1;
    IF NOT FOUND OR made.prokind <> 'f' OR made.pronargs <> 1 OR made.proargtypes[0] <> 'timestamptz'::regtype
       OR made.prorettype NOT IN ('x_jobs.new_job'::regtype, 'x_jobs.new_job[]'::regtype) OR (made.proretset AND made.prorettype <> 'x_jobs.new_job'::regtype) THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['entries_function',
            'must be a function (timestamptz) that answers x_jobs.new_job, SETOF x_jobs.new_job or x_jobs.new_job[]']);
    END IF;
    RETURN format('%s.%I(timestamp with time zone)', made.pronamespace::regnamespace, made.proname);
END $$;

CREATE FUNCTION _x_jobs.schedule(
    task text, cron text, time_zone text, entries jsonb, catch_up text, max_catch_up integer, overlap text, day_rule text,
    paused boolean, entries_function pg_catalog.regprocedure
) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    instant timestamptz := _x_jobs.clock();
    new_task _x_jobs.tasks;
    old_task _x_jobs.tasks;
    state _x_jobs.task_states;
BEGIN
    PERFORM _x_jobs.require_name($1, 'task');
    new_task.time_zone := _x_jobs.check_schedule($2, $3, $8);
    PERFORM _x_jobs.require_choice($5, 'catch_up', ARRAY['latest', 'skip', 'earliest', 'run-once', 'all', 'run-all', 'none']);
    PERFORM _x_jobs.require_choice($7, 'overlap', ARRAY['allow', 'skip', 'queue']);
    IF $6 IS NULL OR $6 NOT BETWEEN 1 AND 10000 THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['max_catch_up', 'must be a whole number of 1 to 10000']);
    END IF;
    IF ($4 IS NULL) = ($10 IS NULL) THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['entries', 'or entries_function must be given, and not both']);
    END IF;
    new_task.task := $1;
    new_task.cron := $2;
    new_task.day_rule := $8;
    new_task.entries := CASE WHEN $4 IS NOT NULL THEN _x_jobs.checked_entries($4) END;
    new_task.entries_function := CASE WHEN $10 IS NOT NULL THEN _x_jobs.checked_entries_function($10) END;
    new_task.catch_up := CASE $5 WHEN 'skip' THEN 'latest' WHEN 'run-once' THEN 'earliest' WHEN 'run-all' THEN 'all' ELSE $5 END;
    new_task.max_catch_up := $6;
    new_task.overlap := $7;
    new_task.owner := (SELECT r.oid FROM pg_roles r WHERE r.rolname = _x_jobs.caller())::regrole;
    new_task.anchor := date_trunc('second', instant);
    new_task.created_at := instant;
    new_task.updated_at := instant;
    IF $9 THEN
        new_task.paused_at := instant;
        new_task.paused_by := _x_jobs.caller();
    END IF;
    IF new_task.entries IS NOT NULL THEN
        PERFORM _x_jobs.check_jobs(_x_jobs.jobs_by_hand(_x_jobs.static_jobs(new_task, instant)));
        PERFORM _x_jobs.check_jobs(_x_jobs.jobs_of_occurrence($1, instant, _x_jobs.static_jobs(new_task, instant)));
    END IF;
    -- The state's lock is the task's lock: a fire holds it, and whoever holds it sees the definition as it is.
    state := _x_jobs.lock_task_state($1);
    SELECT t.* INTO old_task FROM _x_jobs.tasks t WHERE t.task = $1;
    IF FOUND THEN
        IF NOT _x_jobs.caller_may(old_task.owner) THEN
            PERFORM _x_jobs.raise('X_TASK_NOT_FOUND');
        END IF;
        new_task.created_at := old_task.created_at;
        IF $9 AND old_task.paused_at IS NOT NULL THEN
            new_task.paused_at := old_task.paused_at;
            new_task.paused_by := old_task.paused_by;
            new_task.paused_reason := old_task.paused_reason;
        END IF;
    ELSIF state.watermark IS NOT NULL AND NOT _x_jobs.caller_operates() THEN
        -- The name of a scheduler outside, whose fence this would be.
        PERFORM _x_jobs.raise('X_TASK_NOT_FOUND');
    END IF;
    -- A changed timing begins anew behind what has been dealt with; otherwise what was missed stays missed.
    IF (old_task.cron, old_task.time_zone, old_task.day_rule) = (new_task.cron, new_task.time_zone, new_task.day_rule) THEN
        new_task.anchor := old_task.anchor;
    ELSE
        state.watermark := _x_jobs.armed_watermark(new_task, CASE WHEN old_task.task IS NULL THEN greatest(instant, state.watermark)
                                                                  ELSE greatest(instant, state.last_occurrence) END);
    END IF;
    DELETE FROM _x_jobs.tasks t WHERE t.task = $1;
    INSERT INTO _x_jobs.tasks SELECT new_task.*;
    UPDATE _x_jobs.task_states s
       SET watermark = state.watermark, next_at = NULL, failures = 0, error = NULL, failed_at = NULL WHERE s.task = $1;
    PERFORM _x_jobs.wake_scheduler();
    RETURN _x_jobs.next_occurrence(new_task, greatest(state.watermark, instant));
END $$;

-- Answers a task that the caller may touch. An operator may also touch what only a scheduler outside knows: then all but
-- the name is NULL.
CREATE FUNCTION _x_jobs.own_task(task text) RETURNS _x_jobs.tasks
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own _x_jobs.tasks;
BEGIN
    SELECT t.* INTO own FROM _x_jobs.tasks t WHERE t.task = $1;
    IF NOT FOUND AND _x_jobs.caller_operates() AND EXISTS (SELECT FROM _x_jobs.task_states s WHERE s.task = $1) THEN
        own.task := $1;
    ELSIF NOT FOUND OR NOT _x_jobs.caller_may(own.owner) THEN
        PERFORM _x_jobs.raise('X_TASK_NOT_FOUND');
    END IF;
    RETURN own;
END $$;

-- The same for a change: under the task's lock.
CREATE FUNCTION _x_jobs.locked_task(task text) RETURNS _x_jobs.tasks
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own _x_jobs.tasks;
BEGIN
    PERFORM _x_jobs.require_name($1, 'task');
    PERFORM _x_jobs.own_task($1);
    PERFORM FROM _x_jobs.task_states s WHERE s.task = $1 FOR UPDATE;
    -- Once more: it may have been another's while the lock was waited for.
    own := _x_jobs.own_task($1);
    RETURN own;
END $$;

-- The same for what only a task that is scheduled here can do.
CREATE FUNCTION _x_jobs.locked_scheduled_task(task text) RETURNS _x_jobs.tasks
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    own _x_jobs.tasks := _x_jobs.locked_task($1);
BEGIN
    IF own.owner IS NULL THEN
        PERFORM _x_jobs.raise('X_TASK_NOT_FOUND');
    END IF;
    RETURN own;
END $$;

CREATE FUNCTION _x_jobs.unschedule(task text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM _x_jobs.locked_task($1);
    DELETE FROM _x_jobs.tasks t WHERE t.task = $1;
    DELETE FROM _x_jobs.task_states s WHERE s.task = $1;
    -- Whoever makes the name again has nothing to do with what was.
    DELETE FROM _x_jobs.task_log l WHERE l.task = $1;
END $$;

CREATE FUNCTION _x_jobs.pause_task(task text, reason text) RETURNS timestamptz
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    since timestamptz := (_x_jobs.locked_scheduled_task($1)).paused_at;
BEGIN
    IF since IS NOT NULL THEN
        RETURN since;
    END IF;
    UPDATE _x_jobs.tasks t SET paused_at = _x_jobs.clock(), paused_reason = left($2, 8000), paused_by = _x_jobs.caller()
     WHERE t.task = $1 RETURNING t.paused_at INTO since;
    RETURN since;
END $$;

CREATE FUNCTION _x_jobs.resume_task(task text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    was_paused boolean := (_x_jobs.locked_scheduled_task($1)).paused_at IS NOT NULL;
BEGIN
    UPDATE _x_jobs.tasks t SET paused_at = NULL, paused_reason = NULL, paused_by = NULL WHERE t.task = $1 AND t.paused_at IS NOT NULL;
    UPDATE _x_jobs.task_states s SET next_at = NULL WHERE s.task = $1;
    PERFORM _x_jobs.wake_scheduler();
    RETURN was_paused;
END $$;

-- Every entry now, under its own key: distinct from what the schedule fires.
CREATE FUNCTION _x_jobs.fire_task(task text) RETURNS SETOF x_jobs.enqueued_item
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    due _x_jobs.tasks := _x_jobs.locked_scheduled_task($1);
    instant timestamptz := _x_jobs.clock();
    jobs x_jobs.new_job[] := _x_jobs.task_jobs(due, instant);
    made x_jobs.enqueued_item[];
BEGIN
    made := _x_jobs.enqueue_jobs(_x_jobs.jobs_by_hand(jobs));
    PERFORM _x_jobs.log_task($1, 'manual', instant, instant, 1, NULL, ARRAY(SELECT m.id FROM unnest(made) m ORDER BY m.ordinal));
    RETURN QUERY SELECT m.ordinal, m.id, m.run_id, m.deduped FROM unnest(made) m ORDER BY m.ordinal;
END $$;

CREATE FUNCTION _x_jobs.task_list() RETURNS SETOF x_jobs.task
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.task, CASE WHEN r.oid IS NULL THEN t.owner::oid::text ELSE r.rolname END, t.cron, t.time_zone, t.day_rule, t.entries, t.entries_function,
           t.catch_up, t.max_catch_up, t.overlap,
           CASE WHEN t.paused_at IS NOT NULL THEN 'paused' WHEN r.oid IS NULL THEN 'no owner' WHEN s.failures > 0 THEN 'failing' ELSE 'active' END,
           t.paused_at, t.paused_reason, t.paused_by, t.created_at, t.updated_at, s.watermark,
           n.next_at, CASE WHEN n.next_at IS NOT NULL THEN (n.next_at AT TIME ZONE t.time_zone) - (n.next_at AT TIME ZONE 'UTC') END, s.pending,
           s.last_occurrence, s.dispatched_at, COALESCE(s.failures, 0), s.failed_at, s.error
      FROM _x_jobs.tasks t LEFT JOIN _x_jobs.task_states s ON s.task = t.task LEFT JOIN pg_roles r ON r.oid = t.owner
     CROSS JOIN LATERAL (SELECT _x_jobs.shown_occurrence(t, COALESCE(s.watermark, _x_jobs.clock())) AS next_at) n
     WHERE _x_jobs.caller_may(t.owner)
     ORDER BY t.task COLLATE "C"
$$;

CREATE FUNCTION _x_jobs.task_history(task text, max integer) RETURNS SETOF x_jobs.task_event
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM _x_jobs.require_name($1, 'task');
    PERFORM _x_jobs.require_count($2, 'max');
    IF $2 > 1000 THEN
        PERFORM _x_jobs.raise('X_INVARIANT', ARRAY['max', 'must be at most 1000']);
    END IF;
    PERFORM _x_jobs.own_task($1);
    RETURN QUERY SELECT l.task, l.occurrence, l.upto, l.outcome, l.slots, l.decided_at, l.decided_at - l.occurrence, l.moved, l.jobs FROM _x_jobs.task_log l
                  WHERE l.task = $1 ORDER BY l.occurrence DESC, l.decided_at DESC LIMIT $2;
END $$;

-- A turn of the scheduler.

-- Whether a job of the last fire is not finished.
CREATE FUNCTION _x_jobs.is_running_still(state _x_jobs.task_states) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM _x_jobs.jobs j WHERE j.id = ANY (state.last_jobs))
$$;

-- How many occurrences lie in (after, upto]; NULL for more than can be counted quickly.
CREATE FUNCTION _x_jobs.slots_between(t _x_jobs.tasks, after timestamptz, upto timestamptz) RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT NULLIF(count(*), 10001) FROM _x_jobs.occurrences(t.cron, t.time_zone, t.day_rule, t.anchor, after, upto, 10001)
$$;

CREATE FUNCTION _x_jobs.log_missed(t _x_jobs.tasks, after timestamptz, upto timestamptz) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    first timestamptz := _x_jobs.next_occurrence(t, after);
    latest record;
BEGIN
    SELECT l.* INTO latest FROM _x_jobs.latest_occurrence(t.cron, t.time_zone, t.day_rule, t.anchor, after, upto) l;
    IF first <= upto THEN
        PERFORM _x_jobs.log_task(t.task, 'missed', first, latest.occurrence, _x_jobs.slots_between(t, after, upto));
    END IF;
END $$;

-- When the clock was set back over what has been fired, the task goes on from where the clock is; what was fired ahead
-- stays fired.
CREATE FUNCTION _x_jobs.follow_clock_back(t _x_jobs.tasks, state _x_jobs.task_states, instant timestamptz) RETURNS _x_jobs.task_states
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF state.moved_at IS NULL OR state.moved_at <= instant + interval '1 s' OR _x_jobs.next_occurrence(t, instant) > state.watermark THEN
        RETURN state;
    END IF;
    RAISE LOG 'x_jobs task "%" goes on from %: the clock was set back behind its last occurrence %', t.task, instant, state.last_occurrence;
    PERFORM _x_jobs.log_task(t.task, 'clock set back', instant, state.watermark, 0);
    UPDATE _x_jobs.task_states s
       SET watermark = _x_jobs.armed_watermark(t, instant), moved_at = instant, ahead_until = greatest(s.ahead_until, s.watermark)
     WHERE s.task = t.task RETURNING s.* INTO state;
    RETURN state;
END $$;

-- A function of entries may end or change its own task.
CREATE FUNCTION _x_jobs.is_unchanged(t _x_jobs.tasks) RETURNS boolean
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM _x_jobs.tasks n WHERE n.task = t.task AND n.updated_at = t.updated_at)
$$;

-- One occurrence that is due: fired, skipped or put in line.
CREATE FUNCTION _x_jobs.deal_with(t _x_jobs.tasks, state _x_jobs.task_states, occurrence timestamptz, landing timestamptz, moved interval)
    RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    fired_ahead boolean := $3 <= state.ahead_until AND EXISTS (
        SELECT FROM _x_jobs.task_log l WHERE l.task = t.task AND l.occurrence = $3 AND l.outcome = 'fired');
    jobs x_jobs.new_job[];
BEGIN
    IF fired_ahead OR (t.overlap <> 'allow' AND _x_jobs.is_running_still(state)) THEN
        IF NOT fired_ahead AND t.overlap = 'queue' AND state.pending IS NULL THEN
            UPDATE _x_jobs.task_states s SET pending = $3 WHERE s.task = t.task;
            PERFORM _x_jobs.log_task(t.task, 'queued', $3, $3, 1, $5);
        ELSIF NOT fired_ahead THEN
            PERFORM _x_jobs.log_task(t.task, 'skipped', $3, $3, 1, $5);
        END IF;
        UPDATE _x_jobs.task_states s SET watermark = greatest(s.watermark, $3, $4), moved_at = _x_jobs.clock() WHERE s.task = t.task;
    ELSE
        jobs := _x_jobs.task_jobs(t, $3);
        IF _x_jobs.is_unchanged(t) THEN
            PERFORM _x_jobs.fire_fenced(t.task, $3, jobs, $4, $5);
        END IF;
    END IF;
END $$;

-- Deals with at most one occurrence of a task, and says whether another may be due at once.
CREATE FUNCTION _x_jobs.task_turn(task text) RETURNS boolean
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    instant timestamptz := _x_jobs.clock();
    state _x_jobs.task_states;
    due _x_jobs.tasks;
    first record;
    latest record;
    wake_at timestamptz;
    jobs x_jobs.new_job[];
    -- A predecessor that still runs is looked at again soon.
    soon constant interval := interval '1 s';
BEGIN
    -- Somebody who fires or changes the task is not waited for.
    SELECT s.* INTO state FROM _x_jobs.task_states s WHERE s.task = $1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        -- Not while it is only locked: whoever has it may be taking the task away.
        INSERT INTO _x_jobs.task_states (task)
             SELECT t.task FROM _x_jobs.tasks t WHERE t.task = $1 AND NOT EXISTS (SELECT FROM _x_jobs.task_states s WHERE s.task = t.task)
        ON CONFLICT DO NOTHING;
        RETURN false;
    END IF;
    -- Takes back what was written before the turn (task_tries), if it ends well.
    UPDATE _x_jobs.task_states s SET next_at = NULL, tried_at = NULL WHERE s.task = $1 AND s.tried_at IS NOT NULL;
    SELECT t.* INTO due FROM _x_jobs.tasks t WHERE t.task = $1;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF due.paused_at IS NOT NULL THEN
        UPDATE _x_jobs.task_states s SET next_at = instant + interval '5 s' WHERE s.task = $1;
        RETURN false;
    END IF;
    IF state.watermark IS NULL THEN
        state.watermark := _x_jobs.armed_watermark(due, instant);
        UPDATE _x_jobs.task_states s SET watermark = state.watermark WHERE s.task = $1;
    END IF;
    state := _x_jobs.follow_clock_back(due, state, instant);
    IF state.pending IS NOT NULL AND NOT _x_jobs.is_running_still(state) THEN
        UPDATE _x_jobs.task_states s SET pending = NULL WHERE s.task = $1;
        jobs := _x_jobs.task_jobs(due, state.pending);
        IF _x_jobs.is_unchanged(due) THEN
            PERFORM _x_jobs.dispatch($1, state.pending, jobs, NULL);
        END IF;
        RETURN true;
    END IF;
    SELECT o.* INTO first FROM _x_jobs.occurrences(due.cron, due.time_zone, due.day_rule, due.anchor, state.watermark, instant, 1) o;
    IF first.occurrence IS NULL THEN
        wake_at := COALESCE(_x_jobs.next_occurrence(due, state.watermark), timestamptz 'infinity');
        UPDATE _x_jobs.task_states s
           SET next_at = CASE WHEN s.pending IS NULL THEN wake_at ELSE least(wake_at, instant + soon) END, failures = 0, error = NULL, failed_at = NULL
         WHERE s.task = $1;
        RETURN false;
    END IF;
    IF due.catch_up = 'all' THEN
        PERFORM _x_jobs.deal_with(due, state, first.occurrence, NULL, first.moved);
        RETURN true;
    END IF;
    SELECT l.* INTO latest FROM _x_jobs.latest_occurrence(due.cron, due.time_zone, due.day_rule, due.anchor, state.watermark, instant) l;
    IF due.catch_up = 'earliest' THEN
        PERFORM _x_jobs.log_missed(due, first.occurrence, instant);
        PERFORM _x_jobs.deal_with(due, state, first.occurrence, instant, first.moved);
    ELSIF due.catch_up = 'latest' OR latest.occurrence > instant - current_setting('x_jobs.task_grace')::interval THEN
        PERFORM _x_jobs.log_missed(due, state.watermark, latest.occurrence - interval '1 ms');
        PERFORM _x_jobs.deal_with(due, state, latest.occurrence, NULL, latest.moved);
    ELSE
        PERFORM _x_jobs.log_missed(due, state.watermark, latest.occurrence);
        UPDATE _x_jobs.task_states s SET watermark = latest.occurrence, moved_at = instant WHERE s.task = $1;
    END IF;
    RETURN true;
END $$;

-- Which tasks are to be looked at: those without a function first, and of each kind the longest overdue. A state without a
-- next instant is looked at, whatever the clock said when it was computed.
CREATE FUNCTION _x_jobs.due_tasks(OUT task text, OUT max_catch_up integer, OUT runs_function boolean) RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.task, t.max_catch_up, t.entries_function IS NOT NULL FROM _x_jobs.tasks t LEFT JOIN _x_jobs.task_states s ON s.task = t.task
     WHERE s.next_at IS NULL OR s.next_at <= _x_jobs.clock()
        OR s.moved_at > _x_jobs.clock() + interval '1 s' OR s.failed_at > _x_jobs.clock() + interval '1 s'
     ORDER BY t.entries_function IS NOT NULL, s.next_at NULLS FIRST, t.task
$$;

-- Tasks that should have been dealt with a minute ago.
CREATE FUNCTION _x_jobs.overdue_tasks() RETURNS bigint
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(*) FROM _x_jobs.tasks t JOIN _x_jobs.task_states s ON s.task = t.task
     WHERE t.paused_at IS NULL AND _x_jobs.shown_occurrence(t, s.watermark) < _x_jobs.clock() - interval '1 minute'
$$;

CREATE FUNCTION _x_jobs.next_task_at() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT min(COALESCE(s.next_at, '-infinity')) FROM _x_jobs.tasks t LEFT JOIN _x_jobs.task_states s ON s.task = t.task
$$;

-- Records that a turn failed. It is tried again, later each time up to a minute; its watermark stays.
CREATE FUNCTION _x_jobs.task_failed(task text, error text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE _x_jobs.task_states s
       SET failures = s.failures + 1, error = left($2, 8000), failed_at = _x_jobs.clock(), tried_at = NULL,
           next_at = _x_jobs.clock() + least(interval '1 s' * 2 ^ least(s.failures, 6), interval '1 minute')
     WHERE s.ctid = (SELECT l.ctid FROM _x_jobs.task_states l WHERE l.task = $1 FOR UPDATE SKIP LOCKED);
END $$;

-- Written before a function is run: if it takes the process with it, the next one leaves the task alone for a minute.
CREATE FUNCTION _x_jobs.task_tries(task text) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE _x_jobs.task_states s SET next_at = _x_jobs.clock() + interval '1 minute', tried_at = _x_jobs.clock()
     WHERE s.ctid = (SELECT l.ctid FROM _x_jobs.task_states l WHERE l.task = $1 FOR UPDATE SKIP LOCKED);
END $$;

-- Said by a scheduler that begins: whatever is still being tried took the one before with it, or was cut off with it.
CREATE FUNCTION _x_jobs.tries_cut_off() RETURNS SETOF text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    UPDATE _x_jobs.task_states s
       SET failures = s.failures + 1, failed_at = s.tried_at, tried_at = NULL, error = 'the scheduler ended while it ran the function of this task'
     WHERE s.ctid = ANY (ARRAY(SELECT l.ctid FROM _x_jobs.task_states l WHERE l.tried_at IS NOT NULL FOR UPDATE SKIP LOCKED))
    RETURNING s.task::text;
END $$;

-- A task whose turn took long is not looked at for a while, if there are others.
CREATE FUNCTION _x_jobs.rest_task(task text, millis integer) RETURNS void
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    UPDATE _x_jobs.task_states s SET next_at = greatest(s.next_at, _x_jobs.clock() + interval '1 ms' * $2)
     WHERE s.ctid = (SELECT l.ctid FROM _x_jobs.task_states l WHERE l.task = $1 FOR UPDATE SKIP LOCKED)
       AND EXISTS (SELECT FROM _x_jobs.tasks t WHERE t.task = $1 AND t.entries_function IS NOT NULL)
       AND EXISTS (SELECT FROM _x_jobs.tasks o WHERE o.task <> $1 AND o.paused_at IS NULL);
END $$;

-- Bounded by age and by count: the newest rows of each task, of the time that finished jobs are kept.
CREATE FUNCTION _x_jobs.purge_task_log(bound integer) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    purged bigint;
    crowded bigint;
BEGIN
    DELETE FROM _x_jobs.task_log WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM _x_jobs.task_log l WHERE l.decided_at < _x_jobs.clock() - current_setting('x_jobs.retention')::interval
         LIMIT bound FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS purged = ROW_COUNT;
    DELETE FROM _x_jobs.task_log WHERE ctid = ANY (ARRAY(
        SELECT l.ctid FROM (SELECT DISTINCT c.task FROM _x_jobs.task_log c) every
         CROSS JOIN LATERAL (SELECT d.ctid FROM _x_jobs.task_log d WHERE d.task = every.task
                              ORDER BY d.occurrence DESC, d.decided_at DESC OFFSET 10000) l LIMIT bound));
    GET DIAGNOSTICS crowded = ROW_COUNT;
    RETURN purged + crowded;
END $$;

-- The gates.
CREATE FUNCTION x_jobs.schedule(
    task text,
    cron text,
    time_zone text DEFAULT 'UTC',
    entries jsonb DEFAULT NULL,
    catch_up text DEFAULT 'latest',
    max_catch_up integer DEFAULT 10,
    overlap text DEFAULT 'skip',
    day_rule text DEFAULT 'or',
    paused boolean DEFAULT false,
    entries_function pg_catalog.regprocedure DEFAULT NULL
) RETURNS timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_task_gate';
CREATE FUNCTION x_jobs.unschedule(task text) RETURNS void
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_task_gate';
CREATE FUNCTION x_jobs.pause_task(task text, reason text DEFAULT NULL) RETURNS timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_task_gate';
CREATE FUNCTION x_jobs.resume_task(task text) RETURNS boolean
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_task_gate';
CREATE FUNCTION x_jobs.fire_task(task text) RETURNS SETOF x_jobs.enqueued_item
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_task_gate';
CREATE FUNCTION x_jobs.task_list() RETURNS SETOF x_jobs.task
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_task_gate';
CREATE FUNCTION x_jobs.task_history(task text, max integer DEFAULT 100) RETURNS SETOF x_jobs.task_event
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_task_gate';
CREATE FUNCTION x_jobs.task_fires() RETURNS SETOF x_jobs.task_fire
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.fire(
    task text, occurrence timestamptz, jobs x_jobs.new_job[], landing timestamptz DEFAULT NULL
) RETURNS x_jobs.fired
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.watermark_get(task text) RETURNS timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.watermark_mark(task text, instant timestamptz) RETURNS timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';
CREATE FUNCTION x_jobs.record_fire(task text, occurrence timestamptz) RETURNS timestamptz
    LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'x_jobs_operator_gate';

-- The tasks that the reader may touch: all of them for an operator.
CREATE VIEW x_jobs.tasks AS SELECT * FROM x_jobs.task_list();
