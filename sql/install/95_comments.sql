-- What \dx+ and \df+ show, and the source of docs/reference.md. The comment of a public function is its reference:
-- a summary, then the sections Arguments, Result, Errors, Locking and Example in this order. An item of a section
-- is "name - text" on a line of its own, and what belongs to it is indented further. A line "--> ..." in an
-- example gives a row of the statement above it. ASCII only: the script is read in the encoding of the database.

COMMENT ON SCHEMA x_jobs IS 'The surface of x_jobs: functions, row types and the view all_jobs';
COMMENT ON SCHEMA _x_jobs IS 'The tables of x_jobs and the functions behind its surface; private, granted to nobody';

-- Row types.

COMMENT ON TYPE x_jobs.enqueued IS 'What enqueue answers: the ids of the job that now stands for the call';
COMMENT ON COLUMN x_jobs.enqueued.id IS 'The job''s id, a version 7 uuid';
COMMENT ON COLUMN x_jobs.enqueued.run_id IS 'The run''s id, stable over retries and requeues';
COMMENT ON COLUMN x_jobs.enqueued.deduped
    IS 'True when nothing was inserted and the ids name a job that was there before';

COMMENT ON TYPE x_jobs.enqueued_item IS 'What enqueue_many answers for each input';
COMMENT ON COLUMN x_jobs.enqueued_item.ordinal IS 'Position of the input, from 1';
COMMENT ON COLUMN x_jobs.enqueued_item.id IS 'The job''s id, a version 7 uuid';
COMMENT ON COLUMN x_jobs.enqueued_item.run_id IS 'The run''s id, stable over retries and requeues';
COMMENT ON COLUMN x_jobs.enqueued_item.deduped
    IS 'True when nothing was inserted and the ids name a job that was there before';

COMMENT ON TYPE x_jobs.new_job
    IS 'One job for enqueue_many; each field is the argument of enqueue of the same name, and NULL takes its default';
COMMENT ON COLUMN x_jobs.new_job.name IS 'Name of the job, 1 to 255 bytes; required';
COMMENT ON COLUMN x_jobs.new_job.input IS 'Input for the worker; NULL is the JSON null';
COMMENT ON COLUMN x_jobs.new_job.idempotency_key
    IS 'Key of the live job, 1 to 1024 bytes; required unless dedupe is false';
COMMENT ON COLUMN x_jobs.new_job.queue IS 'Queue, at most 255 bytes; NULL or empty is default';
COMMENT ON COLUMN x_jobs.new_job.run_at IS 'Earliest start; NULL is the transaction''s start';
COMMENT ON COLUMN x_jobs.new_job.delay IS 'Time from the transaction''s start to the earliest start; excludes run_at';
COMMENT ON COLUMN x_jobs.new_job.priority IS '0 to 9, 0 first; NULL is 5';
COMMENT ON COLUMN x_jobs.new_job.max_attempts IS 'Attempts before the job stops, at least 1; NULL is 3';
COMMENT ON COLUMN x_jobs.new_job.tenant_id IS 'Tenant, at most 255 bytes; NULL or empty is none';
COMMENT ON COLUMN x_jobs.new_job.on_conflict IS 'dedupe, error or replace; NULL is dedupe';
COMMENT ON COLUMN x_jobs.new_job.expires_at IS 'From this instant a job that was never claimed is never handed out';
COMMENT ON COLUMN x_jobs.new_job.tags IS 'At most 32 texts of at most 255 bytes';
COMMENT ON COLUMN x_jobs.new_job.dedupe IS 'False for a job without a key; NULL is true';
COMMENT ON COLUMN x_jobs.new_job.traceparent IS 'Trace context, stored as given';
COMMENT ON COLUMN x_jobs.new_job.enqueued_by IS 'Who asked for the job, stored as given; grants nothing';
COMMENT ON COLUMN x_jobs.new_job.id IS 'The job''s id if the caller makes it, a version 7 uuid';
COMMENT ON COLUMN x_jobs.new_job.run_id IS 'The run''s id if the caller makes it, a version 7 uuid';

COMMENT ON TYPE x_jobs.claimed_job
    IS 'A job as its worker receives it: what it needs to do the work, to renew the lease and to settle';
COMMENT ON COLUMN x_jobs.claimed_job.id IS 'The job''s id, a version 7 uuid';
COMMENT ON COLUMN x_jobs.claimed_job.name IS 'Name of the job: which handler to run';
COMMENT ON COLUMN x_jobs.claimed_job.queue IS 'Queue of the job';
COMMENT ON COLUMN x_jobs.claimed_job.priority IS '0 to 9, 0 first';
COMMENT ON COLUMN x_jobs.claimed_job.input IS 'Input as it was enqueued';
COMMENT ON COLUMN x_jobs.claimed_job.idempotency_key IS 'Key of the live job, or NULL';
COMMENT ON COLUMN x_jobs.claimed_job.run_id IS 'The run''s id, stable over retries and requeues';
COMMENT ON COLUMN x_jobs.claimed_job.attempt IS 'Number of this attempt, from 1';
COMMENT ON COLUMN x_jobs.claimed_job.max_attempts IS 'Attempts before the job stops, as fixed at enqueue';
COMMENT ON COLUMN x_jobs.claimed_job.final_attempt IS 'True when attempt has reached max_attempts';
COMMENT ON COLUMN x_jobs.claimed_job.claim IS 'Ordinal of this claim: the token that renews and settles it';
COMMENT ON COLUMN x_jobs.claimed_job.worker_id IS 'The worker id that claimed';
COMMENT ON COLUMN x_jobs.claimed_job.tenant_id IS 'Tenant, or NULL';
COMMENT ON COLUMN x_jobs.claimed_job.tags IS 'Tags, or NULL';
COMMENT ON COLUMN x_jobs.claimed_job.run_at IS 'Earliest start that was asked for, or that a retry set';
COMMENT ON COLUMN x_jobs.claimed_job.created_at IS 'When the job was enqueued';
COMMENT ON COLUMN x_jobs.claimed_job.claimed_at IS 'When this claim was given';
COMMENT ON COLUMN x_jobs.claimed_job.visible_at IS 'When the lease lapses unless it is renewed';
COMMENT ON COLUMN x_jobs.claimed_job.timeout IS 'Time limit of an attempt, or NULL; jobs of this version have none';
COMMENT ON COLUMN x_jobs.claimed_job.last_error IS 'Error of the last failed attempt, or NULL';
COMMENT ON COLUMN x_jobs.claimed_job.traceparent IS 'Trace context as it was enqueued';
COMMENT ON COLUMN x_jobs.claimed_job.enqueued_by IS 'Who asked for the job, as it was enqueued';

COMMENT ON TYPE x_jobs.exchanged_job IS 'A row of exchange: status, then the columns of x_jobs.claimed_job';
COMMENT ON COLUMN x_jobs.exchanged_job.status
    IS 'lost for a settlement that did not land (only id is set), claimed for a job';

COMMENT ON TYPE x_jobs.job IS 'A job, live or finished, as operators see it';
COMMENT ON COLUMN x_jobs.job.id IS 'The job''s id, a version 7 uuid: ids sort in the order in which they were made';
COMMENT ON COLUMN x_jobs.job.name IS 'Name of the job';
COMMENT ON COLUMN x_jobs.job.queue IS 'Queue of the job';
COMMENT ON COLUMN x_jobs.job.state
    IS 'ready, delayed, running or suspended while live; done, failed, dead or cancelled when finished';
COMMENT ON COLUMN x_jobs.job.priority IS '0 to 9, 0 first';
COMMENT ON COLUMN x_jobs.job.input IS 'Input; NULL in lists';
COMMENT ON COLUMN x_jobs.job.idempotency_key IS 'Key of the live job, or NULL';
COMMENT ON COLUMN x_jobs.job.run_id IS 'The run''s id, stable over retries and requeues';
COMMENT ON COLUMN x_jobs.job.attempt IS 'Attempts that count so far';
COMMENT ON COLUMN x_jobs.job.max_attempts IS 'Attempts before the job stops';
COMMENT ON COLUMN x_jobs.job.final_attempt IS 'True when attempt has reached max_attempts';
COMMENT ON COLUMN x_jobs.job.claim IS 'Ordinal of the last claim, or NULL before the first';
COMMENT ON COLUMN x_jobs.job.worker_id IS 'Worker that holds the job; NULL unless it is running';
COMMENT ON COLUMN x_jobs.job.tenant_id IS 'Tenant, or NULL';
COMMENT ON COLUMN x_jobs.job.tags IS 'Tags, or NULL';
COMMENT ON COLUMN x_jobs.job.run_at IS 'Earliest start';
COMMENT ON COLUMN x_jobs.job.created_at IS 'When the job was enqueued';
COMMENT ON COLUMN x_jobs.job.updated_at IS 'When the row last changed';
COMMENT ON COLUMN x_jobs.job.claimed_at IS 'When the last claim was given';
COMMENT ON COLUMN x_jobs.job.visible_at IS 'When the lease lapses; NULL unless the job is running';
COMMENT ON COLUMN x_jobs.job.finished_at IS 'When the job finished; NULL while it is live';
COMMENT ON COLUMN x_jobs.job.expires_at IS 'From this instant a job that was never claimed is never handed out';
COMMENT ON COLUMN x_jobs.job.timeout IS 'Time limit of an attempt, or NULL; jobs of this version have none';
COMMENT ON COLUMN x_jobs.job.last_error
    IS 'Error of the last failed attempt, or the reason of a cancel; at most 64 KiB';
COMMENT ON COLUMN x_jobs.job.last_error_code IS 'Code that fail() was given with the last error';
COMMENT ON COLUMN x_jobs.job.last_error_stack
    IS 'Stack of the last failed attempt, at most 8000 characters; NULL in lists';
COMMENT ON COLUMN x_jobs.job.progress IS 'Latest progress: done, total, note and at';
COMMENT ON COLUMN x_jobs.job.result IS 'Result that ack was given; NULL in lists';
COMMENT ON COLUMN x_jobs.job.reason
    IS 'lease-lapsed, attempts-exhausted, dead-letter, failed, refused, expired, or the reason of a cancel';
COMMENT ON COLUMN x_jobs.job.traceparent IS 'Trace context as it was enqueued';
COMMENT ON COLUMN x_jobs.job.enqueued_by IS 'Who asked for the job, as it was enqueued';

COMMENT ON TYPE x_jobs.settlement IS 'One settlement for settle and exchange: which claim, and how it ends';
COMMENT ON COLUMN x_jobs.settlement.id IS 'The job''s id; required';
COMMENT ON COLUMN x_jobs.settlement.claim IS 'Ordinal of the claim; required';
COMMENT ON COLUMN x_jobs.settlement.verb IS 'ack, nack, release, fail or dead_letter; required';
COMMENT ON COLUMN x_jobs.settlement.result IS 'For ack: the result';
COMMENT ON COLUMN x_jobs.settlement.error IS 'For nack, release, fail and dead_letter: the error; required for fail';
COMMENT ON COLUMN x_jobs.settlement.code
    IS 'For nack, release, fail and dead_letter: the error''s code, at most 255 bytes';
COMMENT ON COLUMN x_jobs.settlement.stack IS 'For nack, release, fail and dead_letter: the stack';
COMMENT ON COLUMN x_jobs.settlement.delay
    IS 'For nack, release and dead_letter: time until the job is due again; NULL is 0';
COMMENT ON COLUMN x_jobs.settlement.retry_after IS 'For fail: wait that the other side asked for, as in x_jobs.fail';
COMMENT ON COLUMN x_jobs.settlement.duration IS 'How long the attempt took, 0 to 36500 days; NULL counts as 0';

COMMENT ON TYPE x_jobs.settled_item IS 'What settle answers for each settlement';
COMMENT ON COLUMN x_jobs.settled_item.ordinal IS 'Position of the settlement, from 1';
COMMENT ON COLUMN x_jobs.settled_item.id IS 'The job''s id as given';
COMMENT ON COLUMN x_jobs.settled_item.landed IS 'False when the claim no longer held the job: nothing was changed';
COMMENT ON COLUMN x_jobs.settled_item.outcome
    IS 'completed, retried, interrupted or dead-lettered; NULL when it did not land';

COMMENT ON TYPE x_jobs.failure IS 'What fail answers';
COMMENT ON COLUMN x_jobs.failure.landed IS 'False when the claim no longer held the job: nothing was changed';
COMMENT ON COLUMN x_jobs.failure.outcome IS 'retried or dead-lettered; NULL when it did not land';
COMMENT ON COLUMN x_jobs.failure.retry_at IS 'When the job is due again; NULL unless it is retried';
COMMENT ON COLUMN x_jobs.failure.stop_reason IS 'attempts-exhausted; NULL while it is retried';

COMMENT ON TYPE x_jobs.heartbeat_item IS 'What heartbeat_many answers for each claim';
COMMENT ON COLUMN x_jobs.heartbeat_item.id IS 'The job''s id as given';
COMMENT ON COLUMN x_jobs.heartbeat_item.held IS 'False means: stop working on this job';

COMMENT ON TYPE x_jobs.queue_stats IS 'Depth and age of one queue; a job is in one bucket at most';
COMMENT ON COLUMN x_jobs.queue_stats.queue IS 'Queue';
COMMENT ON COLUMN x_jobs.queue_stats.ready IS 'Jobs ready or delayed that are due';
COMMENT ON COLUMN x_jobs.queue_stats.delayed
    IS 'Jobs ready or delayed that are due later, retries that back off included';
COMMENT ON COLUMN x_jobs.queue_stats.running IS 'Jobs that a worker holds';
COMMENT ON COLUMN x_jobs.queue_stats.suspended IS 'Jobs that were parked';
COMMENT ON COLUMN x_jobs.queue_stats.failed IS 'Finished jobs in state failed';
COMMENT ON COLUMN x_jobs.queue_stats.dead IS 'Dead letters';
COMMENT ON COLUMN x_jobs.queue_stats.oldest_ready
    IS 'How long the job that is due for longest has been due; 0 when none is';

COMMENT ON TYPE x_jobs.attempt IS 'One attempt that failed, or whose lease lapsed';
COMMENT ON COLUMN x_jobs.attempt.id IS 'The job''s id';
COMMENT ON COLUMN x_jobs.attempt.run_id IS 'The run''s id';
COMMENT ON COLUMN x_jobs.attempt.attempt IS 'Number of the attempt';
COMMENT ON COLUMN x_jobs.attempt.claim IS 'Ordinal of its claim';
COMMENT ON COLUMN x_jobs.attempt.worker_id IS 'Worker that held the job under that claim';
COMMENT ON COLUMN x_jobs.attempt.started_at IS 'When the claim was given';
COMMENT ON COLUMN x_jobs.attempt.ended_at
    IS 'When the attempt ended; of a lapse, when a claim met the job again';
COMMENT ON COLUMN x_jobs.attempt.outcome
    IS 'retried, lapsed (its lease lapsed and the job was claimed again), dead or failed';
COMMENT ON COLUMN x_jobs.attempt.error IS 'Error, at most 64 KiB';
COMMENT ON COLUMN x_jobs.attempt.error_code IS 'Code of the error';
COMMENT ON COLUMN x_jobs.attempt.error_stack IS 'Stack, at most 8000 characters';
COMMENT ON COLUMN x_jobs.attempt.duration IS 'Duration that the worker stated; 0 when it stated none';

COMMENT ON TYPE x_jobs.paused_queue IS 'A queue that is paused';
COMMENT ON COLUMN x_jobs.paused_queue.queue IS 'Queue';
COMMENT ON COLUMN x_jobs.paused_queue.paused_at IS 'When it was paused first';
COMMENT ON COLUMN x_jobs.paused_queue.reason IS 'Reason that was given then';
COMMENT ON COLUMN x_jobs.paused_queue.paused_by IS 'Role that paused it';

COMMENT ON TYPE x_jobs.counter IS 'Ended attempts of one job name in one span of time';
COMMENT ON COLUMN x_jobs.counter.name IS 'Name of the job';
COMMENT ON COLUMN x_jobs.counter.width IS 'Width of the bucket: 1 minute, 5 minutes or 1 hour';
COMMENT ON COLUMN x_jobs.counter.bucket_start IS 'When the bucket begins, a whole multiple of its width';
COMMENT ON COLUMN x_jobs.counter.done IS 'Attempts that ended with the job done';
COMMENT ON COLUMN x_jobs.counter.failed IS 'Attempts that ended with the job failed';
COMMENT ON COLUMN x_jobs.counter.dead IS 'Attempts that ended with the job dead, lapsed final ones included';
COMMENT ON COLUMN x_jobs.counter.retried IS 'Attempts that failed and are tried again';
COMMENT ON COLUMN x_jobs.counter.duration IS 'Sum of the durations that the workers stated';

COMMENT ON TYPE x_jobs.counter_total IS 'Ended attempts of one job name';
COMMENT ON COLUMN x_jobs.counter_total.name IS 'Name of the job';
COMMENT ON COLUMN x_jobs.counter_total.done IS 'Attempts that ended with the job done';
COMMENT ON COLUMN x_jobs.counter_total.failed IS 'Attempts that ended with the job failed';
COMMENT ON COLUMN x_jobs.counter_total.dead IS 'Attempts that ended with the job dead, lapsed final ones included';
COMMENT ON COLUMN x_jobs.counter_total.retried IS 'Attempts that failed and are tried again';
COMMENT ON COLUMN x_jobs.counter_total.duration IS 'Sum of the durations that the workers stated';

COMMENT ON TYPE x_jobs.worker IS 'A worker that announced itself';
COMMENT ON COLUMN x_jobs.worker.worker_id IS 'The worker''s id';
COMMENT ON COLUMN x_jobs.worker.host IS 'Where it runs, or NULL';
COMMENT ON COLUMN x_jobs.worker.queues IS 'The queues that it serves';
COMMENT ON COLUMN x_jobs.worker.slots IS 'How many jobs it works on at a time';
COMMENT ON COLUMN x_jobs.worker.in_flight IS 'Ids of the jobs that it said it holds, at most 100';
COMMENT ON COLUMN x_jobs.worker.started_at IS 'When it announced itself first';
COMMENT ON COLUMN x_jobs.worker.heartbeat_at IS 'When it announced itself last';
COMMENT ON COLUMN x_jobs.worker.expires_at IS 'Until when that holds';

COMMENT ON TYPE x_jobs.leadership IS 'A leader lease that is held';
COMMENT ON COLUMN x_jobs.leadership.key IS 'What is led';
COMMENT ON COLUMN x_jobs.leadership.holder IS 'Who leads';
COMMENT ON COLUMN x_jobs.leadership.acquired_at IS 'Since when the holder has led without a gap';
COMMENT ON COLUMN x_jobs.leadership.renewed_at IS 'When the lease was renewed last';
COMMENT ON COLUMN x_jobs.leadership.expires_at IS 'When it ends unless it is renewed';

COMMENT ON TYPE x_jobs.maintained IS 'What one task of maintain did';
COMMENT ON COLUMN x_jobs.maintained.task IS 'Task';
COMMENT ON COLUMN x_jobs.maintained.affected
    IS 'Leaves, rows or records that it changed; 0 also when a lock was not free at once';

COMMENT ON TYPE x_jobs.fired IS 'What fire answers';
COMMENT ON COLUMN x_jobs.fired.fired
    IS 'True when the occurrence was fired now; false when the watermark was at or past it, and nothing happened';
COMMENT ON COLUMN x_jobs.fired.jobs
    IS 'One element for each job, in the order in which they were given; NULL when nothing was fired';

COMMENT ON TYPE x_jobs.task_fire IS 'When a task fired last';
COMMENT ON COLUMN x_jobs.task_fire.task IS 'Name of the task';
COMMENT ON COLUMN x_jobs.task_fire.last_occurrence IS 'The latest occurrence that was fired';
COMMENT ON COLUMN x_jobs.task_fire.dispatched_at IS 'When it was fired';

COMMENT ON TYPE x_jobs.task IS 'A recurring task: its definition, and how far it has come';
COMMENT ON COLUMN x_jobs.task.task IS 'Name of the task';
COMMENT ON COLUMN x_jobs.task.owner
    IS 'Role that scheduled it last; its function of entries runs as this role. The number of the role if it was dropped';
COMMENT ON COLUMN x_jobs.task.cron IS 'Schedule, as it was given';
COMMENT ON COLUMN x_jobs.task.time_zone IS 'Time zone, as the server''s catalogue spells it';
COMMENT ON COLUMN x_jobs.task.day_rule IS 'or, or and: what a restricted day of the month and a restricted weekday mean together';
COMMENT ON COLUMN x_jobs.task.entries IS 'The jobs of an occurrence as an array of objects; NULL when a function answers them';
COMMENT ON COLUMN x_jobs.task.entries_function IS 'The function that answers the jobs of an occurrence, or NULL';
COMMENT ON COLUMN x_jobs.task.catch_up IS 'What becomes of occurrences that were missed: latest, earliest, all or none';
COMMENT ON COLUMN x_jobs.task.max_catch_up IS 'Most occurrences that one round of the scheduler deals with';
COMMENT ON COLUMN x_jobs.task.overlap IS 'What happens while a job of the last fire is live: allow, skip or queue';
COMMENT ON COLUMN x_jobs.task.state
    IS 'active, paused, failing (the last turn raised an error) or no owner (its role was dropped)';
COMMENT ON COLUMN x_jobs.task.paused_at IS 'Since when it is paused, or NULL';
COMMENT ON COLUMN x_jobs.task.paused_reason IS 'Why, or NULL';
COMMENT ON COLUMN x_jobs.task.paused_by IS 'Role that paused it, or NULL';
COMMENT ON COLUMN x_jobs.task.created_at IS 'When it was first scheduled';
COMMENT ON COLUMN x_jobs.task.updated_at IS 'When it was last scheduled';
COMMENT ON COLUMN x_jobs.task.watermark IS 'Every occurrence up to this instant has been dealt with';
COMMENT ON COLUMN x_jobs.task.next_occurrence
    IS 'First occurrence after the watermark: in the past when it is due and not yet dealt with; NULL when there is none';
COMMENT ON COLUMN x_jobs.task.utc_offset IS 'How far the clocks of the time zone are ahead of UTC at that occurrence';
COMMENT ON COLUMN x_jobs.task.pending IS 'With overlap queue: the occurrence that waits for its predecessor, or NULL';
COMMENT ON COLUMN x_jobs.task.last_occurrence IS 'The latest occurrence that was fired, or NULL';
COMMENT ON COLUMN x_jobs.task.dispatched_at IS 'When an occurrence was last fired, or NULL';
COMMENT ON COLUMN x_jobs.task.failures IS 'Turns that failed since the last fire';
COMMENT ON COLUMN x_jobs.task.failed_at IS 'When the last of them failed, or NULL';
COMMENT ON COLUMN x_jobs.task.error IS 'Its error, at most 8000 characters, or NULL';

COMMENT ON TYPE x_jobs.task_event IS 'What became of an occurrence, or of a run of neighbours that went the same way';
COMMENT ON COLUMN x_jobs.task_event.task IS 'Name of the task';
COMMENT ON COLUMN x_jobs.task_event.occurrence IS 'The occurrence, or the first of several; the instant of a fire by hand';
COMMENT ON COLUMN x_jobs.task_event.upto IS 'The last of them';
COMMENT ON COLUMN x_jobs.task_event.outcome
    IS 'fired, skipped (its predecessor was live), queued (it waits for that), missed, manual, or clock set back';
COMMENT ON COLUMN x_jobs.task_event.slots
    IS 'How many occurrences; 0 for clock set back; NULL for more than could be counted quickly';
COMMENT ON COLUMN x_jobs.task_event.decided_at IS 'When that was decided';
COMMENT ON COLUMN x_jobs.task_event.lateness IS 'decided_at less occurrence';
COMMENT ON COLUMN x_jobs.task_event.moved
    IS 'By how much the occurrence was moved, since clocks leave its local time out; NULL when it was not';
COMMENT ON COLUMN x_jobs.task_event.jobs IS 'Ids of the jobs that stand for its entries, in their order; NULL unless it was fired';

COMMENT ON TYPE x_jobs.background_worker IS 'A background worker of x_jobs';
COMMENT ON COLUMN x_jobs.background_worker.worker IS 'launcher, one for the server; or scheduler, one for each database with the extension';
COMMENT ON COLUMN x_jobs.background_worker.database IS 'Database of a scheduler; NULL for the launcher';
COMMENT ON COLUMN x_jobs.background_worker.pid IS 'Its process, or NULL';
COMMENT ON COLUMN x_jobs.background_worker.state
    IS 'running, or why it is not: starting, switched off, no extension, waiting for a restore, and so on';
COMMENT ON COLUMN x_jobs.background_worker.since IS 'Since when that holds';
COMMENT ON COLUMN x_jobs.background_worker.starts IS 'How often it was started since the server was';
COMMENT ON COLUMN x_jobs.background_worker.rounds IS 'How often it has gone round since the server was started';

COMMENT ON TYPE x_jobs.health_check IS 'What health found out about one subject';
COMMENT ON COLUMN x_jobs.health_check.name
    IS 'Subject: library, scheduler, tasks, overdue, history, old snapshot, notifications or clock';
COMMENT ON COLUMN x_jobs.health_check.state IS 'ok, warning or error';
COMMENT ON COLUMN x_jobs.health_check.detail IS 'What was found, in a sentence';
COMMENT ON COLUMN x_jobs.health_check.hint IS 'What to do about it; NULL when all is well';

COMMENT ON VIEW x_jobs.all_jobs
    IS 'Live and finished jobs as one, with the columns of x_jobs.job; read it by id, or newest first by id';
COMMENT ON VIEW x_jobs.tasks
    IS 'The tasks that the reader may touch, with the columns of x_jobs.task: their own for producers, all for operators';

-- Tables.

COMMENT ON TABLE _x_jobs.jobs IS 'Live jobs: ready, delayed, running, suspended';
COMMENT ON TABLE _x_jobs.history IS 'Finished jobs: done, failed, dead, cancelled, in a fixed ring of leaves';
COMMENT ON TABLE _x_jobs.history_leaves IS 'Bounds of the leaves of the history ring';
COMMENT ON TABLE _x_jobs.tally_0 IS 'One row for each ended attempt; one of three tables used in turn';
COMMENT ON TABLE _x_jobs.tally_1 IS 'One row for each ended attempt; one of three tables used in turn';
COMMENT ON TABLE _x_jobs.tally_2 IS 'One row for each ended attempt; one of three tables used in turn';
COMMENT ON VIEW _x_jobs.tally IS 'The rows of the three tallies; outcome is d done, f failed, x dead, r retried';
COMMENT ON TABLE _x_jobs.tally_turn IS 'Which tally is written now';
COMMENT ON TABLE _x_jobs.counters IS 'Ended attempts by job name and time, rolled up from the tallies';
COMMENT ON TABLE _x_jobs.leaders IS 'Who leads, by lock key; not dumped';
COMMENT ON TABLE _x_jobs.queue_totals IS 'Ended attempts by queue since the beginning, rolled up from the tallies';
COMMENT ON TABLE _x_jobs.attempts IS 'One row for each attempt that failed, or whose lease lapsed';
COMMENT ON TABLE _x_jobs.queues IS 'Every queue ever used, and its pause';
COMMENT ON TABLE _x_jobs.grants IS 'Which role may produce, work and operate';
COMMENT ON TABLE _x_jobs.workers IS 'Workers that announced themselves';
COMMENT ON TABLE _x_jobs.tasks IS 'Recurring tasks as they were scheduled';
COMMENT ON TABLE _x_jobs.task_states IS 'How far each task has been dealt with; the row''s lock is the task''s lock';
COMMENT ON TABLE _x_jobs.task_log IS 'What became of the occurrences of each task';

-- Private functions.

COMMENT ON FUNCTION _x_jobs.open_places() IS 'Where the claims of each queue look, as shared memory has it';
COMMENT ON FUNCTION _x_jobs.written_by_hand() IS 'Has every place of the queues looked at again: the trigger on the live table';
COMMENT ON FUNCTION _x_jobs.drop_mirrors() IS 'Trigger: has every backend read its mirrors of the written table again';
COMMENT ON FUNCTION _x_jobs.error_catalog() IS 'The table of errors';
COMMENT ON FUNCTION _x_jobs.raise(text, text[], text)
    IS 'Raises the named error with its arguments, as error or warning';
COMMENT ON FUNCTION _x_jobs.clock() IS 'The wall clock, shifted by x_jobs.test_clock_offset';
COMMENT ON FUNCTION _x_jobs.caller() IS 'The role that called the gate which runs the present function';
COMMENT ON FUNCTION _x_jobs.announce(text) IS 'Announces at commit that a queue may have work; empty means any queue';
COMMENT ON FUNCTION _x_jobs.expire(uuid) IS 'Ends a waiting job whose expires_at has passed';
COMMENT ON FUNCTION _x_jobs.states() IS 'The states of a job, in the order of its life';
COMMENT ON FUNCTION _x_jobs.refuse_unknown_state(text, text)
    IS 'Raises X_JOB_ROW_STATUS_UNKNOWN for a state that this build does not know';
COMMENT ON FUNCTION _x_jobs.require_count(integer, text) IS 'Raises X_INVARIANT unless the argument is a count';
COMMENT ON FUNCTION _x_jobs.require_name(text, text)
    IS 'Raises X_INVARIANT unless the argument is a text of 1 to 255 bytes';
COMMENT ON FUNCTION _x_jobs.require_span(interval, interval, text)
    IS 'Raises X_INVARIANT unless the argument lies between 0 and the limit; answers it in hours and less';
COMMENT ON FUNCTION _x_jobs.without_payload(x_jobs.job) IS 'The job with input, result and error stack left out';
COMMENT ON FUNCTION _x_jobs.job(uuid) IS 'Behind the gate x_jobs.job';
COMMENT ON FUNCTION _x_jobs.jobs(text, text, text, text, text, text, timestamptz, timestamptz, uuid, uuid, integer)
    IS 'Behind the gate x_jobs.jobs';
COMMENT ON FUNCTION _x_jobs.dead_letters(integer, text) IS 'Behind the gate x_jobs.dead_letters';
COMMENT ON FUNCTION _x_jobs.stats() IS 'Behind the gate x_jobs.stats';
COMMENT ON FUNCTION _x_jobs.counters(text, timestamptz) IS 'Behind the gate x_jobs.counters';
COMMENT ON FUNCTION _x_jobs.counter_totals(timestamptz) IS 'Behind the gate x_jobs.counter_totals';
COMMENT ON FUNCTION _x_jobs.workers() IS 'Behind the gate x_jobs.workers';
COMMENT ON FUNCTION _x_jobs.leader(text) IS 'Behind the gate x_jobs.leader';
COMMENT ON FUNCTION _x_jobs.leader_acquire(text, text, interval) IS 'Behind the gate x_jobs.leader_acquire';
COMMENT ON FUNCTION _x_jobs.leader_release(text, text) IS 'Behind the gate x_jobs.leader_release';
COMMENT ON FUNCTION _x_jobs.attempts(uuid) IS 'Behind the gate x_jobs.attempts';
COMMENT ON FUNCTION _x_jobs.pause_queue(text, text) IS 'Behind the gate x_jobs.pause_queue';
COMMENT ON FUNCTION _x_jobs.resume_queue(text) IS 'Behind the gate x_jobs.resume_queue';
COMMENT ON FUNCTION _x_jobs.paused() IS 'Behind the gate x_jobs.paused';
COMMENT ON FUNCTION _x_jobs.worker_announce(text, text, text[], integer, uuid[], interval)
    IS 'Behind the gate x_jobs.worker_announce';
COMMENT ON FUNCTION _x_jobs.worker_forget(text) IS 'Behind the gate x_jobs.worker_forget';
COMMENT ON FUNCTION _x_jobs.lay_out_ring() IS 'Gives the leaves of the history ring their first bounds';
COMMENT ON FUNCTION _x_jobs.advance_ring() IS 'Empties the leaves whose bound has passed';
COMMENT ON FUNCTION _x_jobs.roll_up()
    IS 'Rolls the tally that has rested longest into the counters and passes the turn on';
COMMENT ON FUNCTION _x_jobs.roll_up_tiers()
    IS 'Moves old buckets of the counters into wider ones and drops the oldest; answers how many';
COMMENT ON FUNCTION _x_jobs.purge_kept(integer)
    IS 'Removes rows of the kept leaf that outlived their retention, at most the bound';
COMMENT ON FUNCTION _x_jobs.purge_attempts(integer)
    IS 'Removes records of failed attempts whose job is gone, at most the bound';
COMMENT ON FUNCTION _x_jobs.expire_waiting(integer)
    IS 'Ends waiting jobs whose expires_at has passed, at most the bound';
COMMENT ON FUNCTION _x_jobs.forget_lapsed_workers() IS 'Removes workers that have not announced themselves in time';
COMMENT ON FUNCTION _x_jobs.sees_commits() IS 'Whether each statement of the transaction sees what others have committed';
COMMENT ON FUNCTION _x_jobs.forget_dropped_roles() IS 'Removes grants whose role has been dropped';
COMMENT ON FUNCTION _x_jobs.maintain() IS 'Behind the gate x_jobs.maintain';
COMMENT ON FUNCTION _x_jobs.bury(uuid) IS 'Ends a running job whose lease lapsed on its final attempt';
COMMENT ON FUNCTION _x_jobs.bury_lapsed(integer)
    IS 'Ends running jobs whose lease lapsed on their final attempt, at most the bound';
COMMENT ON FUNCTION _x_jobs.wake_scheduler() IS 'Wakes the scheduler of this database at commit';
COMMENT ON FUNCTION _x_jobs.check_schedule(text, text, text)
    IS 'Raises unless the schedule can fire; answers the zone as the catalogue spells it';
COMMENT ON FUNCTION _x_jobs.occurrences(text, text, text, timestamptz, timestamptz, timestamptz, integer)
    IS 'The occurrences of a schedule after an instant and up to another, the first of them';
COMMENT ON FUNCTION _x_jobs.latest_occurrence(text, text, text, timestamptz, timestamptz, timestamptz)
    IS 'The last occurrence of a schedule after an instant and up to another';
COMMENT ON FUNCTION _x_jobs.entries_of(text, oid, timestamptz) IS 'What a function of entries answers, run as the task''s owner';
COMMENT ON FUNCTION _x_jobs.check_jobs(x_jobs.new_job[]) IS 'Raises what enqueue_many would raise before it writes';
COMMENT ON FUNCTION _x_jobs.role_may(oid, text) IS 'Whether a role exists, and may produce or operate';
COMMENT ON FUNCTION _x_jobs.caller_may(regrole) IS 'Whether the caller of the gate may touch a task of that owner';
COMMENT ON FUNCTION _x_jobs.next_occurrence(_x_jobs.tasks, timestamptz) IS 'The first occurrence of a task after an instant';
COMMENT ON FUNCTION _x_jobs.armed_watermark(_x_jobs.tasks, timestamptz) IS 'The watermark of a task that has fired nothing';
COMMENT ON FUNCTION _x_jobs.static_jobs(_x_jobs.tasks, timestamptz) IS 'The stored entries of a task as jobs of an occurrence';
COMMENT ON FUNCTION _x_jobs.task_jobs(_x_jobs.tasks, timestamptz)
    IS 'The jobs of an occurrence; raises unless the owner may still produce';
COMMENT ON FUNCTION _x_jobs.jobs_of_occurrence(text, timestamptz, x_jobs.new_job[])
    IS 'Jobs as an occurrence enqueues them: due at it, under keys that name it';
COMMENT ON FUNCTION _x_jobs.enqueue_jobs(x_jobs.new_job[]) IS 'enqueue_many, answered as an array';
COMMENT ON FUNCTION _x_jobs.lock_task_state(text) IS 'Locks a task''s state, making it when there is none';
COMMENT ON FUNCTION _x_jobs.log_task(text, text, timestamptz, timestamptz, bigint, interval, uuid[])
    IS 'Records what became of occurrences';
COMMENT ON FUNCTION _x_jobs.dispatch(text, timestamptz, x_jobs.new_job[], interval)
    IS 'Enqueues the jobs of an occurrence and records it';
COMMENT ON FUNCTION _x_jobs.fire_fenced(text, timestamptz, x_jobs.new_job[], timestamptz, interval)
    IS 'Fires an occurrence unless the watermark is at or past it';
COMMENT ON FUNCTION _x_jobs.require_instant(timestamptz, text)
    IS 'Raises X_INVARIANT unless the argument is a finite instant before the year 10000';
COMMENT ON FUNCTION _x_jobs.fire(text, timestamptz, x_jobs.new_job[], timestamptz) IS 'Behind the gate x_jobs.fire';
COMMENT ON FUNCTION _x_jobs.watermark_get(text) IS 'Behind the gate x_jobs.watermark_get';
COMMENT ON FUNCTION _x_jobs.watermark_mark(text, timestamptz) IS 'Behind the gate x_jobs.watermark_mark';
COMMENT ON FUNCTION _x_jobs.record_fire(text, timestamptz) IS 'Behind the gate x_jobs.record_fire';
COMMENT ON FUNCTION _x_jobs.task_fires() IS 'Behind the gate x_jobs.task_fires';
COMMENT ON FUNCTION _x_jobs.checked_entries(jsonb) IS 'Entries as they are stored; raises X_INVARIANT when they are none';
COMMENT ON FUNCTION _x_jobs.require_choice(text, text, text[])
    IS 'Raises X_INVARIANT unless the argument is one of the known values';
COMMENT ON FUNCTION _x_jobs.checked_entries_function(regprocedure)
    IS 'The signature of a function of entries; raises X_INVARIANT when it is none';
COMMENT ON FUNCTION _x_jobs.schedule(text, text, text, jsonb, text, integer, text, text, boolean, regprocedure)
    IS 'Behind the gate x_jobs.schedule';
COMMENT ON FUNCTION _x_jobs.own_task(text) IS 'Answers a task that the caller may touch';
COMMENT ON FUNCTION _x_jobs.locked_task(text) IS 'Answers a task that the caller may touch, under its lock';
COMMENT ON FUNCTION _x_jobs.locked_scheduled_task(text) IS 'The same for one that is scheduled here';
COMMENT ON FUNCTION _x_jobs.rest_task(text, integer) IS 'Puts a task off whose turn took long';
COMMENT ON FUNCTION _x_jobs.guard_task_owner() IS 'Refuses a task that a writer of the table gives to a role it is no member of';
COMMENT ON FUNCTION _x_jobs.overdue_tasks() IS 'How many tasks should have been dealt with a minute ago';
COMMENT ON FUNCTION _x_jobs.is_unchanged(_x_jobs.tasks) IS 'Whether a task is still what it was when its turn began';
COMMENT ON FUNCTION _x_jobs.task_tries(text) IS 'Says that a function is about to be run: the task is left alone for a minute unless its turn ends well';
COMMENT ON FUNCTION _x_jobs.tries_cut_off() IS 'Notes the tasks whose functions ran when the scheduler ended as failed; answers their names';
COMMENT ON FUNCTION _x_jobs.shown_occurrence(_x_jobs.tasks, timestamptz) IS 'The next occurrence, or NULL for a task that cannot be understood';
COMMENT ON FUNCTION _x_jobs.caller_operates() IS 'Whether the caller of the gate is an operator';
COMMENT ON FUNCTION _x_jobs.jobs_by_hand(x_jobs.new_job[]) IS 'A task''s jobs as a person enqueues them: now, under their own keys';
COMMENT ON FUNCTION _x_jobs.check_entry_types(jsonb) IS 'Raises unless the values of an entry are of the right kinds';
COMMENT ON FUNCTION _x_jobs.unschedule(text) IS 'Behind the gate x_jobs.unschedule';
COMMENT ON FUNCTION _x_jobs.pause_task(text, text) IS 'Behind the gate x_jobs.pause_task';
COMMENT ON FUNCTION _x_jobs.resume_task(text) IS 'Behind the gate x_jobs.resume_task';
COMMENT ON FUNCTION _x_jobs.fire_task(text) IS 'Behind the gate x_jobs.fire_task';
COMMENT ON FUNCTION _x_jobs.task_list() IS 'Behind the gate x_jobs.task_list';
COMMENT ON FUNCTION _x_jobs.task_history(text, integer) IS 'Behind the gate x_jobs.task_history';
COMMENT ON FUNCTION _x_jobs.is_running_still(_x_jobs.task_states) IS 'Whether a job of the task''s last fire is not finished';
COMMENT ON FUNCTION _x_jobs.slots_between(_x_jobs.tasks, timestamptz, timestamptz)
    IS 'How many occurrences lie between two instants; NULL for more than 10000';
COMMENT ON FUNCTION _x_jobs.log_missed(_x_jobs.tasks, timestamptz, timestamptz)
    IS 'Records the occurrences between two instants as missed';
COMMENT ON FUNCTION _x_jobs.follow_clock_back(_x_jobs.tasks, _x_jobs.task_states, timestamptz)
    IS 'Takes the watermark back when the clock was set back';
COMMENT ON FUNCTION _x_jobs.deal_with(_x_jobs.tasks, _x_jobs.task_states, timestamptz, timestamptz, interval)
    IS 'Fires an occurrence, skips it or puts it in line';
COMMENT ON FUNCTION _x_jobs.task_turn(text)
    IS 'Deals with at most one occurrence of a task; answers whether another may be due';
COMMENT ON FUNCTION _x_jobs.due_tasks() IS 'The tasks that a round of the scheduler looks at, longest overdue first';
COMMENT ON FUNCTION _x_jobs.next_task_at() IS 'When a task is to be looked at next';
COMMENT ON FUNCTION _x_jobs.task_failed(text, text) IS 'Records that a turn of a task failed, and when it is tried again';
COMMENT ON FUNCTION _x_jobs.purge_task_log(integer)
    IS 'Removes rows of the task log that are too old or too many, at most the bound of each';
COMMENT ON FUNCTION _x_jobs.workers_of_server() IS 'The background workers, as shared memory has them';
COMMENT ON FUNCTION _x_jobs.background_workers() IS 'Behind the gate x_jobs.background_workers';
COMMENT ON FUNCTION _x_jobs.scheduler_health() IS 'What the state of the scheduler means for this database';
COMMENT ON FUNCTION _x_jobs.checked(text, boolean, text, text, text, text) IS 'One row of health';
COMMENT ON FUNCTION _x_jobs.health() IS 'Behind the gate x_jobs.health';
COMMENT ON FUNCTION _x_jobs.surface(text) IS 'The functions that a capability may execute';
COMMENT ON FUNCTION _x_jobs.require_owner() IS 'Refuses a caller who is not the extension''s owner';
COMMENT ON FUNCTION _x_jobs.preloaded() IS 'Whether the library was loaded at server start';
COMMENT ON FUNCTION _x_jobs.give(regrole, text, text[]) IS 'Grants a capability: EXECUTE, and the row in grants';
COMMENT ON FUNCTION _x_jobs.take(regrole, text, text[])
    IS 'Revokes a capability: the row in grants, and EXECUTE that no other capability needs';

-- Producing.

COMMENT ON FUNCTION x_jobs.enqueue(
    text, jsonb, text, text, timestamptz, interval, integer, integer, text, text, timestamptz, text[], boolean, text,
    text, uuid, uuid
) IS
$doc$Makes one job in the caller's transaction: it exists when the transaction commits, and vanishes with a rollback.

One live job per name, tenant and idempotency key: while a job of the key is ready, delayed, running or suspended, a
further call inserts nothing and answers that job's ids with deduped true. A finished job does not hold its key, nor
does one that has expired without ever being claimed: the call that meets it ends it (cancelled, reason expired) and
makes a new job. An id of the caller's own that names a job in any state inserts nothing either; it is looked at before
the key.

With on_conflict => 'replace' a waiting job gets the input, run_at and priority of the call, where an argument that is
left out counts as its default: without run_at and delay the job is due now, without priority its priority is 5, without
input its input is the JSON null; a suspended job is ready or delayed from then on. Nothing else of the call is applied:
queue, tags, max_attempts, expires_at, traceparent and enqueued_by stay as they were.

Arguments:
  name - which work to do, for the worker to dispatch on; 1 to 255 bytes; required
  input - what to work on; jsonb of at most x_jobs.max_input_size; NULL is the JSON null; default the JSON null
  idempotency_key - what makes the job the same job; 1 to 1024 bytes; required unless dedupe is false
  queue - where it waits; at most 255 bytes; NULL or empty is default; default NULL
  run_at - earliest start; a finite instant before the year 10000; excludes delay; default the transaction's start
  delay - time from the transaction's start to the earliest start; 0 to 36500 days; excludes run_at; default none
  priority - 0 to 9, 0 first; default 5
  max_attempts - attempts before the job stops; at least 1; default 3
  tenant_id - whose job it is, a namespace of its own for keys; at most 255 bytes; NULL or empty is none; default NULL
  on_conflict - what to do when a live job holds the key: dedupe answers that job, error refuses, replace gives a
    waiting job the input, run_at (or delay) and priority of this call, defaults included, and leaves a running one
    alone; default dedupe
  expires_at - from this instant a job that was never claimed is never handed out, and ends cancelled with reason
    expired; a finite instant; default never
  tags - labels to list jobs by; at most 32 texts of at most 255 bytes; default none
  dedupe - false for a job that may be enqueued any number of times: then idempotency_key must be NULL; default true
  traceparent - trace context, stored as given; at most 1024 bytes; default none
  enqueued_by - who asked for the job, stored as given; it grants nothing; at most 255 bytes; default none
  id - the job's id, made by the caller with x_jobs.new_id(); a version 7 uuid; default a new one
  run_id - the run's id, made by the caller; a version 7 uuid; default a new one

Result:
  One row (id, run_id, deduped): the ids of the new job with deduped false, or of the job that was there with true.

Errors:
  X_IDEMPOTENCY_REQUIRED (XJ002) - idempotency_key is NULL and dedupe is not false
  X_INVARIANT (XJ001) - an argument is out of its range, both run_at and delay are given, or a key with dedupe false
  X_ID_INVALID (XJ004) - id or run_id is not a version 7 uuid
  X_JOB_DUPLICATE (XJ003) - on_conflict is error and a live job holds the key; the detail names that job's id
  insufficient_privilege (42501) - the caller is no producer

Locking:
  Inserts rows; no table is locked against other writers. A committed live job of the key is answered without waiting,
  also while a transaction that works on it is open. The call waits only for a transaction that is inserting the same
  key or the same id, or is finishing the job that holds the key, at this moment; replace waits for whoever has changed
  the waiting job.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> t
  SELECT deduped FROM x_jobs.enqueue('clean_up', dedupe => false, delay => '1 hour', priority => 9);
  --> f
$doc$;

COMMENT ON FUNCTION x_jobs.enqueue_many(
    text, jsonb[], text[], text, timestamptz, interval, integer, integer, text, text, timestamptz, text[], boolean,
    text, text
) IS
$doc$Makes many jobs of one name in one call, by the rules of x_jobs.enqueue for each.

Two equal keys in one call are one job: the second is answered with the ids of the first and deduped true. Either all
inputs are taken or, on an error, none.

Arguments:
  name - name of every job; 1 to 255 bytes; required
  inputs - one input for each job; each at most x_jobs.max_input_size; required, may be empty
  idempotency_keys - one key for each input, by position; each 1 to 1024 bytes; NULL only with dedupe false
  queue - as in x_jobs.enqueue, for all; default NULL
  run_at - as in x_jobs.enqueue, for all; default the transaction's start
  delay - as in x_jobs.enqueue, for all; default none
  priority - as in x_jobs.enqueue, for all; 0 to 9, 0 first; default 5
  max_attempts - as in x_jobs.enqueue, for all; at least 1; default 3
  tenant_id - as in x_jobs.enqueue, for all; default NULL
  on_conflict - as in x_jobs.enqueue, for all: dedupe, error or replace; default dedupe
  expires_at - as in x_jobs.enqueue, for all; default never
  tags - as in x_jobs.enqueue, for all; default none
  dedupe - as in x_jobs.enqueue, for all; default true
  traceparent - as in x_jobs.enqueue, for all; default none
  enqueued_by - as in x_jobs.enqueue, for all; default none

Result:
  One row (ordinal, id, run_id, deduped) for each input, in the order of the inputs; ordinal counts from 1.

Errors:
  X_IDEMPOTENCY_REQUIRED (XJ002) - a key is NULL and dedupe is not false
  X_INVARIANT (XJ001) - an argument is out of its range, or the arrays differ in length
  X_JOB_DUPLICATE (XJ003) - on_conflict is error and a live job holds one of the keys
  insufficient_privilege (42501) - the caller is no producer

Locking:
  As x_jobs.enqueue. Keys are inserted in the order of tenant and key whatever the order of the inputs, so two calls
  with overlapping keys do not deadlock.

Example:
  SELECT ordinal, deduped
    FROM x_jobs.enqueue_many('send_mail', ARRAY['{"to": "ada"}', '{"to": "bob"}', '{"to": "bob"}']::jsonb[],
                             ARRAY['mail-ada', 'mail-bob', 'mail-bob']);
  --> 1 | f
  --> 2 | f
  --> 3 | t
$doc$;

COMMENT ON FUNCTION x_jobs.enqueue_many(x_jobs.new_job[]) IS
$doc$Makes a mix of jobs in one call, each with arguments of its own, by the rules of x_jobs.enqueue for each.

A field of x_jobs.new_job that is NULL takes the default of the argument of that name. Two equal keys in one call are
one job. Either all jobs are taken or, on an error, none.

Arguments:
  jobs - the jobs, each a row of type x_jobs.new_job with the ranges of x_jobs.enqueue; required, may be empty

Result:
  One row (ordinal, id, run_id, deduped) for each job, in the order of the array; ordinal counts from 1.

Errors:
  X_IDEMPOTENCY_REQUIRED (XJ002) - a job has no key and its dedupe is not false
  X_INVARIANT (XJ001) - a field is out of its range
  X_ID_INVALID (XJ004) - an id or run_id is not a version 7 uuid
  X_JOB_DUPLICATE (XJ003) - a job's on_conflict is error and a live job holds its key
  insufficient_privilege (42501) - the caller is no producer

Locking:
  As x_jobs.enqueue, with keys inserted in the order of tenant and key whatever the order of the array.

Example:
  SELECT ordinal, deduped
    FROM x_jobs.enqueue_many(ARRAY(
        SELECT jsonb_populate_record(NULL::x_jobs.new_job, job)
          FROM jsonb_array_elements('[
              {"name": "send_mail", "input": {"to": "ada"}, "idempotency_key": "mail-ada"},
              {"name": "resize", "input": {"photo": 7}, "idempotency_key": "photo-7", "queue": "images", "priority": 2}
          ]') AS job));
  --> 1 | f
  --> 2 | f
$doc$;

COMMENT ON FUNCTION x_jobs.new_id() IS
$doc$Makes a version 7 uuid, larger than every id that this session made before.

Arguments:
  none

Result:
  The uuid. Its first 48 bits are the wall clock in milliseconds.

Errors:
  insufficient_privilege (42501) - the caller is no producer

Locking:
  None.

Example:
  SELECT x_jobs.new_id() < x_jobs.new_id();
  --> t
$doc$;

-- Working.

COMMENT ON FUNCTION x_jobs.claim(text[], text, integer, interval, interval, text[], boolean) IS
$doc$Leases jobs that are due to a worker: the lowest by priority, run_at and id over all the queues named.

A claimed job is running; attempt and claim have grown by one, and the lease lasts until visible_at. The claim ordinal
is the token for everything that follows: a heartbeat, a progress report or a settle with another ordinal changes
nothing. A job whose lease has lapsed is handed out again, until its attempts are used up: then the claim itself
settles it, as dead, and does not return it. Jobs of paused queues, and jobs that another transaction has locked, are
passed over, so a call may answer fewer jobs than there are. The queue is read as it is now at every isolation level;
the claim takes no part in serializable conflict detection.

Arguments:
  queues - the queues to take from; at least one name; an empty name is default; required
  worker_id - who claims; 1 to 255 bytes, free text, best unique to the process; required
  max_jobs - at most so many jobs in total; 0 to 10000, 0 takes none; default 1
  visibility_timeout - length of the lease; 0 to 30 days, 0 lapses at once; default 30 seconds
  wait - how long to wait for work when there is none; 0 to 1 day, cut to x_jobs.max_claim_wait; default 0
  names - take only jobs of these names, stepping over every ready job of others; NULL is any; default NULL
  durable - false lets the claim's commit return before its WAL is on disk, if the transaction does nothing else: a
    crash may then forget the claim, and the job is handed out again under a new token; default true

Result:
  Rows of type x_jobs.claimed_job in the order of priority, run_at and id; none when nothing is due. Jobs that the call
  buried take up places of max_jobs and are not among the rows; up to 100 jobs that had expired are ended besides.

Errors:
  X_JOB_CLAIM_QUEUES_EMPTY (XJ101) - queues is an empty array
  X_INVARIANT (XJ001) - an argument is NULL where it may not be, or out of its range
  insufficient_privilege (42501) - the caller is no worker, or not for one of the queues named: the message says which

Locking:
  Locks the rows that it takes until the transaction ends; never waits for a row lock. While it waits for work it holds
  its snapshot, which keeps vacuum back: prefer CALL x_jobs.wait(...) for long waits.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT name, input, attempt, final_attempt, claim
    FROM x_jobs.claim(ARRAY['default'], 'worker-1', max_jobs => 10, visibility_timeout => '1 min');
  --> send_mail | {"to": "ada@example.org"} | 1 | f | 1
$doc$;

COMMENT ON FUNCTION x_jobs.heartbeat(uuid, text, bigint, interval) IS
$doc$Renews a lease: the job stays with this claim until now plus the visibility timeout.

It lands also when the lease has lapsed but nobody has claimed the job again. False means that the claim no longer
holds the job (it was settled, cancelled, buried, removed or claimed again): the worker must stop working on it.

Arguments:
  id - the job's id; required
  worker_id - the worker id that claimed; required
  claim - the ordinal that the claim gave; required
  visibility_timeout - new length of the lease from now; 0 to 30 days; default 30 seconds

Result:
  True when the renewal landed.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL or out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  Locks the job's row until the transaction ends; waits for a transaction that has changed the same row and has not
  ended. Commit at once: the new lease is seen by others only then.

Example:
  SELECT deduped FROM x_jobs.enqueue('import', idempotency_key => 'import-1');
  --> f
  SELECT claim FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1
  SELECT x_jobs.heartbeat(id, 'worker-1', 1, '1 min') FROM x_jobs.all_jobs WHERE idempotency_key = 'import-1';
  --> t
  SELECT x_jobs.heartbeat(id, 'worker-2', 1, '1 min') FROM x_jobs.all_jobs WHERE idempotency_key = 'import-1';
  --> f
$doc$;

COMMENT ON FUNCTION x_jobs.heartbeat_many(uuid[], text, bigint[], interval) IS
$doc$Renews many leases of one worker in one call, by the rules of x_jobs.heartbeat for each.

Arguments:
  ids - the jobs' ids; required, may be empty
  worker_id - the worker id that claimed; required
  claims - the ordinals that the claims gave, by position; as many as ids; required
  visibility_timeout - new length of the leases from now; 0 to 30 days; default 30 seconds

Result:
  One row (id, held) for each id, in the order given; held false means that the worker must stop working on that job.

Errors:
  X_INVARIANT (XJ001) - an argument or an element is NULL or out of its range, or the arrays differ in length
  insufficient_privilege (42501) - the caller is no worker

Locking:
  As x_jobs.heartbeat, row by row in the order of ids, so two batches do not deadlock.

Example:
  SELECT ordinal, deduped
    FROM x_jobs.enqueue_many('resize', ARRAY['1', '2']::jsonb[], ARRAY['photo-1', 'photo-2']);
  --> 1 | f
  --> 2 | f
  SELECT input, claim FROM x_jobs.claim(ARRAY['default'], 'worker-1', max_jobs => 2);
  --> 1 | 1
  --> 2 | 1
  SELECT held
    FROM x_jobs.heartbeat_many(ARRAY(SELECT id FROM x_jobs.all_jobs ORDER BY id), 'worker-1', ARRAY[1, 1], '1 min');
  --> t
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.guard(uuid, text, bigint) IS
$doc$Ties the caller's transaction to a claim: it can commit only if the claim still holds the job at that moment.

Call it at the start of a transaction that writes the effects of a job to tables of this database. A claim that has
lost its job already is refused at once. At commit, or at PREPARE TRANSACTION, the job's row is locked and checked once
more: if the job was settled, cancelled or claimed again by then, the commit fails and nothing of the transaction stays.
A lease that lapsed but was not claimed again still holds, and so does a claim that the same transaction settles. A
transaction that wrote nothing is not checked at its end. A guard set after a savepoint goes when that savepoint is
rolled back.

Arguments:
  id - the job's id; required
  worker_id - the worker id that claimed; required
  claim - the ordinal that the claim gave; required

Result:
  Nothing.

Errors:
  X_JOB_LEASE_LOST (XJ102) - the claim does not hold the job, now or at commit
  X_INVARIANT (XJ001) - an argument is NULL or out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  None until commit; then locks the job's row (FOR NO KEY UPDATE) until the transaction has ended, waits for a
  transaction that has changed the row and has not ended, and heeds lock_timeout.

Example:
  CREATE TABLE public.payments (order_id integer PRIMARY KEY);
  SELECT deduped FROM x_jobs.enqueue('take_payment', '{"order": 7}', 'order-7');
  --> f
  SELECT claim FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1
  BEGIN;
  SELECT x_jobs.guard(id, 'worker-1', 1) FROM x_jobs.all_jobs WHERE idempotency_key = 'order-7';
  INSERT INTO public.payments VALUES (7);
  SELECT x_jobs.ack(id, 'worker-1', 1) FROM x_jobs.all_jobs WHERE idempotency_key = 'order-7';
  --> t
  COMMIT;
  SELECT state FROM x_jobs.all_jobs WHERE idempotency_key = 'order-7';
  --> done
$doc$;

COMMENT ON FUNCTION x_jobs.progress(uuid, text, bigint, numeric, numeric, text) IS
$doc$Reports how far a job has come; the latest report stays on the job, also after it has finished.

Arguments:
  id - the job's id; required
  worker_id - the worker id that claimed; required
  claim - the ordinal that the claim gave; required
  done - how much is done, in a unit of the worker's own; required
  total - how much there is, in the same unit; required
  note - a few words; cut to 200 characters; default none

Result:
  True when the claim still holds the job. The job's progress is then an object with done, total, note if given, and at.
  A report with a number that is not finite is dropped, since a report must never fail a job; the answer is the same.

Errors:
  X_INVARIANT (XJ001) - an argument other than note is NULL, or worker_id is out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  Locks the job's row until the transaction ends; waits for a transaction that has changed the same row and has not
  ended.

Example:
  SELECT deduped FROM x_jobs.enqueue('import', idempotency_key => 'import-1');
  --> f
  SELECT claim FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1
  SELECT x_jobs.progress(id, 'worker-1', 1, 30, 100, 'thirty of a hundred files')
    FROM x_jobs.all_jobs WHERE idempotency_key = 'import-1';
  --> t
  SELECT progress ->> 'done', progress ->> 'total' FROM x_jobs.all_jobs WHERE idempotency_key = 'import-1';
  --> 30 | 100
$doc$;

COMMENT ON PROCEDURE x_jobs.wait(text[], interval) IS
$doc$Returns when one of the queues may have work, or when the timeout has passed, holding no snapshot meanwhile.

It commits first and then looks and sleeps, so a waiting worker does not keep vacuum back. That needs a connection in
autocommit: many drivers begin a transaction by themselves (psycopg does unless autocommit is on), and are refused.
With the library preloaded a commit that makes work wakes it at once; without, it looks every x_jobs.poll_interval. It
takes nothing: call x_jobs.claim next, and expect that another worker may have been quicker.

Arguments:
  queues - the queues to wait for; at least one name; an empty name is default; required
  timeout - how long to wait at most; 0 to 1 day; default 5 seconds

Result:
  Nothing.

Errors:
  X_WAIT_IN_TRANSACTION (XJ103) - called inside a transaction block or a function
  X_JOB_CLAIM_QUEUES_EMPTY (XJ101) - queues is an empty array
  X_INVARIANT (XJ001) - an argument is NULL or out of its range
  insufficient_privilege (42501) - the caller is no worker, or not for one of the queues named: the message says which

Locking:
  None while it waits.

Example:
  CALL x_jobs.wait(ARRAY['default'], '100 ms');
$doc$;

-- Settling.

COMMENT ON FUNCTION x_jobs.ack(uuid, text, bigint, jsonb, interval) IS
$doc$Ends a claim as done: the job leaves the queue for the history.

Arguments:
  id - the job's id; required
  worker_id - the worker id that claimed; required
  claim - the ordinal that the claim gave; required
  result - what the work gave, kept with the finished job; jsonb of at most x_jobs.max_input_size; default none
  duration - how long the attempt took, for the counters; 0 to 36500 days; NULL counts as 0; default NULL

Result:
  True when it landed. False when the claim no longer holds the job (it was settled, cancelled, buried, removed or
  claimed again): nothing was changed.

Errors:
  X_INVARIANT (XJ001) - id, worker_id or claim is NULL, or an argument is out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  Moves the job's row from the queue to a leaf of the history and writes a tally row; waits for a transaction that has
  changed the same row and has not ended. The leaf and the tally stay locked against maintenance, not against other
  writers, until the transaction ends.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT claim FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1
  SELECT x_jobs.ack(id, 'worker-1', 1, '{"sent": true}', '120 ms')
    FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> t
  SELECT state, result FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> done | {"sent": true}
$doc$;

COMMENT ON FUNCTION x_jobs.nack(
    uuid, text, bigint, interval, text, text, boolean, boolean, boolean, boolean, interval
) IS
$doc$Hands a job back as the caller says: the low-level verb beneath x_jobs.fail and x_jobs.release.

The job becomes dead when dead_letter is set, else failed when fail is set, else suspended when park is set, else
ready. It is due again at now plus the delay. It does not look at max_attempts: x_jobs.fail does, and the next claim.

Arguments:
  id - the job's id; required
  worker_id - the worker id that claimed; required
  claim - the ordinal that the claim gave; required
  delay - time until the job is due again; 0 to 36500 days; default 0
  error - why; replaces the last error and its stack; cut to 64 KiB; NULL keeps both; default none
  stack - stack of the error; cut to 8000 characters; ignored without error; default none
  counts_as_attempt - false gives the attempt back; default true
  park - true suspends the job until it is due; default false
  dead_letter - true ends the job as dead, for an operator to look at; default false
  fail - true ends the job as failed; default false
  duration - how long the attempt took, for the counters; 0 to 36500 days; NULL counts as 0; default NULL

Result:
  True when it landed. False when the claim no longer holds the job: nothing was changed.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL where it may not be, or out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  As x_jobs.ack when the job ends; else changes the job's row alone.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT claim FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1
  SELECT x_jobs.nack(id, 'worker-1', 1, delay => '10 s', error => 'mail server is busy')
    FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> t
  SELECT state, attempt, last_error FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> ready | 1 | mail server is busy
$doc$;

COMMENT ON FUNCTION x_jobs.fail(uuid, text, bigint, text, text, text, interval, interval) IS
$doc$Says that an attempt failed, and lets the job's policy decide: retry after a growing delay, or dead letter.

After failed attempt n of the current run the job is due again after 1 s x 2^(n - 1), at most 1 hour, of which the
second half is random. When attempt has reached max_attempts the job becomes dead.

Arguments:
  id - the job's id; required
  worker_id - the worker id that claimed; required
  claim - the ordinal that the claim gave; required
  error - what went wrong; replaces the last error and its stack; cut to 64 KiB; required
  code - a code for the error, kept with it; at most 255 bytes; default none
  stack - stack of the error; cut to 8000 characters; default none
  retry_after - wait that the other side asked for: replaces the delay, cut to 1 hour, and up to half of it is added at
    random; 0 to 36500 days; default none
  duration - how long the attempt took, for the counters; 0 to 36500 days; NULL counts as 0; default NULL

Result:
  One row (landed, outcome, retry_at, stop_reason): landed false when the claim no longer holds the job; outcome retried
  with retry_at, or dead-lettered with stop_reason attempts-exhausted.

Errors:
  X_INVARIANT (XJ001) - id, worker_id, claim or error is NULL, or an argument is out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  As x_jobs.nack.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1', max_attempts => 1);
  --> f
  SELECT claim, final_attempt FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1 | t
  SELECT f.landed, f.outcome, f.stop_reason
    FROM x_jobs.all_jobs AS j, x_jobs.fail(j.id, 'worker-1', 1, 'no such mailbox', code => '550') AS f
   WHERE j.idempotency_key = 'mail-1';
  --> t | dead-lettered | attempts-exhausted
$doc$;

COMMENT ON FUNCTION x_jobs.release(uuid, text, bigint, interval, text) IS
$doc$Hands a job back without counting the attempt: for a worker that shuts down, or that cannot take the job now.

Arguments:
  id - the job's id; required
  worker_id - the worker id that claimed; required
  claim - the ordinal that the claim gave; required
  delay - time until the job is due again; 0 to 36500 days; default 0
  error - why; replaces the last error and its stack; cut to 64 KiB; NULL keeps both; default none

Result:
  True when it landed. False when the claim no longer holds the job: nothing was changed.

Errors:
  X_INVARIANT (XJ001) - id, worker_id, claim or delay is NULL, or an argument is out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  Changes the job's row alone; waits for a transaction that has changed the same row and has not ended.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT claim, attempt FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1 | 1
  SELECT x_jobs.release(id, 'worker-1', 1) FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> t
  SELECT state, attempt, claim FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> ready | 0 | 1
$doc$;

COMMENT ON FUNCTION x_jobs.settle(x_jobs.settlement[], text) IS
$doc$Settles many claims of one worker in one call, each by its own verb and fenced on its own claim.

The verbs are ack, nack, release, fail and dead_letter; each takes the fields of x_jobs.settlement that are its
arguments. A settlement that does not land leaves the others alone.

Arguments:
  settlements - the settlements; id, claim and verb of each are required; may be empty; required
  worker_id - the worker id that claimed; required

Result:
  One row (ordinal, id, landed, outcome) for each settlement, in the order given; outcome is completed, retried,
  interrupted (release) or dead-lettered, and NULL for one that did not land.

Errors:
  X_INVARIANT (XJ001) - a verb is unknown, a field is NULL where it may not be, or a value is out of its range; then
    nothing at all is settled
  insufficient_privilege (42501) - the caller is no worker

Locking:
  As the single verbs, row by row in the order of ids, so two batches do not deadlock.

Example:
  SELECT ordinal, deduped
    FROM x_jobs.enqueue_many('resize', ARRAY['1', '2']::jsonb[], ARRAY['photo-1', 'photo-2']);
  --> 1 | f
  --> 2 | f
  SELECT input, claim FROM x_jobs.claim(ARRAY['default'], 'worker-1', max_jobs => 2);
  --> 1 | 1
  --> 2 | 1
  SELECT ordinal, landed, outcome
    FROM x_jobs.settle(ARRAY(
        SELECT jsonb_populate_record(NULL::x_jobs.settlement, jsonb_build_object(
                   'id', id, 'claim', claim, 'verb', CASE input WHEN '1' THEN 'ack' ELSE 'release' END))
          FROM x_jobs.all_jobs ORDER BY id), 'worker-1');
  --> 1 | t | completed
  --> 2 | t | interrupted
$doc$;

COMMENT ON FUNCTION x_jobs.exchange(x_jobs.settlement[], text[], text, integer, interval, interval, text[], boolean) IS
$doc$Settles the last jobs and claims the next in one transaction: one commit and one round trip for each batch.

Arguments:
  settlements - as in x_jobs.settle; may be empty; required
  queues - as in x_jobs.claim; at least one name; required
  worker_id - who settles and claims; 1 to 255 bytes; required
  max_jobs - at most so many jobs; 0 to 10000; default 1
  visibility_timeout - length of the new leases; 0 to 30 days; default 30 seconds
  wait - how long to wait for work when there is none; 0 to 1 day, cut to x_jobs.max_claim_wait; a call with a
    settlement that landed does not wait, so that its commit does not; default 0
  names - take only jobs of these names, stepping over every ready job of others; NULL is any; default NULL
  durable - as in x_jobs.claim; a transaction that settles always commits durably; default true

Result:
  First a row with status lost for each settlement that did not land, with its id and all else NULL; then a row with
  status claimed for each job, with the columns of x_jobs.claimed_job.

Errors:
  X_JOB_CLAIM_QUEUES_EMPTY (XJ101) - queues is an empty array
  X_INVARIANT (XJ001) - as in x_jobs.settle and x_jobs.claim; nothing is settled or claimed then
  insufficient_privilege (42501) - the caller is no worker, or not for one of the queues named: the message says which

Locking:
  As x_jobs.settle, then as x_jobs.claim.

Example:
  SELECT ordinal, deduped
    FROM x_jobs.enqueue_many('resize', ARRAY['1', '2']::jsonb[], ARRAY['photo-1', 'photo-2']);
  --> 1 | f
  --> 2 | f
  SELECT status, input, claim FROM x_jobs.exchange('{}', ARRAY['default'], 'worker-1');
  --> claimed | 1 | 1
  SELECT status, input, claim
    FROM x_jobs.exchange(ARRAY(
        SELECT jsonb_populate_record(NULL::x_jobs.settlement, jsonb_build_object(
                   'id', id, 'claim', claim, 'verb', 'ack'))
          FROM x_jobs.all_jobs WHERE worker_id = 'worker-1'), ARRAY['default'], 'worker-1');
  --> claimed | 2 | 1
$doc$;

-- Operating: changing.

COMMENT ON FUNCTION x_jobs.cancel(uuid, text) IS
$doc$Ends a live job as cancelled: nobody is handed it any more, and its key is free.

A worker that runs the job learns it from its next heartbeat, which answers false; its settle changes nothing.

Arguments:
  id - the job's id; required
  reason - why; kept as the job's reason and as its last error; NULL keeps the last error; default NULL

Result:
  The job as it is now; NULL for an unknown id.

Errors:
  X_JOB_NOT_CANCELLABLE (XJ006) - the job is finished; the detail names its state
  X_INVARIANT (XJ001) - an argument is NULL where it may not be, or out of its range
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Moves the job's row to the history; waits for a transaction that has changed the same row and has not ended.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT (x_jobs.cancel(id, 'order was withdrawn')).state FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> cancelled
$doc$;

COMMENT ON FUNCTION x_jobs.requeue(uuid) IS
$doc$Makes a finished job ready again, as the same job: ids, input, errors, progress and claim ordinal stay.

State is ready, attempt 0, run_at now; expires_at is cleared. Jobs in all four finished states can be requeued.

Arguments:
  id - the job's id; required

Result:
  The job as it is now.

Errors:
  X_JOB_NOT_FOUND (XJ005) - no job has this id
  X_JOB_NOT_REQUEUEABLE (XJ007) - the job is live; the detail names its state
  X_JOB_DUPLICATE (XJ003) - a live job holds the key; the detail names that job's id
  X_INVARIANT (XJ001) - id is NULL
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Moves the job's row back from the history; waits for a transaction that has changed the same row, or is inserting the
  same key, and has not ended.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT (x_jobs.cancel(id)).state FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> cancelled
  SELECT (x_jobs.requeue(id)).state FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> ready
$doc$;

COMMENT ON FUNCTION x_jobs.remove(uuid) IS
$doc$Deletes a job that is not running, live or finished, with all that was recorded of it.

Arguments:
  id - the job's id; required

Result:
  The job as it was; NULL for an unknown id.

Errors:
  X_JOB_NOT_REMOVABLE (XJ008) - the job is running, also when it was claimed at this very moment
  X_INVARIANT (XJ001) - id is NULL
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Deletes the job's row; waits for a transaction that has changed the same row and has not ended.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT (x_jobs.remove(id)).name FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> send_mail
  SELECT count(*) FROM x_jobs.all_jobs;
  --> 0
$doc$;

COMMENT ON FUNCTION x_jobs.promote(uuid) IS
$doc$Makes a job that waits for a later time due now.

It applies to a ready or delayed job whose run_at lies in the future, a retry that backs off included; a suspended job
is left alone.

Arguments:
  id - the job's id; required

Result:
  The job as it is now: ready, with run_at now.

Errors:
  X_JOB_NOT_PROMOTABLE (XJ009) - the job is due already, suspended, running, finished or missing; the detail says which
  X_INVARIANT (XJ001) - id is NULL
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Changes the job's row; waits for a transaction that has changed the same row and has not ended.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1', delay => '1 hour');
  --> f
  SELECT (x_jobs.promote(id)).state FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> ready
$doc$;

COMMENT ON FUNCTION x_jobs.pause_queue(text, text) IS
$doc$Pauses a queue: from the next claim on no job of it is handed out or buried, by any worker.

Enqueuing goes on, running jobs go on, and heartbeats and settles land. Pausing a paused queue changes nothing: the
first pause's instant, reason and role stay. A queue that was never used can be paused too.

Arguments:
  queue - the queue; 1 to 255 bytes; required
  reason - why, for other operators; default none

Result:
  When the queue was paused.

Errors:
  X_INVARIANT (XJ001) - queue is NULL, empty or too long
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Changes the queue's row in _x_jobs.queues; no job is touched.

Example:
  SELECT x_jobs.pause_queue('default', 'the mail server is down') IS NOT NULL;
  --> t
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT count(*) FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 0
$doc$;

COMMENT ON FUNCTION x_jobs.resume_queue(text) IS
$doc$Ends a pause and announces the queue to waiting workers.

Arguments:
  queue - the queue; 1 to 255 bytes; required

Result:
  True when the queue was paused, false when it was not.

Errors:
  X_INVARIANT (XJ001) - queue is NULL, empty or too long
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Changes the queue's row in _x_jobs.queues; no job is touched.

Example:
  SELECT x_jobs.pause_queue('default') IS NOT NULL;
  --> t
  SELECT x_jobs.resume_queue('default');
  --> t
  SELECT x_jobs.resume_queue('default');
  --> f
$doc$;

-- Operating: reading.

COMMENT ON FUNCTION x_jobs.job(uuid) IS
$doc$Reads one job, live or finished, with its payloads.

Arguments:
  id - the job's id

Result:
  The job; NULL for an unknown id.

Errors:
  X_JOB_ROW_STATUS_UNKNOWN (XJ011) - the stored row has a state that this build does not know
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT one.state, one.input
    FROM x_jobs.all_jobs AS j, x_jobs.job(j.id) AS one WHERE j.idempotency_key = 'mail-1';
  --> ready | {"to": "ada@example.org"}
$doc$;

COMMENT ON FUNCTION x_jobs.jobs(text, text, text, text, text, text, timestamptz, timestamptz, uuid, uuid, integer) IS
$doc$Lists jobs, live and finished, newest first by id, a page at a time.

All filters must match. A list never reads what may be large: input, result and last_error_stack are NULL in it. To
walk, pass the last id of a page as after; jobs made meanwhile are not visited, and each job is visited once. A row
whose state this build does not know is left out, with a warning.

Arguments:
  queue - jobs of this queue; default any
  name - jobs of this name; default any
  state - jobs in this state; one of the eight; default any
  tenant_id - jobs of this tenant; default any, also none
  id_prefix - jobs whose id begins with this text; % and _ have no special meaning; default any
  tag - jobs with this tag; default any
  created_from - jobs enqueued at this instant or later; default any
  created_to - jobs enqueued before this instant; default any
  after - jobs older than this id, by id: the next page; it need not name a job; default the newest
  before - the nearest jobs newer than this id: the previous page; excludes after; default none
  max - size of the page; 0 to 200; default 100

Result:
  Rows of type x_jobs.job, newest first.

Errors:
  X_JOB_PAGE_INVALID (XJ010) - max is over 200
  X_INVARIANT (XJ001) - max is NULL or negative, both after and before are given, or state is not a state
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1', tags => ARRAY['welcome']);
  --> f
  SELECT deduped FROM x_jobs.enqueue('resize', '{"photo": 7}', 'photo-7');
  --> f
  SELECT name, state, tags FROM x_jobs.jobs(queue => 'default', max => 10);
  --> resize | ready |
  --> send_mail | ready | {welcome}
  SELECT name FROM x_jobs.jobs(tag => 'welcome');
  --> send_mail
$doc$;

COMMENT ON FUNCTION x_jobs.dead_letters(integer, text) IS
$doc$Lists jobs in state dead, the newest updated first, without payloads.

Dead letters stay until somebody removes or requeues them.

Arguments:
  max - at most so many; a count; default 100
  reason - only those of this reason: lease-lapsed, attempts-exhausted or dead-letter; default any

Result:
  Rows of type x_jobs.job with input, result and last_error_stack NULL.

Errors:
  X_INVARIANT (XJ001) - max is NULL or negative
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT claim FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1
  SELECT x_jobs.nack(id, 'worker-1', 1, error => 'no such mailbox', dead_letter => true)
    FROM x_jobs.all_jobs WHERE idempotency_key = 'mail-1';
  --> t
  SELECT name, reason, last_error FROM x_jobs.dead_letters();
  --> send_mail | dead-letter | no such mailbox
$doc$;

COMMENT ON FUNCTION x_jobs.stats() IS
$doc$Counts the jobs of each queue, and says how long the oldest has been due.

A queue is listed when it has any job, finished ones included. Done and cancelled jobs are in no count.

Arguments:
  none

Result:
  A row of type x_jobs.queue_stats for each queue, in the order of code units of the name.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only; it reads all live jobs, so its cost grows with the backlog.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "bob@example.org"}', 'mail-2', delay => '1 day');
  --> f
  SELECT queue, ready, delayed, running, suspended, failed, dead FROM x_jobs.stats();
  --> default | 1 | 1 | 0 | 0 | 0 | 0
$doc$;

COMMENT ON FUNCTION x_jobs.attempts(uuid) IS
$doc$Lists the attempts of a job that failed or lapsed: counted hand-backs, failures, lapses of the lease and burials.

A lapse with attempts left is recorded by the claim that takes the job again, not before: outcome lapsed, error the
lease lapsed, and the worker_id and ordinal of the claim that lapsed. A lapse on the final attempt is a burial, with
outcome dead.

Arguments:
  id - the job's id

Result:
  Rows of type x_jobs.attempt in the order of claims; none for an unknown id.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT deduped FROM x_jobs.enqueue('send_mail', '{"to": "ada@example.org"}', 'mail-1');
  --> f
  SELECT claim FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> 1
  SELECT f.outcome
    FROM x_jobs.all_jobs AS j, x_jobs.fail(j.id, 'worker-1', 1, 'mail server is busy', code => '421') AS f
   WHERE j.idempotency_key = 'mail-1';
  --> retried
  SELECT a.attempt, a.worker_id, a.outcome, a.error, a.error_code
    FROM x_jobs.all_jobs AS j, x_jobs.attempts(j.id) AS a WHERE j.idempotency_key = 'mail-1';
  --> 1 | worker-1 | retried | mail server is busy | 421
$doc$;

COMMENT ON FUNCTION x_jobs.paused() IS
$doc$Lists the queues that are paused.

Arguments:
  none

Result:
  A row of type x_jobs.paused_queue for each, in the order of code units of the name.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT x_jobs.pause_queue('mail', 'the mail server is down') IS NOT NULL;
  --> t
  SELECT queue, reason FROM x_jobs.paused();
  --> mail | the mail server is down
$doc$;

COMMENT ON FUNCTION x_jobs.counters(text, timestamptz) IS
$doc$Lists how many attempts ended, by job name and time; exact at every moment.

What is counted are committed settles and burials of lapsed jobs, also those of the present minute, whatever has become
of the jobs since. A bucket is one minute wide for 24 hours, then part of one of five minutes for 7 days, then of one of
an hour for 30 days, then dropped; x_jobs.maintain() does that, so without it buckets stay as narrow as they are. A
bucket may hold what ended before since, if it was widened, but never begins before it.

Arguments:
  name - name of the job; default NULL is every job
  since - earliest start of a bucket; default NULL is no bound

Result:
  A row of type x_jobs.counter for each bucket, by name in the order of code units, then oldest first, then narrower
  first. A minute in which nothing ended has no row.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Takes ACCESS SHARE on the tallies until the transaction ends, and waits for a roll-up that is under way; while the
  transaction is open maintain() leaves the tallies alone, so end it soon. Reads what is committed at the moment of the
  call, not what the transaction's snapshot shows, at every isolation level, and takes part in no serializable conflict
  detection.

Example:
  SELECT x_jobs.enqueue('send_mail', '1', 'mail-1') IS NOT NULL;
  --> t
  SELECT x_jobs.ack(id, 'worker-1', claim, duration => '421 ms') FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> t
  SELECT width, done, failed, dead, retried, duration FROM x_jobs.counters('send_mail', since => now() - interval '1 day');
  --> 00:01:00 | 1 | 0 | 0 | 0 | 00:00:00.421
$doc$;

COMMENT ON FUNCTION x_jobs.counter_totals(timestamptz) IS
$doc$Sums x_jobs.counters() up: how many attempts of each job ended.

Arguments:
  since - earliest start of a bucket that is summed; default NULL is every bucket that is kept, about 30 days

Result:
  A row of type x_jobs.counter_total for each job name, in the order of code units; none for a job without a bucket.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  As x_jobs.counters().

Example:
  SELECT x_jobs.enqueue('send_mail', '1', 'mail-1') IS NOT NULL;
  --> t
  SELECT x_jobs.ack(id, 'worker-1', claim, duration => '421 ms') FROM x_jobs.claim(ARRAY['default'], 'worker-1');
  --> t
  SELECT * FROM x_jobs.counter_totals();
  --> send_mail | 1 | 0 | 0 | 0 | 00:00:00.421
$doc$;

COMMENT ON FUNCTION x_jobs.workers() IS
$doc$Lists the workers that have announced themselves and whose announcement still holds.

Arguments:
  none

Result:
  A row of type x_jobs.worker for each, the longest announced first, then in the order of code units of the id.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only; an announcement that no longer holds is removed by x_jobs.maintain().

Example:
  SELECT x_jobs.worker_announce('worker-1', 'host-a', ARRAY['default'], 4);
  SELECT worker_id, host, queues, slots FROM x_jobs.workers();
  --> worker-1 | host-a | {default} | 4
$doc$;

COMMENT ON FUNCTION x_jobs.leader_acquire(text, text, interval) IS
$doc$Makes a process the leader for a time, or renews that; for schedulers outside of the server, of which one should act.

It wins if nobody holds the key, if the holder itself asks again, or if the lease of another has ended. Call it every third
of ttl, and act as leader only after an answer of true and for less than ttl from the call on. The lease saves work, it fences
nothing: a leader that sleeps past the end of its lease does not know, so what is done must be safe to do twice.

Arguments:
  key - what is led; 1 to 255 bytes; default scheduler
  holder - who asks, different for each process; 1 to 255 bytes; required
  ttl - how long the lease holds; 0 to 1 day; 0 ends at once; default 30 seconds

Result:
  True if the caller leads now. While the same holder renews in time, acquired_at stays.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL, or out of its range
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Changes the key's row in _x_jobs.leaders, and waits for another who is doing so. Call it in a transaction of its own, at
  READ COMMITTED: at a higher level the server refuses to change a row that somebody else has changed since the
  transaction's snapshot.

Example:
  SELECT x_jobs.leader_acquire('reports', 'host-a 4711');
  --> t
  SELECT x_jobs.leader_acquire('reports', 'host-b 4712');
  --> f
  SELECT x_jobs.leader_release('reports', 'host-a 4711');
  --> t
  SELECT x_jobs.leader_acquire('reports', 'host-b 4712');
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.leader_release(text, text) IS
$doc$Gives the lease back at once: for a leader that shuts down.

Arguments:
  key - what is led; 1 to 255 bytes; required
  holder - who led; 1 to 255 bytes; required

Result:
  True if the lease was the holder's, ended or not; otherwise false, and nothing is changed.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL, or out of its range
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Deletes the key's row in _x_jobs.leaders, and waits for another who is changing it.

Example:
  SELECT x_jobs.leader_acquire(holder => 'host-a 4711');
  --> t
  SELECT x_jobs.leader_release('scheduler', 'host-b 4712');
  --> f
  SELECT x_jobs.leader_release('scheduler', 'host-a 4711');
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.leader(text) IS
$doc$Answers who leads.

Arguments:
  key - what is led; 1 to 255 bytes; default scheduler

Result:
  A row of type x_jobs.leadership; NULL if nobody leads, or the lease has ended.

Errors:
  X_INVARIANT (XJ001) - key is NULL, or out of its range
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT x_jobs.leader_acquire(holder => 'host-a 4711', ttl => '1 min');
  --> t
  SELECT key, holder, expires_at - renewed_at FROM x_jobs.leader();
  --> scheduler | host-a 4711 | 00:01:00
  SELECT x_jobs.leader('reports') IS NULL;
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.worker_announce(text, text, text[], integer, uuid[], interval) IS
$doc$Tells the registry that a worker is alive and what it holds; for people, no claim depends on it.

The first announcement's instant is kept as the worker's start. A worker that does not announce itself again within
ttl is listed no more, and is forgotten by x_jobs.maintain(). Choose the visibility timeout of its claims as ttl, and
announce as often as the claims are renewed. An announcement that fails is no reason to stop working. x_jobs.workers()
lists the registry.

Arguments:
  worker_id - the worker; 1 to 255 bytes; required
  host - where it runs; default none
  queues - the queues that it serves; no element may be NULL; default none
  slots - how many jobs it works on at a time; a count; default 1
  in_flight - the jobs that it holds; the first 100 different ones are kept, in their order; default none
  ttl - how long the announcement holds; 0 to 30 days; default 30 seconds

Result:
  Nothing.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL where it may not be, or out of its range
  insufficient_privilege (42501) - the caller is no worker

Locking:
  Changes the worker's row in _x_jobs.workers.

Example:
  SELECT x_jobs.worker_announce('worker-1', 'host-a', ARRAY['default'], 4);
  SELECT count(*) FROM _x_jobs.workers;
  --> 1
$doc$;

COMMENT ON FUNCTION x_jobs.worker_forget(text) IS
$doc$Takes a worker out of the registry at once: for a worker that shuts down.

Arguments:
  worker_id - the worker; an unknown one is no error

Result:
  Nothing.

Errors:
  insufficient_privilege (42501) - the caller is no worker

Locking:
  Deletes the worker's row in _x_jobs.workers.

Example:
  SELECT x_jobs.worker_announce('worker-1', 'host-a', ARRAY['default'], 4);
  SELECT x_jobs.worker_forget('worker-1');
  SELECT count(*) FROM _x_jobs.workers;
  --> 0
$doc$;

COMMENT ON FUNCTION x_jobs.version() IS
$doc$Answers the version of the library.

Arguments:
  none

Result:
  The version as text; SELECT extversion FROM pg_extension WHERE extname = 'x_jobs' gives that of the installed tables
  and functions.

Errors:
  insufficient_privilege (42501) - the caller has been granted nothing

Locking:
  None.

Example:
  SELECT x_jobs.version() = extversion FROM pg_extension WHERE extname = 'x_jobs';
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.maintain() IS
$doc$Does what must happen from time to time: call it once a minute, from any scheduler that runs SQL.

It lays out and advances the history ring, which purges finished jobs past their retention, rolls up the tallies, widens
the buckets of the counters as they age and drops the oldest, ends waiting jobs that have expired, purges records of
attempts, and forgets workers that have gone. Each task is tried and none waits: a lock that is not free at once is left
for the next call. Calling it more often, or from two sessions, does no harm. What it does not get to do costs space,
never correctness.

Arguments:
  none

Result:
  A row (task, affected) for each task.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Takes ACCESS EXCLUSIVE on a leaf of the history that is due, and on the tally that has rested longest, only if the
  lock is free at once, until the transaction ends: run it in a transaction of its own, at READ COMMITTED. At a higher
  level it leaves the ring and the tallies alone.

Example:
  SELECT task FROM x_jobs.maintain();
  --> lay_out_ring
  --> advance_ring
  --> roll_up
  --> roll_up_tiers
  --> purge_kept
  --> purge_attempts
  --> expire_waiting
  --> bury_lapsed
  --> purge_task_log
  --> forget_lapsed_workers
  --> forget_dropped_roles
$doc$;

-- Recurring work.

COMMENT ON FUNCTION x_jobs.cron_next(text, text, timestamptz, integer, text) IS
$doc$Answers the next occurrences of a schedule: what a task of this schedule would do, without making one.

A schedule has five fields (minute, hour, day of the month, month, weekday) or six, with the second first. A field is *
or ?, a value, a range a-b, a list of these, each with a step /s if wanted; a/s goes from a to the end of the field.
Ranges may go through the end: hours 22-2, months nov-feb. Months and weekdays may be named by three letters or more;
weekday 0 and 7 are Sunday. A day of the month may be L (the last), LW (the last working day, Monday to Friday) or nW
(the working day nearest to day n, within its month); a weekday may be n#k (the k-th of the month) or nL (the last of
the month). Macros are @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly. @every, followed by an
interval such as 90 s, counts whole periods from when the task is made, here from after, and knows no clock. Upper and
lower case are the same.

If both day of the month and weekday are restricted, day_rule says whether either may match (or) or both must (and). A
star with a step restricts.

Where clocks change: a schedule whose minute and hour are both without a star fires once for each matching local date
and time of day. A time that the change leaves out is moved later by as much; one that comes twice counts the first
time; two that come to one instant are one. A schedule with a star in its minute or hour, with a step or not, follows
real time: it fires whenever the clock shows a matching time.

Arguments:
  cron - the schedule; at most 1024 bytes; required
  time_zone - a name of the server's catalogue, as pg_timezone_names lists them, in any case; default UTC
  after - occurrences strictly after this instant; finite, before the year 10000; default now
  n - how many; 0 to 10000; default 1
  day_rule - or, or and; default or

Result:
  The instants, in order: fewer than n when none is left before the year 10000, none for a schedule of days that no
  calendar has.

Errors:
  X_CRON_INVALID (XJ301) - cron is no schedule; the detail says which field is wrong, and what it may hold
  X_TIMEZONE_INVALID (XJ302) - time_zone is NULL or no name of the catalogue; abbreviations and offsets are none
  X_INVARIANT (XJ001) - another argument is NULL where it may not be, or out of its range
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  None.

Example:
  SELECT * FROM x_jobs.cron_next('30 2 * * mon-fri', 'Europe/Berlin', '2026-12-04 12:00:00+00', n => 2);
  --> 2026-12-07 01:30:00+00
  --> 2026-12-08 01:30:00+00
  SELECT * FROM x_jobs.cron_next('0 12 13 * fri', after => '2027-08-01 00:00:00+00', n => 2);
  --> 2027-08-06 12:00:00+00
  --> 2027-08-13 12:00:00+00
  SELECT * FROM x_jobs.cron_next('0 12 13 * fri', after => '2027-08-01 00:00:00+00', n => 2, day_rule => 'and');
  --> 2027-08-13 12:00:00+00
  --> 2028-10-13 12:00:00+00
$doc$;

COMMENT ON FUNCTION x_jobs.cron_explain(text, text, text) IS
$doc$Says in words what a schedule means, which rules apply to it, and when it fires next.

The rules of fields, days and clock changes are those of x_jobs.cron_next.

Arguments:
  cron - the schedule; at most 1024 bytes; required
  time_zone - a name of the server's catalogue; default UTC
  day_rule - or, or and; default or

Result:
  A few sentences in English, with the zone as the catalogue spells it and, unless it is an @every, the local time and
  the offset from UTC of the next occurrence. Made for people: the wording may change.

Errors:
  X_CRON_INVALID (XJ301) - cron is no schedule, or can never fire
  X_TIMEZONE_INVALID (XJ302) - time_zone is NULL or no name of the catalogue
  X_INVARIANT (XJ001) - cron or day_rule is NULL, or day_rule is another word
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  None.

Example:
  SELECT split_part(x_jobs.cron_explain('0 12 13 * fri'), '.', 1);
  --> At 12:00, on day 13 of the month, and besides on Friday, in the time zone UTC
  SELECT split_part(x_jobs.cron_explain('0 12 13 * fri', 'europe/berlin', 'and'), '.', 1);
  --> At 12:00, on days that are day 13 of the month and also Friday, in the time zone Europe/Berlin
$doc$;

COMMENT ON FUNCTION x_jobs.schedule(text, text, text, jsonb, text, integer, text, text, boolean, regprocedure) IS
$doc$Makes a recurring task, or changes the one of that name: the scheduler enqueues its entries at each occurrence.

Nothing fires for the time before the call. Each job of an occurrence is enqueued with run_at the occurrence and the key
task:milliseconds:key, where key is its own idempotency_key or its place in the list; the watermark of the task moves in
the same transaction, so no occurrence fires twice. The jobs belong to no tenant.

A task belongs to the role that scheduled it last. Producers see and change their own tasks and those of roles whose
privileges they have; operators all. Anyone else gets X_TASK_NOT_FOUND, also for a name that is taken. A call for a task
that exists replaces all of its definition. If schedule, zone and day rule stay as they were, the task goes on behind its
watermark, and what was missed still counts as missed; otherwise it begins anew.

Arguments:
  task - its name; 1 to 255 bytes; required
  cron - when; see x_jobs.cron_next for what may stand there; at most 1024 bytes; required
  time_zone - whose clocks; a name of the server's catalogue; default UTC
  entries - what to enqueue: an object, or an array of 1 to 1000 objects, with the fields name, input, idempotency_key,
    queue, priority, max_attempts and tags of x_jobs.new_job, name alone being required. In any text of it
    {{occurrence}} becomes the occurrence in UTC as 2026-12-01T01:30:00Z, {{local_time}} its local time as
    2026-12-01T02:30:00, {{local_date}} its local date as 2026-12-01; excludes entries_function; default none
  catch_up - what to do about occurrences that were missed: latest (or skip) fires the latest of them, earliest (or
    run-once) the earliest, all (or run-all) each, none of them none, unless the latest is at most x_jobs.task_grace late;
    default latest
  max_catch_up - how many occurrences of the task one round of the scheduler deals with, before others have their turn;
    1 to 10000; default 10
  overlap - what to do with an occurrence while a job of the last fire is live: allow fires it, skip leaves it out,
    queue fires one such occurrence as soon as the jobs have finished and leaves out further ones; default skip
  day_rule - whether a restricted day of the month or a restricted weekday is enough (or), or both must match (and);
    default or
  paused - true makes it paused, false resumes one that is paused; default false
  entries_function - instead of entries, a function (timestamptz) that answers x_jobs.new_job, SETOF x_jobs.new_job or
    x_jobs.new_job[] for an occurrence; it runs as the task's owner, within x_jobs.task_timeout, and may also set
    expires_at; default none

Result:
  The next occurrence; NULL when there is none before the year 10000.

Errors:
  X_CRON_INVALID (XJ301) - cron is no schedule, or can never fire
  X_TIMEZONE_INVALID (XJ302) - time_zone is NULL or no name of the catalogue
  X_INVARIANT (XJ001) - an argument is out of its range, an entry would be refused by x_jobs.enqueue, or not exactly one
    of entries and entries_function is given
  X_TASK_NOT_FOUND (XJ303) - a task of the name belongs to somebody else
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  Changes the task's rows in _x_jobs.tasks and _x_jobs.task_states; waits for a transaction that is changing or firing
  the task. Until the transaction ends the scheduler leaves the task alone.

Example:
  SELECT x_jobs.schedule('nightly_report', '30 2 * * *', 'Europe/Berlin',
                         '{"name": "report", "input": {"day": "{{local_date}}"}, "queue": "night"}') > now();
  --> t
  SELECT task, cron, time_zone, catch_up, overlap, state FROM x_jobs.tasks;
  --> nightly_report | 30 2 * * * | Europe/Berlin | latest | skip | active
$doc$;

COMMENT ON FUNCTION x_jobs.unschedule(text) IS
$doc$Ends a task: no further occurrence fires.

Jobs that were enqueued are left alone, and run. The task's watermark and its history are forgotten with it. Producers end
their own tasks; operators any, also one that only a scheduler outside knows.

Arguments:
  task - the task; 1 to 255 bytes; required

Result:
  Nothing.

Errors:
  X_TASK_NOT_FOUND (XJ303) - there is no such task, or it belongs to somebody else
  X_INVARIANT (XJ001) - task is NULL, empty or too long
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  Deletes the task's rows in _x_jobs.tasks, _x_jobs.task_states and _x_jobs.task_log; waits for a transaction that is changing or firing
  the task.

Example:
  SELECT x_jobs.schedule('nightly_report', '30 2 * * *', entries => '{"name": "report"}') > now();
  --> t
  SELECT x_jobs.unschedule('nightly_report');
  SELECT count(*) FROM x_jobs.tasks;
  --> 0
$doc$;

COMMENT ON FUNCTION x_jobs.pause_task(text, text) IS
$doc$Pauses a task: nothing of it fires until it is resumed.

Its watermark stays where it is, so what falls into the pause is missed, and the task's catch_up decides about it when it
is resumed. Pausing a paused task changes nothing: the first pause's instant, reason and role stay. Jobs that were
enqueued run, and x_jobs.fire_task still works. Producers pause their own tasks, operators any.

Arguments:
  task - the task; 1 to 255 bytes; required
  reason - why; cut to 8000 characters; default none

Result:
  When the task was paused.

Errors:
  X_TASK_NOT_FOUND (XJ303) - there is no such task, or it belongs to somebody else
  X_INVARIANT (XJ001) - task is NULL, empty or too long
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  Changes the task's row in _x_jobs.tasks; waits for a transaction that is changing or firing the task.

Example:
  SELECT x_jobs.schedule('nightly_report', '30 2 * * *', entries => '{"name": "report"}') > now();
  --> t
  SELECT x_jobs.pause_task('nightly_report', 'the warehouse is being moved') IS NOT NULL;
  --> t
  SELECT state, paused_reason FROM x_jobs.tasks;
  --> paused | the warehouse is being moved
$doc$;

COMMENT ON FUNCTION x_jobs.resume_task(text) IS
$doc$Ends a pause of a task; its catch_up decides about what was missed. Producers resume their own tasks, operators any.

Arguments:
  task - the task; 1 to 255 bytes; required

Result:
  True when the task was paused, false when it was not.

Errors:
  X_TASK_NOT_FOUND (XJ303) - there is no such task, or it belongs to somebody else
  X_INVARIANT (XJ001) - task is NULL, empty or too long
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  Changes the task's rows in _x_jobs.tasks and _x_jobs.task_states; waits for a transaction that is changing or firing
  the task.

Example:
  SELECT x_jobs.schedule('nightly_report', '30 2 * * *', entries => '{"name": "report"}', paused => true) > now();
  --> t
  SELECT x_jobs.resume_task('nightly_report');
  --> t
  SELECT x_jobs.resume_task('nightly_report');
  --> f
$doc$;

COMMENT ON FUNCTION x_jobs.fire_task(text) IS
$doc$Enqueues every entry of a task now, by hand, also of a paused task.

The occurrence is the present instant. Jobs carry their own keys, without the task's name and the occurrence, so they are
distinct from what the schedule fires; an entry without a key makes a new job each time. The watermark does not move,
and overlap does not ask for these jobs. Producers fire their own tasks, operators any.

Arguments:
  task - the task; 1 to 255 bytes; required

Result:
  One row (ordinal, id, run_id, deduped) for each entry, in their order; ordinal counts from 1.

Errors:
  X_TASK_NOT_FOUND (XJ303) - there is no such task, or it belongs to somebody else
  X_TASK_OWNER_INVALID (XJ304) - the task's role was dropped, or may no longer produce
  X_INVARIANT (XJ001) - task is NULL, empty or too long, or the function of entries answers what x_jobs.enqueue refuses
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  As x_jobs.enqueue. Waits for a transaction that is changing or firing the task; until the transaction ends the
  scheduler leaves the task alone.

Example:
  SELECT x_jobs.schedule('nightly_report', '30 2 * * *', entries => '{"name": "report", "idempotency_key": "report"}') > now();
  --> t
  SELECT ordinal, deduped FROM x_jobs.fire_task('nightly_report');
  --> 1 | f
  SELECT ordinal, deduped FROM x_jobs.fire_task('nightly_report');
  --> 1 | t
  SELECT name, idempotency_key, state FROM x_jobs.all_jobs;
  --> report | report | ready
$doc$;

COMMENT ON FUNCTION x_jobs.task_list() IS
$doc$Lists the tasks that the caller may touch: a producer's own, for an operator all. The view x_jobs.tasks shows the same.

Arguments:
  none

Result:
  A row of type x_jobs.task for each, in the order of code units of the name.

Errors:
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  Reads only.

Example:
  SELECT x_jobs.schedule('nightly_report', '30 2 * * *', 'Asia/Kolkata', '{"name": "report"}') > now();
  --> t
  SELECT task, cron, time_zone, utc_offset, state, failures FROM x_jobs.task_list();
  --> nightly_report | 30 2 * * * | Asia/Kolkata | 05:30:00 | active | 0
$doc$;

COMMENT ON FUNCTION x_jobs.task_history(text, integer) IS
$doc$Lists what became of the occurrences of a task, the latest first.

Neighbours that were missed or skipped are one row. Rows are kept for x_jobs.retention, and of each task the newest
10000; x_jobs.maintain() removes the others. Producers read the history of their own tasks, operators any.

Arguments:
  task - the task; 1 to 255 bytes; required
  max - at most so many; 0 to 1000; default 100

Result:
  Rows of type x_jobs.task_event, the latest occurrence first.

Errors:
  X_TASK_NOT_FOUND (XJ303) - there is no such task, or it belongs to somebody else
  X_INVARIANT (XJ001) - task is NULL, empty or too long, or max is NULL or negative
  insufficient_privilege (42501) - the caller is neither producer nor operator

Locking:
  Reads only.

Example:
  SELECT x_jobs.schedule('nightly_report', '30 2 * * *', entries => '{"name": "report"}') > now();
  --> t
  SELECT count(*) FROM x_jobs.fire_task('nightly_report');
  --> 1
  SELECT outcome, slots, cardinality(jobs) AS jobs FROM x_jobs.task_history('nightly_report');
  --> manual | 1 | 1
$doc$;

COMMENT ON FUNCTION x_jobs.task_fires() IS
$doc$Lists when each task fired last, those that only a scheduler outside of the server knows included.

Arguments:
  none

Result:
  A row of type x_jobs.task_fire for each task that ever fired, in the order of code units of the name, at most 1000.
  Fires by hand do not count.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT fired FROM x_jobs.fire('report', '2026-11-01 02:00:00+00', '{}');
  --> t
  SELECT task, last_occurrence FROM x_jobs.task_fires();
  --> report | 2026-11-01 02:00:00+00
$doc$;

COMMENT ON FUNCTION x_jobs.fire(text, timestamptz, x_jobs.new_job[], timestamptz) IS
$doc$Fires an occurrence of a task: moves its watermark and enqueues the jobs, or does neither. For schedulers outside.

The occurrence is the fence. If the watermark is at or past it nothing happens, however many schedulers try and whatever
has become of the jobs. The task need not have been made with x_jobs.schedule. Each job is enqueued with run_at the
occurrence and the key task:milliseconds:key, where key is its own idempotency_key or its place in the array; of its
other fields name, input, queue, priority, max_attempts, expires_at and tags count, and the rest is left out.

Arguments:
  task - the task; 1 to 255 bytes; required
  occurrence - which one; a finite instant before the year 10000; required
  jobs - what to enqueue; required; an empty array moves the watermark only
  landing - where the watermark lands, if that is after the occurrence; default the occurrence

Result:
  One row (fired, jobs): true with an x_jobs.enqueued_item for each job in their order, or false with NULL.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL or out of its range, or a job is one that x_jobs.enqueue refuses
  insufficient_privilege (42501) - the caller is no operator

Locking:
  As x_jobs.enqueue. Changes the task's row in _x_jobs.task_states; waits for a transaction that is changing or firing
  the task.

Example:
  SELECT f.fired, cardinality(f.jobs) AS jobs
    FROM x_jobs.fire('report', '2026-11-01 02:00:00+00', ARRAY(
        SELECT jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "report", "idempotency_key": "daily"}'))) AS f;
  --> t | 1
  SELECT fired FROM x_jobs.fire('report', '2026-11-01 02:00:00+00', '{}');
  --> f
  SELECT name, idempotency_key, run_at FROM x_jobs.all_jobs;
  --> report | report:1793498400000:daily | 2026-11-01 02:00:00+00
$doc$;

COMMENT ON FUNCTION x_jobs.watermark_get(text) IS
$doc$Answers up to where a task has been dealt with. For schedulers outside.

Arguments:
  task - the task

Result:
  The watermark; NULL for a task that has none, or an unknown one.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT x_jobs.watermark_get('report') IS NULL;
  --> t
  SELECT fired FROM x_jobs.fire('report', '2026-11-01 02:00:00+00', '{}', landing => '2026-11-02 00:00:00+00');
  --> t
  SELECT x_jobs.watermark_get('report');
  --> 2026-11-02 00:00:00+00
$doc$;

COMMENT ON FUNCTION x_jobs.watermark_mark(text, timestamptz) IS
$doc$Moves the watermark of a task forward without firing anything. For schedulers outside, and to let a backlog be.

Arguments:
  task - the task; made known if it is not; 1 to 255 bytes; required
  instant - no occurrence up to here fires any more; a finite instant before the year 10000; required

Result:
  The watermark as it is now: an instant behind it changes nothing.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL or out of its range
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Changes the task's row in _x_jobs.task_states; waits for a transaction that is changing or firing the task.

Example:
  SELECT x_jobs.watermark_mark('report', '2026-11-02 00:00:00+00');
  --> 2026-11-02 00:00:00+00
  SELECT x_jobs.watermark_mark('report', '2026-11-01 00:00:00+00');
  --> 2026-11-02 00:00:00+00
  SELECT fired FROM x_jobs.fire('report', '2026-11-01 02:00:00+00', '{}');
  --> f
$doc$;

COMMENT ON FUNCTION x_jobs.record_fire(text, timestamptz) IS
$doc$Records that an occurrence was fired elsewhere. For schedulers outside that cannot use x_jobs.fire.

It moves the watermark as x_jobs.watermark_mark does, and enters the fire for x_jobs.task_fires.

Arguments:
  task - the task; made known if it is not; 1 to 255 bytes; required
  occurrence - which one was fired; a finite instant before the year 10000; required

Result:
  The watermark as it is now; it never goes back.

Errors:
  X_INVARIANT (XJ001) - an argument is NULL or out of its range
  insufficient_privilege (42501) - the caller is no operator

Locking:
  As x_jobs.watermark_mark.

Example:
  SELECT x_jobs.record_fire('report', '2026-11-01 02:00:00+00');
  --> 2026-11-01 02:00:00+00
  SELECT task, last_occurrence FROM x_jobs.task_fires();
  --> report | 2026-11-01 02:00:00+00
$doc$;

COMMENT ON FUNCTION x_jobs.background_workers() IS
$doc$Lists the background workers of the server: the launcher, and a scheduler for each database that has the extension.

Arguments:
  none

Result:
  Rows of type x_jobs.background_worker by kind and database; none when the library is not preloaded. A database is
  listed from when the launcher has looked at it.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT worker, state FROM x_jobs.background_workers() WHERE worker = 'launcher';
  --> launcher | running
$doc$;

COMMENT ON FUNCTION x_jobs.health() IS
$doc$Says what is wrong with this installation, in words, and what to do about it.

Arguments:
  none

Result:
  A row of type x_jobs.health_check for each subject, whether all is well or not.

Errors:
  insufficient_privilege (42501) - the caller is no operator

Locking:
  Reads only.

Example:
  SELECT name, state, detail, hint FROM x_jobs.health() WHERE name = 'library';
  --> library | ok | The library is preloaded. |
  SELECT name FROM x_jobs.health() WHERE state = 'error';
$doc$;

-- Roles.

COMMENT ON FUNCTION x_jobs.grant_producer(regrole) IS
$doc$Lets a role enqueue: enqueue, enqueue_many, new_id and version; and schedule recurring tasks of its own.

Arguments:
  role - the role; required

Result:
  Nothing. Granting again changes nothing.

Errors:
  X_INVARIANT (XJ001) - role is NULL or no role
  insufficient_privilege (42501) - the caller is neither the extension's owner nor a superuser

Locking:
  Changes the privileges of the functions, as GRANT does.

Example:
  CREATE ROLE example_shop;
  SELECT x_jobs.grant_producer('example_shop');
  SELECT has_function_privilege('example_shop', 'x_jobs.new_id()', 'EXECUTE');
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.grant_worker(regrole, text[]) IS
$doc$Lets a role claim, renew and settle jobs, of every queue or of the queues named.

A worker restricted to queues that claims from another is refused; one that names a job of another queue is answered
false, exactly as for an unknown id.

Arguments:
  role - the role; required
  queues - the queues; each 1 to 255 bytes; NULL is every queue; adds to what was granted before; default NULL

Result:
  Nothing. Granting again changes nothing.

Errors:
  X_INVARIANT (XJ001) - role is NULL or no role, or queues is empty or holds a NULL or a name out of range
  insufficient_privilege (42501) - the caller is neither the extension's owner nor a superuser

Locking:
  Changes the privileges of the functions, as GRANT does.

Example:
  CREATE ROLE example_mailer;
  SELECT x_jobs.grant_worker('example_mailer', ARRAY['mail']);
  SELECT has_function_privilege('example_mailer', 'x_jobs.ack(uuid, text, bigint, jsonb, interval)', 'EXECUTE');
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.grant_operator(regrole) IS
$doc$Lets a role read and change every job and every task: list, cancel, requeue, remove, promote, pause and maintain.

Arguments:
  role - the role; required

Result:
  Nothing. Granting again changes nothing.

Errors:
  X_INVARIANT (XJ001) - role is NULL or no role
  insufficient_privilege (42501) - the caller is neither the extension's owner nor a superuser

Locking:
  Changes the privileges of the functions and of the view x_jobs.all_jobs, as GRANT does.

Example:
  CREATE ROLE example_support;
  SELECT x_jobs.grant_operator('example_support');
  SELECT has_table_privilege('example_support', 'x_jobs.all_jobs', 'SELECT');
  --> t
$doc$;

COMMENT ON FUNCTION x_jobs.revoke_producer(regrole) IS
$doc$Takes back what x_jobs.grant_producer gave; what another capability of the role needs stays.

Arguments:
  role - the role; required

Result:
  Nothing. Revoking what was not granted changes nothing.

Errors:
  X_INVARIANT (XJ001) - role is NULL
  insufficient_privilege (42501) - the caller is neither the extension's owner nor a superuser

Locking:
  Changes the privileges of the functions, as REVOKE does.

Example:
  CREATE ROLE example_shop;
  SELECT x_jobs.grant_producer('example_shop');
  SELECT x_jobs.revoke_producer('example_shop');
  SELECT has_function_privilege('example_shop', 'x_jobs.new_id()', 'EXECUTE');
  --> f
$doc$;

COMMENT ON FUNCTION x_jobs.revoke_worker(regrole, text[]) IS
$doc$Takes back what x_jobs.grant_worker gave, for every queue or for the queues named.

The role stays a worker of the queues that are left. A grant for every queue is taken back only without queues.

Arguments:
  role - the role; required
  queues - the queues to take back; NULL is everything; default NULL

Result:
  Nothing. Revoking what was not granted changes nothing.

Errors:
  X_INVARIANT (XJ001) - role is NULL
  insufficient_privilege (42501) - the caller is neither the extension's owner nor a superuser

Locking:
  Changes the privileges of the functions, as REVOKE does.

Example:
  CREATE ROLE example_mailer;
  SELECT x_jobs.grant_worker('example_mailer', ARRAY['mail', 'letters']);
  SELECT x_jobs.revoke_worker('example_mailer', ARRAY['letters']);
  SELECT queue FROM _x_jobs.grants WHERE role = 'example_mailer'::regrole;
  --> mail
$doc$;

COMMENT ON FUNCTION x_jobs.revoke_operator(regrole) IS
$doc$Takes back what x_jobs.grant_operator gave; what another capability of the role needs stays.

Arguments:
  role - the role; required

Result:
  Nothing. Revoking what was not granted changes nothing.

Errors:
  X_INVARIANT (XJ001) - role is NULL
  insufficient_privilege (42501) - the caller is neither the extension's owner nor a superuser

Locking:
  Changes the privileges of the functions and of the view x_jobs.all_jobs, as REVOKE does.

Example:
  CREATE ROLE example_support;
  SELECT x_jobs.grant_operator('example_support');
  SELECT x_jobs.revoke_operator('example_support');
  SELECT has_table_privilege('example_support', 'x_jobs.all_jobs', 'SELECT');
  --> f
$doc$;
