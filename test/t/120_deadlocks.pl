# C-078: eight sessions do everything to the same two hundred jobs for a minute: claim, ack, nack, fail, release, renew,
# settle in batches, exchange, enqueue in batches, cancel, requeue, remove, promote, pause, resume and upkeep, in no
# order. Not one deadlock: every path takes its rows in one order and waits in one direction. At the end no job is lost or
# doubled. If this failed, an operator's bulk action would abort a worker's settle at the worst time.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $seconds = $ENV{XJOBS_DEADLOCK_SECONDS} // 60;
my $jobs = 200;

my $server = new_server('deadlocks', preload => 1, conf => <<'CONF');
deadlock_timeout = 50ms
log_lock_waits = off
x_jobs.history_step = '1s'
x_jobs.retention = '3s'
CONF

# The caller's tools: a random job, the batch of what this worker holds (in random order), and a shield that lets pass
# what a verb may rightly refuse, and nothing else.
$server->safe_psql('postgres', q{
	CREATE TABLE names AS SELECT n, ('01890000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id FROM generate_series(1, 200) AS n;
	CREATE UNIQUE INDEX ON names (n);
	CREATE FUNCTION some_job() RETURNS uuid LANGUAGE sql VOLATILE AS 'SELECT id FROM names WHERE n = (SELECT 1 + floor(random() * 200)::integer)';
	CREATE FUNCTION held(worker text) RETURNS TABLE (id uuid, claim bigint) LANGUAGE sql VOLATILE AS
		$$ SELECT id, claim FROM x_jobs.all_jobs WHERE state = 'running' AND worker_id = worker ORDER BY random() LIMIT 20 $$;
	CREATE FUNCTION may_refuse(statement text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
	BEGIN
		EXECUTE statement;
		RETURN 'done';
	EXCEPTION
		WHEN SQLSTATE 'XJ003' OR SQLSTATE 'XJ005' OR SQLSTATE 'XJ006' OR SQLSTATE 'XJ007' OR SQLSTATE 'XJ008' OR SQLSTATE 'XJ009' OR SQLSTATE 'XJ102' THEN
			RETURN SQLSTATE;
	END $$;
	CREATE FUNCTION enqueue_all(queue text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
		SELECT count(*) FROM x_jobs.enqueue_many(ARRAY(
			SELECT jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', 'work', 'queue', queue, 'id', id, 'idempotency_key', 'k' || n,
				'max_attempts', 1 + n % 4, 'run_at', clock_timestamp() + (n % 3) * '200 ms'::interval, 'priority', n % 10))
			  FROM names ORDER BY random())) $$;
	SELECT enqueue_all('q');
});

# Every act in a file of its own, with its weight. The sessions are workers w0 to w7.
my %acts = (
	'claim@10' => q{SELECT count(*) FROM x_jobs.claim(ARRAY['q', 'r'], 'w:client_id', 1 + (random() * 10)::integer, visibility_timeout => (random() * 0.3) * '1 s'::interval);},
	'claim_and_settle@4' => q{BEGIN;
SELECT count(x_jobs.ack(id, 'w:client_id', claim)) FROM x_jobs.claim(ARRAY['q', 'r'], 'w:client_id', 5);
COMMIT;},
	'ack@6' => q{SELECT count(x_jobs.ack(id, 'w:client_id', claim)) FROM (SELECT * FROM held('w:client_id') ORDER BY id) AS h;},
	'nack@4' => q{SELECT count(x_jobs.nack(id, 'w:client_id', claim, error => 'no', delay => random() * '300 ms'::interval)) FROM (SELECT * FROM held('w:client_id') LIMIT 1) AS h;},
	'park@2' => q{SELECT x_jobs.nack(id, 'w:client_id', claim, park => true, counts_as_attempt => false, delay => '100 ms') FROM held('w:client_id') LIMIT 1;},
	'dead@2' => q{SELECT x_jobs.nack(id, 'w:client_id', claim, dead_letter => true) FROM held('w:client_id') LIMIT 1;},
	'fail@3' => q{SELECT x_jobs.fail(id, 'w:client_id', claim, 'no', retry_after => '100 ms') FROM held('w:client_id') LIMIT 1;},
	'release@2' => q{SELECT x_jobs.release(id, 'w:client_id', claim) FROM held('w:client_id') LIMIT 1;},
	'beat@6' => q{SELECT x_jobs.heartbeat(id, 'w:client_id', claim, '200 ms') FROM held('w:client_id') LIMIT 1;},
	'beat_many@6' => q{WITH h AS MATERIALIZED (SELECT array_agg(id) AS ids, array_agg(claim) AS claims FROM held('w:client_id'))
SELECT count(*) FILTER (WHERE b.held) FROM h, LATERAL x_jobs.heartbeat_many(h.ids, 'w:client_id', h.claims, '300 ms') AS b WHERE h.ids IS NOT NULL;},
	'beat_others@3' => q{WITH h AS MATERIALIZED (SELECT array_agg(id) AS ids, array_agg(claim) AS claims FROM held('w' || (random() * 7)::integer))
SELECT count(*) FILTER (WHERE b.held) FROM h, LATERAL x_jobs.heartbeat_many(h.ids, 'w:client_id', h.claims, '300 ms') AS b WHERE h.ids IS NOT NULL;},
	'settle@5' => q{SELECT count(*) FILTER (WHERE landed) FROM x_jobs.settle(ARRAY(
	SELECT jsonb_populate_record(NULL::x_jobs.settlement, jsonb_build_object('id', id, 'claim', claim, 'verb', (ARRAY['ack', 'nack', 'release', 'fail', 'dead_letter'])[1 + (random() * 4)::integer], 'error', 'e'))
	  FROM held('w:client_id')), 'w:client_id');},
	'settle_twice@2' => q{SELECT count(*) FILTER (WHERE landed) FROM x_jobs.settle(ARRAY(
	SELECT jsonb_populate_record(NULL::x_jobs.settlement, jsonb_build_object('id', id, 'claim', claim, 'verb', 'ack'))
	  FROM held('w' || (random() * 7)::integer) AS h), 'w' || (random() * 7)::integer);},
	'exchange@4' => q{SELECT count(*) FROM x_jobs.exchange(ARRAY(
	SELECT jsonb_populate_record(NULL::x_jobs.settlement, jsonb_build_object('id', id, 'claim', claim, 'verb', 'ack')) FROM held('w:client_id')), ARRAY['r', 'q'], 'w:client_id', 5, '200 ms');},
	# A guard may refuse the commit itself, where nothing can catch it: this one ends its subject in the same transaction.
	'guard@3' => q{SELECT may_refuse(format('SELECT x_jobs.guard(%1$L, %2$L, %3$s) FROM (SELECT x_jobs.release(%1$L, %2$L, %3$s) AS landed) AS r WHERE landed', id, 'w:client_id', claim)) FROM held('w:client_id') LIMIT 1;},
	'progress@2' => q{SELECT x_jobs.progress(id, 'w:client_id', claim, 1, 2) FROM held('w:client_id') LIMIT 1;},
	'enqueue_all@3' => q{SELECT enqueue_all('q');},
	'enqueue@3' => q{SELECT deduped FROM x_jobs.enqueue('work', '1', 'k' || (1 + (random() * 199)::integer), queue => 'r', id => some_job());},
	'replace@3' => q{SELECT deduped FROM x_jobs.enqueue('work', '2', 'k' || (1 + (random() * 199)::integer), queue => 'q', on_conflict => 'replace', delay => random() * '1 s'::interval);},
	'cancel@4' => q{SELECT may_refuse('SELECT x_jobs.cancel(some_job())');},
	'cancel_held@2' => q{SELECT may_refuse(format('SELECT x_jobs.cancel(%L)', id)) FROM held('w' || (random() * 7)::integer) LIMIT 1;},
	'requeue@6' => q{SELECT may_refuse('SELECT x_jobs.requeue(some_job())');},
	'remove@3' => q{SELECT may_refuse('SELECT x_jobs.remove(some_job())');},
	'promote@4' => q{SELECT may_refuse('SELECT x_jobs.promote(some_job())');},
	'pause@1' => q{SELECT x_jobs.pause_queue('r');},
	'resume@3' => q{SELECT x_jobs.resume_queue('r');},
	'maintain@2' => q{SELECT count(*) FROM x_jobs.maintain();},
	'look@2' => q{SELECT count(*) FROM x_jobs.jobs(max => 200);
SELECT count(*) FROM x_jobs.stats();
SELECT count(*) FROM x_jobs.dead_letters();});

$server->pgbench(
	"-n -M simple -c 8 -j 2 -T $seconds", 0,
	[qr/actually processed: \S+\nnumber of failed transactions: 0 \(0\.000%\)/],
	[qr/^(?!.*ERROR)/s],
	"C-078 $seconds seconds of everything on the same $jobs jobs: no failure and no error",
	\%acts);

is($server->safe_psql('postgres', 'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()'), '0', 'C-078 no deadlock was counted');
unlike(slurp_file($server->logfile), qr/deadlock detected|could not serialize|PANIC|TRAP|terminated by signal/, 'C-078 none is in the log');

# What was done in that minute, so that a run in which nothing happened is seen.
my $done = $server->safe_psql('postgres', q{
	SELECT count(*) FILTER (WHERE outcome = 'd') FROM (SELECT outcome::text FROM _x_jobs.tally) AS t})
  + $server->safe_psql('postgres', 'SELECT coalesce(sum(done), 0) FROM _x_jobs.counters');
cmp_ok($done, '>', 100, "C-078 $done jobs were acknowledged meanwhile");
cmp_ok($server->safe_psql('postgres', 'SELECT coalesce(sum(dead), 0) FROM _x_jobs.counters'), '>', 10, 'C-078 and jobs died');

# Nothing lost, nothing doubled: an id names one row, a key one live row, and every queue is drained by one last worker.
is($server->safe_psql('postgres', 'SELECT count(*) - count(DISTINCT id) FROM x_jobs.all_jobs'), '0', 'C-078 no id names two rows');
$server->safe_psql('postgres', "SELECT x_jobs.resume_queue('r')");
my $last = session($server);
$last->sql("SET x_jobs.test_clock_offset = '1d'");
my $live = $last->sql("SELECT count(*) FROM _x_jobs.jobs");
my ($claimed, $rounds) = (0, 0);
while ($last->sql('SELECT count(*) FROM _x_jobs.jobs') > 0 && $rounds++ < 50)
{
	$claimed += $last->sql("SELECT count(x_jobs.ack(id, 'last', claim)) FROM x_jobs.claim(ARRAY['q', 'r'], 'last', 100)");
}
is($last->sql('SELECT count(*) FROM _x_jobs.jobs'), '0', "C-078 all of the $live jobs that were left come to an end") or diag $last->sql('SELECT * FROM _x_jobs.jobs LIMIT 5');
$last->quit;
$server->stop;
done_testing();
