# Each way in which a job becomes claimable, after the claims of its queue have closed every place in it: the very next
# claim finds the job. If this failed, a job would lie in the table and no worker would ever look where it stands.
use strict;
use warnings;
no warnings 'redundant';

use FindBin;
use lib $FindBin::Bin;
use Heads;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = heads_server('heads');
my $one = session($server);
my $two = session($server);

# Made claimable by a commit.

my $name = 'an enqueue';
my $queue = closed_queue($name);
quietly($two, enqueue($queue, 'a'));
finds($queue, 'a', $name);

$name = 'an enqueue due before everything claimed so far';
$queue = closed_queue($name);
quietly($two, enqueue($queue, 'a', "run_at => '" . at(1) . "'"));
finds($queue, 'a', $name);
is_closed($queue, "$name, again");
quietly($two, enqueue($queue, 'b', "run_at => '1900-01-01 00:00+00'"));
finds($queue, 'b', "$name, by a hundred years");

for my $priority (0 .. 9)
{
	$name = "an enqueue of priority $priority";
	$queue = closed_queue($name);
	quietly($two, enqueue($queue, 'a', "priority => $priority"));
	finds($queue, 'a', $name);
	quietly($two, enqueue($queue, 'b', "priority => $priority", "run_at => '" . at(1) . "'"));
	finds($queue, 'b', "$name, older than the one before");
}

$name = 'an enqueue that commits after its place was passed';
$queue = closed_queue($name);
quietly($two, 'BEGIN', enqueue($queue, 'late', "run_at => '" . at(2) . "'"));
quietly($one, enqueue($queue, 'early', "run_at => '" . at(3) . "'"));
is(takes($one, $queue), 'early', "$name: the other is found");
finds_nothing($queue, "$name: not before its commit");
is_closed($queue, $name);
quietly($two, 'COMMIT');
finds($queue, 'late', $name);

$name = 'an enqueue passed by a claim of its own transaction';
$queue = closed_queue($name);
quietly($two, 'BEGIN', enqueue($queue, 'a'));
is(takes($two, $queue, names => 'nothing'), '', "$name: the claim wants another");
quietly($two, 'COMMIT');
finds($queue, 'a', $name);

$name = 'enqueue and claim in one transaction';
$queue = closed_queue($name);
quietly($two, 'BEGIN', enqueue($queue, 'a'), enqueue($queue, 'b'));
is(takes($two, $queue, max => 1), 'a', "$name: its own job is found");
is(takes($two, $queue, max => 1), 'b', "$name: and the other");
is(takes($two, $queue), '', "$name: and no more");
quietly($two, 'ROLLBACK');
finds_nothing($queue, "$name: nothing is left of it");

$name = 'enqueue, claim, nack and claim in one transaction';
$queue = closed_queue($name);
my $id = job_id(0xabc000);
quietly($two, 'BEGIN', enqueue($queue, 'a', "id => '$id'"));
is(takes($two, $queue), 'a', "$name: claimed");
quietly($two, "SELECT x_jobs.nack('$id', 'w', 1)");
is(takes($two, $queue), 'a', "$name: claimed again");
quietly($two, "SELECT x_jobs.nack('$id', 'w', 2)", 'COMMIT');
finds($queue, 'a', $name);

$name = 'an enqueue in a savepoint';
$queue = closed_queue($name);
quietly($two, 'BEGIN', 'SAVEPOINT s', enqueue($queue, 'a'), 'SAVEPOINT t', enqueue($queue, 'b'), 'RELEASE t', 'RELEASE s', 'COMMIT');
finds($queue, 'a b', $name);

$name = 'enqueues before a savepoint and in it, behind everything claimed so far';
$queue = closed_queue($name);
quietly($two, 'BEGIN', enqueue($queue, 'b', "run_at => '" . at(5) . "'"), 'SAVEPOINT s', enqueue($queue, 'a', "run_at => '" . at(2) . "'"), 'RELEASE s', 'COMMIT');
finds($queue, 'a b', $name);

$name = 'an enqueue without a key';
$queue = closed_queue($name);
quietly($two, "SELECT x_jobs.enqueue('work', queue => '$queue', dedupe => false, run_at => '" . at(2) . "')");
is(quietly($one, "SELECT count(*) FROM x_jobs.claim(ARRAY['$queue'], 'w', 1000)"), '1', "$name: found");

$name = 'an enqueue beside a savepoint that is rolled back';
$queue = closed_queue($name);
quietly($two, 'BEGIN', enqueue($queue, 'a'), 'SAVEPOINT s', enqueue($queue, 'b'), 'ROLLBACK TO s', enqueue($queue, 'c'), 'COMMIT');
finds($queue, 'a c', $name);

$name = 'enqueues into several queues in one released savepoint';
my @several = map { closed_queue($name) } 1 .. 3;
quietly($two, 'BEGIN', 'SAVEPOINT s', (map { enqueue($_, 'a') } @several), 'RELEASE s', 'COMMIT');
finds($_, 'a', $name) for @several;

$name = 'enqueue_many';
$queue = closed_queue($name);
quietly($two, "SELECT x_jobs.enqueue_many('work', array_agg('1'::jsonb), array_agg(n::text), queue => '$queue', run_at => '" . at(5) . "')
	FROM generate_series(1, 200) AS n");
is(quietly($one, "SELECT count(*) FROM x_jobs.claim(ARRAY['$queue'], 'w', 1000)"), '200', "$name: all are found");

$name = 'enqueue_many of many times and priorities';
$queue = closed_queue($name);
scatter($two, $queue, 200);
is(quietly($one, "SELECT count(*) FROM x_jobs.claim(ARRAY['$queue'], 'w', 1000)"), '200', "$name: all are found, those before the frontier too");

# Claimable again because a claim came to nothing.

$name = 'a claim that is rolled back';
$queue = closed_queue($name);
put($one, $queue, 'a', 'b', 'c');
quietly($two, 'BEGIN');
is(takes($two, $queue, max => 2), 'a b', "$name: claimed");
finds($queue, 'c', "$name, beside it");
is_closed($queue, $name);
quietly($two, 'ROLLBACK');
finds($queue, 'a b', $name);

$name = 'a claim rolled back to a savepoint';
$queue = closed_queue($name);
put($one, $queue, 'a', 'b', 'c');
quietly($two, 'BEGIN');
is(takes($two, $queue, max => 1), 'a', "$name: claimed before it");
quietly($two, 'SAVEPOINT s');
is(takes($two, $queue, max => 1), 'b', "$name: claimed in it");
finds($queue, 'c', "$name, beside it");
is_closed($queue, $name);
quietly($two, 'ROLLBACK TO s');
finds($queue, 'b', "$name, while the transaction goes on");
quietly($two, 'ROLLBACK');
finds($queue, 'a', $name);

for my $depth (2, 5)
{
	$name = "claims in released savepoints under one that is rolled back, $depth deep";
	@several = map { closed_queue($name) } 1 .. 3;
	put($one, $_, 'a', 'b') for @several;
	quietly($two, 'BEGIN', 'SAVEPOINT outer_one');
	is(takes($two, $several[0], max => 1), 'a', "$name: claimed in the outer one");
	quietly($two, map { "SAVEPOINT s$_" } 1 .. $depth);
	is(takes($two, $_), $_ eq $several[0] ? 'b' : 'a b', "$name: claimed in the inner one") for @several;
	quietly($two, map { "RELEASE s$_" } reverse 1 .. $depth);
	is_closed($_, $name) for @several;
	quietly($two, 'ROLLBACK TO outer_one');
	finds($_, 'a b', $name) for @several;
	quietly($two, 'COMMIT');
}

$name = 'claims of several queues rolled back';
@several = map { closed_queue($name) } 1 .. 4;
put($one, $_, 'a') for @several;
quietly($two, 'BEGIN');
my $list = join ', ', map { "'$_'" } @several;
is(quietly($two, "SELECT count(*) FROM x_jobs.claim(ARRAY[$list], 'w', 10)"), '4', "$name: claimed together");
finds_nothing($_, "$name: nobody else gets it") for @several;
is_closed($_, $name) for @several;
quietly($two, 'ROLLBACK');
finds($_, 'a', $name) for @several;

$name = 'a claim undone by an exception';
$queue = closed_queue($name);
put($one, $queue, 'a');
quietly($two, "DO \$\$ BEGIN PERFORM x_jobs.claim(ARRAY['$queue'], 'w', 10); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END \$\$");
finds($queue, 'a', $name);

$name = 'a claim of very many rows rolled back';
$queue = closed_queue($name);
scatter($one, $queue, 3000);
quietly($two, 'BEGIN');
quietly($two, "SELECT x_jobs.claim(ARRAY['$queue'], 'w', 7)") for 1 .. 100;
quietly($one, "SELECT x_jobs.claim(ARRAY['$queue'], 'x', 3)") for 1 .. 10;
quietly($two, 'ROLLBACK');
is(quietly($one, "SELECT count(*) FROM x_jobs.claim(ARRAY['$queue'], 'w', 10000)"), '2970', "$name: all are found");

$name = 'a burial and an expiry that are rolled back';
$queue = closed_queue($name);
quietly($one, enqueue($queue, 'final', 'max_attempts => 1', "run_at => '" . at(10) . "'"),
	enqueue($queue, 'expired', "expires_at => '" . at(12) . "'", "run_at => '" . at(11) . "'"));
is(takes($one, $queue, max => 1, lease => '0'), 'final', "$name: the only attempt, lapsed");
quietly($two, 'BEGIN');
is(takes($two, $queue), '', "$name: buried and expired");
finds_nothing($queue, "$name: nobody else gets them");
quietly($two, 'ROLLBACK');
finds_nothing($queue, "$name: no claim hands them out");
is(quietly($one, "SELECT string_agg(idempotency_key || ' ' || state, ', ' ORDER BY 1) FROM x_jobs.all_jobs WHERE queue = '$queue' AND idempotency_key <> 'first'"),
	'expired cancelled, final dead', "$name: the next claim ended both");

# A change of a job that could be claimed, passed by a claim of the same transaction, then undone. Each with the whole
# transaction and with a savepoint.
my %undone = (
	'ack' => [ 'lapsed', q{SELECT x_jobs.ack('%s', 'w', 1)} ],
	'nack with a delay' => [ 'lapsed', q{SELECT x_jobs.nack('%s', 'w', 1, delay => '1 h')} ],
	'nack that buries' => [ 'lapsed', q{SELECT x_jobs.nack('%s', 'w', 1, dead_letter => true)} ],
	'nack that parks' => [ 'lapsed', q{SELECT x_jobs.nack('%s', 'w', 1, delay => '1 h', park => true)} ],
	'fail' => [ 'lapsed', q{SELECT x_jobs.fail('%s', 'w', 1, 'no', retry_after => '1 h')} ],
	'release with a delay' => [ 'lapsed', q{SELECT x_jobs.release('%s', 'w', 1, delay => '1 h')} ],
	'heartbeat' => [ 'lapsed', q{SELECT x_jobs.heartbeat('%s', 'w', 1, '1 h')} ],
	'heartbeat_many' => [ 'lapsed', q{SELECT x_jobs.heartbeat_many(ARRAY['%s']::uuid[], 'w', ARRAY[1], '1 h')} ],
	'progress' => [ 'lapsed', q{SELECT x_jobs.progress('%s', 'w', 1, 1, 2)} ],
	'settle' => [ 'lapsed', q{SELECT x_jobs.settle(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement, '{"id": "%s", "claim": 1, "verb": "ack"}')], 'w')} ],
	'cancel' => [ 'lapsed', q{SELECT x_jobs.cancel('%s')} ],
	'cancel of a waiting job' => [ 'ready', q{SELECT x_jobs.cancel('%s')} ],
	'remove of a waiting job' => [ 'ready', q{SELECT x_jobs.remove('%s')} ],
	'replace' => [ 'ready', q{SELECT x_jobs.enqueue('work', idempotency_key => 'a', queue => 'QUEUE', tenant_id => 'QUEUE', on_conflict => 'replace', delay => '1 h')} ]);

my $number = 0xdef000;
for my $verb (sort keys %undone)
{
	my ($state, $statement) = @{ $undone{$verb} };
	for my $savepoint (0, 1)
	{
		$name = "$verb undone" . ($savepoint ? ' by a savepoint' : '');
		$queue = closed_queue($name);
		$id = job_id(++$number);
		quietly($one, enqueue($queue, 'a', "run_at => '" . at(10) . "'", "id => '$id'", 'max_attempts => 9'));
		is(takes($one, $queue, lease => '0'), 'a', "$name: lapsed") if $state eq 'lapsed';
		my $sql = sprintf $statement, $id;
		$sql =~ s/QUEUE/$queue/g;
		quietly($two, 'BEGIN');
		quietly($two, 'SAVEPOINT s') if $savepoint;
		quietly($two, $sql);
		my $again = takes($two, $queue);
		finds_nothing($queue, "$name: nobody else gets it");
		is($again, $verb eq 'progress' ? 'a' : '', "$name: what the claim of the same transaction takes");
		quietly($two, $savepoint ? 'ROLLBACK TO s' : 'ROLLBACK');
		finds($queue, 'a', $name);
		quietly($two, 'COMMIT') if $savepoint;
	}
}

# Given back by its worker.
my %given_back = (
	'nack' => q{SELECT x_jobs.nack('%s', 'w', 1)},
	'an uncounted nack' => q{SELECT x_jobs.nack('%s', 'w', 1, counts_as_attempt => false)},
	'a nack that parks' => q{SELECT x_jobs.nack('%s', 'w', 1, park => true)},
	'fail' => q{SELECT x_jobs.fail('%s', 'w', 1, 'no', retry_after => '0')},
	'release' => q{SELECT x_jobs.release('%s', 'w', 1)},
	'settle' => q{SELECT x_jobs.settle(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement, '{"id": "%s", "claim": 1, "verb": "release"}')], 'w')},
	'exchange' => q{SELECT x_jobs.exchange(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement, '{"id": "%s", "claim": 1, "verb": "release"}')], ARRAY['elsewhere'], 'w')},
	'ack and requeue' => q{DO $$ BEGIN PERFORM x_jobs.ack('%1$s', 'w', 1); PERFORM x_jobs.requeue('%1$s'); END $$});
for my $verb (sort keys %given_back)
{
	$name = "$verb, given back";
	$queue = closed_queue($name);
	my %ids = put($one, $queue, 'a', 'b');
	is(takes($one, $queue), 'a b', "$name: claimed");
	finds_nothing($queue, "$name: nobody else gets it");
	is_closed($queue, $name);
	quietly($two, sprintf $given_back{$verb}, $ids{a});
	# A retry may be spread by a random part of a second or so.
	is($verb eq 'fail' ? shifted('1 min', $queue) : takes($one, $queue), 'a', "$name: found");
}

$name = 'given back with a delay';
$queue = closed_queue($name);
my %ids = put($one, $queue, 'a');
is(takes($one, $queue), 'a', "$name: claimed");
finds_nothing($queue, "$name: nobody else gets it");
is_closed($queue, $name);
quietly($two, "SELECT x_jobs.nack('$ids{a}', 'w', 1, delay => '1 h')");
finds_nothing($queue, "$name: not before its time");
is(shifted('30 min', $queue), '', "$name: nor half an hour later");
is(shifted('2 h', $queue), 'a', "$name: found when it is due");

$name = 'a delay that passes';
$queue = closed_queue($name);
quietly($one, enqueue($queue, 'a', "delay => '1 s'"), enqueue($queue, 'b', "delay => '1 h'"));
ok(wait_until(sub { takes($one, $queue, lease => '9 h') eq 'a' }), "$name: found");
is(shifted('2 h', $queue), 'b', "$name: and the later one in its turn");
is(shifted('-1 h', $queue), '', "$name: a clock put back finds nothing");

$name = 'clocks that differ';
$queue = closed_queue($name);
quietly($one, enqueue($queue, 'a', "delay => '1 h'"), enqueue($queue, 'b', "delay => '3 h'"), enqueue($queue, 'c'));
is(shifted('-1 h', $queue), '', "$name: nothing an hour ago");
is(shifted('2 h', $queue, max => 1, lease => '9 h'), 'c', "$name: in two hours the first");
is(shifted('-1 h', $queue), '', "$name: nothing an hour ago, again");
is(shifted('2 h', $queue, lease => '9 h'), 'a', "$name: in two hours the second");
quietly($two, enqueue($queue, 'd'));
finds($queue, 'd', $name);
is(shifted('4 h', $queue), 'd b', "$name: in four hours the last, and the one whose lease has lapsed by then");

# Leases that lapse.
$name = 'a lapse';
$queue = closed_queue($name);
put($one, $queue, 'a', 'b');
is(takes($one, $queue, max => 1, lease => '1 h'), 'a', "$name: one lease");
is(takes($one, $queue, max => 1, lease => '3 h'), 'b', "$name: another");
finds_nothing($queue, "$name: nobody else gets them");
is_closed($queue, $name);
is(shifted('2 h', $queue), 'a', "$name: the first is found");
is(shifted('2 h', $queue), '', "$name: the second not yet");
is(shifted('4 h', $queue), 'a b', "$name: then both");

$name = 'a lapse of a moment';
$queue = closed_queue($name);
put($one, $queue, 'a');
is(takes($one, $queue, lease => '300 ms'), 'a', "$name: claimed");
ok(wait_until(sub { takes($two, $queue) eq 'a' }), "$name: found");
is(takes($two, $queue, lease => '0'), '', "$name: not twice");

$name = 'a lease of no length';
$queue = closed_queue($name);
put($one, $queue, 'a', 'b');
is(takes($one, $queue, lease => '0'), 'a b', "$name: claimed, and lapsed at once");
is(takes($one, $queue, lease => '0'), 'a b', "$name: found");
finds($queue, 'a b', $name);

$name = 'a heartbeat, then a lapse';
$queue = closed_queue($name);
%ids = put($one, $queue, 'a');
takes($one, $queue, lease => '1 h');
finds_nothing($queue, "$name: held");
quietly($one, "SELECT x_jobs.heartbeat('$ids{a}', 'w', 1, '5 h')");
is_closed($queue, $name);
is(shifted('2 h', $queue), '', "$name: the old end has no meaning");
is_closed($queue, "$name, beyond the old end");
is(shifted('6 h', $queue), 'a', "$name: found at the new one");

$name = 'a heartbeat that shortens, then a lapse';
$queue = closed_queue($name);
%ids = put($one, $queue, 'a');
takes($one, $queue, lease => '5 h');
finds_nothing($queue, "$name: held");
quietly($one, "SELECT x_jobs.heartbeat('$ids{a}', 'w', 1, '1 h')");
is_closed($queue, $name);
is(shifted('2 h', $queue), 'a', "$name: found at the new end");

for my $savepoint (0, 1)
{
	$name = 'a heartbeat rolled back' . ($savepoint ? ' to a savepoint' : '') . ', then a lapse';
	$queue = closed_queue($name);
	%ids = put($one, $queue, 'a');
	takes($one, $queue, lease => '1 h');
	quietly($two, 'BEGIN', 'SAVEPOINT s', "SELECT x_jobs.heartbeat('$ids{a}', 'w', 1, '5 h')", $savepoint ? ('ROLLBACK TO s', 'COMMIT') : 'ROLLBACK');
	is(shifted('2 h', $queue), 'a', "$name: found at the old end");

	$name = 'an ack rolled back' . ($savepoint ? ' to a savepoint' : '') . ', then a lapse';
	$queue = closed_queue($name);
	%ids = put($one, $queue, 'a');
	takes($one, $queue, lease => '1 h');
	quietly($two, 'BEGIN', 'SAVEPOINT s', "SELECT x_jobs.ack('$ids{a}', 'w', 1)", $savepoint ? ('ROLLBACK TO s', 'COMMIT') : 'ROLLBACK');
	finds_nothing($queue, "$name: held");
	is_closed($queue, $name);
	is(shifted('2 h', $queue), 'a', "$name: found");
}

# Whoever settles and claims in one transaction may move the row: the lease that a rollback brings back stands elsewhere.
for my $lease ('1 h', '9 h')
{
	for my $savepoint (0, 1)
	{
		$name = "nack and claim for $lease rolled back" . ($savepoint ? ' to a savepoint' : '') . ', then a lapse';
		$queue = closed_queue($name);
		%ids = put($one, $queue, 'a');
		takes($one, $queue, lease => '3 h');
		quietly($two, 'BEGIN', 'SAVEPOINT s', "SELECT x_jobs.nack('$ids{a}', 'w', 1)");
		is(takes($two, $queue, lease => $lease), 'a', "$name: claimed where it stands now");
		quietly($two, $savepoint ? ('ROLLBACK TO s', 'COMMIT') : 'ROLLBACK');
		finds_nothing($queue, "$name: held");
		is_closed($queue, $name);
		is(shifted('2 h', $queue), '', "$name: the end that was rolled back has no meaning");
		is(shifted('4 h', $queue), 'a', "$name: found");
	}
}

$name = 'nack and claim in one transaction, then a lapse';
$queue = closed_queue($name);
%ids = put($one, $queue, 'a');
takes($one, $queue, lease => '1 h');
quietly($two, 'BEGIN', "SELECT x_jobs.nack('$ids{a}', 'w', 1)");
is(takes($two, $queue, lease => '3 h'), 'a', "$name: claimed again");
quietly($two, 'COMMIT');
finds_nothing($queue, "$name: held");
is(shifted('2 h', $queue), '', "$name: held beyond the old end");
is_closed($queue, $name);
is(shifted('4 h', $queue), 'a', "$name: found");

$name = 'exchange of a job for itself, then a lapse';
$queue = closed_queue($name);
%ids = put($one, $queue, 'a');
takes($one, $queue, lease => '3 h');
is(quietly($two, qq{SELECT string_agg(idempotency_key, ' ') FROM x_jobs.exchange(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement,
	'{"id": "$ids{a}", "claim": 1, "verb": "release"}')], ARRAY['$queue'], 'w', visibility_timeout => '1 h')}), 'a', "$name: exchanged");
finds_nothing($queue, "$name: held");
is(shifted('2 h', $queue), 'a', "$name: found");

$name = 'a claim rolled back, then claimed with another lease';
$queue = closed_queue($name);
put($one, $queue, 'a');
quietly($two, 'BEGIN');
takes($two, $queue, lease => '1 h');
quietly($two, 'ROLLBACK');
is(takes($one, $queue, lease => '3 h'), 'a', "$name: claimed");
is(shifted('2 h', $queue), '', "$name: the lease of the first has no meaning");
finds_nothing($queue, "$name: held");
is(shifted('4 h', $queue), 'a', "$name: found");

# By an operator.
$name = 'requeue of a finished job';
$queue = closed_queue($name);
%ids = put($one, $queue, 'a');
takes($one, $queue);
quietly($one, "SELECT x_jobs.ack('$ids{a}', 'w', 1)");
finds_nothing($queue, "$name: nothing");
is_closed($queue, $name);
quietly($two, 'BEGIN', "SELECT x_jobs.requeue('$ids{a}')");
finds_nothing($queue, "$name: nothing before the commit");
quietly($two, 'COMMIT');
finds($queue, 'a', $name);

$name = 'promote';
$queue = closed_queue($name);
$id = job_id(0xccc000);
quietly($one, enqueue($queue, 'a', "delay => '5 h'", "id => '$id'"));
finds_nothing($queue, "$name: nothing");
is(shifted('6 h', $queue, names => 'nothing'), '', "$name: nothing of another name");
quietly($two, "SELECT x_jobs.promote('$id')");
finds($queue, 'a', $name);

for my $change ([ 'an earlier time', "run_at => '" . at(1) . "'" ], [ 'another priority', 'priority => 0' ])
{
	$name = "replace with $change->[0]";
	$queue = closed_queue($name);
	quietly($one, enqueue($queue, 'a', "delay => '5 h'"));
	finds_nothing($queue, "$name: nothing");
	quietly($two, enqueue($queue, 'a', "on_conflict => 'replace'", $change->[1]));
	finds($queue, 'a', $name);
}

$name = 'resume of a queue';
$queue = closed_queue($name);
put($one, $queue, 'a');
quietly($one, "SELECT x_jobs.pause_queue('$queue')", enqueue($queue, 'b'));
finds_nothing($queue, "$name: nothing while it is paused");
quietly($two, "SELECT x_jobs.resume_queue('$queue')");
finds($queue, 'a b', $name);

# Passed over.
$name = 'jobs of other names';
$queue = closed_queue($name);
put($one, $queue, map { sprintf 'k%02d', $_ } 1 .. 15);
quietly($one, (map { "SELECT x_jobs.enqueue('other', idempotency_key => 'o$_', queue => '$queue', run_at => '" . at($_ + 10) . "')" } 1 .. 15));
is(takes($one, $queue, names => 'other'), join(' ', map { "o$_" } 1 .. 15), "$name: the wanted ones");
finds($queue, join(' ', map { sprintf 'k%02d', $_ } 1 .. 15), $name);

for my $count (1, 30)
{
	$name = "$count rows under a lock of somebody else";
	$queue = closed_queue($name);
	my @keys = map { sprintf 'k%02d', $_ } 1 .. 20;
	put($one, $queue, @keys);
	put($one, $queue, map { "f$_" } @keys) if $count > 1;
	quietly($two, 'BEGIN', "SELECT FROM _x_jobs.jobs WHERE queue = '$queue' AND idempotency_key LIKE 'k%' ORDER BY run_at LIMIT $count FOR UPDATE");
	my @locked = @keys[ 0 .. ($count > 20 ? 20 : $count) - 1 ];
	takes($one, $queue);
	finds_nothing($queue, "$name: nothing else is left");
	is_open($queue, "$name: their places stay open");
	quietly($two, 'ROLLBACK');
	finds($queue, join(' ', @locked), $name);
	is_closed($queue, "$name, at last");
}

$name = 'more than a claim takes';
$queue = closed_queue($name);
my @keys = map { sprintf 'k%02d', $_ } 1 .. 9;
put($one, $queue, @keys);
is(takes($_ % 2 ? $one : $two, $queue, max => 2), join(' ', grep { defined } @keys[ 2 * $_, 2 * $_ + 1 ]), "$name: claim $_") for 0 .. 4;

$name = 'several queues and a claim that has enough';
@several = map { closed_queue($name) } 1 .. 3;
put($one, $_, 'a', 'b') for @several;
$list = join ', ', map { "'$_'" } @several;
is(quietly($two, "SELECT count(*) FROM x_jobs.claim(ARRAY[$list], 'w', 2)"), '2', "$name: two of six");
is(quietly($two, "SELECT count(*) FROM x_jobs.claim(ARRAY[$list], 'w', 10)"), '4', "$name: four of six");

# Backends that end in the middle.
$name = 'a session that is terminated after its claim';
$queue = closed_queue($name);
put($one, $queue, 'a', 'b');
my $victim = session($server);
$victim->pid;
quietly($victim, 'BEGIN');
is(takes($victim, $queue), 'a b', "$name: claimed");
finds_nothing($queue, "$name: nobody else gets them");
is_closed($queue, $name);
quietly($one, 'SELECT pg_terminate_backend(' . $victim->pid . ')');
ok(gone($victim->pid), "$name: gone");
finds($queue, 'a b', $name);

$name = 'a connection that breaks off after its enqueue';
$queue = closed_queue($name);
$victim = session($server);
$victim->pid;
quietly($victim, 'BEGIN', enqueue($queue, 'a'));
$victim->abandon;
ok(gone($victim->pid), "$name: gone");
finds_nothing($queue, "$name: nothing came of it");

# The record of a lapse goes to a table of its own: who locks that table stops a claim in the middle.
for my $end ('cancelled', 'terminated')
{
	$name = "twenty claims $end in the middle";
	$queue = closed_queue($name);
	put($one, $queue, 'a', 'b');
	takes($one, $queue, lease => '0');
	for my $round (1 .. 20)
	{
		quietly($two, 'BEGIN', 'LOCK TABLE _x_jobs.attempts IN ACCESS EXCLUSIVE MODE');
		my $claimer = session($server);
		my $pid = $claimer->pid;
		$claimer->send(claim_of($queue));
		$server->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid") or BAIL_OUT('not blocked');
		quietly($one, 'SELECT ' . ($end eq 'cancelled' ? 'pg_cancel_backend' : 'pg_terminate_backend') . "($pid)");
		$claimer->result;
		quietly($two, 'ROLLBACK');
		$claimer->quit;
		gone($pid);
	}
	finds($queue, 'a b', $name);
	is_closed($queue, "$name, and the claims still close what they went through");
}

# A standing extension is not the only one that the server has seen.
$name = 'the extension dropped and made again';
$queue = closed_queue($name);
quietly($one, 'DROP EXTENSION x_jobs CASCADE', 'CREATE EXTENSION x_jobs');
put($one, $queue, 'a');
finds($queue, 'a', $name);
quietly($one, 'BEGIN', 'DROP EXTENSION x_jobs CASCADE', 'ROLLBACK', enqueue($queue, 'b'));
finds($queue, 'b', "$name, or nearly dropped");

done_testing();
