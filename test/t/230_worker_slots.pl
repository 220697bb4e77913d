# When the server has no background worker left for a scheduler, work waits and nothing is lost or failed for it; one line of
# the log, health() and background_workers() name the limit, and as soon as a worker is free, the scheduler starts. If this
# failed, a server with too low a limit would do nothing and say nothing.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

# The logical replication launcher would take one too. So there is one for the launcher, and one for a scheduler.
my $server = new_server('slots', preload => 1, scheduler => 1, extension => 0, conf => "max_logical_replication_workers = 0\nmax_worker_processes = 2");

sub at_work
{
	my ($database) = @_;
	return wait_until(
		sub { $server->safe_psql($database, q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'}) },
		within => 15);
}

sub lacks_one
{
	my ($name) = @_;
	ok(wait_until(sub { $server->safe_psql('two', q{SELECT state FROM x_jobs.background_workers() WHERE database = 'two'}) eq 'no background worker left' }, within => 15),
		"C-042 $name: background_workers() says what is lacking");
	my $health = q{SELECT state, detail, hint FROM x_jobs.health() WHERE name = 'scheduler'};
	# While it is tried again, health() may say so for a moment.
	my $said;
	wait_until(sub { ($said = $server->safe_psql('two', $health)) =~ /^error/ }, within => 15);
	is( $said,
		'error|The scheduler cannot start, since all 2 background workers of the server are in use.'
		  . '|Raise max_worker_processes by one for the launcher of x_jobs and one for each database that uses it, and restart the server.',
		"C-042 $name: health() names the limit");
	return;
}

sub lines
{
	my $log = slurp_file($server->logfile);
	my @lines = $log =~ /LOG:  (x_jobs cannot start the scheduler of database[^\n]*)/g;
	return @lines;
}

my $schedule = q{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')};
$server->safe_psql('postgres', "CREATE DATABASE $_") for qw(one two);
$server->safe_psql('one', 'CREATE EXTENSION x_jobs');
ok(at_work('one'), 'the scheduler of the first database has the only worker');
$server->safe_psql('two', 'CREATE EXTENSION x_jobs');
$server->safe_psql('two', $schedule);
lacks_one('another database has it');

# It is tried again and again; that is said once.
my %tries;
wait_until(sub { $tries{ $server->safe_psql('two', q{SELECT since FROM x_jobs.background_workers() WHERE database = 'two' AND state = 'no background worker left'}) } = 1; keys %tries >= 4 });
cmp_ok(scalar keys %tries, '>=', 4, 'C-042 it is tried again');
is(scalar lines(), 1, 'C-042 one line of the log for all tries') or diag join "\n", lines();
like((lines())[0], qr/^x_jobs cannot start the scheduler of database "two": no background worker is left$/, 'C-042 the line names the database');
like(slurp_file($server->logfile), qr/DETAIL:  max_worker_processes is 2\. Tasks wait, and none is lost\./, 'C-042 and the limit');

# Meanwhile jobs are worked on, and what needs a scheduler waits.
my $two = session($server, database => 'two');
$two->sql("SELECT x_jobs.enqueue('work', '1', 'k', queue => 'q')");
is($two->sql("SELECT x_jobs.ack(id, 'w', claim) FROM x_jobs.claim(ARRAY['q'], 'w')"), 't', 'C-042 jobs are claimed and settled without a scheduler');
is($two->sql(q{SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'tick'}), '0', 'C-042 the task waits');
is($two->sql(q{SELECT state, failures FROM x_jobs.tasks}), 'active|0', 'C-042 and is not taken for one that failed');

# The worker becomes free with its database.
my $freed = $two->sql('SELECT clock_timestamp()');
$server->safe_psql('postgres', 'DROP DATABASE one');
ok(at_work('two'), 'C-042 when it is free, the scheduler starts');
ok(wait_until(sub { $two->sql("SELECT count(*) > 0 FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at > '$freed'") eq 't' }, within => 15), 'C-042 and fires');
my ($all, $different, $seconds) = split /\|/,
  $two->sql(q{SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'tick'});
is("$all $different", "$seconds $seconds", 'C-042 what was due meanwhile too, each second once');
cmp_ok($all, '>=', 4, 'C-042 from the first second on');

# A parallel query has it, which is only known when the scheduler is started again.
$server->safe_psql('postgres', 'ALTER DATABASE two SET x_jobs.scheduler = off');
ok(wait_until(sub { $two->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler'") eq '0' }, within => 15), 'the scheduler has gone');
my $query = session($server);
my $query_pid = $query->pid;
$query->sql(($query->sql('SHOW server_version_num') >= 160000 ? 'SET debug_parallel_query = on' : 'SET force_parallel_mode = on') . "; SET max_parallel_workers_per_gather = 1; SET max_parallel_workers = 2");
# Asked for until it has got one: the last probe of a database may be about to end.
wait_until(
	sub {
		$query->send('SELECT pg_sleep(3600)');
		return 1 if wait_until(sub { $two->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'parallel worker'") eq '1' }, within => 2);
		$two->sql("SELECT pg_cancel_backend($query_pid)");
		$query->result;
		return 0;
	}) or BAIL_OUT('no parallel query');
$server->safe_psql('postgres', 'ALTER DATABASE two RESET x_jobs.scheduler');
lacks_one('a parallel query has it');
$two->sql("SELECT pg_cancel_backend($query_pid)");
ok(at_work('two'), 'C-042 when the query has ended, the scheduler starts');
is(scalar lines(), 1, 'C-042 the log still has one line for it');
$query->result;
$query->quit;
$two->quit;

# Only one worker, which the launcher has: nothing ever starts, and that is said.
my $offset = -s $server->logfile;
$server->append_conf('postgresql.conf', 'max_worker_processes = 1');
$server->restart;
ok(wait_until(sub { slurp_file($server->logfile, $offset) =~ /no background worker is left\n[^\n]*DETAIL:  max_worker_processes is 1\./ }, within => 15), 'C-042 with room for the launcher only, the log says so');
is( wait_until(sub { my $said = $server->safe_psql('two', q{SELECT state, detail FROM x_jobs.health() WHERE name = 'scheduler'}); $said =~ /^error/ && $said }, within => 15),
	'error|The scheduler cannot start, since all 1 background workers of the server are in use.', 'C-042 and health()');

# Not even the launcher.
$server->append_conf('postgresql.conf', 'max_worker_processes = 0');
$server->restart;
is( $server->safe_psql('two', q{SELECT state, detail, hint FROM x_jobs.health() WHERE name = 'scheduler'}),
	'error|The launcher is not running, so that no scheduler starts.|If it stays so, raise max_worker_processes, of which the launcher takes one, and restart the server.',
	'C-042 health() says that there is no launcher');
$server->stop;

done_testing();
