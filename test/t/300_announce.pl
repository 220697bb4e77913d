# What a scheduler tells clients that listen: a queue whose delayed job falls due, once; a queue that a fire gave work, once
# and not before the fire is committed; nothing of a fire that was refused or taken back; and nothing at all where
# x_jobs.notify is off. If this failed, workers would sleep beside work that is due, or be woken for work that is not there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $server = new_server('announce', preload => 1, scheduler => 1, conf => "x_jobs.task_timeout = '1s'");
my $s = session($server);
my $app = session($server);
my $listener = session($server);

sub scheduler
{
	return $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'});
}

# Waits for one that is another process than before; its pid.
sub another
{
	my ($before) = @_;
	my $now;
	wait_until(sub { $now = scheduler(); $now ne '' && $now ne $before }, within => 20) or return '';
	return $now;
}

# What has been heard: [queue, process, when].
my @heard;

sub listen_on
{
	push @heard, map { /Asynchronous notification "x_jobs_wake"(?: with payload "(.*)")? received from server process with PID (\d+)/ ? [ $1 // '', $2, time ] : () }
	  split /\n/, $listener->sql('SELECT 1');
	return;
}

sub hears
{
	my ($queue) = @_;
	return wait_until(sub { listen_on(); grep { $_->[0] eq $queue } @heard }, within => 20);
}

# Everything heard since the last call, without the barriers: [queue, process, when]. The scheduler sends all that was left
# with it at once, so with the queue that is enqueued here it has said the rest; the server delivers in the order of
# the commits. Where nothing is announced, two fires of a task show that the scheduler has gone round.
my $barriers = 0;

sub heard
{
	my (%options) = @_;
	my $barrier = 'barrier ' . ++$barriers;
	if ($options{silent})
	{
		my $now = $s->sql('SELECT clock_timestamp()');
		wait_until(sub { $s->sql("SELECT count(*) >= 2 FROM x_jobs.task_history('silent') WHERE decided_at > '$now'") eq 't' }, within => 30) or die 'the scheduler does not go round';
	}
	else
	{
		$s->sql("SELECT x_jobs.enqueue('w', queue => '$barrier', dedupe => false)");
		hears($barrier) or die "the barrier was not heard";
	}
	$s->sql("NOTIFY x_jobs_wake, 'end of $barrier'");
	hears("end of $barrier") or die "the barrier was not heard";
	my @said = grep { $_->[0] !~ /barrier/ } @heard;
	@heard = ();
	return @said;
}

sub names
{
	return join ', ', sort map { $_->[0] } @_;
}

# A statement of the application, and the queues that are announced because of it.
sub says
{
	my ($name, $sql, $right) = @_;
	$app->sql($sql);
	is($app->complaint, '', "no complaint: $name") if $app->complaint ne '';
	is(names(heard()), $right, $name);
	return;
}

my $pid = another('');
ok($pid, 'a scheduler is at work');
$listener->sql('LISTEN x_jobs_wake');
heard();

# Jobs of an occurrence, by the queues that they go to.
sub jobs
{
	my $number = 0;
	return 'ARRAY[' . join(', ', map { ++$number; qq{jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "w", "queue": "$_", "idempotency_key": "$number"}')} } @_) . ']::x_jobs.new_job[]';
}

# A scheduler outside: fires of an open transaction, and those that come to nothing.
my $three = jobs('one', 'two', 'one', 'one');
$app->sql("BEGIN; SELECT x_jobs.fire('outside', '2026-01-01 00:00:00+00', $three)");
is($app->complaint, '', 'a fire that is not committed');
is(names(heard()), '', 'WAKE-6 WAKE-9 a fire announces nothing before its commit');
$app->sql('COMMIT');
my @said = heard();
is(names(@said), 'one, two', 'WAKE-6 and at it each queue that got a job, once');
is(scalar(grep { $_->[1] ne $pid } @said), 0, 'WAKE-2 from the scheduler');
says('WAKE-6 a fire of an occurrence that was fired announces nothing', "SELECT x_jobs.fire('outside', '2026-01-01 00:00:00+00', $three)", '');
says('WAKE-6 nor does one behind the watermark', "SELECT x_jobs.fire('outside', '2025-12-31 00:00:00+00', $three)", '');
says('WAKE-6 WAKE-9 a fire that is rolled back announces nothing', "BEGIN; SELECT x_jobs.fire('outside', '2026-01-02 00:00:00+00', $three); ROLLBACK", '');
says('WAKE-6 WAKE-9 one whose savepoint is rolled back announces nothing, the next one its own queue',
	"BEGIN; SAVEPOINT p; SELECT x_jobs.fire('outside', '2026-01-03 00:00:00+00', $three); ROLLBACK TO p;
	 SELECT x_jobs.fire('outside', '2026-01-03 00:00:00+00', " . jobs('three') . '); COMMIT', 'three');
is($s->sql("SELECT x_jobs.watermark_get('outside') = '2026-01-03 00:00:00+00'"), 't', 'SCHED-7 it was fired');
says('WAKE-6 a fire without jobs announces nothing', "SELECT x_jobs.fire('outside', '2026-01-04 00:00:00+00', '{}')", '');
says('WAKE-3 WAKE-6 nor does one whose jobs are for later', "SELECT x_jobs.fire('outside', clock_timestamp() + interval '1 hour', " . jobs('future') . ')', '');
says('WAKE-5 WAKE-6 of two jobs of one key the queue of the first is announced, not that of the second',
	"SELECT x_jobs.fire('another', '2026-01-01 00:00:00+00', ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{\"name\": \"w\", \"queue\": \"first\", \"idempotency_key\": \"k\"}'),
		jsonb_populate_record(NULL::x_jobs.new_job, '{\"name\": \"w\", \"queue\": \"second\", \"idempotency_key\": \"k\"}')])", 'first');

# The scheduler's own fires. Each has one occurrence: that of the last new year.
sub entries
{
	return '[' . join(', ', map { qq({"name": "w", "queue": "$_"}) } @_) . ']';
}
my $back = q{UPDATE _x_jobs.task_states SET watermark = clock_timestamp() - interval '1 year', next_at = NULL WHERE task = 'TASK'; SELECT _x_jobs.wake_scheduler()};

sub falls_due
{
	my ($task) = @_;
	return $back =~ s/TASK/$task/r;
}

sub fires
{
	my ($task) = @_;
	return wait_until(sub { $s->sql("SELECT count(*) FROM x_jobs.task_history('$task') WHERE outcome = 'fired'") eq '1' }, within => 20);
}
$app->sql(q{SELECT x_jobs.schedule('yearly', '@yearly', entries => '} . entries('four', 'five', 'four', 'four') . q{')});
is(names(heard()), '', 'WAKE-6 making a task announces nothing');
$app->sql(falls_due('yearly'));
is($app->complaint, '', 'its occurrence falls due');
ok(fires('yearly'), 'and is fired');
@said = heard();
is(names(@said), 'five, four', 'WAKE-6 a fire of the scheduler announces each queue once');
is(scalar(grep { $_->[1] ne $pid } @said), 0, 'WAKE-6 by itself');
says('WAKE-6 a fire by hand too', "SELECT x_jobs.fire_task('yearly')", 'five, four');
$app->sql('SELECT x_jobs.unschedule($$yearly$$)');

# Fires of the scheduler that come to nothing: a function that enqueues and then raises, one that takes too long, and one with
# a job that cannot be.
my $enqueues = q{PERFORM x_jobs.enqueue('w', queue => 'undone', dedupe => false);};
my %fails = (
	raises => "$enqueues RAISE EXCEPTION 'not today';",
	sleeps => "$enqueues PERFORM pg_catalog.pg_sleep(1000);",
	answers => q{RETURN QUERY SELECT (jsonb_populate_record(NULL::x_jobs.new_job, jsonb_build_object('name', 'w', 'queue', 'undone', 'priority', n))).* FROM generate_series(5, 99, 94) AS n;});
for my $task (sort keys %fails)
{
	$app->sql("CREATE FUNCTION $task(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql AS \$\$ BEGIN $fails{$task} END \$\$");
	$app->sql("SELECT x_jobs.schedule('$task', '\@yearly', entries_function => '$task(timestamptz)')");
	$app->sql(falls_due($task));
	is($app->complaint, '', "a task whose function $task") if $app->complaint ne '';
	ok(wait_until(sub { $s->sql("SELECT failures > 0 FROM x_jobs.tasks WHERE task = '$task'") eq 't' }, within => 20), "a fire that fails: $task");
	is(names(heard()), '', "WAKE-6 WAKE-9 it announces nothing: $task");
	$app->sql("SELECT x_jobs.unschedule('$task')");
}
is($s->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'undone'"), '0', 'SCHED-7 and made no job');

# A slow function that enqueues by itself: its job is announced when its occurrence is committed.
$app->sql("CREATE FUNCTION slow(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql AS \$\$ BEGIN PERFORM x_jobs.enqueue('w', queue => 'slow', dedupe => false); PERFORM pg_catalog.pg_sleep(0.5); RETURN; END \$\$");
$app->sql("SELECT x_jobs.schedule('slow', '\@yearly', entries_function => 'slow(timestamptz)')");
$app->sql(falls_due('slow'));
ok(fires('slow'), 'a function that enqueues, and takes its time');
@said = heard();
is(names(@said), 'slow', 'WAKE-6 what the function enqueued is announced, once');
cmp_ok($said[0][2], '>=', $s->sql("SELECT extract(epoch FROM decided_at) FROM x_jobs.task_history('slow') WHERE outcome = 'fired'"), 'WAKE-6 at the commit');
$app->sql("SELECT x_jobs.unschedule('slow')");

# Delayed jobs. Workers have asked for the queues before, as those do that wait for an announcement.
$app->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['later one', 'later two'], 'w')");
$app->sql("CREATE TEMP TABLE later AS SELECT clock_timestamp() + interval '3 s' AS due");
says('WAKE-3 jobs for later are not announced',
	q{SELECT x_jobs.enqueue('w', queue => q, dedupe => false, run_at => due) FROM later, unnest(ARRAY['later one', 'later two', 'later one', 'later one', 'later two']) AS q}, '');
my $due = $app->sql('SELECT extract(epoch FROM due) FROM later');
ok(hears($_), "WAKE-4 the jobs fall due: $_") for 'later one', 'later two';
my ($first) = grep { $_->[0] =~ /^later/ } @heard;
cmp_ok($first->[2], '>=', $due, 'WAKE-4 they are not announced before');
cmp_ok($first->[2], '<', $due + 5, 'WAKE-4 nor long after');
@said = heard();
is(names(@said), 'later one, later two', 'WAKE-2 WAKE-4 each queue is announced once, however many of its jobs fall due');
is(scalar(grep { $_->[1] ne $pid } @said), 0, 'WAKE-2 by the scheduler');

# A queue where nobody has ever claimed, and one where an earlier job still waits; a job that was handed back for later.
$app->sql("SELECT x_jobs.enqueue('w', queue => 'never claimed', dedupe => false, priority => 9, delay => '1500 ms')");
ok(hears('never claimed'), 'WAKE-4 a job falls due in a queue where nobody has claimed');
$app->sql("SELECT x_jobs.enqueue('w', queue => 'waits', dedupe => false)");
ok(hears('waits'), 'a job that nobody claims');
heard();
$app->sql("SELECT x_jobs.enqueue('w', queue => 'waits', dedupe => false, delay => '1500 ms')");
ok(hears('waits'), 'WAKE-4 another falls due behind it');
heard();
$app->sql("SELECT x_jobs.enqueue('w', queue => 'handed back', dedupe => false)");
ok(hears('handed back'), 'a job');
$app->sql("SELECT x_jobs.nack(id, 'w', claim, delay => '1500 ms') FROM x_jobs.claim(ARRAY['handed back'], 'w')");
heard();
ok(hears('handed back'), 'WAKE-4 one that was handed back falls due again');
heard();
# While somebody has the table, nothing waits for it; what falls due meanwhile is told of afterwards.
$app->sql("SELECT x_jobs.enqueue('w', queue => 'behind a lock', dedupe => false, delay => '1500 ms')");
heard();
$app->sql('BEGIN; LOCK TABLE _x_jobs.jobs IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(3)');
is($s->sql("SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted"), '0', 'SCHED-31 the scheduler does not wait for the table');
$app->sql('COMMIT');
ok(hears('behind a lock'), 'WAKE-4 what fell due behind a lock');
heard();
# Longer than a name may be, as a row written by hand can have it.
$s->sql("ALTER TABLE _x_jobs.jobs DISABLE TRIGGER USER; INSERT INTO _x_jobs.jobs SELECT (jsonb_populate_record(j, jsonb_build_object('id', gen_random_uuid(),
	'run_id', gen_random_uuid(), 'queue', repeat('long ', 100), 'run_at', clock_timestamp() + interval '1500 ms'))).* FROM _x_jobs.jobs AS j WHERE j.queue = 'waits' LIMIT 1;
	ALTER TABLE _x_jobs.jobs ENABLE TRIGGER USER");
is($s->complaint, '', 'a row with a name that no call would take');
ok(hears(''), 'WAKE-4 when it falls due, any queue may have got work');
heard();
is($s->sql("DELETE FROM _x_jobs.jobs WHERE queue LIKE 'long%' RETURNING 1"), '1', 'it is taken away');
ok(hears(''), 'by hand, so any queue may have got work');
heard();

# Off: neither an enqueue nor a fire nor a job that falls due says anything.
$app->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['silent later'], 'w')");
$s->sql($_) for 'ALTER SYSTEM SET x_jobs.notify = off', 'SELECT pg_reload_conf()';
$pid = another($pid);
ok($pid, 'x_jobs.notify is switched off, and the scheduler begins anew');
ok(wait_until(sub { $app->sql('SHOW x_jobs.notify') eq 'off' }, within => 20), 'the application knows');
# What was said until then.
$s->sql("NOTIFY x_jobs_wake, 'the end'");
hears('the end');
@heard = ();
$s->sql(q{SELECT x_jobs.schedule('silent', '* * * * * *', entries => '} . entries('silent task') . q{', overlap => 'allow')});
$app->sql("SELECT x_jobs.enqueue('w', queue => 'silent', dedupe => false)");
$app->sql("SELECT x_jobs.enqueue('w', queue => 'silent later', dedupe => false, delay => '1500 ms')");
$app->sql("SELECT x_jobs.fire('silent outside', '2026-01-01 00:00:00+00', " . jobs('silent outside') . ')');
is($app->complaint, '', 'an enqueue, a fire and a job for later');
ok(wait_until(sub { $s->sql("SELECT run_at < clock_timestamp() FROM x_jobs.all_jobs WHERE queue = 'silent later'") eq 't' }, within => 20), 'which falls due');
is(names(heard(silent => 1)), '', 'WAKE-2 WAKE-6 with x_jobs.notify off nothing is sent');
cmp_ok($s->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'silent task'"), '>=', 2, 'SCHED-7 and tasks fire all the same');
is(scheduler(), $pid, 'the scheduler is the same');

# On again: what was left unsaid may be in any queue.
$s->sql($_) for 'ALTER SYSTEM RESET x_jobs.notify', 'SELECT pg_reload_conf()';
$pid = another($pid);
ok($pid, 'x_jobs.notify is switched on, and the scheduler begins anew');
ok(hears(''), 'WAKE-4 what was left unsaid is announced for any queue');
ok(hears('silent task'), 'WAKE-6 and fires are announced by name');
$s->sql("SELECT x_jobs.unschedule('silent')");

unlike(slurp_file($server->logfile), qr/PANIC|TRAP|cannot notify|terminated by signal/, 'the log knows of no failure');
$_->quit for $s, $app, $listener;
$server->stop;

done_testing();
