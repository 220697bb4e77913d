# Enqueue, claim, heartbeat, ack, nack and their batch forms work on the access methods: they never go through SPI, the
# planner or the executor. A small module that counts planner calls, executor starts and utility statements is compiled
# here and loaded beside the library; around each verb it must count what it counts around a statement that calls a
# function doing nothing. If this failed, each job would cost several plans, and a plan cache in every backend.
use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = abs_path(PostgreSQL::Test::Utils::tempdir());
my $server = new_server('hot_path', preload => 1, start => 0);
my ($include) = $server->config_data('--includedir-server');
my $cc = $ENV{CC} // 'cc';
PostgreSQL::Test::Utils::system_or_bail($cc, '-O1', '-shared', '-fPIC', '-I', $include, '-o', "$folder/plan_probe.so", "$FindBin::Bin/plan_probe.c");
$server->append_conf('postgresql.conf', "shared_preload_libraries = 'x_jobs, $folder/plan_probe'");
$server->start;
$server->safe_psql('postgres', 'CREATE EXTENSION x_jobs');
$server->safe_psql('postgres', "CREATE FUNCTION plan_probe() RETURNS text LANGUAGE c VOLATILE AS '$folder/plan_probe', 'plan_probe'");

my $s = session($server);

# What the statement adds to the counts, without what asking for them adds.
sub counted
{
	my ($session, $sql) = @_;
	my @before = split /\//, $session->sql('SELECT plan_probe()');
	my $answer = $session->sql($sql);
	my $complaint = $session->complaint;
	my @after = split /\//, $session->sql('SELECT plan_probe()');
	return (join('/', map { $after[$_] - $before[$_] - ($_ < 2 ? 1 : 0) } 0 .. 2), $answer, $complaint);
}

# The probe sees what it must see.
my ($nothing) = counted($s, 'SELECT pg_backend_pid()');
is($nothing, '1/1/0', 'a plain statement is planned and executed once');
$s->sql('CREATE FUNCTION through_spi() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM pg_class); END $$');
my ($spi) = counted($s, 'SELECT through_spi()');
is($spi, '2/2/0', 'a statement inside a function is seen');
is((counted($s, 'SELECT through_spi()'))[0], '1/2/0', 'with a saved plan too');
is((counted($s, 'SELECT count(*) FROM x_jobs.stats()'))[0] eq $nothing ? 'unseen' : 'seen', 'seen', 'so is a cold verb that goes through SPI');

my $key = 0;
my %id = map { $_ => job_id($_) } 1 .. 20;
my $settlement = sub {
	my ($id, $claim, $verb) = @_;
	return "jsonb_populate_record(NULL::x_jobs.settlement, '{\"id\": \"$id\", \"claim\": $claim, \"verb\": \"$verb\", \"error\": \"e\"}')";
};
my $claimed = "SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', %d, visibility_timeout => '%s')";

# In this order each verb finds what the ones before it left; the answer shows that it did its work. In a new session
# and a new database, so the first use of everything is among them: queues, tallies, the ring of the history.
my @script = (
	[ 'ENQ-1 enqueue into a new queue', "SELECT deduped FROM x_jobs.enqueue('work', '{\"a\": 1}', 'k1', queue => 'q', id => '$id{1}')", 'f' ],
	[ 'enqueue', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'k2', queue => 'q', priority => 6, tags => ARRAY['t'], tenant_id => 't')", 'f' ],
	[ 'ENQ-2 enqueue, deduped', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'k1', queue => 'q')", 't' ],
	[ 'ENQ-9 enqueue under an id that is taken', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'k9', queue => 'q', id => '$id{1}')", 't' ],
	[ 'enqueue without a key', "SELECT deduped FROM x_jobs.enqueue('work', dedupe => false, queue => 'q', priority => 7)", 'f' ],
	[ 'enqueue for later', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'later', queue => 'q', delay => '1 day')", 'f' ],
	[ 'enqueue with on_conflict replace', "SELECT deduped FROM x_jobs.enqueue('work', '2', 'later', queue => 'q', delay => '2 days', on_conflict => 'replace')", 't' ],
	[ 'enqueue_many by position', "SELECT count(*) FROM x_jobs.enqueue_many('work', ARRAY['1', '2', '3']::jsonb[], ARRAY['m1', 'm2', 'm1'], queue => 'q', priority => 8)", '3' ],
	[ 'enqueue_many of a mix', "SELECT count(*) FROM x_jobs.enqueue_many(ARRAY[jsonb_populate_record(NULL::x_jobs.new_job, '{\"name\": \"x\", \"idempotency_key\": \"y\", \"queue\": \"another new one\"}')])", '1' ],
	[ 'new_id', 'SELECT x_jobs.new_id() IS NOT NULL', 't' ],
	[ 'claim', sprintf($claimed, 1, '1 h'), '1' ],
	[ 'claim of a queue without jobs', "SELECT count(*) FROM x_jobs.claim(ARRAY['none'], 'w')", '0' ],
	[ 'claim of nothing', sprintf($claimed, 0, '1 h'), '0' ],
	[ 'claim with a filter of names', "SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', names => ARRAY['no such name'])", '0' ],
	[ 'claim with wait', "SELECT count(*) FROM x_jobs.claim(ARRAY['none'], 'w', wait => '20 ms')", '0' ],
	[ 'claim that need not be durable', "SELECT count(*) FROM x_jobs.claim(ARRAY['another new one'], 'w', durable => false)", '1' ],
	[ 'HB-3 heartbeat', "SELECT x_jobs.heartbeat('$id{1}', 'w', 1)", 't' ],
	[ 'HB-5 heartbeat, lost', "SELECT x_jobs.heartbeat('$id{1}', 'w', 7)", 'f' ],
	[ 'heartbeat_many', "SELECT count(*) FROM x_jobs.heartbeat_many(ARRAY['$id{1}', '$id{2}']::uuid[], 'w', ARRAY[1, 1]::bigint[])", '2' ],
	[ 'progress', "SELECT x_jobs.progress('$id{1}', 'w', 1, 1, 2, 'half')", 't' ],
	[ 'NACK-3 nack', "SELECT x_jobs.nack('$id{1}', 'w', 1, error => 'e', stack => 's')", 't' ],
	[ 'claim again', sprintf($claimed, 1, '1 h'), '1' ],
	[ 'NACK-2 nack, lost', "SELECT x_jobs.nack('$id{1}', 'w', 1)", 'f' ],
	[ 'fail', "SELECT landed FROM x_jobs.fail('$id{1}', 'w', 2, 'e', retry_after => '0')", 't' ],
	[ 'release', "SELECT x_jobs.release(id, 'w', claim) FROM x_jobs.claim(ARRAY['q'], 'w', 1)", 't' ],
	[ 'claim of all that is left', "SELECT count(*) > 3 FROM x_jobs.claim(ARRAY['q'], 'w', 100, visibility_timeout => '0')", 't' ],
	[ 'BURY-8 claim of what lapsed', "SELECT count(*) > 3 FROM x_jobs.claim(ARRAY['q'], 'v', 100)", 't' ],
	[ 'ACK-2 ack, lost', "SELECT x_jobs.ack('$id{1}', 'w', 1)", 'f' ],
	[ 'enqueue for an ack', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'a1', queue => 'a', id => '$id{3}')", 'f' ],
	[ 'claim for an ack', "SELECT claim FROM x_jobs.claim(ARRAY['a'], 'w')", '1' ],
	[ 'ACK-3 ack, the first in this database', "SELECT x_jobs.ack('$id{3}', 'w', 1, result => '{\"r\": 1}', duration => '3 ms')", 't' ],
	[ 'ENQ-9 enqueue under the id of a finished job', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'a2', queue => 'a', id => '$id{3}')", 't' ],
	[ 'enqueue_many for more ends', "SELECT count(*) FROM x_jobs.enqueue_many(ARRAY(SELECT jsonb_populate_record(NULL::x_jobs.new_job,
		jsonb_build_object('name', 'w', 'queue', 'e', 'idempotency_key', 'e' || n, 'max_attempts', 1, 'id', '01890000-0000-7000-8000-0000000000' || n)) FROM generate_series(10, 19) AS n))", '10' ],
	[ 'claim for more ends', "SELECT count(*) FROM x_jobs.claim(ARRAY['e'], 'w', 8)", '8' ] );
my @ends = map { "01890000-0000-7000-8000-0000000000$_" } 10 .. 19;
push @script, (
	[ 'nack to the dead letters', "SELECT x_jobs.nack('$ends[0]', 'w', 1, dead_letter => true)", 't' ],
	[ 'nack that refuses', "SELECT x_jobs.nack('$ends[1]', 'w', 1, fail => true, counts_as_attempt => false)", 't' ],
	[ 'nack that parks', "SELECT x_jobs.nack('$ends[2]', 'w', 1, park => true, counts_as_attempt => false, delay => '1 day')", 't' ],
	[ 'fail of the last attempt', "SELECT outcome FROM x_jobs.fail('$ends[3]', 'w', 1, 'e')", 'dead-lettered' ],
	[ 'settle', 'SELECT count(*) FILTER (WHERE landed) FROM x_jobs.settle(ARRAY[' . $settlement->($ends[4], 1, 'ack') . ', ' . $settlement->($ends[5], 1, 'dead_letter') . ", " . $settlement->($ends[5], 9, 'ack') . "], 'w')", '2' ],
	[ 'exchange', 'SELECT count(*) FROM x_jobs.exchange(ARRAY[' . $settlement->($ends[6], 1, 'ack') . "], ARRAY['e'], 'w', 1, '0')", '1' ],
	[ 'BURY-1 claim that buries', "SELECT count(*) FROM x_jobs.claim(ARRAY['e'], 'w', 2)", '1' ],
	[ 'enqueue of a job that expires', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'x', queue => 'x', expires_at => clock_timestamp() + '1 ms'::interval)", 'f' ],
	[ 'X-19 claim that ends an expired job', "SELECT count(*) FROM x_jobs.claim(ARRAY['x'], 'w')", '0' ]);

my $fresh = session($server);
$fresh->sql('SELECT plan_probe()');
for my $step (@script)
{
	my ($name, $sql, $right) = @$step;
	my ($counts, $answer, $complaint) = counted($fresh, $sql);
	is("$answer$complaint", $right, "$name: does its work");
	is($counts, $nothing, "$name: one plan and one execution, its own");
}

# Inside a transaction block, and at its end: BEGIN and COMMIT are utilities and nothing else is.
for my $block (
	[ 'a guarded commit', "BEGIN; SELECT x_jobs.guard(id, 'g', claim) FROM x_jobs.claim(ARRAY['g'], 'g'); COMMIT", '1/1/2' ],
	[ 'a commit after an enqueue', "BEGIN; SELECT deduped FROM x_jobs.enqueue('work', '1', 'g2', queue => 'g'); COMMIT", '1/1/2' ],
	[ 'a rollback of a claim', "BEGIN; SELECT count(*) FROM x_jobs.claim(ARRAY['g'], 'g'); ROLLBACK", '1/1/2' ])
{
	my ($name, $sql, $right) = @$block;
	$fresh->sql("SELECT x_jobs.enqueue('work', '1', 'g1', queue => 'g')");
	my ($counts, $answer, $complaint) = counted($fresh, $sql);
	is($complaint, '', "$name: does its work");
	is($counts, $right, "X-20 $name: nothing is planned at its end");
}

# After a change of the tables, when caches are rebuilt.
$s->sql('ALTER TABLE _x_jobs.jobs SET (fillfactor = 60)');
$s->sql('REINDEX TABLE _x_jobs.jobs');
$s->sql("SELECT x_jobs.pause_queue('p')");
is((counted($fresh, "SELECT deduped FROM x_jobs.enqueue('work', '1', 'after', queue => 'p')"))[0], $nothing, 'enqueue after a change of the tables and a pause');
is((counted($fresh, "SELECT count(*) FROM x_jobs.claim(ARRAY['p', 'q'], 'w')"))[0], $nothing, 'claim after a change of the tables and a pause');

$_->quit for $s, $fresh;
$server->stop;
done_testing();
