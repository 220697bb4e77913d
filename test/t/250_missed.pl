# What becomes of occurrences that nobody was there for: each way of catching up does what it says, after a stop and after
# a jump of the clock; a clock that is set back delays nothing and repeats nothing; a task that is taken away and made again
# is one task. The clock is the test's: it is set by x_jobs.test_clock_offset, so that a night takes a moment. If this
# failed, a restart at three in the morning would lose the work of three o'clock, or do it twice.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = new_server('missed', preload => 1, scheduler => 1, extension => 0);
my $s = session($server);

sub at_work
{
	return wait_until(sub { $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'}) }, within => 15);
}

# The milliseconds from now to an instant, in the spelling of the setting.
sub offset_to
{
	my ($instant) = @_;
	return $s->sql(qq{SELECT round(extract(epoch FROM '$instant'::timestamptz - clock_timestamp()) * 1000) || 'ms'});
}

# Sets the clock while the server runs; every scheduler begins anew. A session of before sees it with its next statement.
sub set_clock
{
	my ($instant) = @_;
	my $offset = offset_to($instant);
	$s->sql("ALTER SYSTEM SET x_jobs.test_clock_offset = '$offset'");
	$s->sql('SELECT pg_reload_conf()');
	wait_until(sub { abs($s->sql("SELECT extract(epoch FROM _x_jobs.clock() - '$instant'::timestamptz)")) < 10 }, within => 15)
	  or BAIL_OUT('the clock was not set');
	return;
}

# The same while the server is stopped.
sub stop_and_start_at
{
	my ($instant) = @_;
	my $offset = offset_to($instant);
	$s->quit;
	$server->stop;
	$server->append_conf('postgresql.auto.conf', "x_jobs.test_clock_offset = '$offset'");
	$server->start;
	$s = session($server);
	return;
}

# The fires of a task by the history, and its jobs: "03:00 03:00".
sub fired
{
	my ($task) = @_;
	return $s->sql("SELECT string_agg(to_char(occurrence AT TIME ZONE 'UTC', 'DD HH24:MI'), ', ' ORDER BY occurrence) FROM x_jobs.task_history('$task', 1000) WHERE outcome = 'fired'");
}

sub jobs
{
	my ($task) = @_;
	return $s->sql("SELECT string_agg(to_char(run_at AT TIME ZONE 'UTC', 'DD HH24:MI'), ', ' ORDER BY run_at) FROM x_jobs.all_jobs WHERE name = '$task'");
}

sub missed
{
	my ($task) = @_;
	return $s->sql("SELECT string_agg(to_char(occurrence AT TIME ZONE 'UTC', 'DD HH24:MI') || ' to ' || to_char(upto AT TIME ZONE 'UTC', 'DD HH24:MI') || ': ' || slots, ', ' ORDER BY occurrence)
		FROM x_jobs.task_history('$task', 1000) WHERE outcome = 'missed'");
}

# Until no task has anything due at the present.
sub settled
{
	return wait_until(sub { at_work() && $s->sql('SELECT count(*) FROM x_jobs.tasks WHERE next_occurrence <= _x_jobs.clock() AND paused_at IS NULL') eq '0' }, within => 20);
}

# Daily tasks of each kind; the server is stopped shortly before their time and started shortly after it.
$s->sql('CREATE EXTENSION x_jobs');
set_clock('2031-05-01 02:59:00+00');
ok(at_work(), 'a scheduler is at work');
$s->sql("SELECT x_jobs.schedule('$_', '0 3 * * *', entries => jsonb_build_array(jsonb_build_object('name', '$_')), catch_up => '$_', max_catch_up => 3, overlap => 'allow')") for qw(none latest earliest all);
is($s->complaint, '', 'the tasks are made');
is($s->sql("SELECT count(*) FROM x_jobs.all_jobs"), '0', 'SCHED-2 history does not fire');
stop_and_start_at('2031-05-01 03:02:00+00');
ok(settled(), 'the server was down at 03:00');
is(jobs('none'),  '',         'C-022 none: no job');
is(missed('none'), '01 03:00 to 01 03:00: 1', 'C-022 none: recorded as missed');
for my $kind (qw(latest earliest all))
{
	is(jobs($kind),  '01 03:00', "C-022 $kind: one job of 03:00");
	is(fired($kind), '01 03:00', "C-022 $kind: and one record");
	is(missed($kind), '', "C-022 $kind: nothing was missed");
}
is($s->sql("SELECT count(DISTINCT next_occurrence), min(next_occurrence AT TIME ZONE 'UTC') FROM x_jobs.tasks"), '1|2031-05-02 03:00:00', 'C-022 all go on tomorrow');

# Five days.
stop_and_start_at('2031-05-06 03:02:00+00');
ok(settled(), 'the server was down for five days');
is(jobs('none'), '', 'C-022 SCHED-4 none after five days: no job');
is(missed('none'), '01 03:00 to 06 03:00: 6', 'C-022 none: all recorded as missed, in one row with the neighbour');
is(fired('latest'), '01 03:00, 06 03:00', 'SCHED-4 latest: the latest');
is(jobs('latest'),  '01 03:00, 06 03:00', 'SCHED-4 latest: and its job');
is(missed('latest'), '02 03:00 to 05 03:00: 4', 'SCHED-4 latest: the others were missed');
is(fired('earliest'), '01 03:00, 02 03:00', 'SCHED-5 earliest: the earliest');
is(jobs('earliest'),  '01 03:00, 02 03:00', 'SCHED-5 earliest: and its job');
is(missed('earliest'), '03 03:00 to 06 03:00: 4', 'SCHED-5 earliest: the others were missed');
is($s->sql("SELECT watermark >= '2031-05-06 03:00+00' FROM x_jobs.tasks WHERE task = 'earliest'"), 't', 'SCHED-5 earliest: the watermark is the present');
is(fired('all'), '01 03:00, 02 03:00, 03 03:00, 04 03:00, 05 03:00, 06 03:00', 'SCHED-6 all: each, in rounds of three');
is(jobs('all'),  fired('all'), 'SCHED-6 all: and their jobs');
is($s->sql("SELECT string_agg(to_char(occurrence AT TIME ZONE 'UTC', 'DD'), ' ' ORDER BY decided_at) FROM x_jobs.task_history('all') WHERE outcome = 'fired'"), '01 02 03 04 05 06', 'SCHED-6 all: oldest first');

# A pause is no stop: the task's own way of catching up decides when it goes on.
$s->sql("SELECT x_jobs.pause_task('$_')") for qw(none latest earliest all);
set_clock('2031-05-08 03:02:00+00');
ok(wait_until(sub { at_work() && $s->sql(q{SELECT since > clock_timestamp() - interval '30 s' FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND state = 'running' AND database = current_database()}) eq 't' }), 'two days later');
my $watermarks = $s->sql('SELECT string_agg(watermark::text, $$ $$ ORDER BY task) FROM x_jobs.tasks');
# Another task shows that rounds go by.
$s->sql(q{SELECT x_jobs.schedule('round', '* * * * * *', entries => '[{"name": "round"}]', overlap => 'allow')});
ok(wait_until(sub { $s->sql("SELECT count(*) >= 3 FROM x_jobs.all_jobs WHERE name = 'round'") eq 't' }, within => 20), 'rounds go by');
is($s->sql('SELECT string_agg(watermark::text, $$ $$ ORDER BY task) FROM x_jobs.tasks WHERE task <> $$round$$'), $watermarks, 'SCHED-20 a paused task is left as it is');
$s->sql("SELECT x_jobs.unschedule('round')");
$s->sql("SELECT x_jobs.resume_task('$_')") for qw(none latest earliest all);
ok(settled(), 'resumed');
is(fired('latest'),   '01 03:00, 06 03:00, 08 03:00', 'SCHED-20 latest: the latest when it is resumed');
is(fired('earliest'), '01 03:00, 02 03:00, 07 03:00', 'SCHED-20 earliest: the earliest');
is(fired('none'),     '',                             'SCHED-20 none: nothing');
like(fired('all'), qr/06 03:00, 07 03:00, 08 03:00$/, 'SCHED-20 all: each');
$s->sql("SELECT x_jobs.unschedule('$_')") for qw(none latest earliest all);

# Finishes every job, so that no key of a live one could hide that an occurrence is fired again.
sub work_off
{
	$s->sql("SELECT count(x_jobs.ack(id, 'w', claim)) FROM x_jobs.claim(ARRAY['default'], 'w', 1000)");
	return;
}

# Waits until the task has fired that occurrence, working its jobs off meanwhile.
sub fires
{
	my ($task, $instant) = @_;
	return wait_until(
		sub {
			work_off();
			return $s->sql("SELECT count(*) FROM x_jobs.task_history('$task', 1000) WHERE outcome = 'fired' AND occurrence = '$instant'") eq '1';
		},
		within => 30);
}

# Eight hours ahead, one tick, and back.
set_clock('2031-06-01 12:00:53+00');
ok(at_work(), 'the clock reads 12:00:53');
$s->sql(q{SELECT x_jobs.schedule('minutes', '* * * * *', entries => '[{"name": "minutes"}]', catch_up => 'latest', overlap => 'allow')});
ok(fires('minutes', '2031-06-01 12:01+00'), 'C-020 the task of every minute fires');
my $offset = -s $server->logfile;
set_clock('2031-06-01 20:00:53+00');
ok(fires('minutes', '2031-06-01 20:00+00'), 'C-020 eight hours ahead: the latest that was missed');
ok(fires('minutes', '2031-06-01 20:01+00'), 'C-020 and the next minute');
unlike(slurp_file($server->logfile, $offset), qr/clock was set back/, 'C-020 no word of it yet');
set_clock('2031-06-01 12:01:53+00');
ok(fires('minutes', '2031-06-01 12:02+00'), 'C-020 set back: the next minute fires, within one tick');
is($s->sql("SELECT count(*) FROM x_jobs.task_history('minutes', 1000) WHERE outcome = 'clock set back'"), '1', 'C-020 the jump is recorded');
my @lines = slurp_file($server->logfile, $offset) =~ /(LOG:  x_jobs task "minutes" goes on from [^\n]*clock was set back[^\n]*)/g;
is(scalar @lines, 1, 'C-020 one line of the log says so') or diag join "\n", @lines;
# The other times of eight hours ahead come round: what was fired then is not fired again.
set_clock('2031-06-01 20:01:57+00');
ok(fires('minutes', '2031-06-01 20:02+00'), 'C-020 when the clock comes to 20:01 for the second time, it goes on with 20:02');
is($s->sql(q{SELECT count(*) - count(DISTINCT occurrence) FROM x_jobs.task_history('minutes', 1000) WHERE outcome = 'fired'}), '0', 'C-020 no occurrence was fired twice');
is($s->sql(q{SELECT count(*) - count(DISTINCT run_at) FROM x_jobs.all_jobs WHERE name = 'minutes'}), '0', 'C-020 and none has two jobs');
is($s->sql(q{SELECT string_agg(DISTINCT to_char(run_at AT TIME ZONE 'UTC', 'HH24:MI'), ' ') FROM x_jobs.all_jobs WHERE name = 'minutes'}), '12:01 12:02 20:00 20:01 20:02', 'C-020 these are all');
$s->sql("SELECT x_jobs.unschedule('minutes')");

# Taken away and made again, shortly before its time: one firing for the time.
set_clock('2031-07-01 12:18:50+00');
ok(at_work(), 'the clock reads 12:18:50');
my $make = sub {
	my ($task, %options) = @_;
	my $zone = $options{zone} // 'UTC';
	my $cron = $options{cron} // '19 * * * *';
	$s->sql(qq{SELECT x_jobs.schedule('$task', '$cron', '$zone', entries => '[{"name": "$task"}]', overlap => 'allow')});
	is($s->complaint, '', "$task is made") if $s->complaint ne '';
	return;
};
$make->($_) for qw(again old zone gone kept);
ok(wait_until(sub { $s->sql('SELECT count(*) FROM _x_jobs.task_states WHERE next_at IS NOT NULL') eq '5' }, within => 10), 'the scheduler knows them');
$s->sql("SELECT x_jobs.unschedule('again')");
$make->('again');
$s->sql("SELECT x_jobs.unschedule('old')");
$make->('new');
$make->('zone', zone => 'Asia/Tokyo');
$s->sql("SELECT x_jobs.unschedule('gone')");
ok($s->sql("SELECT _x_jobs.clock() < '2031-07-01 12:19+00'") eq 't', 'all before their time');
ok(fires($_, '2031-07-01 12:19+00'), "C-026 $_ fires at its time") for qw(kept again new zone);
$make->('gone');
# One more minute of another task: everything that would have fired has.
$make->('later', cron => '* * * * * *');
ok(wait_until(sub { work_off(); $s->sql("SELECT count(*) >= 3 FROM x_jobs.task_history('later') WHERE outcome = 'fired'") eq 't' }, within => 20), 'rounds go by');
is($s->sql("SELECT string_agg(name || ' ' || count, ', ' ORDER BY name) FROM (SELECT name, count(*) FROM x_jobs.all_jobs WHERE run_at = '2031-07-01 12:19+00' AND name IN ('again', 'old', 'new', 'zone', 'gone', 'kept') GROUP BY name) AS n"),
	'again 1, kept 1, new 1, zone 1', 'C-026 once for each that was there at its time, and not for one taken away before and made again after it');
$s->quit;
$server->stop;

done_testing();
