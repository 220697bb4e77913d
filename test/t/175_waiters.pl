# Those who wait for work. The table is polled once a minute here, so whatever comes much earlier was a wake. If this
# failed, a worker would sleep on while there is work for it, or all of them would get up for one job.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Heads;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# Well below the minute of the poll, and well above what a slow machine needs.
my $soon = 25;

my $server = heads_server('waiters', conf => "x_jobs.poll_interval = '60s'\nx_jobs.max_claim_wait = '10min'");
my $other = session($server);
my $third = session($server);
my $queues = 0;
sub queue { return 'queue ' . ++$queues; }

# An alarm of the server wakes a backend out of any sleep, and one is pending in every session: some seconds after its
# first statement, for its statistics, and at the end of the time for its authentication, even if it has no work left to
# do by then. So all statistics are written, and an alarm of our own puts the pending one off.
my $undisturbed = <<'SQL';
SELECT pg_stat_force_next_flush() \g /dev/null
SET statement_timeout = '20ms';
DO $$ BEGIN PERFORM pg_stat_force_next_flush(); PERFORM pg_sleep(10); EXCEPTION WHEN query_canceled THEN NULL; END $$;
RESET statement_timeout;
SQL

sub waiting_claim
{
	my ($queue, $worker) = @_;
	return "SELECT idempotency_key FROM x_jobs.claim(ARRAY['$queue'], '$worker', wait => '9 min', visibility_timeout => '1 h')";
}

sub sleeps
{
	my ($pid) = @_;
	return $server->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM pg_stat_activity WHERE pid = $pid AND state = 'active' AND wait_event = 'Extension'");
}

# Sessions that sleep in a claim of the queue, in the order in which they were made.
sub sleepers
{
	my ($queue, $count, %options) = @_;
	my @sessions;
	for my $number (1 .. $count)
	{
		my $session = session($server, %options);
		$session->pid;
		$session->send($undisturbed . ($options{statement} // waiting_claim($queue, "sleeper $number")));
		sleeps($session->pid) or BAIL_OUT('did not fall asleep');
		push @sessions, $session;
	}
	return @sessions;
}

# Which of them have ended, by number; waits until as many have as are expected.
sub awake
{
	my ($count, @sessions) = @_;
	wait_until(sub { $count <= grep { !$_->pending } @sessions }, within => $soon);
	return join ' ', map { $_ + 1 } grep { !$sessions[$_]->pending } 0 .. $#sessions;
}

# Ends the sessions and their backends: one that sleeps does not notice by itself that its client is gone.
sub end_all
{
	my @pids = map { $_->pid_known } @_;
	$server->safe_psql('postgres', "SELECT pg_terminate_backend($_)") for grep { kill 0, $_ } @pids;
	gone(@pids);
	$_->abandon for @_;
	return;
}

sub JobServer::Session::pid_known { my ($self) = @_; return $self->{pid}; }

# How often a process has given the processor away by itself: it counts every time that it was woken.
sub wakes
{
	my ($pid) = @_;
	open my $status, '<', "/proc/$pid/status" or return -1;
	my ($switches) = map { /^voluntary_ctxt_switches:\s+(\d+)/ ? $1 : () } <$status>;
	close $status;
	return $switches;
}

# No herd. A lease that ends later than the poll comes, and later than another one, is nobody's reason to get up.
$other->sql(enqueue('elsewhere', 'unrelated'));
$other->sql(claim_of('elsewhere', lease => '2 min'));
my $name = 'eight wait';
my $queue = queue();
my @sleepers = sleepers($queue, 8);
for my $job (1 .. 8)
{
	my @asleep = grep { $_->pending } @sleepers;
	my %before = map { $_->pid => wakes($_->pid) } @asleep;
	$other->sql(enqueue($queue, "job $job"));
	wait_until(sub { $job <= grep { !$_->pending } @sleepers }, within => $soon);
	is(scalar(grep { !$_->pending } @sleepers), $job, "$name: one job lets one of them go, for the ${job}th time");
	my @disturbed = grep { $_->pending && wakes($_->pid) != $before{ $_->pid } } @asleep;
	is(scalar(@disturbed), 0, "$name: and none of the others so much as looks");
}
is(join(' ', sort map { $_->result } @sleepers), join(' ', map { "job $_" } 1 .. 8), "$name: each got one");
end_all(@sleepers);

$name = 'three jobs in one commit';
$queue = queue();
@sleepers = sleepers($queue, 5);
$other->sql("SELECT x_jobs.enqueue_many('work', ARRAY['1', '2', '3']::jsonb[], ARRAY['x', 'y', 'z'], queue => '$queue')");
is(scalar(split / /, awake(3, @sleepers)), 3, "$name let three go");
end_all(@sleepers);

# CALL wait takes nothing: whoever comes back from it and claims may find that another was faster, which is no harm.
$name = 'CALL wait';
$queue = queue();
@sleepers = sleepers($queue, 3, statement => "CALL x_jobs.wait(ARRAY['$queue'], '9 min')");
my $pids = join ', ', map { $_->pid } @sleepers;
is($other->sql("SELECT count(*) FROM pg_stat_activity WHERE pid IN ($pids) AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)"),
	'0', "$name: a sleeping call holds back no vacuum");
is($other->sql("SELECT count(*) FROM pg_locks WHERE pid IN ($pids) AND locktype = 'relation'"), '0', "$name: and holds no lock on any table");
$other->sql(enqueue($queue, 'a'));
is(scalar(split / /, awake(1, @sleepers)), 1, "$name: one job lets one of them go");
end_all(@sleepers);

$name = 'a sleeping claim';
$queue = queue();
@sleepers = sleepers($queue, 1);
is($other->sql('SELECT count(*) FROM pg_locks WHERE pid = ' . $sleepers[0]->pid . " AND locktype = 'relation' AND relation::regclass::text LIKE '%jobs'"),
	'0', "$name holds no lock on the table of jobs");
end_all(@sleepers);

# A wake that its receiver cannot use goes to another. Which of the sleepers gets it is not this test's business: the one
# that is gone or busy is found by looking.
for my $end ('pg_cancel_backend', 'pg_terminate_backend')
{
	# All of them, one after another: the last one is still woken.
	$name = "$end of those who sleep";
	$queue = queue();
	@sleepers = sleepers($queue, 4);
	$other->sql("SELECT $end(" . $sleepers[$_]->pid . ')') for 0 .. 2;
	$other->sql(enqueue($queue, 'a'));
	wait_until(sub { !$sleepers[3]->pending }, within => $soon);
	ok(!$sleepers[3]->pending, "$name: the last is woken");
	end_all(@sleepers);

	# In the same instant as the wake.
	$name = "$end in the instant of the wake";
	$queue = queue();
	@sleepers = sleepers($queue, 2);
	# The first may be cut down before its wake, after it, or after it took the job: then the job is done for.
	for my $round (1 .. 10)
	{
		my $doomed = $sleepers[0];
		kill 'STOP', $doomed->pid;
		$other->sql(enqueue($queue, "job $round"));
		$other->sql("SELECT $end(" . $doomed->pid . ')');
		kill 'CONT', $doomed->pid;
		wait_until(sub { !$doomed->pending }, within => $soon);
		$doomed->result;
		my $taken = wait_until(sub { $other->sql("SELECT state FROM _x_jobs.jobs WHERE queue = '$queue' AND idempotency_key = 'job $round'") eq 'running' },
			within => $soon);
		ok($taken, "$name, round $round: somebody has the job");
		end_all(@sleepers);
		@sleepers = sleepers($queue, 2) if $round < 10;
	}

	# While it looks: the one that was woken waits for the lock of somebody who has got in between.
	$name = "$end of one that looks";
	$queue = queue();
	@sleepers = sleepers($queue, 2);
	$other->sql('BEGIN');
	$other->sql(enqueue($queue, 'a'));
	$third->send('BEGIN; LOCK TABLE _x_jobs.jobs IN ACCESS EXCLUSIVE MODE');
	$server->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'");
	$other->sql('COMMIT');
	$third->result;
	my $sleeping = join ',', map { $_->pid } @sleepers;
	$server->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid IN ($sleeping)")
	  or BAIL_OUT('nobody looks');
	my $looking = $server->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND pid IN ($sleeping)");
	$other->sql("SELECT $end($looking)");
	my ($doomed) = grep { $_->pid == $looking } @sleepers;
	my ($left) = grep { $_->pid != $looking } @sleepers;
	$doomed->result;
	$third->sql('ROLLBACK');
	wait_until(sub { !$left->pending }, within => $soon);
	ok(!$left->pending, "$name: the other is woken");
	end_all(@sleepers);
}

# Times. A lease or a due time is nobody's in particular: whoever sleeps has to be there for it.
sub finds_in_time
{
	my ($session, $key, $test) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	wait_until(sub { !$session->pending }, within => $soon);
	return fail("$test: still asleep") if $session->pending;
	return is($session->result, $key, $test);
}

$name = 'a lease that is given out while the others sleep';
$queue = queue();
@sleepers = sleepers($queue, 2);
# A job of the queue is taken and forgotten by one who did not wait.
$other->sql('BEGIN');
$other->sql(enqueue($queue, 'b'));
is(takes($other, $queue, lease => '3 s'), 'b', "$name: claimed by one who did not wait");
$other->sql('COMMIT');
wait_until(sub { 1 == grep { !$_->pending } @sleepers }, within => $soon);
is(scalar(grep { !$_->pending } @sleepers), 1, "$name: its lapse wakes one of them");
end_all(@sleepers);

$name = 'a lease that is cut short while the others sleep';
$queue = queue();
my $id = job_id(1);
$other->sql(enqueue($queue, 'a', "id => '$id'"));
takes($other, $queue, lease => '1 h');
@sleepers = sleepers($queue, 1);
$other->sql("SELECT x_jobs.heartbeat('$id', 'w', 1, '2 s')");
finds_in_time($sleepers[0], 'a', $name);
end_all(@sleepers);

$name = 'a lease whose watcher has left with other work';
$queue = queue();
$other->sql(enqueue($queue, 'a'));
takes($other, $queue, lease => '6 s');
@sleepers = sleepers($queue, 3);
$other->sql(enqueue($queue, 'b'));
is(scalar(split / /, awake(1, @sleepers)), 1, "$name: one left");
$other->sql(enqueue($queue, 'c'));
is(scalar(split / /, awake(2, @sleepers)), 2, "$name: and another");
my ($last) = grep { $_->pending } @sleepers;
finds_in_time($last, 'a', "$name: the third finds the lapse");
end_all(@sleepers);

$name = 'a lease of a queue that its watcher does not wait for';
$queue = queue();
my $elsewhere = queue();
my ($there) = sleepers($elsewhere, 1);
($last) = sleepers($queue, 1);
$other->sql('BEGIN');
$other->sql(enqueue($queue, 'a'));
takes($other, $queue, lease => '6 s');
$other->sql('COMMIT');
# What the sleeper has seen of the lease is overtaken by a look of its own: a job that another one takes first.
$other->sql(enqueue($elsewhere, 'b'));
finds_in_time($there, 'b', "$name: the watcher left");
finds_in_time($last, 'a', "$name: the other finds the lapse");
end_all($there, $last);

$name = 'a due time whose watcher has left with other work';
$queue = queue();
@sleepers = sleepers($queue, 3);
$other->sql(enqueue($queue, 'a', "delay => '6 s'"));
$other->sql(enqueue($queue, 'b'));
$other->sql(enqueue($queue, 'c'));
is(scalar(split / /, awake(2, @sleepers)), 2, "$name: two left");
($last) = grep { $_->pending } @sleepers;
finds_in_time($last, 'a', "$name: the third is there when the job falls due");
end_all(@sleepers);

$name = 'a due time whose watcher was cancelled';
$queue = queue();
@sleepers = sleepers($queue, 2);
my %before = map { $_->pid => wakes($_->pid) } @sleepers;
$other->sql(enqueue($queue, 'a', "delay => '6 s'"));
my ($watcher) = wait_until(sub { my @woken = grep { wakes($_->pid) != $before{ $_->pid } } @sleepers; $woken[0] }, within => $soon);
isnt($watcher, undef, "$name: one has looked");
$other->sql('SELECT pg_cancel_backend(' . $watcher->pid . ')');
wait_until(sub { !$watcher->pending });
($last) = grep { $_ != $watcher } @sleepers;
finds_in_time($last, 'a', "$name: the other is there when the job falls due");
end_all(@sleepers);

# Databases: equal names are other queues, and a lease is watched by whoever claims in any of them.
$server->safe_psql('postgres', 'CREATE DATABASE second');
$server->safe_psql('second', 'CREATE EXTENSION x_jobs');
$name = 'another database';
$queue = queue();
my $abroad = session($server, database => 'second');
my ($foreign) = sleepers($queue, 1, database => 'second');
my ($home) = sleepers($queue, 1);
my $seen = wakes($foreign->pid);
$other->sql(enqueue($queue, 'a'));
finds_in_time($home, 'a', "$name: a job wakes those of its own");
ok($foreign->pending && wakes($foreign->pid) == $seen, "$name: and nobody else");
end_all($foreign, $home);

$name = 'a lease of another database';
$queue = queue();
$abroad->sql(enqueue($queue, 'a'));
takes($abroad, $queue, lease => '5 s');
# Here whoever sleeps first watches the leases.
($home) = sleepers('nothing', 1);
($foreign) = sleepers($queue, 1, database => 'second');
finds_in_time($foreign, 'a', "$name: its lapse is told there, although one here watches");
end_all($foreign, $home);

$name = 'a lease of another database, opened by a claim of this one';
$queue = queue();
$abroad->sql(enqueue($queue, 'a'));
takes($abroad, $queue, lease => '3 s');
($foreign) = sleepers($queue, 1, database => 'second');
my $until = time + 6;
wait_until(sub { takes($other, 'nothing'); time > $until });
finds_in_time($foreign, 'a', "$name: its lapse is told there");
end_all($foreign);

$name = 'DROP DATABASE';
($home) = sleepers('nothing', 1);
($foreign) = sleepers('nothing', 1, database => 'second');
$abroad->quit;
$server->psql('postgres', 'DROP DATABASE second WITH (FORCE)', timeout => $soon, timed_out => \my $timed_out);
ok(!$timed_out && $server->safe_psql('postgres', "SELECT count(*) FROM pg_database WHERE datname = 'second'") eq '0',
	"$name WITH (FORCE) ends those who wait in it");
ok($home->pending, "$name: those elsewhere wait on");
$server->psql('postgres', 'CREATE DATABASE third TEMPLATE template0', timeout => $soon, timed_out => \$timed_out);
ok(!$timed_out, "$name: another is made meanwhile");
end_all($home, $foreign);

# At random: producers, and workers that wait; none may be asleep for long while there is something to do.
$name = 'at random';
my $seed = $ENV{X_JOBS_TEST_SEED} // int(rand(1_000_000_000));
srand($seed);
note("X_JOBS_TEST_SEED=$seed");
my @random_queues = map { queue() } 1 .. 3;
my (@workers, %workers_queues);
for my $number (0 .. 5)
{
	my $worker = session($server);
	$worker->pid;
	$workers_queues{$worker} = join ', ', map { "'$_'" } $number < 3 ? $random_queues[$number] : @random_queues[ 0 .. $number % 3 ];
	push @workers, $worker;
}
my ($done, $made, $worst) = (0, 0, 0);
my $again = sub {
	my ($worker) = @_;
	$worker->send($undisturbed . "WITH c AS MATERIALIZED (SELECT * FROM x_jobs.claim(ARRAY[$workers_queues{$worker}], 'r', wait => '9 min', visibility_timeout => '1 h')) SELECT id, claim FROM c");
};
$again->($_) for @workers;
my $end = time + 12;
my $deadline;
while (1)
{
	if (time < $end)
	{
		my $to = $random_queues[ int rand 3 ];
		my $kind = int rand 10;
		my $statement = enqueue($to, 'r' . ++$made, $kind < 3 ? "delay => '" . (int(rand 900)) . " ms'" : (), "max_attempts => 100");
		if ($kind == 9) { $other->sql("BEGIN; $statement; ROLLBACK"); $made--; }
		elsif ($kind == 8) { $other->sql('BEGIN'); $other->sql($statement); takes($other, $to, lease => '200 ms'); $other->sql('COMMIT'); }
		else { $other->sql($statement); }
		usleep(int rand 20_000);
	}
	for my $worker (grep { !$_->pending } @workers)
	{
		my ($job, $claim) = split /\|/, $worker->result;
		if (!defined $claim && $worker->complaint ne '')
		{
			$again->($worker) if time < $end;
			next;
		}
		if (defined $claim)
		{
			# Some give it back, some forget it, most finish it.
			my $fate = time < $end ? int rand 12 : 11;
			if ($fate == 0) { $third->sql("SELECT x_jobs.nack('$job', 'r', $claim, delay => '300 ms')"); }
			elsif ($fate == 1) { $third->sql("SELECT x_jobs.heartbeat('$job', 'r', $claim, '400 ms')"); }
			else { $third->sql("SELECT x_jobs.ack('$job', 'r', $claim)"); $done++; }
		}
		$again->($worker);
	}
	if (time < $end && rand() < 0.02) { $third->sql('SELECT pg_cancel_backend(' . $workers[ int rand 6 ]->pid . ')'); }
	next if time < $end;
	# What is left falls due within a second; then nobody may leave it lying.
	my $open = $third->sql("SELECT count(*) FROM _x_jobs.jobs WHERE queue IN ('" . join("', '", @random_queues) . "')");
	last if $open eq '0';
	$deadline //= time + $soon;
	last if time > $deadline;
	usleep(20_000);
}
is($third->sql("SELECT string_agg(concat_ws(' ', idempotency_key, state, queue, run_at, visible_at), chr(10)) FROM _x_jobs.jobs WHERE queue IN ('" . join("', '", @random_queues) . "')"),
	'', "$name: $made jobs, and none was left lying by those who wait (X_JOBS_TEST_SEED=$seed)");
end_all(@workers);

# What a look leaves behind is gone before the next one: a waiter that is woken in vain for hours does not grow.
{
	my $queue = queue();
	my $waiter = session($server);
	my $pid = $waiter->pid;
	my $private = sub { return slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m ? $1 : die "no RssAnon" };
	my $looks = sub {
		my ($count) = @_;
		$other->sql("DO \$\$ BEGIN FOR n IN 1 .. $count LOOP PERFORM _x_jobs.announce('$queue'); COMMIT; END LOOP; END \$\$");
		# The last one was answered once the waiter sleeps again.
		wait_until(sub { $third->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event_type = 'Extension'") eq '1' });
	};
	$waiter->send("SELECT * FROM x_jobs.claim('{$queue}', 'w', wait => '5 min')");
	wait_until(sub { $third->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event_type = 'Extension'") eq '1' });
	$looks->(1_000);
	my $before = $private->();
	$looks->(20_000);
	cmp_ok($private->() - $before, '<', 1_024, 'twenty thousand wakes in vain take no memory that stays');
	$other->sql(enqueue($queue, 'at last'));
	like($waiter->result, qr/at last/, 'and the waiter still gets its job');
	end_all($waiter);
}

done_testing();
