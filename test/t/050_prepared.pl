# Prepared transactions around every verb: what was prepared is neither visible nor lost, whether it is committed or
# rolled back later, by another session, or after a restart or a crash in between. A job that becomes claimable by
# COMMIT PREPARED or ROLLBACK PREPARED is found by the very next claim. If this failed, a job committed in two phases
# would lie unnoticed, or a guarded transaction could commit for a worker that lost its job.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

# The scripts below speak of a queue Q with three jobs: A, whose lease of worker w under claim 1 has lapsed, and B and C,
# which wait. `prepare` runs in the transaction that is prepared; then `meanwhile`; then its end; then what follows it.
my $claim = q{SELECT string_agg(idempotency_key || ' ' || claim, ', ') FROM x_jobs.claim(ARRAY['Q'], 'x', 10)};
my $look = q{SELECT string_agg(concat_ws(' ', idempotency_key, state, claim, worker_id), ', ' ORDER BY id) FROM x_jobs.all_jobs WHERE queue = 'Q'};
my $enqueue = q{SELECT x_jobs.enqueue('Q', '1', 'new', queue => 'Q', run_at => '2000-06-01 00:00+00')};
my $again = q{SELECT deduped FROM x_jobs.enqueue('Q', '1', 'new', queue => 'Q')};

my @scenarios = (
	'enqueue' => {
		prepare => [$enqueue],
		meanwhile => [
			[ $claim, 'a 2, b 1, c 1' ],
			[ q{SELECT deduped FROM x_jobs.enqueue('Q', '1', 'unrelated', queue => 'Q', delay => '1 h')}, 'f' ] ],
		committed => [ [ $claim, 'new 1' ], [ $again, 't' ] ],
		rolled_back => [ [ $claim, '' ], [ $again, 'f' ] ] },
	'claim' => {
		prepare => [q{SELECT x_jobs.claim(ARRAY['Q'], 'p', 2)}],
		meanwhile => [ [ $claim, 'c 1' ], [ $claim, '' ] ],
		committed => [
			[ $claim, '' ],
			[ $look, 'a running 2 p, b running 1 p, c running 1 x' ],
			[ q{SELECT x_jobs.ack('A', 'w', 1), x_jobs.ack('A', 'p', 2), x_jobs.ack('B', 'p', 1)}, 'f|t|t' ] ],
		rolled_back => [ [ $claim, 'a 2, b 1' ] ] },
	'ack' => {
		prepare => [ q{SELECT x_jobs.ack('A', 'w', 1)}, q{INSERT INTO ledger VALUES ('Q')} ],
		meanwhile => [ [ $claim, 'b 1, c 1' ] ],
		committed => [
			[ $claim, '' ],
			[ $look, 'a done 1, b running 1 x, c running 1 x' ],
			[ q{SELECT count(*) FROM ledger WHERE entry = 'Q'}, '1' ],
			[ q{SELECT x_jobs.ack('A', 'w', 1)}, 'f' ] ],
		rolled_back => [
			[ q{SELECT x_jobs.heartbeat('A', 'w', 1, '0')}, 't' ],
			[ $claim, 'a 2' ],
			[ q{SELECT count(*) FROM ledger WHERE entry = 'Q'}, '0' ] ] },
	'an ack that is rolled back, seen by a claim only' => {
		prepare => [q{SELECT x_jobs.ack('A', 'w', 1)}],
		meanwhile => [ [ $claim, 'b 1, c 1' ] ],
		committed => [ [ $claim, '' ] ],
		rolled_back => [ [ $claim, 'a 2' ] ] },
	'a nack that gives back' => {
		prepare => [q{SELECT x_jobs.nack('A', 'w', 1)}],
		meanwhile => [ [ $claim, 'b 1, c 1' ] ],
		committed => [ [ $claim, 'a 2' ] ],
		rolled_back => [ [ $claim, 'a 2' ] ] },
	'heartbeat' => {
		prepare => [q{SELECT x_jobs.heartbeat('A', 'w', 1, '1 h')}],
		meanwhile => [ [ $claim, 'b 1, c 1' ] ],
		committed => [ [ $claim, '' ], [ q{SELECT x_jobs.ack('A', 'w', 1)}, 't' ] ],
		rolled_back => [ [ $claim, 'a 2' ] ] },
	'X-20 guard' => {
		prepare => [ q{SELECT x_jobs.guard('A', 'w', 1)}, q{INSERT INTO ledger VALUES ('Q')} ],
		meanwhile => [ [ $claim, 'b 1, c 1' ], [ $claim, '' ] ],
		committed => [ [ q{SELECT count(*) FROM ledger WHERE entry = 'Q'}, '1' ], [ $claim, 'a 2' ] ],
		rolled_back => [ [ q{SELECT count(*) FROM ledger WHERE entry = 'Q'}, '0' ], [ $claim, 'a 2' ] ] },
	'cancel' => {
		prepare => [q{SELECT x_jobs.cancel('B')}],
		meanwhile => [ [ $claim, 'a 2, c 1' ] ],
		committed => [ [ $claim, '' ], [ q{SELECT state FROM x_jobs.job('B')}, 'cancelled' ] ],
		rolled_back => [ [ $claim, 'b 1' ] ] },
	'a pause' => {
		prepare => [q{SELECT x_jobs.pause_queue('Q')}],
		meanwhile => [ [ $claim, 'a 2, b 1, c 1' ], [ q{SELECT x_jobs.release('B', 'x', 1)}, 't' ] ],
		committed => [ [ $claim, '' ], [ q{SELECT x_jobs.resume_queue('Q')}, 't' ], [ $claim, 'b 2' ] ],
		rolled_back => [ [ $claim, 'b 2' ] ] },
	'subtransactions' => {
		prepare => [
			'SAVEPOINT one', q{SELECT x_jobs.ack('A', 'w', 1)}, 'ROLLBACK TO one',
			'SAVEPOINT two', $enqueue, 'RELEASE two',
			# The job that the transaction has just made is the first in order.
			'SAVEPOINT three', q{SELECT x_jobs.claim(ARRAY['Q'], 'p', 1)} ],
		meanwhile => [ [ $claim, 'a 2, b 1, c 1' ] ],
		committed => [ [ q{SELECT state, worker_id FROM x_jobs.all_jobs WHERE idempotency_key = 'new' AND queue = 'Q'}, 'running|p' ], [ $claim, '' ] ],
		rolled_back => [ [ q{SELECT count(*) FROM x_jobs.all_jobs WHERE idempotency_key = 'new' AND queue = 'Q'}, '0' ], [ $claim, '' ] ] });

my $runs = 0;

# Puts the queue and the ids of one run into a statement.
sub of_run
{
	my ($sql, $run) = @_;
	my %ids = map { $_ => job_id($run * 16 + ord($_)) } 'A' .. 'C';
	$sql =~ s/'([ABC])'/'$ids{$1}'/g;
	$sql =~ s/'Q'/'queue $run'/g;
	return $sql;
}

# Every scenario with both ends, side by side in queues of their own, so that one restart serves all.
sub all_scenarios
{
	my ($server, $between, $how) = @_;
	my @prepared;
	my @list = @scenarios;
	my $setup = session($server);
	while (my ($name, $script) = splice @list, 0, 2)
	{
		for my $end ('COMMIT', 'ROLLBACK')
		{
			my $run = ++$runs;
			my $title = "$how, $name, $end PREPARED";
			for my $job ([ 'A', 'a', 1 ], [ 'B', 'b', 2 ], [ 'C', 'c', 3 ])
			{
				my ($id, $key, $day) = @$job;
				$setup->sql(of_run("SELECT x_jobs.enqueue('Q', '1', '$key', queue => 'Q', run_at => '2001-01-0$day 00:00+00', id => '$id')", $run));
				$setup->sql(of_run(q{SELECT x_jobs.claim(ARRAY['Q'], 'w', visibility_timeout => '0')}, $run)) if $id eq 'A';
			}
			$setup->sql('BEGIN');
			for my $statement (@{ $script->{prepare} })
			{
				$setup->sql(of_run($statement, $run));
				is($setup->complaint, '', "$title: $statement") if $setup->complaint ne '';
			}
			$setup->sql("PREPARE TRANSACTION 'run $run'");
			is($setup->complaint, '', "$title: PREPARE TRANSACTION");
			push @prepared, [ $run, $title, $end, $script ];
		}
	}
	$setup->quit;
	$between->($server);
	my $other = session($server);
	$other->sql("SET lock_timeout = '10s'");
	for (@prepared)
	{
		my ($run, $title, $end, $script) = @$_;
		for my $check (@{ $script->{meanwhile} })
		{
			my ($sql, $right) = @$check;
			is($other->sql(of_run($sql, $run)) . $other->complaint, $right, "$title: meanwhile $sql");
		}
		$other->sql("$end PREPARED 'run $run'");
		is($other->complaint, '', "$title: ended");
		for my $check (@{ $script->{ $end eq 'COMMIT' ? 'committed' : 'rolled_back' } })
		{
			my ($sql, $right) = @$check;
			is($other->sql(of_run($sql, $run)) . $other->complaint, $right, "$title: after it $sql");
		}
	}
	$other->quit;
	return;
}

for my $preload (1, 0)
{
	my $how = $preload ? 'preloaded' : 'not preloaded';
	my $server = new_server("prepared_$preload", preload => $preload, conf => 'max_prepared_transactions = 40');
	$server->safe_psql('postgres', 'CREATE TABLE ledger (entry text)');

	all_scenarios($server, sub { }, $how);
	all_scenarios($server, sub { $_[0]->restart }, "$how, a restart in between");
	all_scenarios($server, sub { $_[0]->stop('immediate'); $_[0]->start }, "$how, a crash in between");

	# X-20: a guard whose claim is gone refuses to be prepared; one whose job is being taken waits to see what becomes of it.
	my $guard = session($server);
	my $rival = session($server);
	for my $rivals ([ '', 'COMMIT' ], [ 'BEGIN', 'COMMIT' ], [ 'BEGIN', 'ROLLBACK' ])
	{
		my ($begin, $end) = @$rivals;
		my $title = "$how, X-20 a guard against a re-claim " . ($begin ? "that is open and ends with $end" : 'that has committed');
		$runs++;
		$guard->sql(of_run(q{SELECT x_jobs.enqueue('Q', '1', 'a', queue => 'Q', id => 'A'); SELECT x_jobs.claim(ARRAY['Q'], 'w', visibility_timeout => '0')}, $runs));
		$guard->sql(of_run(q{BEGIN; SELECT x_jobs.guard('A', 'w', 1); INSERT INTO ledger VALUES ('Q')}, $runs));
		is($guard->complaint, '', "$title: set");
		$rival->sql($begin) if $begin;
		is($rival->sql(of_run($claim, $runs)), 'a 2', "$title: the lapsed job is taken by another");
		my $pid = $guard->pid;
		$guard->send("PREPARE TRANSACTION 'guarded $runs'");
		if ($begin)
		{
			ok($server->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE pid = $pid AND NOT granted"), "$title: PREPARE TRANSACTION waits");
			$rival->sql($end);
		}
		$guard->result;
		if ($end eq 'COMMIT')
		{
			like($guard->complaint, qr/ XJ102: .*X_JOB_LEASE_LOST: /s, "$title: refused at PREPARE TRANSACTION");
			$guard->sql('ROLLBACK');
		}
		else
		{
			is($guard->complaint, '', "$title: prepared");
			is($rival->sql(of_run($claim, $runs)), '', "$title: and the job cannot be taken from then on");
			$guard->sql("COMMIT PREPARED 'guarded $runs'");
		}
		is($guard->sql(of_run(q{SELECT count(*) FROM ledger WHERE entry = 'Q'}, $runs)), $end eq 'COMMIT' ? '0' : '1', "$title: the effect");
	}
	$_->quit for $guard, $rival;

	# Two prepared transactions at once; the end of one makes its job claimable and not the other's.
	$runs++;
	my $two = session($server);
	for my $n (1, 2)
	{
		$two->sql(of_run("BEGIN; SELECT x_jobs.enqueue('Q', '1', 'k$n', queue => 'Q', run_at => '2001-01-0$n 00:00+00'); PREPARE TRANSACTION 'p$n'", $runs));
		is($two->complaint, '', "$how, transaction $n prepared");
	}
	is($two->sql(of_run($claim, $runs)), '', "$how, nothing of two prepared transactions is claimable");
	$two->sql("COMMIT PREPARED 'p2'");
	is($two->sql(of_run($claim, $runs)), 'k2 1', "$how, the job of the one that was committed is");
	$two->sql("COMMIT PREPARED 'p1'");
	is($two->sql(of_run($claim, $runs)), 'k1 1', "$how, and then that of the other, though it sorts before");

	# A prepared enqueue holds its key: the next producer waits for it.
	my $holder = session($server);
	$holder->sql(of_run("BEGIN; $enqueue; PREPARE TRANSACTION 'held'", $runs));
	$holder->sql(of_run("SET lock_timeout = '200ms'; $again", $runs));
	is($holder->sqlstate, '55P03', "$how, ENQ-16 an enqueue of the same key waits for a prepared one");
	my $pid = $two->pid;
	$two->send(of_run($again, $runs));
	ok($server->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid"), "$how, ENQ-16 and keeps waiting");
	$holder->sql("COMMIT PREPARED 'held'");
	is($two->result, 't', "$how, ENQ-16 until it is committed, and is then deduped");
	$_->quit for $holder, $two;
	unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, "$how, no crash in the log");
	$server->stop;
}

done_testing();
