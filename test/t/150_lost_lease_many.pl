# Lapsed leases are found among many healthy ones, and healthy ones are left alone, however old they are. Ten thousand jobs
# are held under leases of days, all of them older than fifty whose lease has lapsed: one pass brings all fifty back and
# touches none of the others. A worker that renews in time keeps its job for as long as it likes; one that asked for a
# long lease has it. And eight workers that meet the same exhausted jobs bury each of them once. If this failed, jobs
# would be stuck for months behind healthy ones, or run twice while their worker is well.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $healthy = 10_000;

for my $preload (1, 0)
{
	my $how = $preload ? 'preloaded' : 'not preloaded';
	my $server = new_server("lapsed_$preload", preload => $preload);
	my $s = session($server);

	# C-033
	$s->sql("SELECT count(*) FROM x_jobs.enqueue_many('healthy', array_fill('1'::jsonb, ARRAY[$healthy]), dedupe => false, queue => 'q', run_at => '2001-01-01 00:00+00')");
	is($s->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'steady', $healthy, visibility_timeout => '20 days')"), $healthy, "$how: $healthy jobs are held");
	$s->sql("SELECT count(*) FROM x_jobs.enqueue_many('lapsing', array_fill('1'::jsonb, ARRAY[50]), ARRAY(SELECT 'l' || n FROM generate_series(1, 50) AS n), queue => 'q', run_at => '2002-01-01 00:00+00')");
	is($s->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'gone', 50, visibility_timeout => '2 s')"), '50', "$how: and fifty younger ones under short leases");
	is($s->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'eager', 100)"), '0', "$how: C-031 nobody gets a job whose lease runs");
	my $before = $s->sql("SELECT md5(string_agg(j::text, chr(10) ORDER BY id)) FROM _x_jobs.jobs AS j WHERE name = 'healthy'");
	$server->poll_query_until('postgres', "SELECT max(visible_at) < clock_timestamp() FROM _x_jobs.jobs WHERE name = 'lapsing'");
	is( $s->sql("SELECT count(*), count(DISTINCT id), min(attempt), max(attempt), min(claim), max(claim), string_agg(DISTINCT name, ' ') FROM x_jobs.claim(ARRAY['q'], 'eager', 100)"),
		'50|50|2|2|2|2|lapsing', "$how: C-033 all fifty come back in one pass, and nothing else");
	is($s->sql("SELECT md5(string_agg(j::text, chr(10) ORDER BY id)) FROM _x_jobs.jobs AS j WHERE name = 'healthy'"), $before, "$how: C-033 the healthy ones are untouched");
	is($s->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'eager', 100)"), '0', "$how: C-033 and the fifty are not handed out twice");

	# The same after a restart, when shared memory knows of no lease.
	$s->sql("SELECT count(x_jobs.heartbeat(id, 'eager', claim, '2 s')) FROM x_jobs.all_jobs WHERE name = 'lapsing'");
	$s->quit;
	$server->restart;
	$s = session($server);
	$server->poll_query_until('postgres', "SELECT max(visible_at) < clock_timestamp() FROM _x_jobs.jobs WHERE name = 'lapsing'");
	is( $s->sql("SELECT count(*), string_agg(DISTINCT name, ' '), max(claim) FROM x_jobs.claim(ARRAY['q'], 'eager', 100)"),
		'50|lapsing|3', "$how: C-033 after a restart too");
	is($s->sql("SELECT md5(string_agg(j::text, chr(10) ORDER BY id)) FROM _x_jobs.jobs AS j WHERE name = 'healthy'"), $before, "$how: C-033 and the healthy ones are untouched");
	is( $s->sql("SELECT count(*) FILTER (WHERE held) FROM x_jobs.heartbeat_many(ARRAY(SELECT id FROM _x_jobs.jobs WHERE name = 'healthy' ORDER BY id),
		'steady', ARRAY(SELECT claim FROM _x_jobs.jobs WHERE name = 'healthy' ORDER BY id), '20 days')"),
		$healthy, "$how: HB-2 their worker still holds every one of them");

	# C-031: a job that is renewed all the time under a lease of 5 s, and one that was taken for ten minutes, while two
	# others try to get hold of them for several leases.
	$s->sql("SELECT x_jobs.enqueue('long', '1', 'renewed', queue => 'long', id => '" . job_id(1) . "')");
	$s->sql("SELECT x_jobs.claim(ARRAY['long'], 'w', visibility_timeout => '5 s')");
	$s->sql("SELECT x_jobs.enqueue('long', '1', 'declared', queue => 'long', id => '" . job_id(2) . "')");
	is($s->sql("SELECT visible_at - claimed_at FROM x_jobs.claim(ARRAY['long'], 'w', visibility_timeout => '10 min')"), '00:10:00', "$how: C-031 a lease is as long as was asked for");
	my @thieves = map { session($server) } 1, 2;
	my ($stolen, $lost) = ('', 0);
	my $end = $s->sql("SELECT clock_timestamp() + '11 s'");
	while ($s->sql("SELECT clock_timestamp() < '$end'") eq 't')
	{
		$_->send("SELECT idempotency_key FROM x_jobs.claim(ARRAY['long'], 'thief', 5)") for @thieves;
		$lost++ if $s->sql("SELECT x_jobs.heartbeat('" . job_id(1) . "', 'w', 1, '5 s')") ne 't';
		$stolen .= $_->result for @thieves;
	}
	is("$lost $stolen", '0 ', "$how: C-031 no second claim while beats arrive, nor within a long lease");
	is( $s->sql("SELECT string_agg(attempt || ' ' || claim, ', ') FROM x_jobs.all_jobs WHERE name = 'long'"),
		'1 1, 1 1', "$how: C-031 the attempt stays 1");
	$_->quit for @thieves;

	# BURY-9: eight sessions at once on two hundred jobs that are exhausted and fifty that have attempts left.
	$s->sql('DELETE FROM _x_jobs.tally_0; DELETE FROM _x_jobs.tally_1; DELETE FROM _x_jobs.tally_2');
	$s->sql("SELECT count(*) FROM x_jobs.enqueue_many('poison', array_fill('1'::jsonb, ARRAY[200]), dedupe => false, queue => 'poison', max_attempts => 1, run_at => '2001-01-01 00:00+00')");
	$s->sql("SELECT count(*) FROM x_jobs.enqueue_many('again', array_fill('1'::jsonb, ARRAY[50]), dedupe => false, queue => 'poison', run_at => '2002-01-01 00:00+00')");
	is($s->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['poison'], 'w', 250, visibility_timeout => '0')"), '250', "$how: BURY-9 all are lapsed");
	$s->sql('CREATE TABLE handed_out (worker integer, id uuid, name text, claim bigint)');
	$server->pgbench(
		'-n -M simple -c 8 -j 2 -t 30', 0, [qr/actually processed: \S+\nnumber of failed transactions: 0 /], [qr/^(?!.*ERROR)/s],
		"$how: BURY-9 eight sessions claim them",
		{ "bury_$preload" => "INSERT INTO handed_out SELECT :client_id, id, name, claim FROM x_jobs.claim(ARRAY['poison'], 'b:client_id', 7, visibility_timeout => '1 h');\n" });
	is( $s->sql("SELECT state, reason, count(*), count(DISTINCT id), min(attempt), max(attempt) FROM x_jobs.all_jobs WHERE name = 'poison' GROUP BY 1, 2"),
		'dead|lease-lapsed|200|200|1|1', "$how: BURY-9 each is buried exactly once");
	is($s->sql("SELECT outcome, count(*), sum(duration_ms) FROM _x_jobs.tally WHERE name = 'poison' GROUP BY 1"), 'x|200|0', "$how: BURY-5 BURY-9 and counted exactly once");
	is($s->sql("SELECT count(*) FROM _x_jobs.attempts WHERE error = 'the lease lapsed on the final attempt'"), '200', "$how: BURY-9 and recorded exactly once");
	is($s->sql('SELECT name, count(*), count(DISTINCT id), max(claim) FROM handed_out GROUP BY 1'), 'again|50|50|2', "$how: BURY-8 the others are handed out, once, and no buried one is");

	$s->quit;
	unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, "$how: no crash in the log");
	$server->stop;
}

done_testing();
