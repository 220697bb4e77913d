# CREATE EXTENSION IF NOT EXISTS is what many programs run at each of their starts. Where the extension is there already it
# is no news: tasks go on each second, at once, though the session stays and though the statement has the form that a dump
# has. If this failed, the schedules of a database would stand still for as long as such a program is connected.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = new_server('made_again', preload => 1, scheduler => 1);
my $s = session($server);
my $program = session($server);

sub scheduler
{
	return $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'});
}

# That there is a scheduler, that the task fires from now on, and that each second was fired once.
sub goes_on
{
	my ($name) = @_;
	my $now = $s->sql('SELECT clock_timestamp()');
	ok(wait_until(sub { $s->sql("SELECT count(*) >= 2 FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at > '$now'") eq 't' }, within => 15), "C-054 $name: the task goes on");
	ok(wait_until(sub { scheduler() }, within => 15), "C-054 $name: the scheduler is at work");
	my ($all, $different, $seconds) = split /\|/,
	  $s->sql(q{SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'tick'});
	is("$all $different", "$seconds $seconds", "C-054 SCHED-7 $name: each second was fired once");
	is($s->sql(q{SELECT state FROM x_jobs.health() WHERE name = 'scheduler'}), 'ok', "C-054 $name: health() is content");
	return;
}

ok(wait_until(sub { scheduler() }, within => 15), 'a scheduler is at work');
$s->sql(q{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
$s->sql('CREATE SCHEMA elsewhere');
is($s->complaint, '', 'a task of every second');
goes_on('at first');
my $offset = -s $server->logfile;
my $launcher = $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'launcher'});

# The last one is what pg_dump writes. The program stays connected all the time, and with the third form in a transaction.
for my $statement ('CREATE EXTENSION IF NOT EXISTS x_jobs', 'CREATE EXTENSION IF NOT EXISTS x_jobs WITH SCHEMA elsewhere', 'CREATE EXTENSION IF NOT EXISTS x_jobs WITH SCHEMA no_such_schema',
	'CREATE EXTENSION IF NOT EXISTS x_jobs CASCADE', 'CREATE EXTENSION IF NOT EXISTS x_jobs WITH SCHEMA pg_catalog')
{
	$program->sql($statement);
	like($program->complaint, qr/NOTICE:  42710: extension "x_jobs" already exists, skipping/m, "C-054 $statement");
	unlike($program->complaint, qr/ERROR/, 'without an error');
	goes_on($statement);
}
for my $end (qw(ROLLBACK COMMIT))
{
	$program->sql('BEGIN; CREATE EXTENSION IF NOT EXISTS x_jobs WITH SCHEMA pg_catalog');
	goes_on("in a transaction that is open, before its $end");
	$program->sql($end);
	goes_on("after the $end");
}
# Without IF NOT EXISTS it is an error, and nothing else.
$program->sql('CREATE EXTENSION x_jobs');
is($program->sqlstate, '42710', 'C-054 CREATE EXTENSION of what is there is an error');
goes_on('after that error');
# A hundred starts of programs.
$program->sql('CREATE EXTENSION IF NOT EXISTS x_jobs WITH SCHEMA pg_catalog') for 1 .. 100;
goes_on('after a hundred times');
# So that the session stays until here.
is($program->sql('SELECT 1'), '1', 'the program is connected still');

is($s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'launcher'}), $launcher, 'C-038 the launcher is the same');
my $log = slurp_file($server->logfile, $offset);
unlike($log, qr/LOG:  x_jobs|WARNING|FATAL|PANIC|TRAP|terminated by signal/, 'C-054 the log has no word of it') or diag join "\n", grep { /x_jobs|WARNING|FATAL/ } split /\n/, $log;
$_->quit for $s, $program;
$server->stop;

done_testing();
