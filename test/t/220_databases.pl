# Statements that need a database for themselves, or an answer of every process of the server, get it from schedulers as if
# there were none: idle or busy, a scheduler goes in time and comes back afterwards, also when the statement came to nothing.
# If this failed, DROP DATABASE would hang or be refused for a session that the user cannot see the sense of.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $server = new_server('databases', preload => 1, scheduler => 1, extension => 0, conf => "x_jobs.task_timeout = '60s'");
my $watch = session($server);
my $offset = -s $server->logfile;

sub schedulers
{
	my ($database) = @_;
	return $watch->sql("SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND datname = '$database'");
}

sub at_work
{
	my ($database, %options) = @_;
	return wait_until(
		sub {
			my ($status, $pid) = $server->psql($database,
				q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'}, on_error_stop => 0);
			return $status == 0 && $pid;
		},
		within => 20, %options);
}

# A database with a scheduler. A busy one is in the middle of a function that sleeps for nine seconds.
sub make
{
	my ($database, $busy) = @_;
	$watch->sql("CREATE DATABASE $database");
	$server->safe_psql($database, 'CREATE EXTENSION x_jobs');
	if ($busy)
	{
		$server->safe_psql($database, q{CREATE FUNCTION slow(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS
			$$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "slow"}')).* FROM pg_catalog.pg_sleep(9) $$;
			SELECT x_jobs.schedule('slow', '* * * * * *', entries_function => 'slow(timestamptz)', overlap => 'allow')});
	}
	ok(at_work($database), "$database has a scheduler");
	busy($database, $busy);
	return;
}

sub busy
{
	my ($database, $busy) = @_;
	return unless $busy;
	ok(wait_until(sub { $watch->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND datname = '$database' AND wait_event = 'PgSleep'") eq '1' }, within => 120),
		"$database is busy");
	return;
}

# Runs the statements, each of which must end within the bound without a complaint.
sub in_time
{
	my ($name, $bound, @statements) = @_;
	my $began = time;
	for my $statement (@statements)
	{
		$watch->sql($statement);
		is($watch->complaint, '', "C-050 $name: $statement") or return;
	}
	my $took = time - $began;
	cmp_ok($took, '<', $bound, sprintf('C-050 %s in time', $name)) or diag("it took $took s");
	return;
}

my $space = $server->basedir . '/space';
mkdir $space or die $!;
$watch->sql("CREATE TABLESPACE elsewhere LOCATION '$space'");

for my $busy (0, 1)
{
	my $how = $busy ? 'busy' : 'idle';
	# What is busy sleeps for longer.
	my $bound = 8;
	make("origin_$how", $busy);

	# A copy: both have a scheduler then.
	in_time("$how, a copy", $bound, "CREATE DATABASE copy_$how TEMPLATE origin_$how");
	ok(at_work("copy_$how"),   "C-050 $how: the copy has its own scheduler");
	ok(at_work("origin_$how"), "C-050 $how: and the origin has one again");
	isnt(schedulers("copy_$how"), schedulers("origin_$how"), "C-050 $how: they are two");

	# Renamed, for good and not.
	busy("origin_$how", $busy);
	in_time("$how, a renaming that is rolled back", $bound, 'BEGIN', "ALTER DATABASE origin_$how RENAME TO other_$how", 'ROLLBACK');
	ok(at_work("origin_$how"), "C-050 $how: its scheduler is back");
	busy("origin_$how", $busy);
	in_time("$how, a renaming", $bound, "ALTER DATABASE origin_$how RENAME TO renamed_$how");
	ok(at_work("renamed_$how"), "C-050 $how: the scheduler comes back under the new name");
	is($watch->sql("SELECT application_name FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND datname = 'renamed_$how'"), "x_jobs scheduler (renamed_$how)", "C-050 $how: and says so");

	# Moved. The files are removed by a barrier that every process has to answer.
	busy("renamed_$how", $busy);
	in_time("$how, a move", $bound, "ALTER DATABASE renamed_$how SET TABLESPACE elsewhere");
	ok(at_work("renamed_$how"), "C-050 $how: the scheduler comes back there");
	busy("renamed_$how", $busy);
	in_time("$how, a move back", $bound, "ALTER DATABASE renamed_$how SET TABLESPACE pg_default");
	ok(at_work("renamed_$how"), "C-050 $how: and back");

	# A barrier of the server, while nobody leaves: DROP TABLESPACE closes the files of every process.
	busy("renamed_$how", $busy);
	my $before = schedulers("renamed_$how");
	my $second = $server->basedir . "/second_$how";
	mkdir $second or die $!;
	in_time("$how, a barrier", 12, "CREATE TABLESPACE second_$how LOCATION '$second'", "CREATE TABLE there_$how (n integer) TABLESPACE second_$how", "DROP TABLE there_$how", "DROP TABLESPACE second_$how");
	is(schedulers("renamed_$how"), $before, "C-050 $how: the scheduler answers barriers where it is");

	# The system's own indexes.
	my $inside = session($server, database => "renamed_$how");
	my $began = time;
	$inside->sql("REINDEX SYSTEM renamed_$how");
	is($inside->complaint, '', "C-050 $how: REINDEX SYSTEM");
	cmp_ok(time - $began, '<', 30, "C-050 $how: in time");
	$inside->quit;
	ok(at_work("renamed_$how"), "C-050 $how: the scheduler is at work afterwards");

	# Who may not drop a database stops nothing by trying.
	$watch->sql("CREATE ROLE passer_by_$how LOGIN");
	$before = at_work("renamed_$how");
	my $passer_by = session($server, extra => [ '-U', "passer_by_$how" ]);
	for my $try ("DROP DATABASE renamed_$how", "DROP DATABASE renamed_$how WITH (FORCE)", "ALTER DATABASE renamed_$how RENAME TO mine", "ALTER DATABASE renamed_$how SET TABLESPACE elsewhere", "CREATE DATABASE mine TEMPLATE renamed_$how")
	{
		$passer_by->sql($try);
		is($passer_by->sqlstate, '42501', "C-050 $how: a role without rights is refused: $try");
	}
	is(at_work("renamed_$how"), $before, "C-050 $how: and the scheduler is the same");
	$passer_by->quit;

	# A drop that is refused, since somebody else is there: the scheduler comes back.
	busy("renamed_$how", $busy);
	my $guest = session($server, database => "renamed_$how");
	$watch->sql("DROP DATABASE renamed_$how");
	is($watch->sqlstate, '55006', "C-050 $how: a database with a guest in it is not dropped");
	like($watch->complaint, qr/There is 1 other session/, "C-050 $how: and only the guest is counted") or diag $watch->complaint;
	$guest->quit;
	ok(at_work("renamed_$how"), "C-050 $how: its scheduler is back");

	# Dropped.
	busy("renamed_$how", $busy);
	in_time("$how, a drop", $bound, "DROP DATABASE renamed_$how");
	in_time("$how, a drop of the copy by force", $bound, "DROP DATABASE copy_$how WITH (FORCE)");
	is($watch->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler'"), '0', "C-050 $how: no scheduler outlives its database");
}

# Databases that have nothing to do with it, while a scheduler works elsewhere.
make('steady', 0);
my $steady = schedulers('steady');
$server->safe_psql('steady', q{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
my $longest = 0;
for my $turn (1 .. 20)
{
	for my $statement ("CREATE DATABASE passing_$turn", "DROP DATABASE passing_$turn")
	{
		my $began = time;
		$watch->sql($statement);
		is($watch->complaint, '', "C-050 $statement");
		$longest = time - $began if $statement =~ /DROP/ && time - $began > $longest;
	}
}
cmp_ok($longest, '<', 5, 'C-050 no drop of an unrelated database takes long') or diag "the longest: $longest s";
is(schedulers('steady'), $steady, 'C-050 the scheduler of another database is not disturbed');
my ($all, $different, $seconds) = split /\|/, $server->safe_psql('steady',
	q{SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'tick'});
is("$all $different", "$seconds $seconds", 'C-050 and fired each second once');
unlike(slurp_file($server->logfile, $offset), qr/PANIC|TRAP|terminated by signal|x_jobs[^\n]*cannot/, 'C-050 the log knows of no failure');
$watch->quit;

# One place for two databases.
$server->append_conf('postgresql.conf', 'x_jobs.max_databases = 1');
$server->restart;
$watch = session($server);
# 'postgres' takes the one place, since the launcher sees it first, or 'steady' does.
$server->safe_psql('postgres', 'CREATE EXTENSION x_jobs');
ok(wait_until(sub { $watch->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler'") eq '1' || $watch->sql(q{SELECT count(*) FROM x_jobs.background_workers() WHERE worker = 'scheduler'}) eq '1' }, within => 20),
	'one database has the only place');
my $with = $watch->sql(q{SELECT database FROM x_jobs.background_workers() WHERE worker = 'scheduler'});
my $without = $with eq 'steady' ? 'postgres' : 'steady';
like($with, qr/^(steady|postgres)$/, 'it is one of the two');
ok(at_work($with), 'it has its scheduler');
is($server->safe_psql($without, q{SELECT state, detail, hint FROM x_jobs.health() WHERE name = 'scheduler'}),
	'error|The launcher has no place for this database; it has 1.|Raise x_jobs.max_databases and restart the server.', 'C-050 in the other, health() says that there is no place');
$watch->quit;
$server->stop;

done_testing();
