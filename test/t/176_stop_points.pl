# What happens between two steps that no lock lies between: a claim that has begun and not read, has read and not closed, has
# taken a place and not written; a transaction that has committed and not told. A library with stop points, built for this
# test, holds a process there while others go on. If this failed, there would be a moment at which a job is lost to all
# claims, or a worker sleeps beside it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Heads;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = $ENV{X_JOBS_SOURCE} // "$FindBin::Bin/../..";
my $library = "$source/test/t/build/x_jobs.so";
system('make', '-s', '-j2', '-C', $source, "PG_CONFIG=" . ($ENV{PG_CONFIG} // 'pg_config'), 'stop-points') == 0 or BAIL_OUT('no library with stop points');

# The extension is made with the library that is installed, and run with this one.
my $server = new_server('stop_points', conf => <<'CONF');
x_jobs.rescan_interval = 0
x_jobs.poll_interval = '1 h'
x_jobs.max_claim_wait = '10 min'
autovacuum = off
CONF
$server->safe_psql('postgres', "UPDATE pg_proc SET probin = '$library' WHERE probin = '\$libdir/x_jobs'");
$server->append_conf('postgresql.conf', "shared_preload_libraries = '$library'\n");
$server->restart;
use_server($server);
my ($one, $two, $three) = map { session($server) } 1 .. 3;

sub stop_at
{
	my ($session, $point) = @_;
	my $file = $server->data_dir . "/stop.$point." . $session->pid;
	append_to_file($file, '');
	return $file;
}

sub reached
{
	my ($file) = @_;
	wait_until(sub { -e "$file.reached" }) or BAIL_OUT("$file was not reached");
	return;
}

sub go_on
{
	my ($file) = @_;
	unlink "$file.reached" or die "$file: $!";
	return;
}

# Has the session stop on its way through the statement, does something else, and lets it go on; its rows.
sub meanwhile
{
	my ($session, $point, $statement, $action) = @_;
	my $stop = stop_at($session, $point);
	$session->send($statement);
	reached($stop);
	$action->();
	go_on($stop);
	return $session->result;
}

# What a claim must not lose while it is on its way.
for my $point ('look_begun', 'row_read', 'table_read')
{
	for my $case (
		[ 'an enqueue', sub { }, sub { quietly($two, enqueue($_[0], 'a', "run_at => '" . at(2) . "'")) } ],
		[ 'the commit of an enqueue', sub { quietly($two, 'BEGIN', enqueue($_[0], 'a', "run_at => '" . at(2) . "'")) }, sub { quietly($two, 'COMMIT') } ],
		[ 'the rollback of a claim', sub { put($one, $_[0], 'a'); quietly($two, 'BEGIN', claim_of($_[0], max => 1)) }, sub { quietly($two, 'ROLLBACK') } ],
		[ 'a release', sub { put($one, $_[0], 'a'); takes($two, $_[0], max => 1, worker => 'h') },
			sub { quietly($two, "SELECT x_jobs.release(id, 'h', claim) FROM _x_jobs.jobs WHERE queue = '$_[0]' AND claimed_by = 'h'") } ],
		[ 'a lapse', sub { put($one, $_[0], 'a'); takes($two, $_[0], max => 1, worker => 'h') }, sub { shifted('2 h', 'nothing') }, '2 h' ])
	{
		my ($name, $before, $action, $offset) = @$case;
		$name = "$name while a claim is at $point";
		my $queue = closed_queue($name);
		# A row for the claim to read, before everything else, which is nobody's.
		quietly($one, enqueue($queue, 'row', "run_at => '" . at(1) . "'"));
		is(takes($one, $queue, lease => '50 h', worker => 'another'), 'row', "$name: a row");
		$before->($queue);
		quietly($one, 'DELETE FROM _x_jobs.jobs WHERE false');
		my $got = meanwhile($three, $point, claim_of($queue, max => 1), sub { $action->($queue) });
		my $rest = $offset ? shifted($offset, $queue) : takes($one, $queue, worker => 'finder');
		is("$got$rest", 'a', "$name: found");
		finds_nothing($queue, "$name: and nothing more");
	}
}

# Between the commit and the opening of the place the row is nobody's to find, and no waiter's; then it is.
for my $point ('committed', 'opened')
{
	my $name = "an enqueue at $point";
	my $queue = closed_queue($name);
	my $before = 'not asked';
	meanwhile($two, $point, enqueue($queue, 'a', "run_at => '" . at(1) . "'"), sub { $before = takes($one, $queue) });
	is($before, $point eq 'committed' ? '' : 'a', "$name: others");
	finds($queue, $before eq 'a' ? '' : 'a', "$name, afterwards");

	$queue = closed_queue($name);
	my $claim = "SELECT idempotency_key FROM x_jobs.claim(ARRAY['$queue'], 'w', wait => '9 min', visibility_timeout => '1 h')";
	$three->send($claim);
	my $pid = $three->pid;
	$server->poll_query_until('postgres', "SELECT wait_event = 'Extension' FROM pg_stat_activity WHERE pid = $pid");
	meanwhile($two, $point, enqueue($queue, 'a', "run_at => '" . at(1) . "'"), sub { ok($three->pending, "$name: a waiter sleeps") });
	is($three->result, 'a', "$name: and is woken");

	# The waiter has looked, and does not sleep yet.
	$queue = closed_queue($name);
	$claim =~ s/ARRAY\['.*?'\]/ARRAY['$queue']/;
	quietly($one, 'DELETE FROM _x_jobs.jobs WHERE false');
	is(meanwhile($three, 'table_read', $claim, sub { quietly($two, enqueue($queue, 'a', "run_at => '" . at(1) . "'")) }), 'a',
		"$name: a waiter that is about to sleep");
}

# A place that is taken is nobody else's; one whose row cannot be written is given back, also to those who have passed it.
{
	my $name = 'a place that is taken';
	my $queue = closed_queue($name);
	put($one, $queue, 'a');
	is(meanwhile($three, 'place_taken', claim_of($queue, max => 1), sub { is(takes($one, $queue), '', "$name: others pass it over") }),
		'a', "$name: its claim");

	$queue = closed_queue($name);
	put($one, $queue, 'a');
	quietly($two, 'BEGIN', "SELECT id FROM _x_jobs.jobs WHERE queue = '$queue' FOR UPDATE");
	my $fourth = session($server);
	my $passing = stop_at($fourth, 'table_read');
	is(meanwhile($three, 'place_taken', claim_of($queue, max => 1), sub {
		$fourth->send(claim_of($queue, max => 1));
		reached($passing);
	}), '', "$name, of a row that is locked: no claim has it");
	go_on($passing);
	is($fourth->result, '', "$name, of a row that is locked: nor one that passed it");
	quietly($two, 'COMMIT');
	finds($queue, 'a', "$name, of a row that is locked: given back");
	$fourth->quit;
}

# Leases. A look with an old view of a running row does not take the watch of a newer claim over.
{
	my $name = 'a lease seen before it was claimed again';
	my $queue = closed_queue($name);
	my %ids = put($one, $queue, 'a');
	is(takes($one, $queue, lease => '1 h', worker => 'first'), 'a', "$name: claimed");
	quietly($one, 'BEGIN', "SELECT x_jobs.heartbeat('$ids{a}', 'first', 1, '2 h')", 'ROLLBACK');    # opens the place
	is(meanwhile($three, 'lease_seen', claim_of($queue, max => 1), sub {
		quietly($one, "SELECT x_jobs.release('$ids{a}', 'first', 1)");
		is(takes($one, $queue, lease => '1 min', worker => 'second'), 'a', "$name: claimed again");
	}), '', "$name: the look finds nothing");
	is(shifted('2 min', $queue), 'a', "$name: the lapse of the newer claim is found");
}

# A renewal that is told late does not lengthen what another has shortened since.
{
	my $name = 'two renewals, told in the wrong order';
	my $queue = closed_queue($name);
	my %ids = put($one, $queue, 'a');
	is(takes($one, $queue, lease => '10 min', worker => 'w'), 'a', "$name: claimed");
	my $renewal = "SELECT x_jobs.heartbeat('$ids{a}', 'w', 1, '%s')";
	is(meanwhile($three, 'committed', sprintf($renewal, '5 h'), sub { is(quietly($one, sprintf($renewal, '1 min')), 't', "$name: the later one") }),
		't', "$name: the earlier one");
	is(shifted('2 min', $queue), 'a', "$name: the lapse is found");
}

# A lease that lapses before its claim has committed, and a scan that meets neither the old version of the row nor the new one.
{
	my $name = 'a lapse before the commit';
	my $queue = closed_queue($name);
	quietly($one, 'TRUNCATE _x_jobs.jobs',
		"SELECT count(*) FROM x_jobs.enqueue_many('work', array_fill('1'::jsonb, ARRAY[200]), NULL, dedupe => false, queue => 'others')",
		enqueue($queue, 'a'),
		"SELECT count(x_jobs.ack(id, 'w', claim)) FROM x_jobs.claim(ARRAY['others'], 'w', 200)",
		'VACUUM _x_jobs.jobs');
	quietly($three, 'BEGIN', claim_of($queue, max => 1), 'ROLLBACK');
	my $pin = session($server);
	quietly($pin, 'BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT 1 FROM pg_class LIMIT 1');
	quietly($two, 'BEGIN');
	is(takes($two, $queue, max => 1, lease => '20 min'), 'a', "$name: claimed");
	my $page = sub { return quietly($two, "SELECT (ctid::text::point)[0]::int FROM _x_jobs.jobs WHERE queue = '$queue'") };
	my $first = $page->();
	my $renewals = 0;
	# Each ends earlier than the one before, so that it is watched as it is, without waiting for the commit.
	quietly($two, sprintf("SELECT x_jobs.heartbeat(id, 'w', claim, '%d s') FROM _x_jobs.jobs WHERE queue = '$queue'", 1200 - $renewals))
	  while $page->() == $first && ++$renewals < 500;
	cmp_ok($page->(), '<', $first, "$name: the newest version lies before the others");
	quietly($three, "SET x_jobs.test_clock_offset = '1 h'");
	is(takes($three, $queue), '', "$name: a lapse, and a row that is nobody's to take");
	is(meanwhile($three, 'row_read', claim_of($queue, max => 1), sub { quietly($two, 'COMMIT') }), '', "$name: met in between");
	is(takes($three, $queue), 'a', "$name: found");
	$pin->quit;
}

done_testing();
