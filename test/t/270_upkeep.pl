# With a scheduler nobody has to call anything: jobs whose worker died are buried, expired ones end, tallies are rolled up and
# the ring is laid out; what only the scheduler writes is counted and vacuumed as other tables are; and clients that listen
# hear of each queue that has work, also of work that falls due, but not more often than they can use. If this failed,
# tables would grow for ever, and a worker would sleep through its work.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $server = new_server('upkeep', preload => 1, scheduler => 1, conf => <<'CONF');
autovacuum_naptime = 1s
autovacuum_vacuum_threshold = 20
autovacuum_vacuum_scale_factor = 0
autovacuum_vacuum_insert_threshold = 20
autovacuum_vacuum_insert_scale_factor = 0
autovacuum_analyze_threshold = 20
autovacuum_analyze_scale_factor = 0
log_autovacuum_min_duration = -1
CONF
my $s = session($server);

sub scheduler
{
	return wait_until(sub { $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'}) }, within => 15);
}
ok(scheduler(), 'a scheduler is at work');

# What is to be done by itself, begun first, since each of it comes round within a minute or so.
my ($lapsed, $expiring, $settled) = (job_id(1), job_id(2), job_id(3));
my $ends = session($server);
$ends->sql('LISTEN x_jobs_settled');
$s->sql("SELECT x_jobs.enqueue('lapsed', '1', 'l', queue => 'lapsed', max_attempts => 1, id => '$lapsed')");
is($s->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['lapsed'], 'a worker that dies', visibility_timeout => '200 ms')"), '1', 'X-14 a job is on its final attempt, and its worker is not heard of again');
$s->sql("SELECT x_jobs.enqueue('expiring', '1', 'e', queue => 'expiring', expires_at => clock_timestamp() + interval '500 ms', id => '$expiring')");
$s->sql("SELECT x_jobs.enqueue('settled', '1', 's', queue => 'settled', id => '$settled')");
$s->sql("SELECT x_jobs.ack(id, 'w', claim) FROM x_jobs.claim(ARRAY['settled'], 'w')");
is($s->complaint, '', 'jobs for upkeep');
# Counted two tallies ago; the next turn of the scheduler rolls it up.
$s->sql('SELECT _x_jobs.roll_up()') for 1 .. 2;

# Only the scheduler writes: a task without jobs of its own transaction, and jobs of tasks.
$s->sql(q{SELECT x_jobs.schedule('ticks ' || n, '* * * * * *', entries => '[{"name": "tick", "queue": "ticks"}]', catch_up => 'all', overlap => 'allow') FROM generate_series(1, 10) AS n});
my %counted = map { my ($table, $count) = split /\|/; ($table => $count) } split /\n/, $s->sql(q{SELECT relname, n_tup_ins FROM pg_stat_all_tables WHERE schemaname = '_x_jobs'});
ok( wait_until(
		sub { $s->sql("SELECT count(*) FROM pg_stat_all_tables WHERE schemaname = '_x_jobs' AND ((relname = 'jobs' AND n_tup_ins > $counted{jobs} + 20) OR (relname = 'task_log' AND n_tup_ins > $counted{task_log} + 20) OR (relname = 'task_states' AND n_tup_upd > 20))") eq '3' },
		within => 30),
	'C-048 what the scheduler writes is counted within seconds');
ok(wait_until(sub { $s->sql("SELECT count(*) FROM pg_stat_all_tables WHERE schemaname = '_x_jobs' AND autoanalyze_count > 0 AND (relname IN ('jobs', 'task_log') AND autovacuum_count > 0 OR relname = 'task_states')") eq '3' }, within => 60),
	'C-048 so its tables are vacuumed, where it is needed, and analysed by the server')
  or diag $s->sql("SELECT relname, n_tup_ins, n_tup_upd, n_dead_tup, autovacuum_count, autoanalyze_count FROM pg_stat_all_tables WHERE schemaname = '_x_jobs' AND relname IN ('jobs', 'task_log', 'task_states')");
$s->sql(q{SELECT x_jobs.unschedule(task) FROM x_jobs.tasks});
$s->sql(q{CREATE FUNCTION slow(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "slow"}')).* FROM pg_catalog.pg_sleep(1) $$});
$s->sql(q{SELECT x_jobs.schedule('slow one', '* * * * * *', entries_function => 'slow(timestamptz)', overlap => 'allow')});
ok(wait_until(sub { $s->sql(q{SELECT state, query FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND wait_event = 'PgSleep'}) eq 'active|task slow one' }, within => 20),
	'C-048 pg_stat_activity shows what the scheduler does');
$s->sql(q{SELECT x_jobs.unschedule('slow one')});
my $scheduler = scheduler();

# What clients hear: [queue, process, when we saw it].
my $listener = session($server);
$listener->sql('LISTEN x_jobs_wake');
my @heard;

sub listen_on
{
	push @heard, map { /Asynchronous notification "x_jobs_wake"(?: with payload "(.*)")? received from server process with PID (\d+)/ ? [ $1 // '', $2, time ] : () }
	  split /\n/, $listener->sql('SELECT 1');
	return;
}

# Waits until the queue has been heard of after the given number of notifications.
sub hears
{
	my ($queue, %options) = @_;
	my $from = $options{from} // 0;
	return wait_until(sub { listen_on(); grep { $_->[0] eq $queue } @heard[ $from .. $#heard ] }, within => $options{within} // 10);
}

# The first thing that somebody hears who had not listened is that any queue may have work.
$s->sql("SELECT x_jobs.enqueue('w', '1', 'first', queue => 'first')");
ok(hears('first') || hears(''), 'WAKE-2 WAKE-4 the first enqueue is heard of');

@heard = ();
my $app = session($server);
$app->sql("SELECT x_jobs.enqueue('w', '1', 'm', queue => 'mail')");
ok(hears('mail'), 'WAKE-2 an enqueue is heard of');
is($heard[-1][1], $scheduler, 'WAKE-2 from the scheduler');

# Each of two that follow one another at once.
my $dropped = 0;
for my $turn (1 .. 10)
{
	for my $which (1, 2)
	{
		my $from = @heard;
		$app->sql("SELECT x_jobs.enqueue('w', '1', 'pair $turn $which', queue => 'pairs')");
		hears('pairs', from => $from) or ++$dropped;
	}
}
is($dropped, 0, 'WAKE-4 a notification that has to wait, since there was one just before, is sent later');

# Many commits in a short time.
@heard = ();
my ($began, $ended, $commits) = split /\|/, $app->sql(q{
	CREATE TEMP TABLE many AS SELECT clock_timestamp() AS began, clock_timestamp() AS ended;
	DO $$ BEGIN FOR n IN 1 .. 400 LOOP PERFORM x_jobs.enqueue('w', '1', 'many ' || n, queue => 'many'); COMMIT; END LOOP; END $$;
	UPDATE many SET ended = clock_timestamp();
	SELECT extract(epoch FROM began), extract(epoch FROM ended), 400 FROM many});
is($app->complaint, '', 'four hundred commits');
my $from = @heard;
$app->sql("SELECT x_jobs.enqueue('w', '1', 'the end', queue => 'the end')");
ok(hears('the end'), 'they are over');
my $count = grep { $_->[0] eq 'many' } @heard;
my $most = int(($ended - $began) / 0.05) + 3;
cmp_ok($count, '>=', 1, 'WAKE-4 they are heard of');
cmp_ok($count, '<=', $most, sprintf('WAKE-2 not more than once in 50 ms for %d commits in %d ms', $commits, 1000 * ($ended - $began))) or diag "heard $count times";
cmp_ok($count, '<', 400, 'WAKE-2 which are fewer than there are commits');

# A job that falls due later.
$app->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['later'], 'w')");
@heard = ();
$app->sql("SELECT x_jobs.enqueue('w', '1', 'later', queue => 'later', delay => '3 s')");
my $due = $app->sql("SELECT extract(epoch FROM run_at) FROM x_jobs.all_jobs WHERE queue = 'later'");
$app->sql("SELECT x_jobs.enqueue('w', '1', 'now', queue => 'now')");
ok(hears('now'), 'another queue is heard of');
is(scalar(grep { $_->[0] eq 'later' } @heard), 0, 'WAKE-3 an enqueue for later says nothing');
ok(hears('later', within => 15), 'WAKE-2 WAKE-4 when it falls due, it is announced');
cmp_ok($heard[-1][2], '>=', $due, 'WAKE-2 not before');
cmp_ok($heard[-1][2], '<', $due + 3, 'WAKE-2 nor long after');
# One that is delayed by its worker.
$app->sql("SELECT x_jobs.nack(id, 'w', claim, error => 'again', delay => '2 s') FROM x_jobs.claim(ARRAY['later'], 'w', 1)");
is($app->complaint, '', 'its worker puts it off');
$from = @heard;
ok(hears('later', from => $from, within => 15), 'WAKE-4 a job that was put off is announced when it falls due');

# Over the end of a scheduler, however it ends, nothing is forgotten: who cannot say what was left tells of any queue.
$dropped = 0;
for my $turn (1 .. 3)
{
	$from = @heard;
	my $pid = scheduler();
	$app->sql("SELECT pg_terminate_backend($pid)");
	$app->sql("SELECT x_jobs.enqueue('w', '1', 'over the end $turn', queue => 'over')");
	wait_until(sub { listen_on(); grep { $_->[0] eq 'over' || $_->[0] eq '' } @heard[ $from .. $#heard ] }, within => 15) or ++$dropped;
}
is($dropped, 0, 'WAKE-4 what is enqueued while the scheduler ends is announced');
ok(scheduler(), 'the scheduler is back');

# Switched off, each commit notifies by itself.
$s->sql('ALTER DATABASE postgres SET x_jobs.scheduler = off');
ok(wait_until(sub { $s->sql("SELECT state FROM x_jobs.background_workers() WHERE database = current_database()") eq 'switched off' }, within => 15), 'the scheduler is switched off');
$from = @heard;
$app->sql("SELECT x_jobs.enqueue('w', '1', 'by itself', queue => 'by itself')");
ok(hears('by itself', from => $from), 'WAKE-2 without a scheduler the enqueuing transaction notifies');
is($heard[-1][1], $app->pid, 'WAKE-2 by its own process');
$s->sql('ALTER DATABASE postgres RESET x_jobs.scheduler');
ok(scheduler(), 'the scheduler is back');

# A task's jobs are announced like others.
$from = @heard;
$s->sql(q{SELECT x_jobs.schedule('announced', '* * * * * *', entries => '[{"name": "tick", "queue": "of a task"}]', overlap => 'allow')});
ok(hears('of a task', from => $from, within => 15), 'WAKE-6 a fire announces its queue');
$s->sql(q{SELECT x_jobs.unschedule('announced')});

# What came of upkeep, without anybody having called for it.
ok(wait_until(sub { $s->sql("SELECT state FROM x_jobs.all_jobs WHERE id = '$lapsed'") eq 'dead' }, within => 120), 'X-14 the job whose worker died on its final attempt is buried without a claim');
is($s->sql("SELECT reason, last_error FROM x_jobs.all_jobs WHERE id = '$lapsed'"), 'lease-lapsed|the lease lapsed on the final attempt', 'X-14 with the reason');
my $said = '';
ok(wait_until(sub { $said .= $ends->sql('SELECT 1'); $said =~ /x_jobs_settled" with payload "\{"id": ?"$lapsed"[^\n]*dead-lettered/ }, within => 30), 'X-14 and announced') or diag $said;
ok(wait_until(sub { $s->sql("SELECT state FROM x_jobs.all_jobs WHERE id = '$expiring'") eq 'cancelled' }, within => 120), 'the expired job has ended');
ok(wait_until(sub { $s->sql("SELECT sum(done) FROM _x_jobs.counters WHERE name = 'settled'") eq '1' }, within => 120), 'X-9 the tally is rolled up');
ok(wait_until(sub { $s->sql('SELECT count(*) FROM _x_jobs.history_leaves') eq '32' }, within => 120), 'X-16 the ring is laid out');
unlike(slurp_file($server->logfile), qr/PANIC|TRAP|upkeep failed|WARNING/, 'and the log knows of no failure');
$_->quit for $s, $app, $listener, $ends;
$server->stop;

done_testing();
