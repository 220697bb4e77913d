# Whatever ends a background worker, it comes back within seconds, and what was due meanwhile is fired, once: terminated by
# an administrator, cancelled, killed, taken down by the crash of another backend, or restarted with the server. If this
# failed, one pg_terminate_backend would silence every schedule until somebody noticed.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $server = new_server('killed', preload => 1, scheduler => 1, conf => 'restart_after_crash = on');
my $watch = session($server);

sub worker
{
	my ($kind) = @_;
	return $watch->sql("SELECT pid FROM x_jobs.background_workers() WHERE worker = '$kind' AND state = 'running' AND (database IS NULL OR database = current_database())");
}

sub starts
{
	my ($kind) = @_;
	return $watch->sql("SELECT starts FROM x_jobs.background_workers() WHERE worker = '$kind' AND (database IS NULL OR database = current_database())");
}

# Waits for one that is another process than before; its pid.
sub another
{
	my ($kind, $before) = @_;
	my $now;
	wait_until(sub { $now = worker($kind); $now ne '' && $now ne $before }, within => 10) or return '';
	return $now;
}

sub reconnect
{
	$watch->abandon;
	$server->poll_query_until('postgres', 'SELECT true') or BAIL_OUT('the server did not come back');
	$watch = session($server);
	return;
}

# That the task goes on, and that it has fired each second from its first to its last exactly once.
sub goes_on
{
	my ($name) = @_;
	my $now = $watch->sql('SELECT clock_timestamp()');
	ok(wait_until(sub { $watch->sql("SELECT count(*) > 0 FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at > '$now'") eq 't' }, within => 15), "$name: the task goes on");
	each_second_once($watch, 'tick', "$name: each second was fired once, those of the pause too");
	return;
}

ok(wait_until(sub { worker('scheduler') }, within => 15), 'a scheduler is at work');
$watch->sql(q{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
goes_on('before anything');

# Terminated, four times, the last three within ten seconds.
for my $kind (qw(scheduler launcher))
{
	my $began = time;
	for my $time (1 .. 4)
	{
		$began = time if $time == 2;
		my $before = worker($kind);
		my $counted = starts($kind);
		is($watch->sql("SELECT pg_terminate_backend($before, 10000)"), 't', "C-038 the $kind can be terminated ($time)");
		isnt(another($kind, $before), '', "C-038 it is back within seconds ($time)");
		is(starts($kind), $counted + 1, "C-038 and its starts are counted ($time)");
	}
	note sprintf('the last three times within %.1f s', time - $began);
	is($watch->sql("SELECT since > clock_timestamp() - interval '10 s' FROM x_jobs.background_workers() WHERE worker = '$kind' AND state = 'running'"), 't', "C-038 the last start is shown");
	goes_on("C-038 after the terminations of the $kind");
}
my $scheduler = worker('scheduler');
my $launcher = worker('launcher');

# Terminated in the middle of a fire.
$watch->sql(q{CREATE FUNCTION slow(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS
	$$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "slow"}')).* FROM pg_catalog.pg_sleep(3) $$});
$watch->sql(q{SELECT x_jobs.schedule('slow', '@every 1 s', entries_function => 'slow(timestamptz)', overlap => 'allow')});
is($watch->complaint, '', 'a slow task');
my $sleeping = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND wait_event = 'PgSleep'";
ok(wait_until(sub { $watch->sql($sleeping) eq '1' }, within => 20), 'it is being fired');
is($watch->sql("SELECT pg_terminate_backend($scheduler, 10000)"), 't', 'C-038 SCHED-31 a scheduler that is busy ends when it is told to');
isnt(another('scheduler', $scheduler), '', 'C-038 and is back');
is($watch->sql(q{SELECT count(*) FROM x_jobs.all_jobs a WHERE name = 'slow' AND NOT EXISTS (SELECT FROM x_jobs.task_history('slow', 1000) h WHERE a.id = ANY (h.jobs))}),
	'0', 'C-022 nothing is half done');

# Cancelled, idle and busy: that step fails, and no more.
$scheduler = worker('scheduler');
# A function that took its scheduler with it is left alone for a minute.
ok(wait_until(sub { $watch->sql($sleeping) eq '1' }, within => 120), 'it is being fired');
$watch->sql("SELECT pg_cancel_backend($scheduler)");
ok(wait_until(sub { $watch->sql("SELECT failures > 0 AND error LIKE '%cancel%' FROM x_jobs.tasks WHERE task = 'slow'") eq 't' }, within => 10), 'C-038 SCHED-23 a cancelled fire is a failed one, and is seen');
is(worker('scheduler'), $scheduler, 'C-038 the scheduler goes on');
$watch->sql("SELECT x_jobs.unschedule('slow')");
is($watch->sql("SELECT pg_cancel_backend($scheduler) FROM generate_series(1, 20)"), join("\n", ('t') x 20), 'C-038 cancelled while it is idle');
goes_on('C-038 after the cancels');
is(worker('scheduler'), $scheduler, 'C-038 the process is the same');
is(worker('launcher'), $launcher, 'C-038 the launcher was left alone');
$watch->sql("SELECT pg_cancel_backend($launcher) FROM generate_series(1, 20)");
goes_on('C-038 after cancels of the launcher');
$scheduler = worker('scheduler');
is($watch->sql("SELECT pg_terminate_backend($scheduler, 10000)"), 't', 'the scheduler ends');
isnt(another('scheduler', $scheduler), '', 'C-038 and the launcher, cancelled as it was, starts it again');

# Crashes: of the scheduler, of the launcher, of a backend that has nothing to do with them.
for my $victim (qw(scheduler launcher other))
{
	my $session = session($server);
	my $pid = $victim eq 'other' ? $session->pid : worker($victim);
	my $offset = -s $server->logfile;
	kill 'KILL', $pid;
	$server->wait_for_log(qr/all server processes terminated; reinitializing/, $offset);
	$session->abandon;
	reconnect();
	isnt(another('scheduler', $pid), '', "C-038 the scheduler is back after a SIGKILL ($victim)");
	isnt(another('launcher', $pid), '', "C-038 and the launcher ($victim)");
	goes_on("C-038 after the SIGKILL ($victim)");
}

# A restart, and a stop at once.
for my $mode (qw(fast immediate))
{
	$watch->quit;
	$server->stop($mode);
	$server->start;
	$watch = session($server);
	isnt(another('scheduler', ''), '', "C-038 the scheduler is back after a stop ($mode)");
	goes_on("C-038 after the stop ($mode)");
}
unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal (?!9)/, 'no crash but those that were made');
$watch->quit;
my $began = time;
$server->stop('fast');
cmp_ok(time - $began, '<', 15, 'C-038 the workers do not hold up the end of the server');

done_testing();
