# A function of a task's entries that catches its own cancel and goes on can be ended only with its scheduler: the process
# goes well after x_jobs.task_timeout, the next one is there within seconds, leaves that task alone for a minute and fires
# all others. A termination that comes while a function runs is not forgotten because another task failed just before it.
# If this failed, one EXCEPTION clause in somebody's function would stop every schedule of the database for ever.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $server = new_server('swallowed', preload => 1, scheduler => 1, conf => "x_jobs.task_timeout = '300ms'");
my $s = session($server);
# A process that would not end would hold its task.
$s->sql("SET lock_timeout = '20s'");
my $tail = q{catch_up => 'all', max_catch_up => 1000, overlap => 'allow'};

sub scheduler
{
	return $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'});
}

# Waits for one that is another process than before; its pid.
sub another
{
	my ($before, %options) = @_;
	my $now;
	wait_until(sub { $now = scheduler(); $now ne '' && $now ne $before }, within => 20, %options) or return '';
	return $now;
}

# Makes a function of entries with the given body, which may answer jobs of its own name.
sub make_function
{
	my ($name, $body) = @_;
	$s->sql(qq{CREATE OR REPLACE FUNCTION $name(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql AS \$\$ BEGIN $body END \$\$});
	is($s->complaint, '', "the function $name") if $s->complaint ne '';
	return;
}

sub answer
{
	my ($name) = @_;
	return qq{RETURN QUERY SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "$name"}')).*;};
}

# How many seconds after the given instant the tasks have fired that go on: each of them each second, once.
sub go_on
{
	my ($name, $since, $seconds) = @_;
	ok( wait_until(
			sub { $s->sql("SELECT count(*) = 2 FROM (SELECT name FROM x_jobs.all_jobs WHERE name IN ('tick', 'made') AND run_at > '$since' GROUP BY name HAVING count(*) >= $seconds) AS enough") eq 't' },
			within => 60),
		"SCHED-23 $name: the other tasks go on");
	is( $s->sql(q{SELECT string_agg(name, ' ') FROM (SELECT name FROM x_jobs.all_jobs WHERE name IN ('tick', 'made') GROUP BY name
		HAVING count(*) <> extract(epoch FROM max(run_at) - min(run_at)) + 1 OR count(*) <> count(DISTINCT run_at)) AS incomplete}),
		'', "SCHED-7 SCHED-23 $name: each second once, those without a scheduler too");
	return;
}

# The instants at which a function has said in the log that it was called.
sub calls
{
	my ($name) = @_;
	my $log = slurp_file($server->logfile);
	return $log =~ /LOG:  $name is called at ([\d.]+)/g;
}

my $says = 'RAISE LOG \'% is called at %\', \'NAME\', extract(epoch FROM clock_timestamp());';
my $swallows = 'LOOP BEGIN PERFORM pg_catalog.pg_sleep(1000); EXCEPTION WHEN query_canceled THEN NULL; END; END LOOP;';

ok(another(''), 'a scheduler is at work');
make_function('made', answer('made'));
$s->sql(qq{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick"}]', $tail)});
$s->sql(qq{SELECT x_jobs.schedule('made', '* * * * * *', entries_function => 'made(timestamptz)', $tail)});
is($s->complaint, '', 'two tasks that are as they should be');
go_on('before anything', '-infinity', 2);

# What swallows one cancel and then comes to its end is none of those.
make_function('once', 'BEGIN PERFORM pg_catalog.pg_sleep(1000); EXCEPTION WHEN query_canceled THEN NULL; END; ' . answer('once'));
my $before = scheduler();
$s->sql(qq{SELECT x_jobs.schedule('once', '* * * * * *', entries_function => 'once(timestamptz)', overlap => 'allow')});
ok(wait_until(sub { $s->sql("SELECT count(*) > 0 FROM x_jobs.all_jobs WHERE name = 'once'") eq 't' }, within => 20), 'SCHED-23 a function that is cancelled, makes do and answers fires');
$s->sql("SELECT x_jobs.unschedule('once')");
is(scheduler(), $before, 'SCHED-23 in the process that was there');

# One that never ends, while another one raises in every round.
make_function('raises', q{RAISE EXCEPTION 'no entries today';});
make_function('swallows', ($says =~ s/NAME/swallows/r) . $swallows);
$s->sql(qq{SELECT x_jobs.schedule('a raises', '* * * * * *', entries_function => 'raises(timestamptz)', $tail)});
ok(wait_until(sub { $s->sql("SELECT failures > 0 FROM x_jobs.tasks WHERE task = 'a raises'") eq 't' }, within => 20), 'a task that fails');
my $offset = -s $server->logfile;
my $since = $s->sql('SELECT clock_timestamp()');
$s->sql(qq{SELECT x_jobs.schedule('swallows', '* * * * * *', entries_function => 'swallows(timestamptz)', $tail)});
is($s->complaint, '', 'a task whose function catches query_canceled');
ok(wait_until(sub { calls('swallows') }, within => 20), 'its function is called');
my ($called) = calls('swallows');
my $after = another($before);
isnt($after, '', 'SCHED-23 its scheduler ends, and there is another one');
cmp_ok(time - $called, '<', 15, 'SCHED-23 within seconds');
ok(gone($before), 'SCHED-23 the process is really gone');
like(slurp_file($server->logfile, $offset), qr/FATAL:  terminating background worker "x_jobs scheduler" due to administrator command/, 'SCHED-31 the log shows the end');
like(slurp_file($server->logfile, $offset), qr/LOG:  x_jobs jobs\.scheduler\.drain-abandoned: the round did not end in time/, 'SCHED-31 and says why');
my $shown = q{SELECT state, failures, error FROM x_jobs.tasks WHERE task = '%s'};
my $cut_off = 'the scheduler ended while it ran the function of this task';
ok(wait_until(sub { $s->sql(sprintf $shown, 'swallows') eq "failing|1|$cut_off" }, within => 20), 'SCHED-23 the task is shown as failing')
  or diag $s->sql(sprintf $shown, 'swallows');
like(slurp_file($server->logfile, $offset), qr/jobs\.task\.round_failed for task "swallows": $cut_off/, 'SCHED-23 the log names it');
my $rests = q{SELECT extract(epoch FROM next_at) FROM _x_jobs.task_states WHERE task = 'swallows'};
my $again = $s->sql($rests);
cmp_ok($again - $called, '>', 59.5, 'SCHED-23 the task rests');
cmp_ok($again - $called, '<', 61, 'SCHED-23 for a minute');
go_on('after the end of a scheduler', $since, 12);
is(scheduler(), $after, 'SCHED-23 in one process, which the task does not take along once more');
is($s->sql(q{SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'swallows'}), '0', 'SCHED-7 SCHED-23 nothing came of that task');
is($s->sql(q{SELECT watermark < created_at + interval '2 s' FROM x_jobs.tasks WHERE task = 'swallows'}), 't', 'SCHED-23 and its watermark stays');
is(scalar(() = calls('swallows')), 1, 'SCHED-23 its function was called once') or diag join ' ', calls('swallows');

# A termination while a function runs, in a round in which another task has failed. Both tasks fall due at one instant, so they
# have their turns in one round, the one that fails first.
$s->sql(q{SELECT x_jobs.unschedule('a raises')});
$s->sql(q{ALTER SYSTEM SET x_jobs.task_timeout = '10min'});
$s->sql('SELECT pg_reload_conf()');
is($s->complaint, '', 'functions may take ten minutes');
$after = another($after);
isnt($after, '', 'C-038 the scheduler begins anew with that');
make_function('sleeps', ($says =~ s/NAME/sleeps/r) . 'PERFORM pg_catalog.pg_sleep(1000);');
make_function('fails', ($says =~ s/NAME/fails/r) . q{RAISE EXCEPTION 'no entries today';});
$s->sql(q{SELECT x_jobs.schedule('a fails', '* * * * * *', entries_function => 'fails(timestamptz)', paused => true)});
$s->sql(q{SELECT x_jobs.schedule('b sleeps', '* * * * * *', entries_function => 'sleeps(timestamptz)', paused => true)});
$s->sql(q{BEGIN; SELECT x_jobs.watermark_mark(task, date_trunc('second', clock_timestamp()) + interval '3 s') FROM x_jobs.tasks WHERE task IN ('a fails', 'b sleeps');
	SELECT x_jobs.resume_task(task) FROM x_jobs.tasks WHERE task IN ('a fails', 'b sleeps'); COMMIT});
is($s->complaint, '', 'one task that fails and one that sleeps');
my $sleeping = "SELECT count(*) FROM pg_stat_activity WHERE pid = $after AND wait_event = 'PgSleep' AND query = 'task b sleeps'";
ok(wait_until(sub { $s->sql($sleeping) eq '1' }, within => 20), 'the second is being fired');
is($s->sql(q{SELECT failures, error FROM x_jobs.tasks WHERE task = 'a fails'}), '1|no entries today', 'the first has failed in the same round');
my ($failed) = calls('fails');
my ($slept) = calls('sleeps');
cmp_ok($slept - $failed, '<', 1, 'just before');
$since = $s->sql('SELECT clock_timestamp()');
my $began = time;
is($s->sql("SELECT pg_terminate_backend($after, 30000)"), 't', 'C-038 SCHED-31 the scheduler can be terminated');
cmp_ok(time - $began, '<', 10, 'C-038 SCHED-31 and ends promptly, though a task failed before in the same round');
my $last = another($after);
isnt($last, '', 'C-038 it is back');
go_on('after the termination', $since, 5);
is(scheduler(), $last, 'C-038 in one process');
is($s->sql(q{SELECT failures > 1 FROM x_jobs.tasks WHERE task = 'a fails'}), 't', 'SCHED-23 the task that fails goes on failing');
is(scalar(() = calls('sleeps')), 1, 'SCHED-23 the one that was cut off rests');
is($s->sql(sprintf $shown, 'b sleeps'), "failing|1|$cut_off", 'SCHED-23 and says why');
is($s->sql(q{SELECT count(*) FROM x_jobs.all_jobs WHERE name IN ('sleeps', 'fails', 'raises', 'swallows')}), '0', 'SCHED-7 nothing came of the bad ones');
$s->sql("SELECT x_jobs.unschedule('$_')") for 'a fails', 'b sleeps';

# One that is paused is not run, and so is not cut off, whoever ends.
$s->sql(q{SELECT x_jobs.schedule('c paused', '* * * * * *', entries_function => 'fails(timestamptz)', paused => true)});
ok(wait_until(sub { $s->sql(q{SELECT next_at > clock_timestamp() FROM _x_jobs.task_states WHERE task = 'c paused'}) eq 't' }, within => 20), 'a paused task');

# After the minute it is tried again, and takes the next process along. By then health() says that a task is overdue.
$s->sql($_) for 'ALTER SYSTEM RESET x_jobs.task_timeout', 'SELECT pg_reload_conf()';
$before = another($last);
isnt($before, '', 'functions have less time again');
is($s->sql(sprintf $shown, 'c paused'), 'paused|0|', 'SCHED-23 the paused one has not failed');
$s->sql("SELECT x_jobs.unschedule('c paused')");
ok(wait_until(sub { (() = calls('swallows')) > 1 }, within => 120), 'SCHED-23 after its rest the task is tried again');
cmp_ok((calls('swallows'))[1] - $called, '>=', 59.5, 'SCHED-23 not before the minute was over');
$last = another($before);
isnt($last, '', 'SCHED-23 its scheduler ends once more, and there is another one');
ok(wait_until(sub { $s->sql(q{SELECT state, detail FROM x_jobs.health() WHERE name = 'overdue'}) eq 'warning|Tasks that are overdue by more than a minute: 1.' }, within => 20), 'SCHED-23 health() says that a task is overdue');
# Mended and told to go on, it does so at once.
make_function('swallows', ($says =~ s/NAME/swallows/r) . answer('swallows'));
$s->sql(q{SELECT x_jobs.resume_task('swallows')});
is($s->complaint, '', 'the function is mended');
ok(wait_until(sub { $s->sql(q{SELECT state, failures, watermark > clock_timestamp() - interval '3 s' FROM x_jobs.tasks WHERE task = 'swallows'}) eq 'active|0|t' }, within => 60), 'SCHED-23 mended, it catches up');
my ($all, $different, $seconds) = split /\|/,
  $s->sql(q{SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'swallows'});
is("$all $different", "$seconds $seconds", 'C-022 SCHED-23 with each second once');
cmp_ok($all, '>=', 60, 'C-022 from the first on');
is(scheduler(), $last, 'SCHED-23 and its scheduler stays');
is($s->sql(q{SELECT state FROM x_jobs.health() WHERE name = 'overdue'}), 'ok', 'SCHED-23 health() is content');
my @lines = slurp_file($server->logfile) =~ /(drain-abandoned)/g;
is(scalar @lines, 3, 'SCHED-31 three rounds were given up in all, the two that were swallowed and the one that was terminated');
unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed');
$s->quit;
$server->stop;

done_testing();
