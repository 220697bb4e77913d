# Looking at the heads from tests: what is open, and what a claim finds.
#
#   my $server = heads_server('name', conf => "...");   preloaded, with nothing that looks twice
#   is_closed($queue, 'name');          a test: the claims of the queue look nowhere
#   finds($queue, 'a b', 'name');       a test: a claim finds these keys, in this order; and then none is left
#   takes($session, $queue, options)    the keys that one claim takes
#   my $queue = closed_queue('name');   a new queue that is closed everywhere, beyond 2001 too
#   quietly($session, @statements)      the rows of the last; none of them may complain
#
# The queue is looked at by sessions of its own, so that an open transaction of the test stays what it is.
package Heads;

use strict;
use warnings;

use Exporter 'import';
use JobServer;
use Test::More;

our @EXPORT = qw(heads_server use_server places is_closed is_open finds finds_nothing takes claim_of enqueue put at
  shifted closed_queue quietly scatter);

my $looker;    # asks where the claims look
my $finder;    # claims
my $shifted;    # claims at another time
my $queues = 0;

# A server with the net off: what the heads forget is not found.
sub heads_server
{
	my ($name, %options) = @_;
	my $server = new_server($name, preload => 1, %options,
		conf => "x_jobs.rescan_interval = 0\nmax_prepared_transactions = 20\n" . ($options{conf} // ''));
	use_server($server);
	return $server;
}

# The server, and database, that the tests below ask; again after a restart.
sub use_server
{
	my ($server, %options) = @_;
	$_->abandon for grep { defined } $looker, $finder, $shifted;
	($looker, $finder, $shifted) = map { session($server, %options) } 1 .. 3;
	return;
}

# 'closed', 'open', or 'unknown' for a queue without a slot.
sub places
{
	my ($queue) = @_;
	my $found = $looker->sql("SELECT string_agg(CASE WHEN begin_priority IS NULL THEN 'closed' ELSE 'open' END, ' ')
		FROM (SELECT DISTINCT ON (begin_priority IS NULL) * FROM _x_jobs.open_places() WHERE queue = '$queue') AS p");
	return $found eq '' ? 'unknown' : $found;
}

sub is_closed
{
	my ($queue, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(places($queue), 'closed', "$name: closed before");
}

sub is_open
{
	my ($queue, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(places($queue), 'open', $name);
}

# A moment of the far past: the earlier the number, the earlier the moment.
sub at { my ($number) = @_; return sprintf "2001-01-%02d 00:00+00", $number; }

# The statement that enqueues a job with the key; further arguments as SQL. Keys belong to their queue, by its tenant.
sub enqueue
{
	my ($queue, $key, @more) = @_;
	unshift @more, "tenant_id => '$queue'" unless grep { /^tenant_id/ } @more;
	my $arguments = join ', ', "'work'", "idempotency_key => '$key'", "queue => '$queue'", @more;
	return "SELECT x_jobs.enqueue($arguments)";
}

# Enqueues jobs of the long past, in the order given, under ids that are returned by key.
my $made = 0;
sub put
{
	my ($session, $queue, @keys) = @_;
	my %ids;
	for my $key (@keys)
	{
		my $day = 10 + keys %ids;
		$ids{$key} = job_id(++$made);
		$session->sql(enqueue($queue, $key, "run_at => '" . at($day) . "'", "id => '$ids{$key}'", 'max_attempts => 100'));
		die $session->complaint if $session->complaint;
	}
	return %ids;
}

# The statement that claims. Options: max, lease, worker, names, aside (another queue besides).
sub claim_of
{
	my ($queue, %options) = @_;
	my $names = $options{names} ? ", names => ARRAY['$options{names}']" : '';
	my $queues = join "', '", $queue, $options{aside} // ();
	return sprintf "SELECT string_agg(idempotency_key, ' ' ORDER BY ordinality)
		FROM x_jobs.claim(ARRAY['%s'], '%s', %d, visibility_timeout => '%s'%s) WITH ORDINALITY",
	  $queues, $options{worker} // 'w', $options{max} // 100, $options{lease} // '1 h', $names;
}

sub takes
{
	my ($session, $queue, %options) = @_;
	my $keys = $session->sql(claim_of($queue, %options));
	return $session->complaint eq '' ? $keys : $session->complaint;
}

# A claim at another time: the offset of its clock.
sub shifted
{
	my ($offset, $queue, %options) = @_;
	$shifted->sql("SET x_jobs.test_clock_offset = '$offset'");
	return takes($shifted, $queue, %options);
}

sub closed_queue
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $queue = 'queue ' . ++$queues;
	my %ids = put($finder, $queue, 'first');
	takes($finder, $queue, worker => 'first');
	$finder->sql("SELECT x_jobs.ack('$ids{first}', 'first', 1)");
	takes($finder, $queue);
	is_closed($queue, $name);
	return $queue;
}

# A queue of many jobs due in the past, over all priorities and in no order.
sub scatter
{
	my ($session, $queue, $count) = @_;
	return quietly($session, "SELECT count(*) FROM x_jobs.enqueue_many((SELECT array_agg(jsonb_populate_record(NULL::x_jobs.new_job,
		jsonb_build_object('name', 'work', 'queue', '$queue', 'dedupe', false, 'max_attempts', 1000, 'priority', n % 10,
			'run_at', '2001-01-01 00:00+00'::timestamptz + (n * 7919 % $count) * interval '1 h'))) FROM generate_series(1, $count) AS n))");
}

sub quietly
{
	my ($session, @statements) = @_;
	my $rows;
	for my $statement (@statements)
	{
		$rows = $session->sql($statement);
		die "$statement: " . $session->complaint if $session->complaint;
	}
	return $rows;
}

sub finds
{
	my ($queue, $keys, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $right = is(takes($finder, $queue, worker => 'finder'), $keys, "$name: found");
	is(takes($finder, $queue, worker => 'finder'), '', "$name: and nothing more");
	return $right;
}

sub finds_nothing
{
	my ($queue, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(takes($finder, $queue, worker => 'finder'), '', $name);
}

1;
