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

my %between = (
	'nothing' => sub { },
	'a restart' => sub { $_[0]->restart },
	'a crash' => sub { $_[0]->stop('immediate'); $_[0]->start });

my $claim = q{SELECT string_agg(idempotency_key || ' ' || claim, ', ') FROM x_jobs.claim(ARRAY['q'], 'x', 10)};
my $look = q{SELECT string_agg(concat_ws(' ', idempotency_key, state, claim, worker_id), ', ' ORDER BY id) FROM x_jobs.all_jobs};

# Runs one scenario: jobs a (lapsed lease of w, claim 1) and b, c (waiting); then `prepare` in a transaction that is prepared;
# then what is seen meanwhile; then the end; then what is seen after it. Without shared memory a rescan is not needed, as claims
# scan from the front.
sub scenario
{
	my ($server, $between, $end, $name, %script) = @_;
	my $title = "$name, $between, $end";
	$server->safe_psql('postgres', 'DELETE FROM _x_jobs.jobs; DELETE FROM _x_jobs.history; DELETE FROM _x_jobs.attempts; DELETE FROM ledger');
	$server->safe_psql('postgres', 'SELECT x_jobs.resume_queue(queue) FROM x_jobs.paused()');
	my $setup = session($server);
	$setup->sql("SELECT x_jobs.enqueue('work', '1', 'a', queue => 'q', run_at => '2001-01-01 00:00+00', id => '" . job_id(10) . "')");
	$setup->sql("SELECT x_jobs.claim(ARRAY['q'], 'w', visibility_timeout => '0')");
	$setup->sql("SELECT x_jobs.enqueue('work', '1', 'b', queue => 'q', run_at => '2001-01-02 00:00+00', id => '" . job_id(11) . "')");
	$setup->sql("SELECT x_jobs.enqueue('work', '1', 'c', queue => 'q', run_at => '2001-01-03 00:00+00', id => '" . job_id(12) . "')");
	$setup->sql('BEGIN');
	for my $statement (@{ $script{prepare} })
	{
		$setup->sql($statement);
		is($setup->complaint, '', "$title: $statement") if $setup->complaint ne '';
	}
	$setup->sql("PREPARE TRANSACTION 'scenario'");
	if ($script{refused})
	{
		like($setup->complaint, $script{refused}, "$title: refused at PREPARE TRANSACTION");
		is($server->safe_psql('postgres', $look), $script{after}, "$title: and nothing happened");
		$setup->quit;
		return;
	}
	is($setup->complaint, '', "$title: PREPARE TRANSACTION");
	$setup->quit;
	$between{$between}->($server);
	my $other = session($server);
	for my $check (@{ $script{meanwhile} // [] })
	{
		my ($sql, $right) = @$check;
		is($other->sql("SET lock_timeout = '10s'; $sql") . $other->complaint, $right, "$title: meanwhile $sql");
	}
	$other->sql("$end 'scenario'");
	is($other->complaint, '', "$title: ended");
	my $after = $end eq 'COMMIT PREPARED' ? $script{committed} : $script{rolled_back};
	for my $check (@$after)
	{
		my ($sql, $right) = @$check;
		is($other->sql($sql) . $other->complaint, $right, "$title: after it $sql");
	}
	$other->quit;
	return;
}

my $first = job_id(10);
my $second = job_id(11);
my $enqueue = "SELECT x_jobs.enqueue('work', '1', 'new', queue => 'q', run_at => '2000-06-01 00:00+00')";

my @scenarios = (
	'enqueue' => {
		prepare => [ $enqueue ],
		meanwhile => [
			[ $claim, 'a 2, b 1, c 1' ],
			[ "SELECT deduped FROM x_jobs.enqueue('work', '1', 'unrelated', queue => 'q', delay => '1 h')", 'f' ] ],
		committed => [ [ $claim, 'new 1' ], [ "SELECT deduped FROM x_jobs.enqueue('work', '1', 'new')", 't' ] ],
		rolled_back => [ [ $claim, '' ], [ "SELECT deduped FROM x_jobs.enqueue('work', '1', 'new')", 'f' ] ] },
	'claim' => {
		prepare => [ "SELECT x_jobs.claim(ARRAY['q'], 'p', 2)" ],
		meanwhile => [ [ $claim, 'c 1' ], [ $claim, '' ] ],
		committed => [
			[ $claim, '' ],
			[ $look, 'a running 2 p, b running 1 p, c running 1 x' ],
			[ "SELECT x_jobs.ack('$first', 'w', 1), x_jobs.ack('$first', 'p', 2), x_jobs.ack('$second', 'p', 1)", 'f|t|t' ] ],
		rolled_back => [ [ $claim, 'a 2, b 1' ] ] },
	'ack' => {
		prepare => [ "SELECT x_jobs.ack('$first', 'w', 1)", "INSERT INTO ledger VALUES ('effect')" ],
		meanwhile => [ [ $claim, 'b 1, c 1' ] ],
		committed => [
			[ $claim, '' ],
			[ $look, 'a done 1, b running 1 x, c running 1 x' ],
			[ 'SELECT count(*) FROM ledger', '1' ],
			[ "SELECT x_jobs.ack('$first', 'w', 1)", 'f' ] ],
		rolled_back => [ [ "SELECT x_jobs.heartbeat('$first', 'w', 1, '0')", 't' ], [ $claim, 'a 2' ], [ 'SELECT count(*) FROM ledger', '0' ] ] },
	'a nack that gives back' => {
		prepare => [ "SELECT x_jobs.nack('$first', 'w', 1)" ],
		meanwhile => [ [ $claim, 'b 1, c 1' ] ],
		committed => [ [ $claim, 'a 2' ] ],
		rolled_back => [ [ $claim, 'a 2' ] ] },
	'heartbeat' => {
		prepare => [ "SELECT x_jobs.heartbeat('$first', 'w', 1, '1 h')" ],
		meanwhile => [ [ $claim, 'b 1, c 1' ] ],
		committed => [ [ $claim, '' ], [ "SELECT x_jobs.ack('$first', 'w', 1)", 't' ] ],
		rolled_back => [ [ $claim, 'a 2' ] ] },
	'guard' => {
		prepare => [ "SELECT x_jobs.guard('$first', 'w', 1)", "INSERT INTO ledger VALUES ('effect')" ],
		meanwhile => [ [ $claim, 'b 1, c 1' ], [ $claim, '' ] ],
		committed => [ [ 'SELECT count(*) FROM ledger', '1' ], [ $claim, 'a 2' ] ],
		rolled_back => [ [ 'SELECT count(*) FROM ledger', '0' ], [ $claim, 'a 2' ] ] },
	'cancel' => {
		prepare => [ "SELECT x_jobs.cancel('$second')" ],
		meanwhile => [ [ $claim, 'a 2, c 1' ] ],
		committed => [ [ $claim, '' ], [ "SELECT state FROM x_jobs.job('$second')", 'cancelled' ] ],
		rolled_back => [ [ $claim, 'b 1' ] ] },
	'a pause' => {
		prepare => [ "SELECT x_jobs.pause_queue('q')" ],
		meanwhile => [ [ $claim, 'a 2, b 1, c 1' ], [ "SELECT x_jobs.release('$second', 'x', 1)", 't' ] ],
		committed => [ [ $claim, '' ], [ "SELECT x_jobs.resume_queue('q')", 't' ], [ $claim, 'b 2' ] ],
		rolled_back => [ [ $claim, 'b 2' ] ] },
	'subtransactions' => {
		prepare => [
			'SAVEPOINT one', "SELECT x_jobs.ack('$first', 'w', 1)", 'ROLLBACK TO one',
			'SAVEPOINT two', $enqueue, 'RELEASE two',
			'SAVEPOINT three', "SELECT x_jobs.claim(ARRAY['q'], 'p', 1)" ],
		# The claim took the job that the transaction itself had made, which is the first in order.
		meanwhile => [ [ $claim, 'a 2, b 1, c 1' ] ],
		committed => [ [ "SELECT state, worker_id FROM x_jobs.all_jobs WHERE idempotency_key = 'new'", 'running|p' ], [ $claim, '' ] ],
		rolled_back => [ [ "SELECT count(*) FROM x_jobs.all_jobs WHERE idempotency_key = 'new'", '0' ], [ $claim, '' ] ] });

for my $preload (1, 0)
{
	my $how = $preload ? 'preloaded' : 'not preloaded';
	my $server = new_server("prepared_$preload", preload => $preload, conf => 'max_prepared_transactions = 5');
	$server->safe_psql('postgres', 'CREATE TABLE ledger (entry text)');

	my @list = @scenarios;
	while (my ($name, $script) = splice @list, 0, 2)
	{
		for my $between ('nothing', 'a restart', 'a crash')
		{
			next if !$preload && $between ne 'nothing';
			scenario($server, $between, $_, "$how: $name", %$script) for 'COMMIT PREPARED', 'ROLLBACK PREPARED';
		}
	}

	# X-20: a guard whose claim is gone refuses to be prepared.
	scenario($server, 'nothing', 'COMMIT PREPARED', "$how: X-20 a guard of a wrong claim",
		prepare => [ "SELECT x_jobs.guard('$first', 'w', 7)", "INSERT INTO ledger VALUES ('effect')" ],
		refused => qr/ XJ102: .*X_JOB_LEASE_LOST: /s,
		after => 'a running 1 w, b ready, c ready');
	is($server->safe_psql('postgres', 'SELECT count(*) FROM ledger'), '0', "$how: X-20 and leaves no effect");

	# Two prepared transactions at once; the second one's end makes its jobs claimable, not the first one's.
	my $two = session($server);
	$two->sql('DELETE FROM _x_jobs.jobs');
	for my $n (1, 2)
	{
		$two->sql("BEGIN; SELECT x_jobs.enqueue('work', '1', 'k$n', queue => 'q', run_at => '2001-01-0$n 00:00+00'); PREPARE TRANSACTION 'p$n'");
		is($two->complaint, '', "$how: transaction $n prepared");
	}
	$server->restart if $preload;
	my $after = session($server);
	is($after->sql($claim), '', "$how: nothing of two prepared transactions is claimable");
	$after->sql("COMMIT PREPARED 'p2'");
	is($after->sql($claim), 'k2 1', "$how: the job of the one that was committed is");
	$after->sql("COMMIT PREPARED 'p1'");
	is($after->sql($claim), 'k1 1', "$how: and then that of the other, though it sorts before");
	$_->abandon for $two, $after;

	# A prepared enqueue holds its key: the second producer waits for it, here with a bound.
	my $holder = session($server);
	$holder->sql("BEGIN; SELECT x_jobs.enqueue('work', '1', 'held', queue => 'q'); PREPARE TRANSACTION 'held'");
	$holder->sql("SET lock_timeout = '200ms'; SELECT x_jobs.enqueue('work', '1', 'held', queue => 'q')");
	is($holder->sqlstate, '55P03', "$how: ENQ-16 an enqueue of the same key waits for a prepared one");
	my $waiting = session($server);
	$waiting->pid;
	$waiting->send("SELECT deduped FROM x_jobs.enqueue('work', '1', 'held', queue => 'q')");
	ok($server->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $waiting->{pid}"),
		"$how: ENQ-16 and keeps waiting");
	$holder->sql("COMMIT PREPARED 'held'");
	is($waiting->result, 't', "$how: ENQ-16 until it is committed, and is then deduped");
	$_->quit for $holder, $waiting;
	unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, "$how: no crash in the log");
	$server->stop;
}

done_testing();
