# What is wrong with one task is that task's own affair: its role is gone or has lost its rights, its function raises, hangs
# or is gone, and the others go on every second. The task says what it lacks. And tasks can be made and taken away in any
# number while they fire. If this failed, one dropped role would stop the schedules of everybody.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = new_server('bad_tasks', preload => 1, scheduler => 1, conf => "x_jobs.task_timeout = '300ms'");
my $s = session($server);
my $good = 20;

sub at_work
{
	return wait_until(sub { $s->sql(q{SELECT pid FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database() AND state = 'running'}) }, within => 15);
}

# Each of the good tasks has fired each second from its first to its last, and goes on.
sub good_ones_go_on
{
	my ($name) = @_;
	my $now = $s->sql('SELECT clock_timestamp()');
	ok( wait_until(
			sub { $s->sql("SELECT count(DISTINCT name) FROM x_jobs.all_jobs WHERE name LIKE 'good %' AND run_at > '$now'") eq $good },
			within => 30),
		"C-040 $name: all good tasks go on");
	is( $s->sql(q{SELECT count(*) FROM (SELECT name FROM x_jobs.all_jobs WHERE name LIKE 'good %' GROUP BY name
		HAVING count(*) <> extract(epoch FROM max(run_at) - min(run_at)) + 1 OR count(*) <> count(DISTINCT run_at)) AS incomplete}),
		'0', "C-040 $name: each second once, for each of them");
	return;
}

for my $role (qw(a dropped unkempt revoked renamed paused))
{
	$s->sql("CREATE ROLE role_$role LOGIN; SELECT x_jobs.grant_producer('role_$role'); GRANT CREATE ON SCHEMA public TO role_$role");
}
is($s->complaint, '', 'the roles are made');
my %by_role;
my $by = sub {
	my ($role, $sql) = @_;
	$by_role{$role} //= session($server, extra => [ '-U', "role_$role" ]);
	$by_role{$role}->sql($sql);
	is($by_role{$role}->complaint, '', "role_$role: $sql") if $by_role{$role}->complaint ne '';
	return;
};
my $tail = q{catch_up => 'all', max_catch_up => 1000, overlap => 'allow'};
$by->('a', qq{SELECT x_jobs.schedule('good ' || n, '* * * * * *', entries => jsonb_build_array(jsonb_build_object('name', 'good ' || n)), $tail) FROM generate_series(1, $good) AS n});
$by->($_, qq{SELECT x_jobs.schedule('$_', '* * * * * *', entries => '[{"name": "$_"}]', $tail)}) for qw(dropped revoked renamed);
$by->('paused', qq{SELECT x_jobs.schedule('paused', '* * * * * *', entries => '[{"name": "paused"}]', paused => true, $tail)});
# Functions of all kinds of faults.
for my $fault ([ 'raises', q{RAISE EXCEPTION 'no entries today' USING ERRCODE = 'P0042'; RETURN;} ], [ 'sleeps', q{PERFORM pg_sleep(60); RETURN;} ], [ 'absent', q{RETURN;} ],
	[ 'divides', q{PERFORM 1 / 0; RETURN;} ], [ 'answers', q{RETURN QUERY SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": ""}')).*;} ])
{
	my ($name, $body) = @$fault;
	$by->('unkempt', qq{CREATE FUNCTION $name(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql AS \$\$ BEGIN $body END \$\$});
	$by->('unkempt', qq{SELECT x_jobs.schedule('$name', '* * * * * *', entries_function => '$name(timestamptz)', $tail)});
}
ok(at_work(), 'a scheduler is at work');
good_ones_go_on('at first');
for my $name (qw(dropped revoked renamed))
{
	ok(wait_until(sub { $s->sql("SELECT count(*) > 0 FROM x_jobs.all_jobs WHERE name = '$name'") eq 't' }, within => 20), "$name fires as long as all is well");
}

# The faults.
$_->quit for values %by_role;
%by_role = ();
$s->sql('DROP FUNCTION absent(timestamptz)');
is($s->complaint, '', 'a function is dropped');
for my $role (qw(dropped paused))
{
	$s->sql("DROP OWNED BY role_$role");
	$s->sql("DROP ROLE role_$role");
	is($s->complaint, '', "C-040 role_$role is dropped, past any guard");
}
$s->sql("SELECT x_jobs.revoke_producer('role_revoked')");
is($s->complaint, '', 'C-040 a role loses its rights');
$s->sql('ALTER ROLE role_renamed RENAME TO "another name"');
is($s->complaint, '', 'C-040 a role gets another name');
# DROP OWNED might have taken the extension along, so that another scheduler looks at the database anew.
$s->sql(q{SELECT x_jobs.schedule('good 0', '* * * * * *', entries => '[{"name": "good 0"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
++$good;
good_ones_go_on('after the drop of roles');
my $pid = at_work();
my $since = $s->sql('SELECT clock_timestamp()');

sub shows
{
	my ($task, $state, $error, $name) = @_;
	my $said = '';
	wait_until(sub { $said = $s->sql("SELECT state, failures > 0, error FROM x_jobs.tasks WHERE task = '$task'"); $said =~ /^\Q$state\E\|.*$error/s }, within => 30);
	like($said, qr/^\Q$state\E\|t\|.*$error/s, "C-040 SCHED-23 $name");
	return;
}
shows('dropped', 'no owner', "the task's owner cannot run it", 'a task whose role is gone says so');
shows('revoked', 'failing', "the task's owner cannot run it", 'one whose role has lost its rights too');
shows('raises',  'failing', 'no entries today', 'one whose function raises says what it raised');
shows('divides', 'failing', 'division by zero', 'also an error of the server');
shows('sleeps',  'failing', 'statement timeout', 'one whose function takes too long is cancelled, and says so');
shows('absent',  'failing', 'absent', 'one whose function is gone says so');
shows('answers', 'failing', '.', 'one whose function answers what is no job too');
is($s->sql("SELECT state, error IS NULL FROM x_jobs.tasks WHERE task = 'paused'"), 'paused|t', 'C-040 a paused task of a role that is gone is left alone');
is($s->sql("SELECT count(*) FROM x_jobs.tasks WHERE state = 'active' AND failures = 0 AND task LIKE 'good %'"), $good, 'C-040 the good ones show no fault');
is($s->sql(q{SELECT state, detail FROM x_jobs.health() WHERE name = 'tasks'}), 'error|Tasks that cannot fire: 7.', 'C-040 health() counts them');
good_ones_go_on('with all those faults');
is(at_work(), $pid, 'C-040 in the same process all the time');
is($s->sql("SELECT owner, state FROM x_jobs.tasks WHERE task = 'renamed'"), 'another name|active', 'C-040 a task follows its role to another name');
ok(wait_until(sub { $s->sql("SELECT count(*) > 0 FROM x_jobs.all_jobs WHERE name = 'renamed' AND run_at > '$since'") eq 't' }, within => 20), 'C-040 and fires');
is($s->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE name IN ('raises', 'divides', 'sleeps', 'absent', 'answers', 'paused')"), '0', 'SCHED-7 SCHED-23 nothing came of the others');
is($s->sql("SELECT count(*) FROM x_jobs.tasks WHERE task IN ('raises', 'divides', 'sleeps') AND watermark > created_at + interval '2 s'"), '0', 'SCHED-23 and their watermarks stay');

# A new scheduler finds all that as well.
$s->sql("SELECT pg_terminate_backend($pid, 10000)");
ok(wait_until(sub { my $now = at_work(); $now && $now != $pid }, within => 15), 'C-040 the scheduler, started anew');
good_ones_go_on('after a restart of the scheduler');

# What was mended goes on by itself, with what was missed.
$s->sql("SELECT x_jobs.grant_producer('role_revoked')");
$s->sql(q{CREATE OR REPLACE FUNCTION raises(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "raises"}')).* $$});
$s->sql(q{CREATE FUNCTION absent(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS $$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "absent"}')).* $$});
for my $name (qw(revoked raises absent))
{
	# It is tried again a minute later at the latest.
	ok(wait_until(sub { $s->sql("SELECT state, failures, error IS NULL FROM x_jobs.tasks WHERE task = '$name' AND dispatched_at > '$since'") eq 'active|0|t' }, within => 90), "SCHED-23 $name: mended, it fires and shows no fault any more");
	is($s->sql("SELECT count(*) - count(DISTINCT run_at) FROM x_jobs.all_jobs WHERE name = '$name'"), '0', "SCHED-23 $name: no occurrence twice");
}
$s->sql("SELECT x_jobs.unschedule(task) FROM x_jobs.tasks WHERE task NOT LIKE 'good %'");
is($s->complaint, '', 'C-040 the bad ones can be taken away, also those of nobody');
is($s->sql(q{SELECT state FROM x_jobs.health() WHERE name = 'tasks'}), 'ok', 'C-040 health() is content then');

# Made and taken away while they fire, by four sessions.
my $offset = -s $server->logfile;
$pid = at_work();
my $work = q{DO $$ DECLARE until timestamptz := clock_timestamp() + interval '5 s'; n integer := 0; BEGIN
	WHILE clock_timestamp() < until LOOP
		n := n + 1;
		PERFORM x_jobs.schedule(format('loop %s %s', SESSION, n % 7), CASE n % 3 WHEN 0 THEN '* * * * * *' WHEN 1 THEN '@every 1 s' ELSE '*/2 * * * * *' END,
			entries => '[{"name": "loop"}]', overlap => (ARRAY['allow', 'skip', 'queue'])[1 + n % 3], catch_up => (ARRAY['all', 'latest', 'none', 'earliest'])[1 + n % 4]);
		COMMIT;
		PERFORM pg_sleep(0.02 * (n % 5));
		IF n % 2 = 0 THEN PERFORM x_jobs.unschedule(format('loop %s %s', SESSION, n % 7)); END IF;
		COMMIT;
		-- Another session may have been quicker.
		BEGIN
			PERFORM x_jobs.cancel(a.id) FROM x_jobs.all_jobs a WHERE a.name = 'loop' AND a.state = 'ready' LIMIT 3;
		EXCEPTION WHEN SQLSTATE 'XJ006' THEN
			NULL;
		END;
		COMMIT;
	END LOOP; END $$};
my @sessions = map { session($server) } 1 .. 4;
$sessions[$_]->send($work =~ s/SESSION/$_/gr) for 0 .. 3;
for my $number (0 .. 3)
{
	$sessions[$number]->result;
	is($sessions[$number]->complaint, '', "C-046 session $number made and took away tasks while they fired");
	$sessions[$number]->quit;
}
cmp_ok($s->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'loop'"), '>', 0, 'C-046 and they fired');
is($s->sql("SELECT count(*) - count(DISTINCT idempotency_key) FROM x_jobs.all_jobs WHERE name = 'loop'"), '0', 'C-046 no occurrence twice, whoever made and took away its task');
$s->sql("SELECT x_jobs.unschedule(task) FROM x_jobs.tasks WHERE task LIKE 'loop %'");
is($s->sql("SELECT count(*) FROM _x_jobs.task_states s WHERE NOT EXISTS (SELECT FROM _x_jobs.tasks t WHERE t.task = s.task)"), '0', 'C-046 no state of a task is left over');
good_ones_go_on('C-046 after all that');
my $log = slurp_file($server->logfile, $offset);
unlike($log, qr/ERROR|FATAL|PANIC|TRAP|terminated by signal|x_jobs/, 'C-046 no crash and no error in the log') or diag join "\n", grep { /ERROR|x_jobs|FATAL/ } split /\n/, $log;
is(at_work(), $pid, 'C-046 the scheduler is still the same');

# A slow function that is the only one rests too where tasks without a function would come late.
$s->sql($_) for 'ALTER SYSTEM SET x_jobs.task_timeout = 10000', 'SELECT pg_reload_conf()';
ok(wait_until(sub { $s->sql('SHOW x_jobs.task_timeout') eq '10s' }), 'functions may take ten seconds');
$s->sql('SELECT x_jobs.unschedule(task) FROM x_jobs.tasks WHERE entries_function IS NOT NULL');
$s->sql(q{CREATE FUNCTION public.slow_one(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE plpgsql AS 'BEGIN PERFORM pg_catalog.pg_sleep(1.2); END'});
$s->sql(q{SELECT x_jobs.schedule('plain one', '* * * * * *', entries => '[{"name": "plain"}]', overlap => 'allow')});
$s->sql(q{SELECT x_jobs.schedule('slow one', '* * * * * *', entries_function => 'public.slow_one(timestamptz)')});
is($s->complaint, '', 'a slow function beside a task that has none');
ok(wait_until(sub { $s->sql(q{SELECT dispatched_at IS NOT NULL AND tried_at IS NULL AND next_at > clock_timestamp() + interval '15 s' FROM _x_jobs.task_states WHERE task = 'slow one'}) eq 't' }, within => 30),
	'SCHED-23 the slow one rests for twenty times as long') or diag $s->sql(q{SELECT * FROM _x_jobs.task_states WHERE task = 'slow one'});
$s->quit;
$server->stop;

done_testing();
