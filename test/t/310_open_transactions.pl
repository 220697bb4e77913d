# A transaction that has changed a task and is left open holds that task, and no other: the scheduler neither waits for it
# nor ends, and fires all others each second. When it is committed or rolled back, the task goes on from there by itself, by
# what is written then. If this failed, one session that somebody forgot in psql would stop every schedule of the database.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = new_server('open', preload => 1, scheduler => 1);
my $s = session($server);
my $holder = session($server);
my $tail = q{catch_up => 'all', max_catch_up => 1000, overlap => 'allow'};

sub scheduler
{
	return $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'});
}

ok(wait_until(sub { scheduler() }, within => 20), 'a scheduler is at work');
my $pid = scheduler();

# The tasks that nobody holds; the second has a function, which is written down before it is called.
$s->sql(q{CREATE FUNCTION entries(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "free function"}')).* $$});
$s->sql(qq{SELECT x_jobs.schedule('free', '* * * * * *', entries => '[{"name": "free"}]', $tail)});
$s->sql(qq{SELECT x_jobs.schedule('free function', '* * * * * *', entries_function => 'entries(timestamptz)', $tail)});
is($s->complaint, '', 'tasks that nobody holds');

# Of the tasks with these names each second is fired once, from the first to the last.
sub is_complete
{
	my ($name, @tasks) = @_;
	my $list = join ', ', map { "'$_'" } @tasks;
	is( $s->sql(qq{SELECT string_agg(name, ', ') FROM (SELECT name FROM x_jobs.all_jobs WHERE name IN ($list) GROUP BY name
		HAVING count(*) <> extract(epoch FROM max(run_at) - min(run_at)) + 1 OR count(*) <> count(DISTINCT run_at)) AS incomplete}),
		'', $name);
	return;
}

# Three seconds of both, in which the process was seen to wait for no lock.
sub others_go_on
{
	my ($name) = @_;
	my $now = $s->sql('SELECT clock_timestamp()');
	my $waited = 0;
	ok( wait_until(
			sub {
				$waited += $s->sql("SELECT count(*) FROM pg_locks WHERE pid = $pid AND NOT granted");
				$s->sql("SELECT count(*) = 2 FROM (SELECT name FROM x_jobs.all_jobs WHERE name LIKE 'free%' AND run_at > '$now' GROUP BY name HAVING count(*) >= 3) AS enough") eq 't';
			},
			within => 30),
		"SCHED-23 $name: the other tasks go on");
	is($waited, 0, "SCHED-23 $name: the scheduler waits for no lock");
	return;
}

sub last_of
{
	my ($task) = @_;
	return $s->sql("SELECT COALESCE(max(run_at), '-infinity') FROM x_jobs.all_jobs WHERE name = '$task'");
}

sub fires_after
{
	my ($task, $instant) = @_;
	return wait_until(sub { $s->sql("SELECT count(*) >= 2 FROM x_jobs.all_jobs WHERE name = '$task' AND run_at > '$instant'") eq 't' }, within => 20);
}

others_go_on('at first');

# What the open transaction does to a task; of two kinds, one after the other.
my %kinds = (
	'with entries'    => q{entries => '[{"name": "TASK"}]'},
	'with a function' => q{entries_function => 'TASK(timestamptz)'});
my @holds = (
	{ name => 'schedule', statement => 'SELECT x_jobs.schedule(TASK, DEFINITION)' },
	{ name => 'schedule of another time', statement => q{SELECT x_jobs.schedule(TASK, DEFINITION)}, cron => '*/2 * * * * *' },
	{ name => 'resume_task', statement => 'SELECT x_jobs.resume_task(TASK)', paused => 1 },
	{ name => 'watermark_mark', statement => q{SELECT x_jobs.watermark_mark(TASK, date_trunc('second', clock_timestamp()) + interval '6 s')}, marks => 1 });

my $number = 0;
for my $hold (@holds)
{
	for my $end (qw(COMMIT ROLLBACK))
	{
		my $kind = (sort keys %kinds)[ $number % 2 ];
		my $task = 'held_' . ++$number;
		my $how = "$hold->{name}, $end";
		$s->sql(qq{CREATE FUNCTION $task(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS \$\$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "$task"}')).* \$\$});
		my $made_of = $kinds{$kind} =~ s/TASK/$task/gr;
		$s->sql("SELECT x_jobs.schedule('$task', '* * * * * *', $made_of, $tail)");
		is($s->complaint, '', "a task $kind");
		ok(fires_after($task, '-infinity'), "$how: it fires");
		$s->sql("SELECT x_jobs.pause_task('$task')") if $hold->{paused};

		my $cron = $hold->{cron} // '* * * * * *';
		my $definition = "'$cron', $made_of, $tail";
		my $statement = $hold->{statement} =~ s/TASK/'$task'/r =~ s/DEFINITION/$definition/r;
		$holder->sql('BEGIN');
		my $answer = $holder->sql($statement);
		is($holder->complaint, '', "$how: in a transaction that is left open");
		my $before = last_of($task);
		others_go_on($how);
		is(last_of($task), $before, "SCHED-7 $how: the task that is held does not fire");
		is($s->sql("SELECT failures FROM x_jobs.tasks WHERE task = '$task'"), '0', "SCHED-23 $how: nor does it fail");
		$holder->sql($end);

		if ($hold->{paused} && $end eq 'ROLLBACK')
		{
			others_go_on("$how, afterwards");
			is(last_of($task), $before, "SCHED-20 $how: it is paused still");
			$s->sql("SELECT x_jobs.resume_task('$task')");
		}
		ok(fires_after($task, $before), "SCHED-7 $how: then the task goes on");
		if ($hold->{marks} && $end eq 'COMMIT')
		{
			is($s->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE name = '$task' AND run_at > '$before' AND run_at <= '$answer'"), '0', "SCHED-15 $how: behind the mark");
			is($s->sql("SELECT min(run_at) - '$answer' FROM x_jobs.all_jobs WHERE name = '$task' AND run_at > '$answer'"), '00:00:01', "SCHED-15 $how: from there on");
		}
		elsif ($hold->{cron} && $end eq 'COMMIT')
		{
			is($s->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE name = '$task' AND run_at > '$before' AND extract(second FROM run_at)::integer % 2 = 1"), '0', "SCHED-1 $how: at its new times");
		}
		else
		{
			is_complete("SCHED-7 $how: each second once, those in which it was held too", $task);
		}
		is($s->sql("SELECT count(*) - count(DISTINCT run_at) FROM x_jobs.all_jobs WHERE name = '$task'"), '0', "SCHED-8 $how: no second twice");
		$s->sql("SELECT x_jobs.unschedule('$task')");
		is($s->complaint, '', 'the task is taken away') if $s->complaint ne '';
	}
}

# A task that is new, and one that is taken away.
for my $end (qw(COMMIT ROLLBACK))
{
	$holder->sql(qq{BEGIN; SELECT x_jobs.schedule('new', '* * * * * *', entries => '[{"name": "new $end"}]', $tail)});
	is($holder->complaint, '', "a new task, $end: in a transaction that is left open");
	others_go_on("a new task, $end");
	$holder->sql($end);
	if ($end eq 'COMMIT')
	{
		ok(fires_after("new $end", '-infinity'), 'SCHED-2 a new task fires once it is committed');
		is_complete('SCHED-7 a new task: each second once', "new $end");
		$holder->sql(q{BEGIN; SELECT x_jobs.unschedule('new')});
		my $before = last_of("new $end");
		others_go_on('a task that is taken away');
		is(last_of("new $end"), $before, 'SCHED-7 it does not fire while that is open');
		$holder->sql('ROLLBACK');
		ok(fires_after("new $end", $before), 'SCHED-7 it goes on when that is rolled back');
		is_complete('SCHED-7 with each second once', "new $end");
		$holder->sql(q{SELECT x_jobs.unschedule('new')});
		is($holder->complaint, '', 'and can be taken away');
	}
	else
	{
		others_go_on('no new task');
		is(last_of("new $end"), '-infinity', 'SCHED-2 a task that was rolled back never fires');
	}
}

# All of it was one process, which had nothing to complain of.
is(scheduler(), $pid, 'C-038 the scheduler is the same from beginning to end');
is_complete('SCHED-7 each second of the others was fired once, from beginning to end', 'free', 'free function');
unlike(slurp_file($server->logfile), qr/ERROR|WARNING|PANIC|TRAP|lock timeout|LOG:  x_jobs/, 'and the log has no word of it');
$_->quit for $s, $holder;
$server->stop;

done_testing();
