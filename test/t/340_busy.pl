# On a machine whose processors are all busy, each occurrence of each task is fired, once: none is lost because the timer ran
# over its edge, and none comes twice; how late each was is on record. Tasks of every minute, and more often, so that there are
# many edges in little time. If this failed, a backup that takes all processors would cost the schedules of its minutes.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = new_server('busy', preload => 1, scheduler => 1);
my $s = session($server);
ok( wait_until(sub { $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'}) }, within => 20),
	'a scheduler is at work');

# One that does nothing but compute for each processor; they end with this program.
my ($processors) = `nproc` =~ /(\d+)/;
my @busy;
my $own = $$;
for (1 .. $processors // 1)
{
	my $child = fork // die "no process: $!";
	exec $^X, '-e', 'my $n = 0; while (getppid() == $ARGV[0]) { $n += $_ for 1 .. 10_000 }', $own if !$child;
	push @busy, $child;
}

END
{
	my $status = $?;
	kill 'KILL', @busy;
	$? = $status;
}

# A hundred tasks of three kinds, with the defaults of what happens to occurrences that come late: the earlier ones are left out.
# How often each kind falls due, and from where it is counted.
$s->sql(q{CREATE TABLE kinds (kind text, cron text, every interval, anchored boolean, tasks integer)});
$s->sql(q{INSERT INTO kinds VALUES ('minute', '* * * * *', '1 minute', false, 40), ('seconds', '*/5 * * * * *', '5 s', false, 30), ('interval', '@every 7 s', '7 s', true, 30)});
$s->sql(q{SELECT count(x_jobs.schedule(kind || ' ' || n, cron, entries => jsonb_build_array(jsonb_build_object('name', kind || ' ' || n)), overlap => 'allow'))
	FROM kinds, generate_series(1, tasks) AS n});
is($s->complaint, '', 'a hundred tasks');
is($s->sql('SELECT count(*) FROM x_jobs.tasks'), '100', 'C-028 a hundred tasks are scheduled');

# Until the edge of a minute has gone by in the middle, and twelve of the five seconds.
my $until = $s->sql(q{SELECT date_trunc('second', greatest(date_trunc('minute', clock_timestamp()) + interval '1 minute 10 s', clock_timestamp() + interval '60 s'))});
ok(wait_until(sub { $s->sql("SELECT bool_and(next_occurrence > '$until') FROM x_jobs.tasks") eq 't' }, within => 240), 'C-028 a minute goes by');
is(scalar(grep { kill 0, $_ } @busy), scalar @busy, 'with all processors busy');

# The slots that there were, by arithmetic rather than by cron.
$s->sql(qq{CREATE TABLE slots AS SELECT t.task, slot FROM x_jobs.tasks t JOIN kinds k ON t.task LIKE k.kind || ' %'
	CROSS JOIN LATERAL generate_series(CASE WHEN k.anchored THEN date_trunc('second', t.created_at) ELSE date_bin(k.every, t.created_at, '2000-01-01 00:00:00+00') END, '$until', k.every) AS slot
	WHERE slot > t.created_at});
is($s->complaint, '', 'the slots');
cmp_ok($s->sql('SELECT min(n) FROM (SELECT count(*) AS n FROM slots GROUP BY task) AS each_task'), '>=', 1, 'every task had one at least');
my $slots = $s->sql('SELECT count(*) FROM slots');
cmp_ok($slots, '>=', 40 + 30 * 11 + 30 * 8, "C-028 $slots slots in all");
$s->sql(qq{CREATE TABLE fires AS SELECT h.* FROM x_jobs.tasks t CROSS JOIN LATERAL x_jobs.task_history(t.task, 1000) h WHERE h.occurrence <= '$until'});
$s->sql(qq{CREATE TABLE runs AS SELECT name AS task, run_at AS slot FROM x_jobs.all_jobs WHERE run_at <= '$until'});
is($s->sql(q{SELECT string_agg(DISTINCT outcome, ' ') FROM fires}), 'fired', 'C-028 none was missed or skipped')
  or diag $s->sql(q{SELECT task, occurrence, outcome, slots FROM fires WHERE outcome <> 'fired' LIMIT 20});
is($s->sql(q{SELECT count(*) FROM slots s WHERE (SELECT count(*) FROM fires f WHERE f.task = s.task AND f.occurrence = s.slot AND f.outcome = 'fired') <> 1}), '0', 'C-028 each pair of task and slot was fired exactly once');
is($s->sql(q{SELECT count(*) FROM slots s WHERE (SELECT count(*) FROM runs r WHERE r.task = s.task AND r.slot = s.slot) <> 1}), '0', 'C-028 and has exactly one job');
is($s->sql('SELECT count(*) FROM fires'), $slots, 'C-028 nothing was fired besides');
is($s->sql('SELECT count(*) FROM runs'), $slots, 'C-028 nor was there another job');
is($s->sql(q{SELECT count(*) FROM fires WHERE lateness IS NULL OR lateness < interval '0' OR lateness <> decided_at - occurrence}), '0', 'C-028 how late each was is on record, and none was early');
my ($middle, $most) = split /\|/, $s->sql(q{SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM lateness)), max(extract(epoch FROM lateness)) FROM fires});
note "lateness: $middle s in the middle, $most s at most";
unlike(slurp_file($server->logfile), qr/ERROR|PANIC|TRAP|LOG:  x_jobs/, 'the log has no word of it');
$s->quit;
$server->stop;

done_testing();
