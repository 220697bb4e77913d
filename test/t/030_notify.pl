# Plain LISTEN clients hear, at the commit, of each queue that got work, once per transaction, and of nothing else; and
# of each job that came to an end. Notifications are an extra: a rollback sends none, they can be switched off, and
# when nobody reads the server's queue of notifications, an enqueue commits all the same. A transaction that is
# prepared can enqueue; its COMMIT PREPARED wakes. If this failed, workers would sleep through their work, or an
# application's own transaction would be lost to "too many notifications".
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Temp;
use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $barriers = 0;

sub free_gigabytes
{
	my ($place) = @_;
	return `df -Pk '$place'` =~ /\n\S+\s+\d+\s+\d+\s+(\d+)/ ? $1 / (1024 * 1024) : 0;
}

# What the listener has heard since the last call, as "channel payload" lines. The barrier is a notification of our
# own: the server delivers them in the order of the commits, so everything before it has been heard.
sub heard
{
	my ($listener, $speaker) = @_;
	my $barrier = 'barrier ' . ++$barriers;
	$speaker->sql("NOTIFY x_jobs_wake, '$barrier'");
	my @heard;
	wait_until(
		sub {
			push @heard, map { /Asynchronous notification "([^"]*)"(?: with payload "(.*)")? received/ ? "$1 " . ($2 // '') : () }
			  split /\n/, $listener->sql('SELECT 1');
			return grep { $_ eq "x_jobs_wake $barrier" } @heard;
		}) or die "the barrier was not heard";
	return map { s/(["}]?[:,]) /$1/gr } grep { !/ barrier / } @heard;
}

for my $preload (0, 1)
{
	my $how = $preload ? 'preloaded' : 'not preloaded';
	my $server = new_server("notify_$preload", preload => $preload, conf => "max_prepared_transactions = 5\nx_jobs.poll_interval = '60s'");
	my $listener = session($server);
	$listener->sql('LISTEN x_jobs_wake');
	$listener->sql('LISTEN x_jobs_settled');
	my $app = session($server);

	my $says = sub {
		my ($name, $sql, @right) = @_;
		$app->sql($sql);
		is($app->complaint, '', "$how: no complaint about $name") if $app->complaint ne '';
		is_deeply([ heard($listener, $app) ], [ @right ], "$how: $name");
	};

	# Channel and payload.
	$says->('WAKE-1 an enqueue announces its queue', "SELECT x_jobs.enqueue('w', '1', 'a', queue => 'mail')", 'x_jobs_wake mail');
	$says->('WAKE-1 the default queue by its name', "SELECT x_jobs.enqueue('w', '1', 'a2')", 'x_jobs_wake default');
	$says->('WAKE-1 a queue of any name', "SELECT x_jobs.enqueue('w', '1', 'b', queue => 'Grüße \"an\" alle')", 'x_jobs_wake Grüße "an" alle');

	# Once per queue and transaction.
	$says->('WAKE-2 once per queue for a batch',
		"SELECT x_jobs.enqueue_many('w', ARRAY['1', '2', '3']::jsonb[], ARRAY['c', 'd', 'e'], queue => 'mail')", 'x_jobs_wake mail');
	$says->('WAKE-2 once per queue for a transaction',
		"BEGIN; SELECT x_jobs.enqueue('w', '1', 'f', queue => 'one'); SELECT x_jobs.enqueue('w', '1', 'g', queue => 'two');
		 SELECT x_jobs.enqueue('w', '1', 'h', queue => 'one'); COMMIT", 'x_jobs_wake one', 'x_jobs_wake two');
	$says->('WAKE-2 again for the next transaction', "SELECT x_jobs.enqueue('w', '1', 'i', queue => 'one')", 'x_jobs_wake one');

	# Not for the far future; deduped; rolled back.
	$says->('WAKE-3 a job due within a second is announced', "SELECT x_jobs.enqueue('w', '1', 'j', queue => 'mail', delay => '900 ms')", 'x_jobs_wake mail');
	$says->('WAKE-3 a job due later is not', "SELECT x_jobs.enqueue('w', '1', 'k', queue => 'mail', delay => '1 min')");
	$says->('WAKE-5 a deduped enqueue notifies nobody', "SELECT x_jobs.enqueue('w', '1', 'a', queue => 'mail')");
	$says->('WAKE-9 a rollback sends none', "BEGIN; SELECT x_jobs.enqueue('w', '1', 'l', queue => 'mail'); ROLLBACK");
	$says->('WAKE-9 nor does a rollback to a savepoint',
		"BEGIN; SAVEPOINT p; SELECT x_jobs.enqueue('w', '1', 'l', queue => 'mail'); ROLLBACK TO p; SELECT x_jobs.enqueue('w', '1', 'l', queue => 'other'); COMMIT",
		'x_jobs_wake other');
	$says->('WAKE-9 what a released savepoint enqueued is announced',
		"BEGIN; SAVEPOINT p; SELECT x_jobs.enqueue('w', '1', 'm', queue => 'mail'); RELEASE p; COMMIT", 'x_jobs_wake mail');
	$app->sql("BEGIN; SELECT x_jobs.enqueue('w', '1', 'n', queue => 'open')");
	my $other = session($server);
	is_deeply([ heard($listener, $other) ], [], "$how: WAKE-9 nothing is said before the commit");
	$app->sql('COMMIT');
	is_deeply([ heard($listener, $other) ], ['x_jobs_wake open'], "$how: WAKE-9 but at it");

	# The verbs of operators announce always; those of workers never.
	my $one = job_id(1);
	$says->('WAKE-1 the job of what follows', "SELECT x_jobs.enqueue('w', '1', queue => 'v', dedupe => false, id => '$one', max_attempts => 9)", 'x_jobs_wake v');
	$says->('WAKE-8 a claim says nothing', "SELECT x_jobs.claim(ARRAY['v'], 'w')");
	$says->('WAKE-8 nor a heartbeat', "SELECT x_jobs.heartbeat('$one', 'w', 1)");
	$says->('WAKE-8 nor a nack, though its job is due', "SELECT x_jobs.nack('$one', 'w', 1)");
	$says->('WAKE-8 nor a claim and a release', "SELECT x_jobs.claim(ARRAY['v'], 'w'); SELECT x_jobs.release('$one', 'w', 2)");
	$says->('WAKE-8 nor a pause', "SELECT x_jobs.pause_queue('v')");
	$says->('WAKE-7 a resume does', "SELECT x_jobs.resume_queue('v')", 'x_jobs_wake v');
	$says->('WAKE-7 also of a queue that was not paused', "SELECT x_jobs.resume_queue('v')", 'x_jobs_wake v');
	$says->('WAKE-8 a cancel does not', "SELECT x_jobs.cancel('$one')");
	$says->('WAKE-7 a requeue does', "SELECT x_jobs.requeue('$one')", 'x_jobs_wake v');
	$app->sql("SELECT x_jobs.enqueue('w', '1', 'later', queue => 'v', delay => '1 h', id => '" . job_id(2) . "')");
	$says->('WAKE-7 a promote does', "SELECT x_jobs.promote('" . job_id(2) . "')", 'x_jobs_wake v');
	$says->('WAKE-8 an ack says nothing of the queue, X-14 but that the job completed',
		"SELECT x_jobs.ack(id, 'w', claim) FROM x_jobs.claim(ARRAY['v'], 'w', 1)",
		sprintf('x_jobs_settled {"id":"%s","name":"w","queue":"v","outcome":"completed"}', $one));

	# Endings.
	my $number = 10;
	my $ends = sub {
		my ($outcome, $name, $how_it_ends, %options) = @_;
		my $id = job_id(++$number);
		my $attempts = $options{max_attempts} // 3;
		my $lease = $options{lease} // '1 h';
		$app->sql("SELECT x_jobs.enqueue('end', '1', queue => 'end', dedupe => false, id => '$id', max_attempts => $attempts)");
		$app->sql("SELECT x_jobs.claim(ARRAY['end'], 'w', visibility_timeout => '$lease')");
		heard($listener, $app);
		my @right = $outcome ? (sprintf 'x_jobs_settled {"id":"%s","name":"end","queue":"end","outcome":"%s"}', $id, $outcome) : ();
		$says->("X-14 $name", sprintf($how_it_ends, $id), @right);
		$app->sql("SELECT x_jobs.cancel('$id')") unless $outcome;
	};
	$ends->('completed',     'an ack', "SELECT x_jobs.ack('%s', 'w', 1)");
	$ends->('dead-lettered', 'a dead letter', "SELECT x_jobs.nack('%s', 'w', 1, dead_letter => true)");
	$ends->('dead-lettered', 'attempts that are used up', "SELECT x_jobs.fail('%s', 'w', 1, 'no')", max_attempts => 1);
	$ends->('dropped',       'a counted failure', "SELECT x_jobs.nack('%s', 'w', 1, fail => true)");
	$ends->('refused',       'a refusal', "SELECT x_jobs.nack('%s', 'w', 1, fail => true, counts_as_attempt => false)");
	$ends->('dead-lettered', 'a burial', "SELECT x_jobs.claim(ARRAY['end'], 'x')", max_attempts => 1, lease => '0');
	$ends->('completed',     'a settlement',
		"SELECT x_jobs.settle(ARRAY[(SELECT jsonb_populate_record(NULL::x_jobs.settlement, '{\"id\": \"%s\", \"claim\": 1, \"verb\": \"ack\"}'))], 'w')");
	$ends->(undef, 'a retry ends nothing', "SELECT x_jobs.nack('%s', 'w', 1)");
	$ends->(undef, 'a release ends nothing', "SELECT x_jobs.release('%s', 'w', 1)");
	$ends->(undef, 'a park ends nothing', "SELECT x_jobs.nack('%s', 'w', 1, park => true)");
	$ends->(undef, 'a cancel is not announced', "SELECT x_jobs.cancel('%s')");
	$ends->(undef, 'a lost ack ends nothing', "SELECT x_jobs.ack('%s', 'w', 7)");
	$ends->(undef, 'an ack that is rolled back ends nothing', "BEGIN; SELECT x_jobs.ack('%s', 'w', 1); ROLLBACK");

	# Prepared transactions.
	$app->sql("BEGIN; SELECT x_jobs.enqueue('w', '1', 'prepared', queue => 'p'); PREPARE TRANSACTION 'enqueue'");
	is($app->complaint, '', "$how: a transaction that enqueues can be prepared");
	is_deeply([ heard($listener, $app) ], [], "$how: WAKE-9 PREPARE says nothing");
	my $waiter = session($server, environment => { PGOPTIONS => $preload ? '' : '-c x_jobs.poll_interval=100ms' });
	$waiter->pid;
	$waiter->send("CALL x_jobs.wait(ARRAY['p'], '100 s')");
	$server->poll_query_until('postgres', "SELECT wait_event_type IS NOT NULL AND state = 'active' FROM pg_stat_activity WHERE pid = $waiter->{pid}");
	$app->sql("COMMIT PREPARED 'enqueue'");
	is($app->complaint, '', "$how: COMMIT PREPARED of an enqueue");
	ok(wait_until(sub { !$waiter->pending }, within => 20), "$how: COMMIT PREPARED wakes a waiting worker");
	$waiter->result;
	# Without preload that is only known where the session has used x_jobs before, as here.
	is_deeply([ heard($listener, $app) ], ['x_jobs_wake '], "$how: WAKE-1 COMMIT PREPARED announces any queue");
	is($app->sql("SELECT idempotency_key FROM x_jobs.claim(ARRAY['p'], 'w')"), 'prepared', "$how: and the job is claimed");

	# Off.
	$app->sql('SET x_jobs.notify = off');
	$says->('x_jobs.notify = off silences the wake', "SELECT x_jobs.enqueue('w', '1', 'off', queue => 'off')");
	$says->('and the endings', "SELECT x_jobs.ack(id, 'w', claim) FROM x_jobs.claim(ARRAY['off'], 'w', 1)");
	$waiter->sql("SET x_jobs.poll_interval = '100ms'");
	$waiter->send("SELECT idempotency_key FROM x_jobs.claim(ARRAY['off'], 'w', wait => '4 s')");
	$app->sql("SELECT x_jobs.enqueue('w', '1', 'polled', queue => 'off')");
	is($waiter->result, 'polled', "$how: WAKE-12 a worker finds its job without any notification");
	$app->sql('RESET x_jobs.notify');

	$_->quit for $listener, $app, $other, $waiter;
	$server->stop;
}

# C-068: a session listened and now sits in an open transaction, so the server cannot forget any notification. Its
# queue takes 8 GB and nobody can make it smaller; x_jobs must stop adding to it at the half, so the half is filled
# here, and the rest too where XJOBS_NOTIFY_FULL is set.
SKIP:
{
	my $full = $ENV{XJOBS_NOTIFY_FULL};
	my $needed = $full ? 12 : 6;
	my ($place) = grep { -w && free_gigabytes($_) > $needed } '/dev/shm', $PostgreSQL::Test::Utils::tmp_check;
	skip "C-068 needs $needed GB, in memory or on disk, for the queue of notifications", 1 unless $place;

	my $server = new_server('notify_full', preload => 1, scheduler => 1, start => 0);
	my $queue = File::Temp::tempdir(DIR => abs_path($place), CLEANUP => 1);
	rmdir $server->data_dir . '/pg_notify' or die "pg_notify is not empty: $!";
	symlink $queue, $server->data_dir . '/pg_notify' or die "no symbolic link: $!";
	$server->start;
	$server->safe_psql('postgres', 'CREATE EXTENSION x_jobs');
	my $sleeper = session($server);
	$sleeper->sql('LISTEN x_jobs_wake');
	$sleeper->sql('LISTEN x_jobs_settled');
	my $heard = sub { my ($queue) = @_; return wait_until(sub { $sleeper->sql('SELECT 1') =~ /"x_jobs_wake"$queue received/ }) };
	ok($heard->(''), 'C-068 a scheduler notifies');
	$sleeper->sql('BEGIN; SELECT 1');
	my $filler = session($server);
	my $usage = 'SELECT pg_notification_queue_usage()';

	# Each commit adds to the queue while it has room: four hundred of them are more than a page of it.
	my $commits = q{SELECT format('SELECT (x_jobs.enqueue(%L, dedupe => false, queue => %L)).deduped', 'w', repeat('q', 200) || n) FROM generate_series(1, 400) AS n \gexec};
	my $used = $filler->sql($usage);
	$filler->sql($commits);
	ok(wait_until(sub { $filler->sql($usage) > $used }), 'C-068 while there is room, there are notifications');

	# Each entry of the filling takes a page of 8 kB.
	my $fill = "SELECT count(pg_notify('fill', n || repeat('x', 7900))) FROM generate_series(%d, %d) AS n";
	my $entries = 0;
	while ($used <= 0.5)
	{
		$filler->sql(sprintf $fill, $entries + 1, $entries + 20_000);
		die $filler->complaint if $filler->complaint =~ /ERROR/;
		$entries += 20_000;
		$used = $filler->sql($usage);
	}
	# The scheduler may go by what it knew a second ago.
	my $adds = sub { my $before = $filler->sql($usage); $filler->sql($commits); $filler->sql('SELECT pg_sleep(1.5)'); return $filler->sql($usage) > $before };
	ok(wait_until(sub { !$adds->() }), 'C-068 enqueues add nothing to the queue of notifications when it is more than half full');
	is($filler->complaint, '', 'C-068 and commit');
	if ($full)
	{
		# Up to the last entry that there is room for, in ever smaller steps.
		for my $step (20_000, 1_000, 50, 1)
		{
			while (1)
			{
				$filler->sql(sprintf $fill, $entries + 1, $entries + $step);
				last if $filler->complaint =~ /ERROR/;
				$entries += $step;
			}
		}
		like($filler->complaint, qr/too many notifications in the NOTIFY queue/, 'C-068 the queue of notifications is full');
	}
	is($filler->sql("SELECT deduped FROM x_jobs.enqueue('w', '1', 'a', queue => 'q')"), 'f', 'C-068 an enqueue commits');
	is($filler->sql("SELECT x_jobs.ack(id, 'w', claim) FROM x_jobs.claim(ARRAY['q'], 'w')"), 't', 'C-068 so does a claim with its ack');
	is($filler->sql("SELECT state FROM x_jobs.requeue((SELECT id FROM x_jobs.all_jobs WHERE idempotency_key = 'a'))"), 'ready', 'C-068 so does a requeue');
	my $waiter = session($server);
	$waiter->send("SELECT idempotency_key FROM x_jobs.claim(ARRAY['other'], 'w', wait => '30 s')");
	$filler->sql("SELECT x_jobs.enqueue('w', '1', 'b', queue => 'other')");
	is($waiter->result, 'b', 'C-068 and a worker that waits is woken through shared memory');
	is($filler->complaint, '', 'C-068 without a complaint');
	is($filler->sql('SELECT pg_notification_queue_usage() > 0.5'), 't', 'C-068 the usage can be seen');
	# What was held back, for more queues than are told apart, is sent when there is room again.
	$sleeper->sql('COMMIT');
	ok($heard->(''), 'C-068 WAKE-4 what was held back is sent later');
	$_->quit for $sleeper, $filler, $waiter;
	$server->stop('immediate');
}

done_testing();
