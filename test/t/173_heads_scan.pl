# What happens to a place while a claim is on its way: it has passed the place, has not yet ended, and then closes what it
# went through. What was opened meanwhile must stay open. A claim is stopped on its way at the record of a lapse, which
# goes to a table that another session has locked: of a job in the same queue, whose place it has taken and closed all before
# it; or of one in a queue aside, while this queue has been read to its end and nothing of it is closed yet. If this failed, a job would be lost to a claim that came at the same
# moment, and to no other: the kind of loss that no other test sees.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Heads;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = heads_server('heads_scan');
my ($one, $two, $stopper) = map { session($server) } 1 .. 3;

# Makes a job `stop` lapse, so that whoever claims it is stopped there; answers the options of a claim that may come to it.
sub stops
{
	my ($queue, $aside) = @_;
	my @claim = $aside ? (aside => "$queue, aside") : ();
	$queue = "$queue, aside" if $aside;
	quietly($one, enqueue($queue, 'stop', "run_at => '" . at(20) . "'", 'max_attempts => 100'));
	is(takes($one, $queue, names => 'work', lease => '0'), 'stop', 'a job that stops its next claim');
	return @claim;
}

# A claim of the queue that has gone as far as the job that stops it, through everything before it: a statement of somebody
# else on the table has had all places opened.
sub stopped_claim
{
	my ($queue, %options) = @_;
	quietly($one, 'DELETE FROM _x_jobs.jobs WHERE false') unless $options{stopped};
	quietly($stopper, 'BEGIN', 'LOCK TABLE _x_jobs.attempts IN ACCESS EXCLUSIVE MODE') unless $options{stopped};
	my $claimer = session($server);
	my $pid = $claimer->pid;
	quietly($claimer, 'BEGIN') if $options{open};
	$claimer->send(claim_of($queue, %options));
	$server->poll_query_until('postgres', "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid") or BAIL_OUT('not stopped');
	return $claimer;
}

# How many of the queue's jobs stand in an open place.
sub in_open_places
{
	my ($queue) = @_;
	return quietly($two, "SELECT count(*) FROM _x_jobs.jobs AS j WHERE queue = '$queue' AND EXISTS (SELECT FROM _x_jobs.open_places() AS p
		WHERE p.queue = j.queue AND (j.priority, j.run_at, j.id) >= (p.begin_priority, p.begin_run_at, p.begin_id)
		AND (j.priority, j.run_at, j.id) < (p.end_priority, p.end_run_at, p.end_id))");
}

my $closed;
for my $case (
	[ 'an enqueue behind a claim on its way', sub { quietly($two, enqueue($_[0], 'a', "run_at => '" . at(2) . "'")) }, 'a' ],
	[ 'an enqueue of a lower priority', sub { quietly($two, enqueue($_[0], 'a', 'priority => 9')) }, 'a', full => 1 ],
	[ 'an enqueue of a higher priority', sub { quietly($two, enqueue($_[0], 'a', 'priority => 0')) }, 'a' ],
	[ 'many enqueues behind it', sub { quietly($two, map { enqueue($_[0], "k$_", "run_at => '" . at($_) . "'") } 1 .. 9) }, join(' ', map { "k$_" } 1 .. 9) ],
	# Counted attempts are recorded in the table that is locked.
	[ 'a nack behind it', sub { quietly($two, "SELECT x_jobs.nack('$_[1]{held}', 'holder', 1, counts_as_attempt => false)") }, 'held' ],
	[ 'a release behind it', sub { quietly($two, "SELECT x_jobs.release('$_[1]{held}', 'holder', 1)") }, 'held' ],
	[ 'a rollback of a claim behind it', sub { quietly($two, 'ROLLBACK') }, 'open', hold => 1 ],
	[ 'a rollback to a savepoint behind it', sub { quietly($two, 'ROLLBACK TO s') }, 'open', hold => 1 ],
	[ 'a commit of an enqueue that it passed', sub { quietly($two, 'COMMIT') }, 'unseen', enqueue => 1 ],
	[ 'a prepared enqueue that it passed', sub { quietly($two, q{PREPARE TRANSACTION 'p'}, q{COMMIT PREPARED 'p'}) }, 'unseen', enqueue => 1 ],
	[ 'a row by hand behind it', sub { quietly($two, "UPDATE _x_jobs.jobs SET run_at = '" . at(1) . "' WHERE queue = '$_[0]' AND idempotency_key = 'future'") }, 'future' ],
	[ 'a promotion behind it', sub { quietly($two, "SELECT x_jobs.promote('$_[1]{later}')") }, 'later', full => 1 ])
{
	my ($name, $meanwhile, $found, %options) = @$case;
	for my $run ([ 'COMMIT', 0 ], [ 'ROLLBACK', 0 ], [ 'COMMIT', 1 ], [ 'ROLLBACK', 1 ])
	{
		my ($end, $aside) = @$run;
		my $queue = closed_queue("$name, $end");
		my @aside = stops($queue, $aside);
		my %ids;
		# One that another worker holds, one that an open transaction holds, two that are due later.
		%ids = put($one, $queue, 'held', 'open');
		is(takes($one, $queue, max => 1, worker => 'holder', lease => '5 h'), 'held', "$name: held");
		$ids{later} = job_id(++$closed + 0x77000);
		quietly($one, enqueue($queue, 'future', "delay => '50 h'"), enqueue($queue, 'later', "delay => '40 h'", "id => '$ids{later}'"));
		quietly($two, 'BEGIN', 'SAVEPOINT s');
		is(takes($two, $queue, max => 1, lease => '5 h'), 'open', "$name: held by a transaction");
		quietly($two, 'COMMIT') unless $options{hold};
		quietly($two, 'BEGIN', enqueue($queue, 'unseen', "run_at => '" . at(3) . "'")) if $options{enqueue};
		my $claimer = stopped_claim($queue, open => 1, max => $options{full} ? 100 : 1, @aside);
		$meanwhile->($queue, \%ids);
		quietly($stopper, 'COMMIT');
		my $got = $claimer->result;
		like($got, qr/^stop\b/, "$name: the claim has its job");
		$got =~ s/^stop ?//;
		quietly($claimer, $end);
		# What it came across further on is its own, unless it gives it back.
		my @rest = $end eq 'COMMIT' ? grep { my $key = $_; !grep { $_ eq $key } split / /, $got } split / /, $found
			: split / /, $found;
		my %wanted = map { $_ => 1 } @rest, $end eq 'COMMIT' ? () : 'stop';
		is(join(' ', sort split / /, takes($one, $queue, worker => 'finder', @aside)), join(' ', sort keys %wanted), "$name, $end: found");
		finds_nothing($queue, "$name, $end: and nothing more");
		$two->sql('ROLLBACK');
		$claimer->quit;
	}
}

# A lease that lapses behind a claim on its way: told by the claim of another queue at a later time.
my $name = 'a lapse behind a claim on its way';
for my $aside (0, 1)
{
	my $queue = closed_queue($name);
	my @aside = stops($queue, $aside);
	put($one, $queue, 'held');
	is(takes($one, $queue, max => 1, lease => '1 h', worker => 'holder'), 'held', "$name: held");
	my $claimer = stopped_claim($queue, max => 1, @aside);
	is(shifted('2 h', 'nothing'), '', "$name: told");
	quietly($stopper, 'COMMIT');
	is($claimer->result, 'stop', "$name: the claim has its job");
	is(shifted('2 h', $queue, max => 2, @aside), 'held stop', "$name: found");
	$claimer->quit;
}

# A long way is closed bit by bit, also by a claim that is cut short before its end; and who comes behind goes on from there.
for my $end ('COMMIT', 'cancelled')
{
	my $name = "a long way, $end";
	my $queue = closed_queue($name);
	my @aside = stops($queue, 1);
	quietly($one, "SELECT count(*) FROM x_jobs.enqueue_many('work', array_fill('{}'::jsonb, ARRAY[3500]), NULL, dedupe => false,
		queue => '$queue', run_at => '" . at(5) . "')");
	is(quietly($one, map { "SELECT count(*) FROM x_jobs.claim(ARRAY['$queue'], 'holder', 1000, '5 h')" } 1 .. 4), 500, "$name: held");
	is(in_open_places($queue), 0, "$name: closed");
	my $claimer = stopped_claim($queue, max => 1, @aside);
	my $left = in_open_places($queue);
	cmp_ok($left, '>', 0, "$name: a part is not closed yet");
	cmp_ok($left, '<=', 1000, "$name: most is closed while the claim is on its way");
	quietly($two, 'SELECT pg_cancel_backend(' . $claimer->pid . ')') if $end eq 'cancelled';
	$claimer->result if $end eq 'cancelled';
	quietly($stopper, 'COMMIT');
	is($claimer->result, 'stop', "$name: the claim has its job") if $end eq 'COMMIT';
	is(in_open_places($queue), $end eq 'COMMIT' ? 0 : $left, "$name: as much is closed at the end");
	# One who gave nothing back and one who gives back in the middle of what was closed.
	quietly($one, "SELECT count(x_jobs.release(id, 'holder', claim)) FROM (SELECT id, claim FROM _x_jobs.jobs WHERE queue = '$queue' ORDER BY id OFFSET 1500 LIMIT 1) AS held");
	is(quietly($one, "SELECT count(*) FROM x_jobs.claim(ARRAY['$queue'], 'finder', 10)"), 1, "$name: what is given back is found");
	is(in_open_places($queue), 0, "$name: closed at last");
	$claimer->quit;
}

# A savepoint that is rolled back while a claim is on its way, as by the exception block of an index's function, ends no scan but
# its own: else another's would take its place, and what was opened meanwhile be forgotten.
$name = 'an exception caught while a claim is on its way';
{
	my $queue = closed_queue($name);
	my @aside = stops($queue, 1);
	quietly($one, 'DELETE FROM _x_jobs.jobs WHERE false',
		q{CREATE FUNCTION public.stumbles(error text) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
		$$ BEGIN BEGIN RAISE 'caught'; EXCEPTION WHEN OTHERS THEN NULL; END; PERFORM pg_advisory_xact_lock(42); RETURN 1; END $$},
		'CREATE INDEX stumbles ON _x_jobs.attempts (public.stumbles(error))');
	quietly($stopper, 'SELECT pg_advisory_lock(42)');
	my $claimer = session($server);
	my $pid = $claimer->pid;
	$claimer->send(claim_of($queue, max => 1, @aside));
	$server->poll_query_until('postgres', "SELECT wait_event = 'advisory' FROM pg_stat_activity WHERE pid = $pid") or BAIL_OUT('not stopped');
	quietly($two, enqueue($queue, 'a', "run_at => '" . at(1) . "'"));
	is(takes($two, $queue, names => 'absent'), '', "$name: a claim beside it leaves what it does not want");
	quietly($stopper, 'SELECT pg_advisory_unlock(42)');
	is($claimer->result, 'stop', "$name: the claim has its job");
	finds($queue, 'a', $name);
	$claimer->quit;
	quietly($one, 'DROP INDEX _x_jobs.stumbles', 'DROP FUNCTION public.stumbles(text)');
}

# A row that came by a way that tells nobody, as from a replication's apply worker: the rescan finds it; one that is locked at
# that moment is found later.
for my $locked (0, 1)
{
	my $name = 'a row that nobody told of' . ($locked ? ', locked during the rescan' : '');
	my $queue = closed_queue($name);
	put($one, $queue, 'a');
	takes($one, $queue, worker => 'holder', lease => '50 h');
	quietly($two, 'ALTER TABLE _x_jobs.jobs DISABLE TRIGGER written_by_hand',
		"UPDATE _x_jobs.jobs SET state = 'ready', visible_at = NULL WHERE queue = '$queue'",
		'ALTER TABLE _x_jobs.jobs ENABLE ALWAYS TRIGGER written_by_hand');
	finds_nothing($queue, "$name: not looked for");
	quietly($two, 'BEGIN', "SELECT id FROM _x_jobs.jobs WHERE queue = '$queue' FOR UPDATE") if $locked;
	quietly($one, q{SET x_jobs.rescan_interval = '1 min'});
	is(takes($one, $queue), '', "$name: the minute begins");
	quietly($one, q{SET x_jobs.test_clock_offset = '2 min'});
	is(takes($one, $queue), $locked ? '' : 'a', "$name: the rescan");
	quietly($one, 'RESET x_jobs.test_clock_offset', 'RESET x_jobs.rescan_interval');
	next unless $locked;
	quietly($two, 'COMMIT');
	is_open($queue, "$name: its place is open");
	finds($queue, 'a', $name);
}

# A lease that lapses before its claim has committed: the lapse is found, the row is nobody's to see, and its place is closed.
for my $renews (0, 1)
{
	my $name = 'a lapse before the commit of the claim' . ($renews ? ' and a renewal' : '');
	my $queue = closed_queue($name);
	quietly($one, 'BEGIN', enqueue($queue, 'a', "run_at => '" . at(1) . "'"));
	is(takes($one, $queue, lease => '1 h', worker => 'holder'), 'a', "$name: taken");
	quietly($one, "SELECT x_jobs.heartbeat(id, 'holder', claim, '3 h') FROM _x_jobs.jobs WHERE queue = '$queue'") if $renews;
	is(shifted('2 h', $queue), '', "$name: not to be seen");
	is_closed($queue, $name);
	quietly($one, 'COMMIT');
	is(shifted('2 h', $queue), '', "$name: it runs") if $renews;
	is(shifted('4 h', $queue), 'a', "$name: it is found when it has lapsed");
}

# More claims on their way than are registered: the rest close nothing, and lose nothing.
$name = 'twenty claims on their way';
my $queue = closed_queue($name);
my @keys = map { sprintf 'k%02d', $_ } 1 .. 20;
put($one, $queue, @keys);
is(takes($one, $queue, lease => '0'), join(' ', @keys), "$name: all have lapsed");
my @claimers;
push @claimers, stopped_claim($queue, max => 1, stopped => scalar @claimers) for @keys;
quietly($two, enqueue($queue, 'a', "run_at => '" . at(1) . "'"));
quietly($stopper, 'COMMIT');
is(join(' ', sort map { $_->result } @claimers), join(' ', @keys), "$name: each has one");
finds($queue, 'a', $name);
is_closed($queue, "$name, when they have ended");
$_->quit for @claimers;

# The same, and all that are registered are cut off.
$name = 'four claims on their way that are not registered';
$queue = closed_queue($name);
put($one, $queue, @keys);
is(takes($one, $queue, lease => '0'), join(' ', @keys), "$name: all have lapsed");
@claimers = ();
push @claimers, stopped_claim($queue, max => 1, stopped => scalar @claimers) for @keys;
for my $registered (splice @claimers, 0, 16)
{
	quietly($two, 'SELECT pg_cancel_backend(' . $registered->pid . ')');
	$registered->result;
	$registered->quit;
}
quietly($two, enqueue($queue, 'a', "run_at => '" . at(1) . "'"));
quietly($stopper, 'COMMIT');
is(join(' ', sort map { $_->result } @claimers), join(' ', @keys[ 16 .. 19 ]), "$name: each has one");
finds($queue, join(' ', 'a', @keys[ 0 .. 15 ]), $name);
is_closed($queue, "$name, when they have ended");
$_->quit for @claimers;

done_testing();
