# A DROP DATABASE that was broken off leaves a database that nobody can connect to. The launcher leaves it alone: it starts
# nothing there, neither loops nor fills the log, and serves the other databases as before, also after a restart; the
# database can be dropped, and one that is made valid again is served again. If this failed, one such database would cost a
# process each second and a line of the log with each, or take the schedules of the others along.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $server = new_server('invalid', preload => 1, scheduler => 1);
my $s = session($server);

sub scheduler
{
	my ($database) = @_;
	return $s->sql("SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND datname = '$database'");
}

sub launcher
{
	return $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'launcher' AND state = 'running'});
}

# A task of every second that catches up with all.
my $schedule = q{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')};

# Waits for so many seconds of the task of the database that is always served; each must be there once.
sub others_go_on
{
	my ($name, $count) = @_;
	my $now = $s->sql('SELECT clock_timestamp()');
	ok(wait_until(sub { $s->sql("SELECT count(*) >= $count FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at > '$now'") eq 't' }, within => 60), "C-050 $name: the task of another database goes on");
	each_second_once($s, 'tick', "C-050 $name: each second once");
	return;
}

# What a process has used so far: seconds of a processor, and how often it has gone to sleep.
sub used_by
{
	my ($pid) = @_;
	my ($ticks) = slurp_file("/proc/$pid/stat") =~ /\) \S (?:\S+ ){10}(\d+ \d+) /;
	my ($user, $system) = split / /, $ticks;
	my ($sleeps) = slurp_file("/proc/$pid/status") =~ /^voluntary_ctxt_switches:\s+(\d+)/m;
	return (($user + $system) / POSIX::sysconf(POSIX::_SC_CLK_TCK()), $sleeps);
}

sub log_lines
{
	my ($offset) = @_;
	return grep { /x_jobs|broken|invalid|FATAL|ERROR|WARNING|PANIC|background worker/ } split /\n/, slurp_file($server->logfile, $offset);
}

# Nobody starts anything in that database for ten seconds, in which the launcher has hardly anything to do.
sub left_alone
{
	my ($name) = @_;
	my $offset = -s $server->logfile;
	my ($work, $sleeps) = used_by(launcher());
	others_go_on($name, 10);
	my ($work_then, $sleeps_then) = used_by(launcher());
	cmp_ok($work_then - $work, '<', 0.5, "C-050 $name: the launcher does not loop");
	cmp_ok($sleeps_then - $sleeps, '<', 60, "C-050 $name: nor does it wake all the time");
	is(scheduler('broken'), '', "C-050 $name: no scheduler is started there");
	is_deeply([ log_lines($offset) ], [], "C-050 $name: the log has no word of it");
	return;
}

require POSIX;
$s->sql("CREATE DATABASE $_") for qw(broken doomed);
for my $database (qw(postgres broken doomed))
{
	$server->safe_psql($database, 'CREATE EXTENSION IF NOT EXISTS x_jobs');
	$server->safe_psql($database, $schedule);
}
ok(wait_until(sub { scheduler('broken') }, within => 20), 'a database has a scheduler');
ok(wait_until(sub { $server->safe_psql('broken', "SELECT count(*) >= 2 FROM x_jobs.all_jobs WHERE name = 'tick'") eq 't' }, within => 20), 'and a task that fires');
others_go_on('before', 2);
my $served = scheduler('postgres');

# As a DROP DATABASE leaves it that was broken off after its first step. Some of the servers of 15 do not know the mark yet.
$s->sql("UPDATE pg_database SET datconnlimit = -2 WHERE datname IN ('broken', 'doomed')");
is($s->complaint, '', 'databases become invalid');
my ($status, undef, $refused) = $server->psql('broken', 'SELECT 1');
isnt($status, 0, 'nobody can connect to them');
like($refused, qr/cannot connect to invalid database "broken"|too many connections for database "broken"/, 'as the server says');
# Told to end, as an administrator would do it.
my $offset = -s $server->logfile;
$s->sql("SELECT pg_terminate_backend(pid, 20000) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND datname IN ('broken', 'doomed')");
left_alone('invalid');
cmp_ok(scalar log_lines($offset), '<=', 6, 'C-050 invalid: nor has it many of the end of the schedulers') or diag join "\n", log_lines($offset);
is(scheduler('postgres'), $served, 'C-050 invalid: the scheduler of another database is the same');
is($s->sql(q{SELECT count(*) FROM x_jobs.background_workers() WHERE database IN ('broken', 'doomed') AND pid IS NOT NULL}), '0', 'C-050 invalid: background_workers() shows no process');
is($s->sql(q{SELECT state FROM x_jobs.health() WHERE name = 'scheduler'}), 'ok', 'C-050 invalid: health() of another database is content');

# The launcher is another one, as is the server.
my $launcher = launcher();
$s->sql("SELECT pg_terminate_backend($launcher, 20000)");
ok(wait_until(sub { my $now = launcher(); $now && $now ne $launcher }, within => 20), 'another launcher');
left_alone('another launcher');
$s->quit;
$server->stop('immediate');
$server->start;
$s = session($server);
ok(wait_until(sub { launcher() && scheduler('postgres') }, within => 20), 'the server after a crash');
left_alone('after a crash');

# New databases are looked at as before.
my $began = time;
$s->sql('DROP DATABASE doomed');
is($s->complaint, '', 'C-050 an invalid database can be dropped');
cmp_ok(time - $began, '<', 8, 'C-050 without waiting for a scheduler');
$s->sql('CREATE DATABASE fresh');
$server->safe_psql('fresh', 'CREATE EXTENSION x_jobs');
ok(wait_until(sub { scheduler('fresh') }, within => 20), 'C-052 a database that is made meanwhile gets its scheduler');
left_alone('with a new database');

# Valid again. Nobody tells the launcher, which looks at the list once in a minute.
$s->sql("UPDATE pg_database SET datconnlimit = -1 WHERE datname = 'broken'");
ok(wait_until(sub { scheduler('broken') }, within => 120), 'C-050 a database that is valid again gets its scheduler');
my $now = $s->sql('SELECT clock_timestamp()');
ok(wait_until(sub { $server->safe_psql('broken', "SELECT count(*) >= 2 FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at > '$now'") eq 't' }, within => 60), 'C-050 its task fires');
my ($all, $different, $seconds) = split /\|/, $server->safe_psql('broken',
	q{SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'tick'});
is("$all $different", "$seconds $seconds", 'C-022 each second once, those in which it was invalid too');
unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed');
$s->quit;
$server->stop;

done_testing();
