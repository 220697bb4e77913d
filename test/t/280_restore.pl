# A dump with tasks that are due every second is restored into a server whose scheduler is on: the restore goes through
# undisturbed, whatever form it has, nothing fires before it is over, and afterwards the scheduler starts by itself and
# goes on where the dump was. Besides, several schedulers: one of an application fires along with the one of the server,
# each occurrence once, and takes the lead from it. If this failed, a restored backup would have fired half of its tasks
# from half of its rows, or would need somebody to start it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What is dumped: tasks in the middle of their work, with a scheduler that is stopped then.
my $origin = new_server('origin', preload => 1, scheduler => 1);
my $o = session($origin);
$o->sql('CREATE ROLE producer LOGIN; GRANT CREATE ON SCHEMA public TO producer');
$o->sql(q{SELECT x_jobs.grant_producer('producer')});
my $p = session($origin, extra => [ '-U', 'producer' ]);
$p->sql(q{CREATE FUNCTION entries(timestamptz) RETURNS SETOF x_jobs.new_job LANGUAGE sql AS
	$$ SELECT (jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "of a function"}')).* $$});
$p->sql(q{SELECT x_jobs.schedule('of a function', '* * * * * *', entries_function => 'entries(timestamptz)', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
$p->sql(q{SELECT x_jobs.schedule('ticks ' || n, '* * * * * *', entries => jsonb_build_array(jsonb_build_object('name', 'tick ' || n)), catch_up => 'all', max_catch_up => 1000, overlap => 'allow') FROM generate_series(1, 5) AS n});
$p->sql(q{SELECT x_jobs.schedule('latest', '* * * * * *', entries => '[{"name": "latest"}]', catch_up => 'latest', overlap => 'skip')});
is($p->complaint, '', 'tasks are made');
$p->quit;
ok(wait_until(sub { $o->sql("SELECT count(DISTINCT name) FROM x_jobs.all_jobs WHERE name LIKE 'tick %' OR name = 'of a function'") eq '6' }, within => 30), 'and fire');
$o->sql('ALTER SYSTEM SET x_jobs.scheduler = off; SELECT pg_reload_conf()');
$o->sql('SELECT pg_reload_conf()');
ok(wait_until(sub { $o->sql(q{SELECT state FROM x_jobs.background_workers() WHERE database = current_database()}) eq 'switched off' }, within => 15), 'until the scheduler is switched off');
# It is built anew at the end of a restore, and takes its time: what fires during the restore fires before its end.
$o->sql('CREATE MATERIALIZED VIEW restored AS SELECT clock_timestamp() AS began, pg_sleep(2.5)::text AS slept, clock_timestamp() AS ended');
is($o->complaint, '', 'the origin has a view');
$o->sql('CREATE TABLE others AS SELECT n FROM generate_series(1, 1000) AS n');
is($o->complaint, '', 'the origin is complete');
# Leases of leaders are not dumped.
my @tables = split /\n/, $o->sql(q{SELECT c.relname FROM pg_class c WHERE c.relnamespace = '_x_jobs'::regnamespace AND c.relkind = 'r' AND c.relname <> 'leaders'});
my $contents = fingerprint($origin, 'postgres', @tables);
my $jobs = $o->sql(q{SELECT string_agg(id::text, ' ' ORDER BY id) FROM x_jobs.all_jobs});
my $log = $o->sql(q{SELECT string_agg(concat_ws(' ', task, occurrence, outcome, jobs::text), ', ' ORDER BY task, occurrence) FROM _x_jobs.task_log});
my $dumped = $o->sql('SELECT max(run_at) FROM x_jobs.all_jobs');
my $folder = $origin->basedir;
$origin->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/custom.dump", '-d', $origin->connstr('postgres') ], 'pg_dump into an archive');
$origin->command_ok([ 'pg_dump', '-Fp', '-f', "$folder/plain.sql", '-d', $origin->connstr('postgres') ], 'pg_dump as plain SQL');
$o->quit;
$origin->stop;

my $target = new_server('target', preload => 1, scheduler => 1, extension => 0);
my $t = session($target);
$t->sql('CREATE ROLE shifts_the_numbers; CREATE ROLE producer LOGIN');
my %restore = (
	'plain SQL' => sub { [ 'psql', '-XqAt', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $_[0], '-f', "$folder/plain.sql" ] },
	'archive' => sub { [ 'pg_restore', '--exit-on-error', '-d', $_[0], "$folder/custom.dump" ] },
	'archive, two jobs' => sub { [ 'pg_restore', '--exit-on-error', '-j', '2', '-d', $_[0], "$folder/custom.dump" ] });

# Everything of the dump is there, and tasks have fired each second from the dump on, once, and none before the end.
sub is_whole
{
	my ($how, $database) = @_;
	my $c = session($target, database => $database);
	ok( wait_until(sub { $c->sql(q{SELECT state FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database()}) eq 'running' }, within => 20),
		"C-054 $how: the scheduler starts by itself");
	my $now = $c->sql('SELECT clock_timestamp()');
	ok( wait_until(sub { $c->sql("SELECT count(DISTINCT name) FROM x_jobs.all_jobs WHERE (name LIKE 'tick %' OR name = 'of a function') AND run_at > '$now'") eq '6' }, within => 30),
		"C-054 $how: every task fires");
	is($c->sql("SELECT string_agg(id::text, ' ' ORDER BY id) FROM x_jobs.all_jobs WHERE run_at <= '$dumped' AND id IN (SELECT unnest(string_to_array('$jobs', ' '))::uuid)"), $jobs, "C-054 $how: every job of the dump is there");
	is($c->sql("SELECT string_agg(concat_ws(' ', task, occurrence, outcome, jobs::text), ', ' ORDER BY task, occurrence) FROM _x_jobs.task_log WHERE decided_at < (SELECT began FROM restored)"), $log, "C-054 $how: every record too");
	is( $c->sql(q{SELECT string_agg(DISTINCT name, ', ') FROM (SELECT name FROM x_jobs.all_jobs WHERE name LIKE 'tick %' OR name = 'of a function' GROUP BY name
		HAVING count(*) <> extract(epoch FROM max(run_at) - min(run_at)) + 1 OR count(*) <> count(DISTINCT run_at)) AS incomplete}),
		'', "C-054 $how: what was missed meanwhile is caught up with, each second once");
	is($c->sql(q{SELECT count(*) FROM _x_jobs.task_log, restored WHERE decided_at BETWEEN began AND ended}), '0', "C-054 $how: nothing fired during the restore");
	is($c->sql(q{SELECT count(*) FROM x_jobs.tasks WHERE owner <> 'producer' OR state <> 'active'}), '0', "C-054 $how: the tasks belong to whom they did");
	$c->quit;
	return;
}

# What a restore says. The parallel one is known by the name that its sessions give themselves, unless they are told another.
sub restored
{
	my ($how, $database) = @_;
	local %ENV = %ENV;
	delete $ENV{PGAPPNAME};
	return run_command($restore{$how}->($target->connstr($database)));
}

for my $how (sort keys %restore)
{
	my $database = 'copy_' . ($how =~ tr/a-zA-Z/_/cr);
	$t->sql("CREATE DATABASE \"$database\"");
	my $offset = -s $target->logfile;
	my ($out, $err) = restored($how, $database);
	is("$out$err", '', "C-054 $how: the restore has nothing to complain of");
	is_whole($how, $database);
	unlike(slurp_file($target->logfile, $offset), qr/ERROR|FATAL|PANIC|x_jobs/, "C-054 $how: nor has the log");
	$t->sql("DROP DATABASE \"$database\"");
	is($t->complaint, '', "C-054 $how: the copy is dropped");
}

# Into a server that was started with the switch off: nothing starts, everything is as it was dumped; one switch starts it.
$t->sql('ALTER SYSTEM SET x_jobs.scheduler = off');
$t->quit;
$target->restart;
$t = session($target);
$t->sql('CREATE DATABASE switched');
my ($out, $err) = restored('archive, two jobs', 'switched');
is("$out$err", '', 'C-054 a restore while the switch is off');
ok(wait_until(sub { $target->safe_psql('switched', q{SELECT state FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database()}) eq 'switched off' }, within => 20), 'C-054 no scheduler starts');
is_deeply(fingerprint($target, 'switched', @tables), $contents, 'C-054 every table is as it was dumped');
$t->sql('ALTER SYSTEM RESET x_jobs.scheduler');
$t->sql('SELECT pg_reload_conf()');
is_whole('after the switch', 'switched');
$t->quit;

# Two schedulers, one of them outside, fire the same task.
my $s = session($target, database => 'switched');
$s->sql('SELECT x_jobs.unschedule(task) FROM x_jobs.tasks');
$s->sql(q{SELECT x_jobs.schedule('shared', '* * * * * *', entries => '[{"name": "shared", "input": "inside"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
my $fire = sub {
	my ($occurrence) = @_;
	my $fired = $s->sql(qq{SELECT fired FROM x_jobs.fire('shared', $occurrence, ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{"name": "shared", "input": "outside"}')])});
	is($s->complaint, '', 'a fire from outside') if $s->complaint ne '';
	return $fired;
};
# Finishes what was fired, so that no key of a live job could hide a second fire.
my $work_off = sub {
	$s->sql("SELECT count(x_jobs.ack(id, 'w', claim)) FROM x_jobs.claim(ARRAY['default'], 'w', 1000)");
	return;
};
my $each_once = sub {
	my ($name) = @_;
	# In one statement, since the scheduler goes on meanwhile.
	my ($jobs_of_it, $different, $seconds, $fires, $instants) = split /\|/, $s->sql(q{SELECT j.*, f.* FROM
		(SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'shared') AS j,
		(SELECT count(*), count(DISTINCT occurrence) FROM _x_jobs.task_log WHERE task = 'shared' AND outcome = 'fired') AS f});
	is("$jobs_of_it $different", "$seconds $seconds", "$name: each occurrence has one job");
	is("$fires $instants", "$seconds $seconds", "$name: and one fire");
	return;
};
# As soon as the watermark lets it, the one outside fires the next second, a little ahead of the one inside or just behind it.
my %answers = (t => 0, f => 0);
my $until = $s->sql("SELECT clock_timestamp() + interval '6 s'");
wait_until(
	sub {
		++$answers{ $fire->("(SELECT date_trunc('second', clock_timestamp()))") };
		$work_off->();
		return $s->sql("SELECT clock_timestamp() > '$until'") eq 't';
	});
cmp_ok($answers{f}, '>', 0, 'SCHED-8 LEAD-7 what has been fired is refused');
$each_once->('LEAD-7 two schedulers');
# Ahead of it for certain: the next second, two of them.
$s->sql("SELECT x_jobs.pause_task('shared')");
my $next = $s->sql(q{SELECT next_occurrence FROM x_jobs.tasks WHERE task = 'shared'});
is($fire->("'$next'"), 't', 'LEAD-7 an occurrence is fired from outside');
is($fire->("'$next'"), 'f', 'LEAD-7 once');
$s->sql("SELECT x_jobs.resume_task('shared')");
ok(wait_until(sub { $work_off->(); $s->sql("SELECT count(*) > 1 FROM x_jobs.all_jobs WHERE name = 'shared' AND run_at > '$next'") eq 't' }, within => 20), 'LEAD-7 the one inside goes on behind it');
is($s->sql("SELECT input FROM x_jobs.all_jobs WHERE name = 'shared' AND run_at = '$next'"), '"outside"', 'LEAD-7 without firing it again');
$each_once->('LEAD-7 one after the other');

# The lead.
like($s->sql(q{SELECT holder FROM x_jobs.leader('scheduler')}), qr/^x_jobs scheduler of \d+$/, 'LEAD-4 the scheduler of the server leads under the usual key');
is($s->sql("SELECT x_jobs.leader_acquire(holder => 'outside', ttl => '5 s')"), 'f', 'LEAD-1 nobody takes the lead from it while it lives');
my $inside = $s->sql('SELECT holder FROM x_jobs.leader()');
# Both in one transaction, since the one inside would renew.
is($s->sql(qq{BEGIN; SELECT x_jobs.leader_release('scheduler', '$inside'); SELECT x_jobs.leader_acquire(holder => 'outside', ttl => '12 s'); COMMIT}), "t\nt", 'LEAD-3 the lease is given up for it, and another has it');
$s->sql(q{SELECT pg_terminate_backend(pid, 10000) FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database()});
is($s->sql('SELECT holder FROM x_jobs.leader()'), 'outside', 'LEAD-3 the end of the one inside does not take it away');
ok(wait_until(sub { $s->sql(q{SELECT state FROM x_jobs.background_workers() WHERE worker = 'scheduler' AND database = current_database()}) eq 'running' }, within => 10), 'another one inside begins');
# Two seconds of the lease in which it could fire.
my $last = $s->sql(q{SELECT max(run_at) FROM x_jobs.all_jobs WHERE name = 'shared'});
my $quiet = $s->sql("SELECT clock_timestamp() + interval '2.5 s'");
wait_until(sub { $s->sql("SELECT clock_timestamp() > '$quiet'") eq 't' });
my ($holder, $max) = split /\|/, $s->sql(q{SELECT (SELECT holder FROM x_jobs.leader()), max(run_at) FROM x_jobs.all_jobs WHERE name = 'shared'});
SKIP:
{
	skip 'the machine is too slow: the lease has lapsed already', 1 if $holder ne 'outside';
	is($max, $last, 'LEAD-1 the scheduler of the server does not fire while another leads');
}
ok(wait_until(sub { $s->sql("SELECT count(*) > 0 FROM x_jobs.all_jobs WHERE name = 'shared' AND run_at > '$quiet'") eq 't' }, within => 40), 'LEAD-1 when that lease has lapsed, it fires again');
is($s->sql('SELECT holder FROM x_jobs.leader()'), $inside, 'LEAD-5 and leads');
$each_once->('LEAD-7 over two changes of the lead');
unlike(slurp_file($target->logfile), qr/PANIC|TRAP|upkeep failed|cannot/, 'the log knows of no failure');
$s->quit;
$target->stop;

done_testing();
