-- If this failed, a client could not tell from an error what went wrong or what to do, or would find its keys and
-- payloads in somebody's log.
SELECT plan(210);

-- The codes of this build: a code is never used again and never changes its SQLSTATE.
CREATE TEMP TABLE known (name text PRIMARY KEY, sqlstate text);
INSERT INTO known VALUES
    ('X_INVARIANT', 'XJ001'), ('X_IDEMPOTENCY_REQUIRED', 'XJ002'), ('X_JOB_DUPLICATE', 'XJ003'), ('X_ID_INVALID', 'XJ004'),
        ('X_JOB_NOT_FOUND', 'XJ005'),
    ('X_JOB_NOT_CANCELLABLE', 'XJ006'), ('X_JOB_NOT_REQUEUEABLE', 'XJ007'), ('X_JOB_NOT_REMOVABLE', 'XJ008'),
        ('X_JOB_NOT_PROMOTABLE', 'XJ009'),
    ('X_JOB_PAGE_INVALID', 'XJ010'), ('X_JOB_ROW_STATUS_UNKNOWN', 'XJ011'), ('X_JOB_CLAIM_QUEUES_EMPTY', 'XJ101'),
        ('X_JOB_LEASE_LOST', 'XJ102'),
    ('X_WAIT_IN_TRANSACTION', 'XJ103'), ('X_CRON_INVALID', 'XJ301'), ('X_TIMEZONE_INVALID', 'XJ302'), ('X_TASK_NOT_FOUND', 'XJ303'),
        ('X_TASK_OWNER_INVALID', 'XJ304'),
    ('X_NOT_INSTALLED', 'XJ901'), ('X_VERSION_MISMATCH', 'XJ902');

-- The table of errors.
SELECT set_eq('SELECT name, sqlstate FROM _x_jobs.error_catalog()', 'SELECT name, sqlstate FROM known',
              'X-17 the catalogue lists exactly the codes of this build, each with its own SQLSTATE');
SELECT is((SELECT count(*) FROM _x_jobs.error_catalog()), (SELECT count(*) FROM known), 'X-17 each once');
SELECT is((SELECT count(DISTINCT sqlstate) FROM _x_jobs.error_catalog()), (SELECT count(*) FROM known),
          'X-17 no two names share a SQLSTATE');
SELECT is((SELECT count(DISTINCT message) FROM _x_jobs.error_catalog()), (SELECT count(*) FROM known), 'X-17 nor a message');
SELECT is_empty('SELECT name FROM _x_jobs.error_catalog() WHERE sqlstate !~ ''^XJ[0-9]{3}$''',
                'X-17 every SQLSTATE is of class XJ');
SELECT is_empty('SELECT name FROM _x_jobs.error_catalog() WHERE name !~ ''^X_[A-Z]+(_[A-Z]+)*$''', 'X-17 every name is an X_ name');
SELECT is_empty('SELECT name FROM _x_jobs.error_catalog() WHERE message !~ ''^[a-z]'' OR message ~ ''[.!]$'' OR message ~ E''\n''',
                'X-17 every message starts in lower case, has no full stop and fits a line');
SELECT is_empty('SELECT name FROM _x_jobs.error_catalog() WHERE COALESCE(detail, '''') !~ ''[.]$''',
                'ERR-4 every detail is a sentence');
SELECT is_empty('SELECT name FROM _x_jobs.error_catalog() WHERE COALESCE(hint, '''') !~ ''^[A-Z].*[.]$''',
                'ERR-4 every error has a hint, and it is a sentence');
SELECT is_empty($$SELECT unnest(ARRAY['X_JOB_DUPLICATE', 'X_IDEMPOTENCY_REQUIRED', 'X_JOB_LEASE_LOST', 'X_JOB_NOT_CANCELLABLE',
                                      'X_JOB_NOT_FOUND', 'X_JOB_NOT_REQUEUEABLE', 'X_JOB_NOT_REMOVABLE', 'X_JOB_NOT_PROMOTABLE',
                                      'X_JOB_PAGE_INVALID', 'X_JOB_CLAIM_QUEUES_EMPTY', 'X_JOB_ROW_STATUS_UNKNOWN'])
                  EXCEPT SELECT name FROM _x_jobs.error_catalog()$$, 'ERR-1 the owned codes of what is built are there');
SELECT is_empty('SELECT unnest(ARRAY[''X_INVARIANT'', ''X_ID_INVALID'']) EXCEPT SELECT name FROM _x_jobs.error_catalog()',
                'ERR-3 so are the borrowed ones');

-- What a raised error carries.
CREATE TYPE pg_temp.raised AS (sqlstate text, message text, detail text, hint text);
CREATE FUNCTION pg_temp.raised_by(statement text) RETURNS pg_temp.raised LANGUAGE plpgsql AS $$
DECLARE
    found_error pg_temp.raised;
BEGIN
    EXECUTE statement;
    RAISE EXCEPTION 'no error' USING ERRCODE = 'ZZ000';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS found_error.sqlstate = RETURNED_SQLSTATE, found_error.message = MESSAGE_TEXT,
        found_error.detail = PG_EXCEPTION_DETAIL, found_error.hint = PG_EXCEPTION_HINT;
    RETURN found_error;
END $$;

-- Jobs to go wrong with. What must never be repeated contains SECRET.
SELECT id AS live FROM x_jobs.enqueue('job.live', '{"password": "SECRET-payload"}', 'SECRET-key', 'live') \gset
SELECT id AS taken FROM x_jobs.enqueue('job.taken', '{"password": "SECRET-payload"}', 'SECRET-key', 'taken') \gset
SELECT claim FROM x_jobs.claim(ARRAY['taken'], 'SECRET-worker') \gset
SELECT id AS done FROM x_jobs.enqueue('job.live2', '{"password": "SECRET-payload"}', 'SECRET-key', 'done') \gset
SELECT x_jobs.ack(:'done', 'SECRET-worker', claim) FROM x_jobs.claim(ARRAY['done'], 'SECRET-worker') \gset
SELECT id AS again FROM x_jobs.enqueue('job.live2', '{"password": "SECRET-payload"}', 'SECRET-key', 'again') \gset
SELECT x_jobs.new_id() AS unknown \gset
SELECT x_jobs.schedule('SECRET-task', '0 0 * * *', entries => '{"name": "SECRET-name"}') AS armed \gset
CREATE FUNCTION public.regress_x_jobs_nameless(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$
    SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"input": "SECRET", "idempotency_key": "SECRET-key"}')).* $$;
SELECT x_jobs.schedule('nameless', '0 0 * * *', entries_function => 'public.regress_x_jobs_nameless(timestamptz)') AS armed \gset

-- Every function of the surface with every code that it can raise; for X_INVARIANT also the argument that is at fault.
CREATE TEMP TABLE cause (place serial, routine text, name text, argument text, statement text);
INSERT INTO cause (routine, name, argument, statement) VALUES
    ('enqueue', 'X_IDEMPOTENCY_REQUIRED', NULL, $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"')$$),
    ('enqueue', 'X_JOB_DUPLICATE', NULL, $$SELECT x_jobs.enqueue('job.live', '"SECRET"', 'SECRET-key', on_conflict => 'error')$$),
    ('enqueue', 'X_ID_INVALID', NULL,
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', id => '11111111-2222-4333-8444-555555555555')$$),
    ('enqueue', 'X_ID_INVALID', NULL,
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', run_id => '11111111-2222-4333-8444-555555555555')$$),
    ('enqueue', 'X_INVARIANT', 'name', $$SELECT x_jobs.enqueue(NULL, '"SECRET"', 'SECRET-key')$$),
    ('enqueue', 'X_INVARIANT', 'name', $$SELECT x_jobs.enqueue('SECRET' || repeat('n', 255), '"SECRET"', 'SECRET-key')$$),
    ('enqueue', 'X_INVARIANT', 'idempotency_key', $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', '')$$),
    ('enqueue', 'X_INVARIANT', 'idempotency_key',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET' || repeat('k', 1024))$$),
    ('enqueue', 'X_INVARIANT', 'idempotency_key',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', dedupe => false)$$),
    ('enqueue', 'X_INVARIANT', 'queue',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', 'SECRET' || repeat('q', 255))$$),
    ('enqueue', 'X_INVARIANT', 'run_at', $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', run_at => 'infinity')$$),
    ('enqueue', 'X_INVARIANT', 'run_at',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', run_at => now(), delay => '1 s')$$),
    ('enqueue', 'X_INVARIANT', 'delay', $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', delay => '-1 s')$$),
    ('enqueue', 'X_INVARIANT', 'priority', $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', priority => 10)$$),
    ('enqueue', 'X_INVARIANT', 'max_attempts',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', max_attempts => 0)$$),
    ('enqueue', 'X_INVARIANT', 'tenant_id',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', tenant_id => 'SECRET' || repeat('t', 255))$$),
    ('enqueue', 'X_INVARIANT', 'on_conflict',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', on_conflict => 'SECRET')$$),
    ('enqueue', 'X_INVARIANT', 'expires_at',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', expires_at => '-infinity')$$),
    ('enqueue', 'X_INVARIANT', 'tags',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', tags => ARRAY['SECRET', NULL])$$),
    ('enqueue', 'X_INVARIANT', 'traceparent',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', traceparent => 'SECRET' || repeat('t', 1024))$$),
    ('enqueue', 'X_INVARIANT', 'enqueued_by',
     $$SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key', enqueued_by => 'SECRET' || repeat('e', 255))$$),
    ('enqueue', 'X_INVARIANT', 'input',
     $$SET LOCAL x_jobs.max_input_size = 20; SELECT x_jobs.enqueue('SECRET-name', '"SECRET SECRET SECRET"', 'SECRET-key')$$),
    ('enqueue', 'X_NOT_INSTALLED', NULL,
     $$ALTER SCHEMA _x_jobs RENAME TO hidden; SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key')$$),
    ('enqueue', 'X_VERSION_MISMATCH', NULL,
     $$ALTER TABLE _x_jobs.jobs ADD COLUMN unexpected text; SELECT x_jobs.enqueue('SECRET-name', '"SECRET"', 'SECRET-key')$$),
    ('enqueue_many', 'X_IDEMPOTENCY_REQUIRED', NULL, $$SELECT x_jobs.enqueue_many('SECRET-name', '{"\"SECRET\""}')$$),
    ('enqueue_many', 'X_JOB_DUPLICATE', NULL,
     $$SELECT x_jobs.enqueue_many('job.live', '{"\"SECRET\""}', '{SECRET-key}', on_conflict => 'error')$$),
    ('enqueue_many', 'X_INVARIANT', 'inputs', $$SELECT x_jobs.enqueue_many('SECRET-name', NULL, '{SECRET-key}')$$),
    ('enqueue_many', 'X_INVARIANT', 'idempotency_keys', $$SELECT x_jobs.enqueue_many('SECRET-name', '{1,2}', '{SECRET-key}')$$),
    ('enqueue_many', 'X_INVARIANT', 'priority',
     $$SELECT x_jobs.enqueue_many('SECRET-name', '{1}', '{SECRET-key}', priority => -1)$$),
    ('enqueue_many(new_job[])', 'X_IDEMPOTENCY_REQUIRED', NULL,
     $$SELECT x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "SECRET"}')])$$),
    ('enqueue_many(new_job[])', 'X_JOB_DUPLICATE', NULL,
     $$SELECT x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job,
                             '{"name": "job.live", "idempotency_key": "SECRET-key", "on_conflict": "error"}')])$$),
    ('enqueue_many(new_job[])', 'X_ID_INVALID', NULL,
     $$SELECT x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job,
                             '{"name": "SECRET", "idempotency_key": "SECRET-key", "id": "11111111-2222-4333-8444-555555555555"}')])$$),
    ('enqueue_many(new_job[])', 'X_INVARIANT', 'jobs', $$SELECT x_jobs.enqueue_many(NULL::x_jobs.new_job[])$$),
    ('enqueue_many(new_job[])', 'X_INVARIANT', 'jobs', $$SELECT x_jobs.enqueue_many(ARRAY[NULL]::x_jobs.new_job[])$$),
    ('enqueue_many(new_job[])', 'X_INVARIANT', 'name',
     $$SELECT x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"idempotency_key": "SECRET-key"}')])$$),
    ('claim', 'X_JOB_CLAIM_QUEUES_EMPTY', NULL, $$SELECT x_jobs.claim('{}', 'SECRET-worker')$$),
    ('claim', 'X_INVARIANT', 'queues', $$SELECT x_jobs.claim(NULL, 'SECRET-worker')$$),
    ('claim', 'X_INVARIANT', 'queues', $$SELECT x_jobs.claim('{SECRET,NULL}', 'SECRET-worker')$$),
    ('claim', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.claim('{live}', NULL)$$),
    ('claim', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.claim('{live}', 'SECRET' || repeat('w', 255))$$),
    ('claim', 'X_INVARIANT', 'max_jobs', $$SELECT x_jobs.claim('{live}', 'SECRET-worker', -1)$$),
    ('claim', 'X_INVARIANT', 'visibility_timeout', $$SELECT x_jobs.claim('{live}', 'SECRET-worker', 1, '-1 s')$$),
    ('claim', 'X_INVARIANT', 'wait', $$SELECT x_jobs.claim('{live}', 'SECRET-worker', 1, wait => '-1 s')$$),
    ('claim', 'X_INVARIANT', 'names', $$SELECT x_jobs.claim('{live}', 'SECRET-worker', 1, names => '{SECRET,NULL}')$$),
    ('heartbeat', 'X_INVARIANT', 'id', $$SELECT x_jobs.heartbeat(NULL, 'SECRET-worker', 1)$$),
    ('heartbeat', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.heartbeat('TAKEN', NULL, 1)$$),
    ('heartbeat', 'X_INVARIANT', 'claim', $$SELECT x_jobs.heartbeat('TAKEN', 'SECRET-worker', NULL)$$),
    ('heartbeat', 'X_INVARIANT', 'visibility_timeout', $$SELECT x_jobs.heartbeat('TAKEN', 'SECRET-worker', 1, '31 days')$$),
    ('heartbeat_many', 'X_INVARIANT', 'ids', $$SELECT x_jobs.heartbeat_many(NULL, 'SECRET-worker', '{}')$$),
    ('heartbeat_many', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.heartbeat_many('{}', NULL, '{}')$$),
    ('heartbeat_many', 'X_INVARIANT', 'claims', $$SELECT x_jobs.heartbeat_many('{TAKEN}', 'SECRET-worker', '{1,2}')$$),
    ('heartbeat_many', 'X_INVARIANT', 'visibility_timeout',
     $$SELECT x_jobs.heartbeat_many('{TAKEN}', 'SECRET-worker', '{1}', NULL)$$),
    ('guard', 'X_INVARIANT', 'id', $$SELECT x_jobs.guard(NULL, 'SECRET-worker', 1)$$),
    ('guard', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.guard('TAKEN', NULL, 1)$$),
    ('guard', 'X_INVARIANT', 'claim', $$SELECT x_jobs.guard('TAKEN', 'SECRET-worker', NULL)$$),
    ('progress', 'X_INVARIANT', 'id', $$SELECT x_jobs.progress(NULL, 'SECRET-worker', 1, 1, 2, 'SECRET')$$),
    ('progress', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.progress('TAKEN', NULL, 1, 1, 2, 'SECRET')$$),
    ('progress', 'X_INVARIANT', 'claim', $$SELECT x_jobs.progress('TAKEN', 'SECRET-worker', NULL, 1, 2, 'SECRET')$$),
    ('progress', 'X_INVARIANT', 'done', $$SELECT x_jobs.progress('TAKEN', 'SECRET-worker', 1, NULL, 2, 'SECRET')$$),
    ('progress', 'X_INVARIANT', 'total', $$SELECT x_jobs.progress('TAKEN', 'SECRET-worker', 1, 1, NULL, 'SECRET')$$),
    ('nack', 'X_INVARIANT', 'counts_as_attempt', $$SELECT x_jobs.nack('TAKEN', 'SECRET-worker', 1, counts_as_attempt => NULL)$$),
    ('nack', 'X_INVARIANT', 'park', $$SELECT x_jobs.nack('TAKEN', 'SECRET-worker', 1, park => NULL)$$),
    ('nack', 'X_INVARIANT', 'dead_letter', $$SELECT x_jobs.nack('TAKEN', 'SECRET-worker', 1, dead_letter => NULL)$$),
    ('nack', 'X_INVARIANT', 'fail', $$SELECT x_jobs.nack('TAKEN', 'SECRET-worker', 1, fail => NULL)$$),
    ('fail', 'X_INVARIANT', 'error', $$SELECT x_jobs.fail('TAKEN', 'SECRET-worker', 1, NULL)$$),
    ('wait', 'X_WAIT_IN_TRANSACTION', NULL, $$CALL x_jobs.wait('{SECRET}', '1 s')$$),
    ('ack', 'X_INVARIANT', 'id', $$SELECT x_jobs.ack(NULL, 'SECRET-worker', 1, '"SECRET"')$$),
    ('ack', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.ack('TAKEN', NULL, 1, '"SECRET"')$$),
    ('ack', 'X_INVARIANT', 'claim', $$SELECT x_jobs.ack('TAKEN', 'SECRET-worker', NULL, '"SECRET"')$$),
    ('ack', 'X_INVARIANT', 'duration', $$SELECT x_jobs.ack('TAKEN', 'SECRET-worker', 1, '"SECRET"', '-1 s')$$),
    ('ack', 'X_INVARIANT', 'result',
     $$SET LOCAL x_jobs.max_input_size = 20; SELECT x_jobs.ack('TAKEN', 'SECRET-worker', CLAIM, '"SECRET SECRET SECRET"')$$),
    ('nack', 'X_INVARIANT', 'id', $$SELECT x_jobs.nack(NULL, 'SECRET-worker', 1, error => 'SECRET')$$),
    ('nack', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.nack('TAKEN', NULL, 1, error => 'SECRET')$$),
    ('nack', 'X_INVARIANT', 'claim', $$SELECT x_jobs.nack('TAKEN', 'SECRET-worker', NULL, error => 'SECRET')$$),
    ('nack', 'X_INVARIANT', 'delay', $$SELECT x_jobs.nack('TAKEN', 'SECRET-worker', 1, '-1 s', 'SECRET')$$),
    ('nack', 'X_INVARIANT', 'duration', $$SELECT x_jobs.nack('TAKEN', 'SECRET-worker', 1, error => 'SECRET', duration => '-1 s')$$),
    ('fail', 'X_INVARIANT', 'id', $$SELECT x_jobs.fail(NULL, 'SECRET-worker', 1, 'SECRET')$$),
    ('fail', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.fail('TAKEN', NULL, 1, 'SECRET')$$),
    ('fail', 'X_INVARIANT', 'claim', $$SELECT x_jobs.fail('TAKEN', 'SECRET-worker', NULL, 'SECRET')$$),
    ('fail', 'X_INVARIANT', 'retry_after', $$SELECT x_jobs.fail('TAKEN', 'SECRET-worker', 1, 'SECRET', retry_after => '-1 s')$$),
    ('fail', 'X_INVARIANT', 'duration', $$SELECT x_jobs.fail('TAKEN', 'SECRET-worker', 1, 'SECRET', duration => '-1 s')$$),
    ('release', 'X_INVARIANT', 'id', $$SELECT x_jobs.release(NULL, 'SECRET-worker', 1)$$),
    ('release', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.release('TAKEN', NULL, 1)$$),
    ('release', 'X_INVARIANT', 'claim', $$SELECT x_jobs.release('TAKEN', 'SECRET-worker', NULL)$$),
    ('release', 'X_INVARIANT', 'delay', $$SELECT x_jobs.release('TAKEN', 'SECRET-worker', 1, '-1 s', 'SECRET')$$),
    ('settle', 'X_INVARIANT', 'settlements', $$SELECT x_jobs.settle(NULL, 'SECRET-worker')$$),
    ('settle', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.settle('{}', NULL)$$),
    ('settle', 'X_INVARIANT', 'verb',
     $$SELECT x_jobs.settle(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement,
                             '{"id": "TAKEN", "claim": 1, "verb": "SECRET", "error": "SECRET"}')], 'SECRET-worker')$$),
    ('settle', 'X_INVARIANT', 'delay',
     $$SELECT x_jobs.settle(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement,
                             '{"id": "TAKEN", "claim": 1, "verb": "nack", "delay": "-1 s", "error": "SECRET"}')],
         'SECRET-worker')$$),
    ('exchange', 'X_JOB_CLAIM_QUEUES_EMPTY', NULL, $$SELECT x_jobs.exchange('{}', '{}', 'SECRET-worker')$$),
    ('exchange', 'X_INVARIANT', 'settlements', $$SELECT x_jobs.exchange(NULL, '{live}', 'SECRET-worker')$$),
    ('exchange', 'X_INVARIANT', 'verb',
     $$SELECT x_jobs.exchange(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement,
                             '{"id": "TAKEN", "claim": 1, "verb": "SECRET"}')], '{live}', 'SECRET-worker')$$),
    ('exchange', 'X_INVARIANT', 'queues', $$SELECT x_jobs.exchange('{}', NULL, 'SECRET-worker')$$),
    ('exchange', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.exchange('{}', '{live}', NULL)$$),
    ('exchange', 'X_INVARIANT', 'max_jobs', $$SELECT x_jobs.exchange('{}', '{live}', 'SECRET-worker', 10001)$$),
    ('exchange', 'X_INVARIANT', 'visibility_timeout', $$SELECT x_jobs.exchange('{}', '{live}', 'SECRET-worker', 1, '-1 s')$$),
    ('exchange', 'X_INVARIANT', 'wait', $$SELECT x_jobs.exchange('{}', '{live}', 'SECRET-worker', 1, wait => '2 days')$$),
    ('cancel', 'X_JOB_NOT_CANCELLABLE', NULL, $$SELECT x_jobs.cancel('DONE', 'SECRET-reason')$$),
    ('cancel', 'X_INVARIANT', 'id', $$SELECT x_jobs.cancel(NULL, 'SECRET-reason')$$),
    ('requeue', 'X_JOB_NOT_FOUND', NULL, $$SELECT x_jobs.requeue('UNKNOWN')$$),
    ('requeue', 'X_JOB_NOT_REQUEUEABLE', NULL, $$SELECT x_jobs.requeue('LIVE')$$),
    ('requeue', 'X_JOB_DUPLICATE', NULL, $$SELECT x_jobs.requeue('DONE')$$),
    ('requeue', 'X_INVARIANT', 'id', $$SELECT x_jobs.requeue(NULL)$$),
    ('remove', 'X_JOB_NOT_REMOVABLE', NULL, $$SELECT x_jobs.remove('TAKEN')$$),
    ('remove', 'X_INVARIANT', 'id', $$SELECT x_jobs.remove(NULL)$$),
    ('promote', 'X_JOB_NOT_PROMOTABLE', NULL, $$SELECT x_jobs.promote('LIVE')$$),
    ('promote', 'X_JOB_NOT_PROMOTABLE', NULL, $$SELECT x_jobs.promote('UNKNOWN')$$),
    ('promote', 'X_INVARIANT', 'id', $$SELECT x_jobs.promote(NULL)$$),
    ('job', 'X_JOB_ROW_STATUS_UNKNOWN', NULL,
     $$UPDATE _x_jobs.jobs SET state = 'lost' WHERE id = 'LIVE'; SELECT x_jobs.job('LIVE')$$),
    ('jobs', 'X_JOB_PAGE_INVALID', NULL, $$SELECT x_jobs.jobs(max => 201)$$),
    ('jobs', 'X_INVARIANT', 'max', $$SELECT x_jobs.jobs(name => 'SECRET', max => -1)$$),
    ('jobs', 'X_INVARIANT', 'after',
     $$SELECT x_jobs.jobs(after => '01890000-0000-7000-8000-00000000dead', before => '01890000-0000-7000-8000-00000000dead')$$),
    ('jobs', 'X_INVARIANT', 'state', $$SELECT x_jobs.jobs(state => 'SECRET')$$),
    ('dead_letters', 'X_INVARIANT', 'max', $$SELECT x_jobs.dead_letters(-1, 'SECRET')$$),
    ('pause_queue', 'X_INVARIANT', 'queue', $$SELECT x_jobs.pause_queue('SECRET' || repeat('q', 255))$$),
    ('resume_queue', 'X_INVARIANT', 'queue', $$SELECT x_jobs.resume_queue('')$$),
    ('worker_announce', 'X_INVARIANT', 'worker_id', $$SELECT x_jobs.worker_announce('')$$),
    ('worker_announce', 'X_INVARIANT', 'slots', $$SELECT x_jobs.worker_announce('SECRET-worker', slots => -1)$$),
    ('worker_announce', 'X_INVARIANT', 'queues', $$SELECT x_jobs.worker_announce('SECRET-worker', queues => '{SECRET,NULL}')$$),
    ('worker_announce', 'X_INVARIANT', 'ttl', $$SELECT x_jobs.worker_announce('SECRET-worker', ttl => '-1 s')$$),
    ('leader', 'X_INVARIANT', 'key', $$SELECT x_jobs.leader('')$$),
    ('leader_acquire', 'X_INVARIANT', 'key', $$SELECT x_jobs.leader_acquire(NULL, 'SECRET')$$),
    ('leader_acquire', 'X_INVARIANT', 'holder', $$SELECT x_jobs.leader_acquire('SECRET')$$),
    ('leader_acquire', 'X_INVARIANT', 'ttl', $$SELECT x_jobs.leader_acquire('SECRET', 'SECRET', '-1 s')$$),
    ('leader_release', 'X_INVARIANT', 'key', $$SELECT x_jobs.leader_release('', 'SECRET')$$),
    ('leader_release', 'X_INVARIANT', 'holder', $$SELECT x_jobs.leader_release('SECRET', NULL)$$),
    ('grant_producer', 'X_INVARIANT', 'role', $$SELECT x_jobs.grant_producer(NULL)$$),
    ('grant_worker', 'X_INVARIANT', 'role', $$SELECT x_jobs.grant_worker(NULL)$$),
    ('grant_worker', 'X_INVARIANT', 'queues', $$SELECT x_jobs.grant_worker(CURRENT_USER::regrole, '{}')$$),
    ('grant_worker', 'X_INVARIANT', 'queues', $$SELECT x_jobs.grant_worker(CURRENT_USER::regrole, '{SECRET,NULL}')$$),
    ('grant_operator', 'X_INVARIANT', 'role', $$SELECT x_jobs.grant_operator(NULL)$$),
    ('revoke_producer', 'X_INVARIANT', 'role', $$SELECT x_jobs.revoke_producer(NULL)$$),
    ('revoke_worker', 'X_INVARIANT', 'role', $$SELECT x_jobs.revoke_worker(NULL)$$),
    ('revoke_operator', 'X_INVARIANT', 'role', $$SELECT x_jobs.revoke_operator(NULL)$$);
INSERT INTO cause (routine, name, argument, statement) VALUES
    ('guard', 'X_JOB_LEASE_LOST', NULL, format($$SELECT x_jobs.guard(%L, 'SECRET-worker', %s)$$, :'taken', :claim + 1));
INSERT INTO cause (routine, name, argument, statement) VALUES
    ('cron_next', 'X_CRON_INVALID', NULL, $$SELECT x_jobs.cron_next('60 * * * *')$$),
    ('cron_next', 'X_CRON_INVALID', NULL, $$SELECT x_jobs.cron_next('@every 1 month')$$),
    ('cron_next', 'X_TIMEZONE_INVALID', NULL, $$SELECT x_jobs.cron_next('* * * * *', 'No/Zone')$$),
    ('cron_next', 'X_TIMEZONE_INVALID', NULL, $$SELECT x_jobs.cron_next('* * * * *', NULL)$$),
    ('cron_next', 'X_INVARIANT', 'cron', $$SELECT x_jobs.cron_next(NULL)$$),
    ('cron_next', 'X_INVARIANT', 'after', $$SELECT x_jobs.cron_next('* * * * *', after => 'infinity')$$),
    ('cron_next', 'X_INVARIANT', 'n', $$SELECT x_jobs.cron_next('* * * * *', n => 10001)$$),
    ('cron_next', 'X_INVARIANT', 'day_rule', $$SELECT x_jobs.cron_next('* * * * *', day_rule => 'SECRET')$$),
    ('cron_explain', 'X_CRON_INVALID', NULL, $$SELECT x_jobs.cron_explain('0 0 30 2 *')$$),
    ('cron_explain', 'X_TIMEZONE_INVALID', NULL, $$SELECT x_jobs.cron_explain('* * * * *', 'No+5')$$),
    ('cron_explain', 'X_INVARIANT', 'cron', $$SELECT x_jobs.cron_explain(NULL)$$),
    ('cron_explain', 'X_INVARIANT', 'day_rule', $$SELECT x_jobs.cron_explain('* * * * *', day_rule => NULL)$$),
    ('schedule', 'X_CRON_INVALID', NULL, $$SELECT x_jobs.schedule('SECRET', '* * *', entries => '{"name": "SECRET"}')$$),
    ('schedule', 'X_TIMEZONE_INVALID', NULL,
     $$SELECT x_jobs.schedule('SECRET', '* * * * *', 'No/Zone', '{"name": "SECRET"}')$$),
    ('schedule', 'X_TASK_NOT_FOUND', NULL,
     $$CREATE ROLE regress_x_jobs_stranger; SELECT x_jobs.grant_producer('regress_x_jobs_stranger');
       SET LOCAL ROLE regress_x_jobs_stranger; SELECT x_jobs.schedule('SECRET-task', '* * * * *', entries => '{"name": "SECRET"}')$$),
    ('schedule', 'X_INVARIANT', 'task', $$SELECT x_jobs.schedule(NULL, '* * * * *', entries => '{"name": "SECRET"}')$$),
    ('schedule', 'X_INVARIANT', 'task',
     $$SELECT x_jobs.schedule('SECRET' || repeat('t', 255), '* * * * *', entries => '{"name": "SECRET"}')$$),
    ('schedule', 'X_INVARIANT', 'cron', $$SELECT x_jobs.schedule('SECRET', NULL, entries => '{"name": "SECRET"}')$$),
    ('schedule', 'X_INVARIANT', 'entries', $$SELECT x_jobs.schedule('SECRET', '* * * * *')$$),
    ('schedule', 'X_INVARIANT', 'entries', $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries => '{"SECRET": "SECRET"}')$$),
    ('schedule', 'X_INVARIANT', 'name', $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries => '{"input": "SECRET"}')$$),
    ('schedule', 'X_INVARIANT', 'priority',
     $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries => '{"name": "SECRET", "priority": 10}')$$),
    ('schedule', 'X_INVARIANT', 'catch_up',
     $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries => '{"name": "SECRET"}', catch_up => 'SECRET')$$),
    ('schedule', 'X_INVARIANT', 'max_catch_up',
     $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries => '{"name": "SECRET"}', max_catch_up => 0)$$),
    ('schedule', 'X_INVARIANT', 'overlap',
     $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries => '{"name": "SECRET"}', overlap => NULL)$$),
    ('schedule', 'X_INVARIANT', 'day_rule',
     $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries => '{"name": "SECRET"}', day_rule => 'SECRET')$$),
    ('schedule', 'X_INVARIANT', 'entries_function',
     $$SELECT x_jobs.schedule('SECRET', '* * * * *', entries_function => 'pg_catalog.now()')$$),
    ('unschedule', 'X_TASK_NOT_FOUND', NULL, $$SELECT x_jobs.unschedule('SECRET')$$),
    ('unschedule', 'X_INVARIANT', 'task', $$SELECT x_jobs.unschedule(NULL)$$),
    ('pause_task', 'X_TASK_NOT_FOUND', NULL, $$SELECT x_jobs.pause_task('SECRET', 'SECRET-reason')$$),
    ('pause_task', 'X_INVARIANT', 'task', $$SELECT x_jobs.pause_task('', 'SECRET-reason')$$),
    ('resume_task', 'X_TASK_NOT_FOUND', NULL, $$SELECT x_jobs.resume_task('SECRET')$$),
    ('resume_task', 'X_INVARIANT', 'task', $$SELECT x_jobs.resume_task('SECRET' || repeat('t', 255))$$),
    ('fire_task', 'X_TASK_NOT_FOUND', NULL, $$SELECT x_jobs.fire_task('SECRET')$$),
    ('fire_task', 'X_TASK_OWNER_INVALID', NULL,
     $$CREATE ROLE regress_x_jobs_stranger; UPDATE _x_jobs.tasks SET owner = 'regress_x_jobs_stranger';
       SELECT x_jobs.fire_task('SECRET-task')$$),
    ('fire_task', 'X_TASK_OWNER_INVALID', NULL,
     $$UPDATE _x_jobs.tasks SET owner = 4294967295::oid::regrole; SELECT x_jobs.fire_task('SECRET-task')$$),
    ('fire_task', 'X_INVARIANT', 'task', $$SELECT x_jobs.fire_task(NULL)$$),
    ('fire_task', 'X_INVARIANT', 'name', $$SELECT x_jobs.fire_task('nameless')$$),
    ('task_history', 'X_TASK_NOT_FOUND', NULL, $$SELECT x_jobs.task_history('SECRET')$$),
    ('task_history', 'X_INVARIANT', 'task', $$SELECT x_jobs.task_history('')$$),
    ('task_history', 'X_INVARIANT', 'max', $$SELECT x_jobs.task_history('SECRET-task', -1)$$),
    ('task_history', 'X_INVARIANT', 'max', $$SELECT x_jobs.task_history('SECRET-task', 1001)$$),
    ('fire', 'X_INVARIANT', 'task', $$SELECT x_jobs.fire(NULL, now(), '{}')$$),
    ('fire', 'X_INVARIANT', 'occurrence', $$SELECT x_jobs.fire('SECRET', 'infinity', '{}')$$),
    ('fire', 'X_INVARIANT', 'jobs', $$SELECT x_jobs.fire('SECRET', now(), NULL)$$),
    ('fire', 'X_INVARIANT', 'name', $$SELECT x_jobs.fire('SECRET', now(), ARRAY[NULL]::x_jobs.new_job[])$$),
    ('fire', 'X_INVARIANT', 'landing', $$SELECT x_jobs.fire('SECRET', now(), '{}', '-infinity')$$),
    ('fire', 'X_INVARIANT', 'name',
     $$SELECT x_jobs.fire('SECRET', now(), ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"input": "SECRET"}')])$$),
    ('fire', 'X_INVARIANT', 'idempotency_key',
     $$SELECT x_jobs.fire('SECRET', now(), ARRAY[jsonb_populate_record(NULL::x_jobs.new_job,
                             jsonb_build_object('name', 'SECRET', 'idempotency_key', repeat('k', 1024)))])$$),
    ('watermark_mark', 'X_INVARIANT', 'task', $$SELECT x_jobs.watermark_mark(NULL, now())$$),
    ('watermark_mark', 'X_INVARIANT', 'instant', $$SELECT x_jobs.watermark_mark('SECRET', NULL)$$),
    ('record_fire', 'X_INVARIANT', 'task', $$SELECT x_jobs.record_fire('', now())$$),
    ('record_fire', 'X_INVARIANT', 'occurrence', $$SELECT x_jobs.record_fire('SECRET', '10000-01-01 00:00:00+00')$$);
UPDATE cause SET statement = replace(replace(replace(replace(replace(statement, 'TAKEN', :'taken'), 'DONE', :'done'), 'LIVE',
                        :'live'), 'UNKNOWN', :'unknown'), 'CLAIM', :'claim');

-- Each of them: its SQLSTATE, a message in lower case, DETAIL "NAME: …" and a HINT, and nothing that was given away.
SELECT is(concat_ws(' | ', r.sqlstate, CASE WHEN r.message !~ '^[a-z]' OR r.message ~ '[.]$' THEN r.message END,
                    CASE WHEN r.detail !~ ('^' || c.name || ': ' || CASE WHEN c.argument IS NULL THEN '.'
                                           ELSE c.argument || ' .' END) THEN r.detail END,
                    CASE WHEN COALESCE(r.hint, '') = '' THEN 'no hint' END,
                    CASE WHEN concat(r.message, r.detail, r.hint) ~* 'secret|dead$|00000000dead|55555555'
                        THEN concat('echo: ', r.message, r.detail, r.hint) END),
          k.sqlstate, format('ERR-4 X-17 %s raises %s%s', c.routine, c.name, ' for ' || c.argument))
  FROM cause AS c JOIN known AS k USING (name) CROSS JOIN LATERAL (SELECT (e).*
                          FROM (SELECT pg_temp.raised_by(c.statement) AS e OFFSET 0) AS called) AS r ORDER BY c.place;

-- The list is complete.
CREATE TEMP TABLE silent (routine text);
INSERT INTO silent VALUES ('new_id'), ('version'), ('stats'), ('paused'), ('maintain'), ('attempts'), ('worker_forget'),
    ('counters'), ('counter_totals'), ('workers'), ('task_list'), ('task_fires'), ('watermark_get'), ('background_workers'),
    ('health');
SELECT is_empty($$SELECT CASE WHEN proname = 'enqueue_many' AND pronargs = 1 THEN 'enqueue_many(new_job[])' ELSE proname::text END
                FROM pg_proc WHERE pronamespace = 'x_jobs'::regnamespace
                  EXCEPT (SELECT routine FROM cause UNION SELECT routine FROM silent)$$,
                      'X-17 every function of the surface is in this list, or can raise nothing');
SELECT is_empty('SELECT name FROM known EXCEPT SELECT name FROM cause', 'ERR-1 ERR-3 every code of the catalogue was raised');

-- What an error names, and what it does not.
SELECT matches((pg_temp.raised_by($$SELECT x_jobs.enqueue('job.live', 'null', 'SECRET-key', on_conflict => 'error')$$)).detail,
               '^X_JOB_DUPLICATE: .*' || :'live', 'ENQ-8 a duplicate names the live job, not the key');
SELECT matches((pg_temp.raised_by(format('SELECT x_jobs.requeue(%L)', :'done'))).detail, '^X_JOB_DUPLICATE: .*' || :'again',
               'OPW-2 so does a requeue');
SELECT matches((pg_temp.raised_by($$SELECT x_jobs.enqueue('n')$$)).hint, 'idempotency_key.*dedupe => false',
               'X-13 the hint of a missing key names the two ways out');
SELECT matches((pg_temp.raised_by($$SELECT x_jobs.enqueue('n', dedupe => false,
                        id => '11111111-2222-4333-8444-555555555555')$$)).hint,
               'x_jobs\.new_id\(\)', 'X-5 the hint of a wrong id names new_id()');

-- Only privileges keep the server's code, and even they come with a hint.
SELECT is((r).sqlstate || ' ' || ((r).message ~ '^permission denied') || ' ' || ((r).hint <> ''), '42501 true true',
          'X-17 a right that the library finds missing is 42501, with a hint')
  FROM (SELECT pg_temp.raised_by($$CREATE ROLE regress_x_jobs_stranger;
                                   GRANT USAGE ON SCHEMA x_jobs TO regress_x_jobs_stranger;
                                   GRANT EXECUTE ON ALL ROUTINES IN SCHEMA x_jobs TO regress_x_jobs_stranger;
                                   SET LOCAL ROLE regress_x_jobs_stranger; SELECT x_jobs.stats()$$) AS r OFFSET 0) AS called;

-- _x_jobs.raise, by which the functions in SQL raise.
SELECT is((pg_temp.raised_by($$SELECT _x_jobs.raise('X_JOB_NOT_FOUND')$$)).sqlstate, 'XJ005',
          'X-17 functions in SQL raise from the same table');
SELECT is((pg_temp.raised_by($$SELECT _x_jobs.raise('X_INVARIANT', ARRAY['max', 'must be small'])$$)).detail,
          'X_INVARIANT: max must be small.', 'X-17 with their arguments in their places');
SELECT isnt((pg_temp.raised_by($$SELECT _x_jobs.raise('X_UNHEARD_OF')$$)).sqlstate, '00000',
            'X-17 a name that is not in the table raises too');
SELECT lives_ok($$SET LOCAL client_min_messages = error; SELECT _x_jobs.raise('X_JOB_NOT_FOUND', '{}', 'warning')$$,
                'ROW-8 as a warning it does not stop anything');

SELECT * FROM finish();
