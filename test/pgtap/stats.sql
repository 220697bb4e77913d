-- If this failed, a backlog would be invisible, or an alarm would ring for work that is only waiting for its time.
SELECT plan(33);

-- A job of the named queue, enqueued and claimed by worker w.
CREATE FUNCTION pg_temp.held(named text) RETURNS x_jobs.claimed_job LANGUAGE sql AS $$
    SELECT x_jobs.enqueue('job', queue => named, dedupe => false);
    SELECT c FROM x_jobs.claim(ARRAY[named], 'w') AS c
$$;
-- The six buckets of one queue.
CREATE FUNCTION pg_temp.buckets(named text) RETURNS text LANGUAGE sql AS $$
    SELECT format('ready %s, delayed %s, running %s, suspended %s, failed %s, dead %s', ready, delayed, running, suspended, failed,
                  dead)
      FROM x_jobs.stats() WHERE queue = named
$$;

SELECT is_empty('SELECT * FROM x_jobs.stats()', 'STAT-1 C-114 no jobs, no rows');

-- Which queues are listed, and in which order.
SELECT x_jobs.enqueue('job', queue => q, dedupe => false)
  FROM unnest(ARRAY['mail', 'émile', 'Zeta', 'default', '_internal']) AS q \g /dev/null
SELECT is(ARRAY(SELECT queue FROM x_jobs.stats()), ARRAY['Zeta', '_internal', 'default', 'mail', 'émile'],
          'STAT-1 DRV-7 one row for each queue, in code-unit order whatever the collation');
SELECT x_jobs.ack(c.id, 'w', c.claim) FROM x_jobs.claim(ARRAY['Zeta'], 'w') AS c \g /dev/null
SELECT x_jobs.cancel(j.id) FROM x_jobs.jobs(queue => '_internal') AS j \g /dev/null
SELECT is(s::text, '(Zeta,0,0,0,0,0,0,00:00:00)', 'STAT-1 STAT-2 a queue whose only row is done is listed with zeros')
  FROM x_jobs.stats() AS s WHERE queue = 'Zeta';
SELECT is(s::text, '(_internal,0,0,0,0,0,0,00:00:00)', 'STAT-1 STAT-2 so is one whose only row was cancelled')
  FROM x_jobs.stats() AS s WHERE queue = '_internal';
SELECT x_jobs.remove(j.id) FROM x_jobs.jobs(queue => 'Zeta') AS j \g /dev/null
SELECT is_empty('SELECT * FROM x_jobs.stats() WHERE queue = ''Zeta''', 'STAT-1 a queue that has no job row any more is not listed');
SELECT x_jobs.pause_queue('paused') \g /dev/null
SELECT is_empty('SELECT * FROM x_jobs.stats() WHERE queue = ''paused''', 'STAT-1 a pause alone does not list a queue');
SELECT x_jobs.enqueue('job', queue => 'paused', dedupe => false) \g /dev/null
SELECT is(pg_temp.buckets('paused'), 'ready 1, delayed 0, running 0, suspended 0, failed 0, dead 0',
          'STAT-2 ENQ-21 a job of a paused queue counts as waiting');

-- One job in each situation.
SELECT x_jobs.enqueue('job', queue => 'all', dedupe => false) FROM generate_series(1, 1) \g /dev/null
SELECT is(pg_temp.buckets('all'), 'ready 1, delayed 0, running 0, suspended 0, failed 0, dead 0', 'STAT-2 a ready job that is due');
SELECT id AS delayed FROM x_jobs.enqueue('job', queue => 'all', dedupe => false, delay => '1 h') \gset
SELECT is(pg_temp.buckets('all'), 'ready 1, delayed 1, running 0, suspended 0, failed 0, dead 0', 'STAT-2 a delayed job');
SELECT id AS running, claim AS running_claim FROM x_jobs.claim(ARRAY['all'], 'w') \gset
SELECT is(pg_temp.buckets('all'), 'ready 0, delayed 1, running 1, suspended 0, failed 0, dead 0', 'STAT-2 a running job');
SELECT * FROM pg_temp.held('all') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, '0', park => true, counts_as_attempt => false) \gset
SELECT is(pg_temp.buckets('all'), 'ready 0, delayed 1, running 1, suspended 1, failed 0, dead 0',
          'STAT-2 a suspended job, due or not');
SELECT is(oldest_ready, interval '0', 'STAT-4 which never counts as ready') FROM x_jobs.stats() WHERE queue = 'all';
UPDATE _x_jobs.jobs SET run_at = now() + interval '1 day' WHERE id = :'id';
SELECT * FROM pg_temp.held('all') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, fail => true) \gset
SELECT is(pg_temp.buckets('all'), 'ready 0, delayed 1, running 1, suspended 1, failed 1, dead 0', 'STAT-2 a failed job');
SELECT * FROM pg_temp.held('all') \gset
SELECT x_jobs.nack(:'id', 'w', :claim, dead_letter => true) \gset
SELECT is(pg_temp.buckets('all'), 'ready 0, delayed 1, running 1, suspended 1, failed 1, dead 1', 'STAT-2 a dead job');
SELECT * FROM pg_temp.held('all') \gset
SELECT x_jobs.ack(:'id', 'w', :claim) \gset
SELECT is(pg_temp.buckets('all'), 'ready 0, delayed 1, running 1, suspended 1, failed 1, dead 1',
          'STAT-2 a done job is in no bucket');
SELECT x_jobs.cancel(e.id) FROM x_jobs.enqueue('job', queue => 'all', dedupe => false) AS e \g /dev/null
SELECT is(pg_temp.buckets('all'), 'ready 0, delayed 1, running 1, suspended 1, failed 1, dead 1', 'STAT-2 nor is a cancelled one');

-- Due is read from run_at, whatever the stored state.
SELECT x_jobs.nack(:'running', 'w', :running_claim, '30 min', error => 'later') \gset
SELECT is((SELECT state FROM x_jobs.job(:'running')) || ': ' || pg_temp.buckets('all'),
          'ready: ready 0, delayed 2, running 0, suspended 1, failed 1, dead 1',
    'STAT-3 a retry that is backing off counts as delayed');
SET x_jobs.test_clock_offset = '40min';
SELECT is(pg_temp.buckets('all'), 'ready 1, delayed 1, running 0, suspended 1, failed 1, dead 1',
          'STAT-3 and as ready once its time has come');
SET x_jobs.test_clock_offset = '2h';
SELECT is((SELECT state FROM x_jobs.job(:'delayed')) || ': ' || pg_temp.buckets('all'),
          'delayed: ready 2, delayed 0, running 0, suspended 1, failed 1, dead 1',
    'STAT-3 a delayed job that fell due counts as ready');
RESET x_jobs.test_clock_offset;
SELECT x_jobs.enqueue('job', queue => 'boundary', dedupe => false) \g /dev/null
BEGIN;
SELECT x_jobs.enqueue('job', queue => 'fresh', dedupe => false) \g /dev/null
SELECT is(pg_temp.buckets('fresh'), 'ready 1, delayed 0, running 0, suspended 0, failed 0, dead 0',
          'STAT-3 a job is due from the transaction that made it on');
COMMIT;

-- The oldest ready job.
SELECT id AS older FROM x_jobs.enqueue('job', queue => 'old', dedupe => false, run_at => now() - interval '90 min') \gset
SELECT x_jobs.enqueue('job', queue => 'old', dedupe => false, run_at => now() - interval '10 min') \g /dev/null
SELECT x_jobs.enqueue('job', queue => 'old', dedupe => false, run_at => now() + interval '5 h') \g /dev/null
SELECT ok(oldest_ready >= interval '90 min' AND oldest_ready < interval '91 min',
          'STAT-4 oldest_ready is the greatest age of a due job') FROM x_jobs.stats() WHERE queue = 'old';
SELECT is(extract(microseconds FROM oldest_ready)::bigint % 1000, 0::bigint, 'STAT-4 in whole milliseconds') FROM x_jobs.stats()
 WHERE queue = 'old';
SELECT * FROM x_jobs.claim(ARRAY['old'], 'w') \gset
SELECT ok(oldest_ready >= interval '10 min' AND oldest_ready < interval '11 min', 'STAT-4 a running job does not count')
  FROM x_jobs.stats() WHERE queue = 'old';
SELECT x_jobs.nack(:'id', 'w', :claim, '1 h') \gset
SELECT ok(oldest_ready < interval '11 min', 'STAT-4 nor does one that is backing off') FROM x_jobs.stats() WHERE queue = 'old';
SELECT x_jobs.cancel(j.id) FROM x_jobs.jobs(queue => 'old', state => 'ready') AS j \g /dev/null
SELECT is(s::text, '(old,0,1,0,0,0,0,00:00:00)', 'STAT-4 0 when nothing is due') FROM x_jobs.stats() AS s WHERE queue = 'old';
SELECT x_jobs.enqueue('job', queue => 'delayed', dedupe => false, delay => '1 h') \g /dev/null
SET x_jobs.test_clock_offset = '90min';
SELECT ok(oldest_ready >= interval '30 min' AND oldest_ready < interval '31 min',
          'STAT-4 a delayed job that fell due counts from its run_at on') FROM x_jobs.stats() WHERE queue = 'delayed';
RESET x_jobs.test_clock_offset;
SELECT x_jobs.enqueue('job', queue => 'ancient', dedupe => false, run_at => '1970-01-01 00:00:00+00') \g /dev/null
SELECT cmp_ok(oldest_ready, '>', interval '18000 days', 'STAT-4 also when that is long ago') FROM x_jobs.stats()
 WHERE queue = 'ancient';

-- Totals: what a reader adds up over the rows is what there is.
SELECT is((SELECT sum(ready + delayed) FROM x_jobs.stats()),
          (SELECT count(*)::numeric FROM x_jobs.all_jobs WHERE state IN ('ready', 'delayed')),
    'STAT-5 ready and delayed sum to the waiting jobs');
SELECT is((SELECT sum(running) FROM x_jobs.stats()), (SELECT count(*)::numeric FROM x_jobs.all_jobs WHERE state = 'running'),
          'STAT-5 running sums');
SELECT is((SELECT sum(suspended) FROM x_jobs.stats()), (SELECT count(*)::numeric FROM x_jobs.all_jobs WHERE state = 'suspended'),
          'STAT-5 suspended sums');
SELECT is((SELECT sum(failed) FROM x_jobs.stats()), (SELECT count(*)::numeric FROM x_jobs.all_jobs WHERE state = 'failed'),
          'STAT-5 failed sums');
SELECT is((SELECT sum(dead) FROM x_jobs.stats()), (SELECT count(*)::numeric FROM x_jobs.all_jobs WHERE state = 'dead'),
          'STAT-5 dead sums');
SELECT is((SELECT queue FROM x_jobs.stats() ORDER BY oldest_ready DESC LIMIT 1), 'ancient',
          'STAT-5 the oldest of all is the maximum over the queues');

SELECT * FROM finish();
