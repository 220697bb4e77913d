# A worker that waits is woken by the commit that gives it work, by the time at which work falls due, and by whatever
# else makes a job claimable; it is cut off by max_claim_wait, keeps no snapshot in CALL wait and no table lock
# anywhere, and when it dies it hands on the wake that it was given. With shared memory the table is polled once a
# minute here, so whatever comes in less was a wake; without it, polling alone has to do.
use strict;
use warnings;
no warnings 'redundant';

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# Well below the minute of the poll, and well above what a slow machine needs.
my $soon = 20;

sub claim_waiting
{
	my ($queues, %options) = @_;
	my $wait = $options{wait} // '100 s';
	my $worker = $options{worker} // 'w';
	return "SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY[$queues], '$worker', wait => '$wait')";
}

# Waits until the session's statement is under way and asleep.
sub asleep
{
	my ($server, $session) = @_;
	my $pid = $session->pid_known;
	return $server->poll_query_until('postgres',
		"SELECT state = 'active' AND wait_event_type IS NOT NULL AND wait_event_type NOT IN ('Client', 'Lock', 'LWLock')
		   FROM pg_stat_activity WHERE pid = $pid");
}

sub JobServer::Session::pid_known { my ($self) = @_; return $self->{pid}; }

# Sends a waiting statement and returns once it sleeps.
sub put_to_sleep
{
	my ($server, $session, $sql) = @_;
	$session->pid;
	$session->send($sql);
	asleep($server, $session) or BAIL_OUT("did not fall asleep: $sql");
	return;
}

# The rows that a waiting session gets within the bound; says so if it gets none, and ends the wait.
sub woken
{
	my ($session, $rows, $name) = @_;
	if (!wait_until(sub { !$session->pending }, within => $soon))
	{
		fail("$name: still waiting");
		$session->{server}->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid_known . ')');
		$session->result;
		return;
	}
	is($session->result . $session->complaint, $rows, $name);
	return;
}

for my $preload (1, 0)
{
	my $how = $preload ? 'preloaded' : 'not preloaded';
	my $poll = $preload ? '60s' : '100ms';
	my $server = new_server("wait_$preload", preload => $preload, conf => "x_jobs.poll_interval = '$poll'\nx_jobs.max_claim_wait = '110s'");
	my $one = session($server);
	my $two = session($server);
	my $producer = session($server);

	# An enqueue wakes at its commit, not before, and not at all when it rolls back.
	put_to_sleep($server, $one, claim_waiting("'q'"));
	$producer->sql("BEGIN; SELECT x_jobs.enqueue('work', '1', 'rolled back', queue => 'q'); ROLLBACK");
	$producer->sql("BEGIN; SELECT x_jobs.enqueue('work', '1', 'a', queue => 'q')");
	ok($one->pending, "$how: an enqueue that has not committed wakes nobody");
	$producer->sql('COMMIT');
	woken($one, 'a|1', "$how: claim(wait) is woken by a commit");

	put_to_sleep($server, $one, "CALL x_jobs.wait(ARRAY['q'], '100 s')");
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'b', queue => 'q')");
	woken($one, '', "$how: CALL wait is woken by a commit");
	is($one->sql("SELECT idempotency_key FROM x_jobs.claim(ARRAY['q'], 'w')"), 'b', "$how: and the claim after it finds the job");

	# One of several queues; a queue that is not waited for does not wake (WAKE-14).
	put_to_sleep($server, $one, claim_waiting(join(',', map { "'many $_'" } 1 .. 20)));
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'elsewhere', queue => 'elsewhere')");
	ok($one->pending, "$how: WAKE-14 work in another queue does not end the wait");
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'c', queue => 'many 20')");
	woken($one, 'c|1', "$how: a wait for twenty queues is woken by the last");

	# Work that is there already is not waited for.
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'd', queue => 'q')");
	is($one->sql("CALL x_jobs.wait(ARRAY['q'], '100 s')", within => $soon), '', "$how: CALL wait returns at once when there is work");
	is($one->sql(claim_waiting("'q'"), within => $soon), 'd|1', "$how: so does claim(wait)");

	# A job that falls due.
	put_to_sleep($server, $one, claim_waiting("'due'"));
	my $due = $producer->sql("SELECT clock_timestamp() + '2 s'");
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'due', queue => 'due', run_at => '$due')");
	woken($one, 'due|1', "$how: WAKE-4 a job that falls due during the wait ends it");
	is($server->safe_psql('postgres', "SELECT claimed_at >= run_at FROM x_jobs.all_jobs WHERE idempotency_key = 'due'"),
		't', "$how: and not before its time");
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'due again', queue => 'due', delay => '2 s')");
	is($one->sql(claim_waiting("'due'"), within => $soon), 'due again|1', "$how: WAKE-4 so does one that was waiting before");
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'due third', queue => 'due', delay => '2 s')");
	is($one->sql("CALL x_jobs.wait(ARRAY['due'], '100 s')", within => $soon), '', "$how: CALL wait ends at the due time");
	is($one->sql("SELECT idempotency_key FROM x_jobs.claim(ARRAY['due'], 'w')"), 'due third', "$how: and the job is there");

	# Every other way in which a job becomes claimable.
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'r', queue => 'r', id => '" . job_id(1) . "', max_attempts => 100)");
	$producer->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['r'], 'other', visibility_timeout => '1 h')");
	my $claim = 1;
	for my $way (
		[ 'a nack', "SELECT x_jobs.nack('%s', 'other', %d)" ],
		[ 'a release', "SELECT x_jobs.release('%s', 'other', %d)" ],
		[ 'a fail', "SELECT x_jobs.fail('%s', 'other', %d, 'no', retry_after => '0')" ],
		[ 'a promote', "SELECT x_jobs.nack('%s', 'other', %d, delay => '1 h')", "SELECT x_jobs.promote('%s')" ],
		[ 'a requeue', "SELECT x_jobs.ack('%s', 'other', %d)", "SELECT x_jobs.requeue('%s')" ],
		[ 'a resume', "SELECT x_jobs.pause_queue('r')", "SELECT x_jobs.release('%s', 'other', %d)", "SELECT x_jobs.resume_queue('r')" ])
	{
		my ($name, @statements) = @$way;
		put_to_sleep($server, $one, claim_waiting("'r'", worker => 'other'));
		my $last = pop @statements;
		$producer->sql(sprintf $_, job_id(1), $claim) for @statements;
		ok($one->pending, "$how: nothing to wake for before $name") if @statements;
		$producer->sql(sprintf $last, job_id(1), $claim);
		$claim++;
		woken($one, "r|$claim", "$how: WAKE-12 the wait is ended by $name");
		$producer->sql("SELECT x_jobs.heartbeat('" . job_id(1) . "', 'other', $claim, '1 h')");
	}
	# A lease that lapses during the wait; one that is cut short meanwhile is found at the latest by the poll.
	$producer->sql(sprintf "SELECT x_jobs.heartbeat('%s', 'other', %d, '3 s')", job_id(1), $claim);
	put_to_sleep($server, $one, claim_waiting("'r'", worker => 'other'));
	$claim++;
	woken($one, "r|$claim", "$how: WAKE-4 the wait is ended by a lease that lapses");
	$one->sql("SET x_jobs.poll_interval = '1s'");
	for my $lease ('1 s', '0')
	{
		$producer->sql(sprintf "SELECT x_jobs.heartbeat('%s', 'other', %d, '1 h')", job_id(1), $claim);
		put_to_sleep($server, $one, claim_waiting("'r'", worker => 'other'));
		$producer->sql(sprintf "SELECT x_jobs.heartbeat('%s', 'other', %d, '$lease')", job_id(1), $claim);
		$claim++;
		woken($one, "r|$claim", "$how: WAKE-12 the wait is ended by a lease cut to $lease, or by the poll after it");
	}
	$one->sql('RESET x_jobs.poll_interval');
	$producer->sql("SELECT x_jobs.cancel('" . job_id(1) . "')");

	# What another gives back, by whatever way its transaction comes to nothing: found at the latest by the poll.
	$one->sql("SET x_jobs.poll_interval = '1s'");
	for my $way (
		[ 'the rollback of a claim', 'BEGIN', 'ROLLBACK' ],
		[ 'the rollback of a claim to a savepoint', 'BEGIN; SAVEPOINT p', 'ROLLBACK TO SAVEPOINT p' ],
		[ 'an error after a claim', 'BEGIN', 'SELECT 1 / 0' ],
		[ 'the end of a session that had claimed', 'BEGIN', undef ],
		[ 'the rollback of an ack of a lapsed lease', "SELECT count(*) FROM x_jobs.claim(ARRAY['g'], 'h', visibility_timeout => '0'); BEGIN", 'ROLLBACK',
			"SELECT x_jobs.ack(id, 'h', 1) FROM x_jobs.all_jobs WHERE queue = 'g' AND state = 'running'" ],
		[ 'the rollback of a cancel', 'BEGIN', 'ROLLBACK', "SELECT state FROM x_jobs.cancel((SELECT id FROM x_jobs.all_jobs WHERE queue = 'g' AND state = 'ready'))" ])
	{
		my ($name, $begin, $end, $act) = @$way;
		$producer->sql("SELECT x_jobs.cancel(id) FROM x_jobs.all_jobs WHERE queue = 'g' AND state IN ('ready', 'running')");
		$producer->sql("SELECT x_jobs.enqueue('work', '1', '$name', queue => 'g')");
		my $holder = session($server);
		$holder->sql("$begin; " . ($act // "SELECT count(*) FROM x_jobs.claim(ARRAY['g'], 'h')"));
		is($holder->complaint, '', "$how: before $name") if $holder->complaint ne '';
		put_to_sleep($server, $one, "SELECT idempotency_key FROM x_jobs.claim(ARRAY['g'], 'w', wait => '100 s')");
		if (defined $end)
		{
			$holder->sql($end);
		}
		else
		{
			$holder->abandon;
		}
		woken($one, $name, "$how: WAKE-12 the wait is ended by $name, or by the poll after it");
		$holder->quit;
	}
	$one->sql('RESET x_jobs.poll_interval');

	# The cut, and the bounds of a wait.
	$one->sql("SET x_jobs.max_claim_wait = '400ms'");
	my $started = time;
	is($one->sql(claim_waiting("'nothing'", wait => '1 h'), within => $soon), '', "$how: claim(wait) is cut by max_claim_wait");
	cmp_ok(time - $started, '>=', 0.4, "$how: and not earlier");
	$started = time;
	is($one->sql("CALL x_jobs.wait(ARRAY['nothing'], '400 ms')", within => $soon), '', "$how: CALL wait ends at its timeout");
	cmp_ok(time - $started, '>=', 0.4, "$how: and not earlier");
	$one->sql("CALL x_jobs.wait(ARRAY['nothing'], '0')", within => $soon);
	is($one->complaint, '', "$how: a wait of nothing is legal");
	$one->sql("CALL x_jobs.wait(ARRAY[]::text[], '1 s')");
	is($one->sqlstate, 'XJ101', "$how: a wait for no queue is refused");
	for my $wrong (q{'-1 s'}, q{'2 days'}, 'NULL')
	{
		$one->sql("CALL x_jobs.wait(ARRAY['q'], $wrong)");
		like($one->complaint, qr/ XJ001: .*X_INVARIANT: timeout /s, "$how: a wait of $wrong is refused");
		$one->sql("SELECT * FROM x_jobs.claim(ARRAY['q'], 'w', wait => $wrong)");
		like($one->complaint, qr/ XJ001: .*X_INVARIANT: wait /s, "$how: so is claim(wait) of $wrong");
	}
	$one->sql('RESET x_jobs.max_claim_wait');

	# Not inside a transaction, whoever makes it.
	$one->sql(q{CREATE FUNCTION waiting() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL x_jobs.wait(ARRAY['q'], '1 s'); END $$});
	for my $block (
		[ 'BEGIN', "BEGIN; CALL x_jobs.wait(ARRAY['q'], '1 s')" ],
		[ 'several statements sent as one', "SELECT 1\\; CALL x_jobs.wait(ARRAY['q'], '1 s')" ],
		[ 'DO inside BEGIN', q{BEGIN; DO $$ BEGIN CALL x_jobs.wait(ARRAY['q'], '1 s'); END $$} ],
		[ 'a function', 'SELECT waiting()' ])
	{
		$one->sql($block->[1]);
		like($one->complaint, qr/ XJ103: .*X_WAIT_IN_TRANSACTION: .*HINT: /s, "$how: a wait inside $block->[0] is X_WAIT_IN_TRANSACTION");
		$one->sql('ROLLBACK') if $block->[0] =~ /BEGIN/;
	}

	# A DO block that is not inside a transaction block is either refused too or keeps the promise of CALL wait.
	my $watch = "SELECT backend_xmin IS NULL AND backend_xid IS NULL FROM pg_stat_activity WHERE pid = " . $one->pid;
	$one->send(q{DO $$ BEGIN CALL x_jobs.wait(ARRAY['nothing'], '30 s'); END $$});
	my $kept = wait_until(sub { !$one->pending || $server->safe_psql('postgres', $watch) eq 't' });
	$server->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $one->pid_known . ')');
	$one->result;
	ok($kept && $one->sqlstate =~ /^(?:XJ103|57014)$/, "$how: a wait inside DO is refused, or holds no snapshot") or diag $one->complaint;

	# CALL wait holds no snapshot, and neither way of waiting holds a lock on a table.
	my $locks = "SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'relation' AND database <> 0 AND pid = " . $one->pid;
	put_to_sleep($server, $one, "CALL x_jobs.wait(ARRAY['held'], '100 s')");
	ok($server->poll_query_until('postgres', $watch), "$how: CALL wait holds no snapshot while it waits");
	ok($server->poll_query_until('postgres', $locks), "$how: C-076 CALL wait holds no table lock while it waits");
	my $admin = session($server);
	$admin->sql("SET lock_timeout = '10s'; SET statement_timeout = '60s'");
	for my $upkeep ('VACUUM FULL _x_jobs.jobs', 'REINDEX TABLE CONCURRENTLY _x_jobs.jobs', 'TRUNCATE _x_jobs.tally_0',
		'ALTER TABLE _x_jobs.jobs SET (fillfactor = 60)', 'BEGIN; LOCK TABLE _x_jobs.jobs, _x_jobs.queues; COMMIT')
	{
		$admin->sql($upkeep);
		is($admin->complaint, '', "$how: C-076 $upkeep goes through during CALL wait");
	}
	ok($one->pending, "$how: C-076 and the worker still waits");
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'held', queue => 'held')");
	woken($one, '', "$how: C-076 and is woken as ever");

	put_to_sleep($server, $one, claim_waiting("'held too'"));
	ok($server->poll_query_until('postgres', $locks), "$how: C-076 claim(wait) holds no table lock while it waits");
	for my $upkeep ('VACUUM FULL _x_jobs.jobs', 'TRUNCATE _x_jobs.tally_0', 'REINDEX TABLE _x_jobs.jobs',
		'ALTER TABLE _x_jobs.jobs SET (fillfactor = 45)', 'BEGIN; LOCK TABLE _x_jobs.jobs, _x_jobs.queues; COMMIT')
	{
		$admin->sql($upkeep);
		is($admin->complaint, '', "$how: C-076 $upkeep goes through during claim(wait)");
	}
	ok($one->pending, "$how: C-076 and the worker still waits");
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'held too', queue => 'held too')");
	woken($one, 'held too|1', "$how: C-076 and gets its job from the rewritten table");

	# A wake that was given to a worker who then dies. One of the two is stopped, so that it has been chosen and not
	# yet moved, or was not chosen at all; taking turns makes sure that the first case is among them.
	for my $end ('pg_cancel_backend', 'pg_terminate_backend')
	{
		for my $turn (0, 1)
		{
			my @waiters = map { session($server) } 0, 1;
			put_to_sleep($server, $_, claim_waiting("'passed on'", worker => 'p')) for @waiters;
			my ($dying, $other) = @waiters[ $turn, 1 - $turn ];
			kill 'STOP', $dying->pid_known;
			$producer->sql("SELECT x_jobs.enqueue('work', '1', '$end $turn', queue => 'passed on')");
			$producer->sql("SELECT $end(" . $dying->pid_known . ')');
			kill 'CONT', $dying->pid_known;
			wait_until(sub { !$dying->pending }, within => $soon);
			my $lost = $dying->result;
			like($dying->complaint, qr/57014|57P01/, "$how: $end ends waiter $turn");
			woken($other, "$end $turn|1", "$how: the other worker gets the job after $end of waiter $turn");
			is($lost, '', "$how: and the ended one got nothing");
			$_->quit for @waiters;
		}
	}

	# Two jobs wake two workers, and neither is handed out twice.
	put_to_sleep($server, $one, claim_waiting("'two'"));
	put_to_sleep($server, $two, claim_waiting("'two'"));
	$producer->sql("SELECT count(*) FROM x_jobs.enqueue_many('work', ARRAY['1', '2']::jsonb[], ARRAY['x', 'y'], queue => 'two')");
	my $ended = wait_until(sub { !$one->pending && !$two->pending }, within => $soon);
	ok($ended, "$how: CLAIM-12 two jobs wake two workers");
	is(join(' ', sort map { $ended ? $_->result : '' } $one, $two), 'x|1 y|1', "$how: CLAIM-12 who get one each") if $ended;

	# exchange waits as claim does, once its settlements are in.
	put_to_sleep($server, $two, "SELECT status, idempotency_key FROM x_jobs.exchange(ARRAY[]::x_jobs.settlement[], ARRAY['x'], 'w', wait => '100 s')") if $ended;
	$producer->sql("SELECT x_jobs.enqueue('work', '1', 'z', queue => 'x')");
	woken($two, 'claimed|z', "$how: exchange(wait) is woken by a commit") if $ended;

	# Nobody waits for ever for a server that stops.
	put_to_sleep($server, $one, "CALL x_jobs.wait(ARRAY['stop'], '1 day')") if $ended;
	$started = time;
	$server->stop('fast');
	cmp_ok(time - $started, '<', 30, "$how: a waiting worker does not keep the server from stopping");
	unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, "$how: no crash in the log");
	$_->abandon for $one, $two, $producer, $admin;
}

done_testing();
