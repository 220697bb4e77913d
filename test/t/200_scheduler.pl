# The background workers come and go with what the server is: each database that has the extension gets a scheduler within
# seconds, no other does, and it goes with the extension or with the switch, without a restart and without an error in the
# log. A task fires for each of its occurrences, once. If this failed, tasks would fire nowhere, twice, or from a process
# that outlives its extension and complains for ever.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = new_server('scheduler', preload => 1, scheduler => 1, extension => 0, conf => "log_autovacuum_min_duration = -1\nlog_checkpoints = off");
my $watch = session($server);

# The processes of the schedulers of a database, as a list of pids.
sub schedulers
{
	my ($database) = @_;
	return $watch->sql("SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND datname = '$database'");
}

# Waits until the database has one that is at work; its pid.
sub at_work
{
	my ($database, %options) = @_;
	return wait_until(
		sub {
			my ($status, $pid) = $server->psql($database,
				q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'}, on_error_stop => 0);
			return $status == 0 && $pid;
		},
		within => 15, %options);
}

sub state_of
{
	my ($database) = @_;
	return $server->safe_psql($database, q{SELECT state FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database()});
}

sub without
{
	my ($database) = @_;
	return wait_until(sub { schedulers($database) eq '' }, within => 15);
}

# A task of every second whose jobs do not wait for each other.
sub schedule_ticks
{
	my ($database) = @_;
	$server->safe_psql($database,
		q{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick", "queue": "ticks"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
	return;
}

# Occurrences, those of them that differ, and the seconds from the first to the last: equal if each was fired once.
my $fired = q{SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'tick'};

sub ticks_after
{
	my ($database, $instant, $count) = @_;
	return wait_until(sub { $server->safe_psql($database, "SELECT count(*) >= $count FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at > '$instant'") eq 't' }, within => 20);
}

my $log_offset = -s $server->logfile;

# What the log says of the workers, and every complaint; a line of an end that was asked for is none.
sub complaints
{
	my $log = slurp_file($server->logfile, $log_offset);
	return grep { /x_jobs|ERROR|WARNING|FATAL|PANIC/ } grep { !/received SIGHUP|parameter "/ } split /\n/, $log;
}

is(state_of_launcher(), '1', 'the launcher runs before any database has the extension');

sub state_of_launcher
{
	return wait_until(sub { $watch->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs launcher' AND application_name = 'x_jobs launcher' AND datname IS NULL") eq '1' });
}

# Where there is one and where there is none.
$server->safe_psql('postgres', $_) for map { "CREATE DATABASE $_" } qw(one two three patterns looks_like);
$server->safe_psql('postgres', 'ALTER DATABASE patterns IS_TEMPLATE true');
$server->safe_psql($_, 'CREATE EXTENSION x_jobs') for qw(one two patterns);
# A schema of that name which is not ours.
$server->safe_psql('looks_like', q{CREATE SCHEMA x_jobs; CREATE SCHEMA _x_jobs; CREATE TABLE _x_jobs.tasks (task text); CREATE TABLE _x_jobs.leaders (lock_key text);
	INSERT INTO _x_jobs.tasks VALUES ('not a task')});
my $one = at_work('one');
ok($one, 'C-052 the first database that has the extension has a scheduler within seconds');
ok(at_work('two'), 'so has the second');
is($watch->sql("SELECT backend_type, application_name, state FROM pg_stat_activity WHERE pid = $one"),
	'x_jobs scheduler|x_jobs scheduler (one)|idle', 'C-048 pg_stat_activity names it and its database');
is($server->safe_psql('one', q{SELECT worker, database, pid IS NOT NULL, state, since <= clock_timestamp(), starts FROM x_jobs.background_workers() WHERE worker = 'launcher' OR database = 'one'}),
	"launcher||t|running|t|1\nscheduler|one|t|running|t|1", 'C-038 background_workers() shows both with their starts');
is($server->safe_psql('one', q{SELECT state FROM x_jobs.health() WHERE name = 'scheduler'}), 'ok', 'health() is content');
like($server->safe_psql('one', q{SELECT detail FROM x_jobs.health() WHERE name = 'scheduler'}), qr/^The scheduler has been running since .*, as process $one; start number 1\.$/, 'and says so');
ok(wait_until(sub { $server->safe_psql('one', q{SELECT count(*) FROM x_jobs.background_workers() WHERE database IN ('three', 'looks_like', 'postgres') AND state = 'no extension' AND pid IS NULL}) eq '3' }, within => 15),
	'C-052 databases without the extension were looked at and have none, though one has a schema of that name');
is($watch->sql("SELECT string_agg(datname, ' ' ORDER BY datname) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler'"), 'one two', 'nor have templates');
is($watch->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs launcher'"), '1', 'there is one launcher');

# A task of every second.
schedule_ticks($_) for qw(one two);
ok(ticks_after($_, '-infinity', 4), "SCHED-22 the task of database $_ fires") for qw(one two);
for my $database (qw(one two))
{
	my ($all, $different, $seconds) = split /\|/, $server->safe_psql($database, $fired);
	is("$all $different", "$seconds $seconds", "SCHED-7 SCHED-11 each second of database $database is fired once");
}
is($server->safe_psql('one', q{SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'tick' AND state <> 'ready'}), '0', 'SCHED-29 fired jobs are ready');
is($server->safe_psql('one', q{SELECT bool_and(idempotency_key = 'ticks:' || (extract(epoch FROM run_at) * 1000)::bigint || ':1') FROM x_jobs.all_jobs WHERE name = 'tick'}), 't',
	'SCHED-11 under a key of task, occurrence and place');
is( $server->safe_psql('one', q{SELECT count(*) FROM (SELECT run_at, id FROM x_jobs.all_jobs WHERE name = 'tick') a
	  FULL JOIN (SELECT h.occurrence, h.jobs[1] AS id FROM x_jobs.task_history('ticks', 1000) h WHERE h.outcome = 'fired' AND cardinality(h.jobs) = 1) h
	  ON h.occurrence = a.run_at AND h.id = a.id WHERE h.id IS NULL OR a.id IS NULL}),
	'0', 'C-022 SCHED-7 record and job go together');
is_deeply([ complaints() ], [], 'the log says nothing of all this');

# A drop that is rolled back leaves all as before.
my $s = session($server, database => 'one');
$s->sql('BEGIN; DROP EXTENSION x_jobs; ROLLBACK');
is($s->complaint, '', 'C-052 DROP EXTENSION, rolled back');
my $now = $s->sql('SELECT clock_timestamp()');
ok(ticks_after('one', $now, 2), 'C-052 and the task goes on');
my ($all, $different, $seconds) = split /\|/, $server->safe_psql('one', $fired);
is("$all $different", "$seconds $seconds", 'C-052 with each second once');

# The drop itself, and a new life in the same server.
$now = $s->sql('SELECT clock_timestamp()');
$s->sql('DROP EXTENSION x_jobs');
is($s->complaint, '', 'C-052 DROP EXTENSION does not wait for anybody');
ok(without('one'), 'C-052 the scheduler goes with the extension');
$s->sql('BEGIN; CREATE EXTENSION x_jobs; ROLLBACK');
ok(wait_until(sub { $server->safe_psql('two', q{SELECT state FROM x_jobs.background_workers() WHERE database = 'one' AND pid IS NULL}) eq 'no extension' }, within => 15), 'C-052 a CREATE EXTENSION that is rolled back starts none');
is(schedulers('one'), '', 'C-052 really none');
$s->sql('CREATE EXTENSION x_jobs');
ok(at_work('one'), 'C-052 made again, it has a scheduler without a restart of the server');
schedule_ticks('one');
ok(ticks_after('one', $now, 2), 'C-052 which fires');
is_deeply([ complaints() ], [], 'C-052 and the log says nothing of all this');
cmp_ok($server->safe_psql('one', q{SELECT starts FROM x_jobs.background_workers() WHERE database = 'one'}), '>', 1, 'C-038 the starts are counted');

# Dropped while a task is being fired: the drop waits for that transaction, and nobody complains.
$s->sql(q{CREATE FUNCTION slow(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS
	$$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "slow"}')).* FROM pg_catalog.pg_sleep(0.7) $$});
for my $turn (1 .. 2)
{
	$s->sql(q{SELECT x_jobs.schedule('slow', '* * * * * *', entries_function => 'slow(timestamptz)', overlap => 'allow')});
	is($s->complaint, '', 'a slow task') if $s->complaint ne '';
	ok(wait_until(sub { $watch->sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler' AND datname = 'one' AND wait_event = 'PgSleep'}) eq '1' }, within => 20),
		'a task is being fired');
	$s->sql($turn == 1 ? 'SET client_min_messages = warning; BEGIN; DROP EXTENSION x_jobs CASCADE; ROLLBACK' : 'DROP EXTENSION x_jobs CASCADE');
	is($s->complaint, '', 'C-052 DROP EXTENSION meanwhile, ' . ($turn == 1 ? 'rolled back' : 'committed'));
	next if $turn == 2;
	ok(at_work('one'), 'C-052 the scheduler is at work again');
}
ok(without('one'), 'C-052 the scheduler goes');
is_deeply([ complaints() ], [], 'C-052 and nobody complains of missing tables');

# The switch: for one database, for the server.
$now = $watch->sql('SELECT clock_timestamp()');
my $before = $server->safe_psql('two', q{SELECT pid FROM x_jobs.background_workers() WHERE database = 'two'});
$watch->sql('ALTER DATABASE two SET x_jobs.scheduler = off');
ok(wait_until(sub { state_of('two') eq 'switched off' }, within => 15), 'C-038 ALTER DATABASE ... SET x_jobs.scheduler = off ends it for good');
ok(without('two'), 'C-038 there is no process any more');
is($server->safe_psql('two', q{SELECT state, hint FROM x_jobs.health() WHERE name = 'scheduler'}),
	'error|ALTER DATABASE ... RESET x_jobs.scheduler, or set x_jobs.scheduler = on in the configuration file.', 'C-038 health() says that it is switched off, and how to switch it on');
my $last = $server->safe_psql('two', q{SELECT max(run_at) FROM x_jobs.all_jobs WHERE name = 'tick'});
wait_until(sub { $watch->sql("SELECT clock_timestamp() > '$last'::timestamptz + interval '2.5 s'") eq 't' });
is($server->safe_psql('two', q{SELECT max(run_at) FROM x_jobs.all_jobs WHERE name = 'tick'}), $last, 'C-038 nothing fires meanwhile');
$watch->sql('ALTER DATABASE two RESET x_jobs.scheduler');
ok(at_work('two'), 'C-038 reset, it comes back');
ok(ticks_after('two', $last, 4), 'C-038 and fires');
($all, $different, $seconds) = split /\|/, $server->safe_psql('two', $fired);
is("$all $different", "$seconds $seconds", 'C-022 what was missed as well, since it catches up with all');

$watch->sql('ALTER SYSTEM SET x_jobs.scheduler = off');
$watch->sql('SELECT pg_reload_conf()');
ok(wait_until(sub { state_of('two') eq 'switched off' }, within => 15), 'C-038 the switch in the configuration file, with a reload');
ok(wait_until(sub { $watch->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'x_jobs scheduler'") eq '0' }, within => 15), 'C-038 no scheduler is left in the server');
$watch->sql('ALTER SYSTEM RESET x_jobs.scheduler');
$watch->sql('SELECT pg_reload_conf()');
ok(at_work('two'), 'C-038 on again, with a reload');

# A database that becomes a template is one from then on.
$watch->sql('ALTER DATABASE two IS_TEMPLATE true');
ok(without('two'), 'a database that becomes a template loses its scheduler');
$watch->sql('ALTER DATABASE two IS_TEMPLATE false');
ok(at_work('two'), 'and has one again when it is none any more');

is_deeply([ complaints() ], [], 'the log has no line of a worker from beginning to end');
$server->stop;

done_testing();
