# A worker's backend dies by SIGKILL and takes the server through a crash restart with it. What was committed stays,
# leases included: the dead worker's job is not handed out again before its lease has lapsed, and is then, once; what was
# not committed never happened. A job that may run only once is not run again but ends as a dead letter that says why.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

for my $preload (1, 0)
{
	my $how = $preload ? 'preloaded' : 'not preloaded';
	my $server = new_server("kill_$preload", preload => $preload, conf => 'restart_after_crash = on');
	my $producer = session($server);
	$producer->sql("SELECT x_jobs.enqueue('work', to_jsonb(n), 'job ' || n, queue => 'q', max_attempts => CASE n WHEN 2 THEN 1 ELSE 3 END,
		run_at => '2001-01-01 00:00+00'::timestamptz + n * '1 h'::interval, id => ('01890000-0000-7000-8000-00000000000' || n)::uuid)
		FROM generate_series(1, 5) AS n");

	# Jobs 1 and 2 are leased for a while, 3 for long; 4 is claimed but not committed; 5 waits.
	my $worker = session($server);
	$worker->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', 2, visibility_timeout => '10 s')");
	$worker->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', 1, visibility_timeout => '1 h')");
	is($worker->sql("BEGIN; SELECT idempotency_key FROM x_jobs.claim(ARRAY['q'], 'w', 1)"), 'job 4', "$how: job 4 is claimed in an open transaction");
	my $offset = -s $server->logfile;
	kill 'KILL', $worker->pid;
	$server->wait_for_log(qr/all server processes terminated; reinitializing/, $offset);
	$server->poll_query_until('postgres', 'SELECT true') or BAIL_OUT('the server did not come back');
	$_->abandon for $worker, $producer;

	my $other = session($server);
	is($other->sql("SELECT string_agg(idempotency_key || ' ' || claim, ', ') FROM x_jobs.claim(ARRAY['q'], 'x', 10)"),
		'job 4 1, job 5 1', "$how: after the restart only what was never claimed is handed out");
	is( $other->sql("SELECT string_agg(concat_ws(' ', idempotency_key, state, attempt, claim, worker_id), ', ' ORDER BY id) FROM x_jobs.all_jobs WHERE worker_id = 'w'"),
		'job 1 running 1 1 w, job 2 running 1 1 w, job 3 running 1 1 w',
		"$how: CLAIM-12 the leases survive a kill of the worker's backend and the restart");
	is($other->sql("SELECT x_jobs.heartbeat('" . job_id(3) . "', 'w', 1, '1 h')"), 't', "$how: a worker that connects again still holds its job");

	# The leases of 1 and 2 lapse: one is handed out again, the other is buried.
	my $lapse = $other->sql("SELECT max(visible_at) FROM x_jobs.all_jobs WHERE id <= '" . job_id(2) . "'");
	my @came;
	wait_until(
		sub {
			push @came, split /\n/, $other->sql("SELECT idempotency_key, attempt, claim, claimed_at >= '$lapse' FROM x_jobs.claim(ARRAY['q'], 'x', 10)");
			return @came && $other->sql("SELECT state FROM x_jobs.all_jobs WHERE id = '" . job_id(2) . "'") eq 'dead';
		});
	is("@came", 'job 1|2|2|t', "$how: C-037 a job with attempts left is claimed again, once, after its lease");
	is( $other->sql("SELECT idempotency_key, state, reason, last_error, attempt FROM x_jobs.all_jobs WHERE id = '" . job_id(2) . "'"),
		'job 2|dead|lease-lapsed|the lease lapsed on the final attempt|1',
		"$how: C-037 a job that may run once is dead, with the reason");
	is( $other->sql("SELECT string_agg(idempotency_key || ' ' || state, ', ' ORDER BY id) FROM x_jobs.all_jobs WHERE state IN ('running', 'dead') AND id <= '" . job_id(2) . "'"),
		'job 1 running, job 2 dead', "$how: C-037 both are seen by one query");
	is($other->sql("SELECT string_agg(idempotency_key, ', ') FROM x_jobs.dead_letters()"), 'job 2', "$how: C-037 and among the dead letters");

	# What the dead worker still believes is no longer true.
	for my $number (1, 2)
	{
		my $id = job_id($number);
		is($other->sql("SELECT x_jobs.heartbeat('$id', 'w', 1), x_jobs.ack('$id', 'w', 1), x_jobs.nack('$id', 'w', 1)"),
			'f|f|f', "$how: HB-5 ACK-2 NACK-2 the old claim of job $number is refused");
	}
	is($other->sql("SELECT x_jobs.ack('" . job_id(1) . "', 'x', 2)"), 't', "$how: the new claim of job 1 lands");

	# The same by an orderly end of the session, which takes nobody else with it.
	my $third = session($server);
	$third->sql("SELECT x_jobs.enqueue('work', '6', 'job 6', queue => 'q')");
	$third->sql("BEGIN; SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'y', 1)");
	$other->sql("SELECT pg_terminate_backend(" . $third->pid . ", 60000)");
	is($other->sql("SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY['q'], 'x', 10)"), 'job 6|1', "$how: what a terminated session had open is free at once");
	$_->abandon for $third, $other;

	# The whole server by SIGKILL, many jobs, all of them at different places: nothing is lost and nothing doubled.
	# (Durable commits only need the log to have been written, and SIGKILL of a process does not unwrite it.)
	my $many = session($server);
	$many->sql("SELECT count(*) FROM generate_series(1, 300) AS n, x_jobs.enqueue('many', to_jsonb(n), 'm' || n, queue => 'many')");
	$many->sql("SELECT count(x_jobs.ack(id, 'w', claim)) FROM x_jobs.claim(ARRAY['many'], 'w', 100)");
	$many->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'w', 100, visibility_timeout => '0')");
	$many->sql("BEGIN; SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'w', 50, visibility_timeout => '0')");
	my @pids = split /\n/, $server->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity');
	$server->kill9;
	ok(gone(@pids), "$how: every process of the server has ended");
	$server->start;
	$many = session($server);
	is( $many->sql("SELECT count(*), count(DISTINCT idempotency_key), count(*) FILTER (WHERE claim = 2), count(*) FILTER (WHERE claim = 1) FROM x_jobs.claim(ARRAY['many'], 'z', 1000)"),
		'200|200|100|100', "$how: after a kill of the postmaster each unfinished job is claimed once");
	is($many->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'many' AND state = 'done'"), '100', "$how: and each finished one is still finished");
	$many->abandon;
	$server->stop;
}

done_testing();
