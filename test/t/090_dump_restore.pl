# A dump carries everything: live jobs of all four states, finished ones in several leaves of the ring, pauses, counters,
# tallies, records of attempts, and who may do what. It is restored from an archive into another server, whose roles
# have other numbers, and from plain SQL into another database; the tables must hold the same, row by row, and the copy must
# work: claims held at the dump are still held, waiting jobs are claimed in the same order, keys are still taken,
# upkeep runs, and the roles can do what they could and no more.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $origin = new_server('origin', preload => 1);
$origin->safe_psql('postgres', q{
	CREATE ROLE producers LOGIN; CREATE ROLE "Mail Workers" LOGIN; CREATE ROLE all_workers LOGIN; CREATE ROLE operators LOGIN; CREATE ROLE nobody LOGIN;
	SELECT x_jobs.grant_producer('producers');
	SELECT x_jobs.grant_worker('"Mail Workers"', ARRAY['mail', 'Grüße']);
	SELECT x_jobs.grant_worker('all_workers');
	SELECT x_jobs.grant_operator('operators');
	SELECT x_jobs.grant_producer('operators');
});

# Finished jobs of six days, so in six leaves, and dead letters, which are in the leaf that is kept.
for my $day (0 .. 5)
{
	my $s = session($origin);
	$s->sql("SET x_jobs.test_clock_offset = '${day}d'");
	$s->sql("SELECT x_jobs.enqueue('old', jsonb_build_object('n', n, 'text', E'tab\\t \\\\ \"quoted\" \\n ünï'), 'k' || n, queue => 'old', tenant_id => 't' || n,
		tags => ARRAY['a b', '{}', '\"'], run_at => '2001-01-01 00:00+00'::timestamptz + n * '1 s'::interval) FROM generate_series(1, 12) AS n");
	is($s->complaint, '', 'jobs of one day') if $s->complaint ne '';
	$s->sql("CREATE TEMP TABLE held AS SELECT id, claim, row_number() OVER () AS n FROM x_jobs.claim(ARRAY['old'], 'w', 100)");
	$s->sql("SELECT CASE n % 4
		WHEN 0 THEN x_jobs.ack(id, 'w', claim, result => jsonb_build_object('n', n), duration => '12 ms')
		WHEN 1 THEN x_jobs.nack(id, 'w', claim, error => 'broken', stack => 'at 1', dead_letter => true)
		WHEN 2 THEN x_jobs.nack(id, 'w', claim, error => 'refused', fail => true, counts_as_attempt => false)
		WHEN 3 THEN x_jobs.nack(id, 'w', claim, error => 'again') END FROM held");
	$s->sql("SELECT x_jobs.cancel(id, 'not wanted') FROM x_jobs.all_jobs WHERE state = 'ready' AND queue = 'old'");
	$s->sql('SELECT count(*) FROM x_jobs.maintain()') if $day < 4;
	$s->quit;
}
my $s = session($origin);
$s->sql("SELECT x_jobs.enqueue('ready', '1', 'r' || n, queue => 'mail', priority => n % 3, run_at => '2001-01-01 00:00+00'::timestamptz + n * '1 s'::interval) FROM generate_series(1, 6) AS n");
$s->sql("SELECT x_jobs.enqueue('delayed', '1', 'd', queue => 'mail', delay => '30 days', id => '" . job_id(1) . "')");
$s->sql("SELECT x_jobs.enqueue('running', '1', 'run', queue => 'other', id => '" . job_id(2) . "')");
$s->sql("SELECT x_jobs.claim(ARRAY['other'], 'holder', visibility_timeout => '10 days')");
$s->sql("SELECT x_jobs.progress('" . job_id(2) . "', 'holder', 1, 1, 2, 'half')");
$s->sql("SELECT x_jobs.enqueue('suspended', '1', 's', queue => 'parked', id => '" . job_id(3) . "')");
$s->sql("SELECT x_jobs.claim(ARRAY['parked'], 'holder')");
$s->sql("SELECT x_jobs.nack('" . job_id(3) . "', 'holder', 1, park => true, delay => '20 days', counts_as_attempt => false)");
$s->sql("SELECT x_jobs.enqueue('held back', '1', 'p', queue => 'paused queue')");
$s->sql("SELECT x_jobs.pause_queue('paused queue', 'a reason')");
$s->sql("SELECT x_jobs.enqueue('greetings', '1', 'g', queue => 'Grüße')");
$s->sql("SELECT x_jobs.worker_announce('holder', 'host', ARRAY['other'], 4, ARRAY['" . job_id(2) . "']::uuid[], '1 day')");
is($s->sql("SELECT x_jobs.leader_acquire('dumped', 'somebody', '1 day')"), 't', 'somebody leads there');
is($s->complaint, '', 'the origin is filled');

cmp_ok($s->sql('SELECT count(DISTINCT segment) FROM _x_jobs.history WHERE segment < 32'), '>=', 3, 'history rows in at least three leaves of the ring');
cmp_ok($s->sql('SELECT count(*) FROM _x_jobs.history WHERE segment = 32'), '>=', 3, 'and in the leaf that is kept');
is($s->sql('SELECT string_agg(DISTINCT state, \' \' ORDER BY state) FROM _x_jobs.jobs'), 'delayed ready running suspended', 'live jobs of all four states');
is($s->sql('SELECT string_agg(DISTINCT state, \' \' ORDER BY state) FROM _x_jobs.history'), 'cancelled dead done failed', 'finished ones of all four');
for my $table ('attempts', 'counters', 'queue_totals', 'tally', 'tally_turn', 'history_leaves', 'queues', 'grants', 'workers')
{
	cmp_ok($s->sql("SELECT count(*) FROM _x_jobs.$table"), '>', 0, "there are rows in $table");
}
$s->quit;

# Who may execute what, by names.
my $privileges = q{
	SELECT p.oid::regprocedure || ' ' || a.grantee::regrole || ' ' || a.privilege_type
	  FROM pg_proc p, aclexplode(p.proacl) AS a WHERE p.pronamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)
	 UNION ALL SELECT c.relname || ' ' || a.grantee::regrole || ' ' || a.privilege_type
	  FROM pg_class c, aclexplode(c.relacl) AS a WHERE c.relnamespace IN ('x_jobs'::regnamespace, '_x_jobs'::regnamespace)
	 UNION ALL SELECT n.nspname || ' ' || a.grantee::regrole || ' ' || a.privilege_type
	  FROM pg_namespace n, aclexplode(n.nspacl) AS a WHERE n.nspname IN ('x_jobs', '_x_jobs')
	 ORDER BY 1};
my $contents = fingerprint($origin, 'postgres');
my $granted = $origin->safe_psql('postgres', $privileges);
like($granted, qr/all_workers EXECUTE/, 'privileges are there to be dumped');

# The other server: its roles have other numbers.
my $target = new_server('target', preload => 1, extension => 0);
$target->safe_psql('postgres', 'CREATE ROLE shifts_the_numbers; CREATE ROLE shifts_them_again');
my $folder = $origin->basedir;
$origin->command_ok([ 'pg_dumpall', '--roles-only', '--no-role-passwords', '-f', "$folder/roles.sql", '-d', $origin->connstr('postgres') ], 'pg_dumpall of the roles');
$target->psql('postgres', slurp_file("$folder/roles.sql"), on_error_stop => 0);
isnt($target->safe_psql('postgres', q{SELECT 'all_workers'::regrole::oid}), $origin->safe_psql('postgres', q{SELECT 'all_workers'::regrole::oid}), 'a role has another number there');

$origin->command_ok([ 'pg_dump', '-Fc', '-f', "$folder/custom.dump", '-d', $origin->connstr('postgres') ], 'pg_dump into an archive');
$origin->command_ok([ 'pg_dump', '-Fp', '-f', "$folder/plain.sql",   '-d', $origin->connstr('postgres') ], 'pg_dump as plain SQL');
is_deeply(fingerprint($origin, 'postgres'), $contents, 'the dump changed nothing');

$target->safe_psql('postgres', 'CREATE DATABASE copy');
$target->command_ok([ 'pg_restore', '--exit-on-error', '-j', '2', '-d', $target->connstr('copy'), "$folder/custom.dump" ], 'pg_restore of the archive');
$origin->safe_psql('postgres', 'CREATE DATABASE copy');
my ($status, $out, $err) = $origin->psql('copy', slurp_file("$folder/plain.sql"));
is($status, 0, 'restore of plain SQL') or diag $err;

for my $copy ([ 'archive', $target ], [ 'plain SQL', $origin ])
{
	my ($how, $server) = @$copy;
	is_deeply({ %{ fingerprint($server, 'copy') }, leaders => 'not dumped' }, { %$contents, leaders => 'not dumped' }, "$how: every table holds the same rows, by count and checksum");
	is($server->safe_psql('copy', $privileges), $granted, "$how: the privileges are the same");

	my $w = session($server, database => 'copy');
	is($w->sql("SELECT x_jobs.leader_acquire('dumped', 'another', '0')"), 't', "$how: LEAD-5 nobody leads in the copy");
	is($w->sql("SELECT worker_id FROM x_jobs.workers()"), 'holder', "$how: REG-3 the workers are listed");
	is($w->sql("SELECT x_jobs.heartbeat('" . job_id(2) . "', 'holder', 1, '1 day')"), 't', "$how: a claim held at the dump is held in the copy");
	is($w->sql("SELECT deduped, id FROM x_jobs.enqueue('delayed', '1', 'd')"), 't|' . job_id(1), "$how: ENQ-3 a live key is still taken");
	is($w->sql("SELECT deduped, id FROM x_jobs.enqueue('new', '1', 'n', id => '" . job_id(3) . "')"), 't|' . job_id(3), "$how: ENQ-9 so is an id");
	is($w->sql("SELECT string_agg(idempotency_key, ' ') FROM x_jobs.claim(ARRAY['mail'], 'w', 4)"), 'r3 r6 r1 r4', "$how: CLAIM-8 a claim hands the waiting jobs out in order");
	is($w->sql("SELECT count(x_jobs.ack(id, 'w', claim)) FROM x_jobs.all_jobs WHERE worker_id = 'w' AND state = 'running'"), '4', "$how: and they are settled");
	is($w->sql("SELECT x_jobs.ack('" . job_id(2) . "', 'holder', 1)"), 't', "$how: the held one too");
	is($w->sql("SELECT queue, reason FROM x_jobs.paused()"), 'paused queue|a reason', "$how: the pause is there");
	is($w->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['paused queue'], 'w')"), '0', "$how: and holds");
	my $dead = $w->sql('SELECT id FROM x_jobs.dead_letters(1)');
	is($w->sql("SELECT state, attempt FROM x_jobs.requeue('$dead')"), 'ready|0', "$how: a dead letter can be requeued");
	my $totals = 'SELECT sum(done), sum(failed), sum(dead), sum(retried) FROM (SELECT done, failed, dead, retried FROM _x_jobs.counters UNION ALL
		SELECT (outcome = \'d\')::integer, (outcome = \'f\')::integer, (outcome = \'x\')::integer, (outcome = \'r\')::integer FROM _x_jobs.tally) AS c';
	my $counted = $w->sql($totals);
	like($w->sql(q{SELECT string_agg(task, ' ') FROM x_jobs.maintain()}), qr/\badvance_ring\b.*\broll_up\b/, "$how: maintain() runs");
	is($w->complaint, '', "$how: without a complaint");
	$w->sql('SELECT x_jobs.maintain()') for 1 .. 3;
	is($w->sql($totals), $counted, "$how: X-9 upkeep moves the counts and loses none");
	$w->sql("SET x_jobs.test_clock_offset = '17d'");
	my $before = $w->sql('SELECT count(*) FROM _x_jobs.history WHERE segment < 32');
	$w->sql('SELECT x_jobs.maintain()');
	cmp_ok($w->sql('SELECT count(*) FROM _x_jobs.history WHERE segment < 32'), '<', $before, "$how: X-16 the ring of the copy advances");
	cmp_ok($w->sql('SELECT count(*) FROM _x_jobs.history WHERE segment < 32'), '>', 0, "$how: X-16 by leaves");
	$w->sql("RESET x_jobs.test_clock_offset");

	# The roles, each in its own name.
	my %may = (
		'producers' => [ 'enqueue' ], 'Mail Workers' => [ 'claim mail', 'claim Grüße' ], 'all_workers' => [ 'claim mail', 'claim Grüße', 'claim other' ],
		'operators' => [ 'enqueue', 'stats' ], 'nobody' => []);
	my %act = (
		'enqueue' => "SELECT x_jobs.enqueue('by role', dedupe => false)", 'claim mail' => "SELECT x_jobs.claim(ARRAY['mail'], 'w', 0)",
		'claim Grüße' => "SELECT x_jobs.claim(ARRAY['Grüße'], 'w', 0)", 'claim other' => "SELECT x_jobs.claim(ARRAY['other'], 'w', 0)",
		'stats' => 'SELECT x_jobs.stats()');
	for my $role (sort keys %may)
	{
		$w->sql("SET SESSION AUTHORIZATION \"$role\"");
		for my $action (sort keys %act)
		{
			$w->sql($act{$action});
			my $right = grep({ $_ eq $action } @{ $may{$role} }) ? '' : '42501';
			is($w->sqlstate, $right, "$how: C-063 $role " . ($right ? 'may not ' : 'may ') . $action) or diag $w->complaint;
		}
		$w->sql('SELECT count(*) FROM _x_jobs.jobs');
		is($w->sqlstate, '42501', "$how: C-063 $role sees no table");
		$w->sql('RESET SESSION AUTHORIZATION');
	}
	$w->quit;
}

# A second dump of the copy is the same text: nothing is added by a restore.
$target->safe_psql('postgres', 'CREATE DATABASE again');
$target->command_ok([ 'pg_restore', '--exit-on-error', '-d', $target->connstr('again'), "$folder/custom.dump" ], 'a second copy');
$target->command_ok([ 'pg_dump', '-Fp', '-f', "$folder/again.sql", '-d', $target->connstr('again') ], 'dumped again');
my @texts = map { join "\n", sort grep { !/^(--|\\)/ && $_ ne '' } split /\n/, slurp_file("$folder/$_.sql") } 'plain', 'again';
ok($texts[0] eq $texts[1], 'a dump of the copy is the same as the dump');

$_->stop for $origin, $target;
done_testing();
