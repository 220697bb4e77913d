# Rows of the live table that are written by hand: with INSERT, UPDATE, DELETE, COPY or TRUNCATE, kept or rolled back.
# If this failed, what a repair or a restore brings back would lie in the table, and no worker would look where it stands.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Heads;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = heads_server('heads_hand');
my $one = session($server);
my $two = session($server);
quietly($one, 'SET client_min_messages = warning');
my $file = PostgreSQL::Test::Utils::tempdir() . '/rows';

# A closed queue whose one job has been taken out of the table into `kept`.
sub taken_out
{
	my ($name) = @_;
	my $queue = closed_queue($name);
	put($one, $queue, 'a');
	quietly($one, 'DROP TABLE IF EXISTS kept', "CREATE TABLE kept AS SELECT * FROM _x_jobs.jobs WHERE queue = '$queue'",
		"DELETE FROM _x_jobs.jobs WHERE queue = '$queue'");
	finds_nothing($queue, "$name: taken out");
	is_closed($queue, $name);
	return $queue;
}

my $insert = 'INSERT INTO _x_jobs.jobs SELECT * FROM kept';
for my $way (
	[ 'INSERT', $insert ],
	[ 'INSERT by a replica', 'SET session_replication_role = replica', $insert, 'RESET session_replication_role' ],
	[ 'COPY', "COPY kept TO '$file'", "COPY _x_jobs.jobs FROM '$file'" ],
	[ 'INSERT in a transaction', 'BEGIN', $insert, 'COMMIT' ],
	[ 'INSERT in a savepoint', 'BEGIN', 'SAVEPOINT s', $insert, 'RELEASE s', 'COMMIT' ],
	[ 'INSERT in a prepared transaction', 'BEGIN', $insert, q{PREPARE TRANSACTION 'p'}, q{COMMIT PREPARED 'p'} ],
	[ 'INSERT, and a claim that comes before its commit', 'BEGIN', $insert, 'CLAIM', 'COMMIT' ],
	[ 'INSERT, and an own claim of another name', 'BEGIN', $insert, 'OWN', 'COMMIT' ],
	[ 'INSERT in an exception block', "DO \$\$ BEGIN BEGIN $insert; EXCEPTION WHEN OTHERS THEN NULL; END; END \$\$" ],
	[ 'MERGE', 'MERGE INTO _x_jobs.jobs AS j USING kept ON j.id = kept.id WHEN NOT MATCHED THEN INSERT VALUES (kept.*)' ])
{
	my ($name, @statements) = @$way;
	my $queue = taken_out($name);
	for my $statement (@statements)
	{
		if ($statement eq 'CLAIM') { finds_nothing($queue, "$name: nothing yet"); }
		elsif ($statement eq 'OWN') { is(takes($two, $queue, names => 'another'), '', "$name: nothing of that name"); }
		elsif ($statement =~ /^MERGE/)
		{
			my $columns = $two->sql(q{SELECT string_agg('kept.' || quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
				WHERE attrelid = 'kept'::regclass AND attnum > 0});
			(my $sql = $statement) =~ s/kept\.\*/$columns/;
			quietly($two, $sql);
		}
		else { quietly($two, $statement); }
	}
	finds($queue, 'a', $name);
}

my $name = 'INSERT and a claim in one transaction';
my $queue = taken_out($name);
quietly($two, 'BEGIN', $insert);
is(takes($two, $queue), 'a', "$name: its own row is found");
quietly($two, 'ROLLBACK');
finds_nothing($queue, "$name: nothing is left of it");

# Rows that stand there, changed.
for my $change (
	[ 'a due time put forward', "run_at = '2001-01-01'", "delay => '5 h'" ],
	[ 'a priority', 'priority = 0', "delay => '5 h'", "run_at = '2001-01-01'" ],
	[ 'another queue', "queue = 'QUEUE'", "delay => '5 h'", "run_at = '2001-01-01'" ],
	[ 'a block lifted', 'blocked = false', 'priority => 5' ],
	[ 'a lease ended', "visible_at = '2001-01-01'", 'priority => 5' ],
	[ 'a lease forgotten', q{state = 'ready', claimed_by = NULL, visible_at = NULL}, 'priority => 5' ])
{
	my ($what, $set, $how, $more) = @$change;
	my $name = "UPDATE of $what";
	my $queue = closed_queue($name);
	my $from = $what eq 'another queue' ? closed_queue($name) : $queue;
	quietly($one, enqueue($from, 'a', $how));
	quietly($one, "UPDATE _x_jobs.jobs SET blocked = true WHERE queue = '$from'") if $what =~ /block/;
	is(takes($one, $from), 'a', "$name: claimed") if $what =~ /lease/;
	finds_nothing($from, "$name: nothing");
	$set .= ", $more" if $more;
	$set =~ s/QUEUE/$queue/;
	quietly($two, "UPDATE _x_jobs.jobs SET $set WHERE queue = '$from'");
	finds($queue, 'a', $name);
}

# Rows taken away, passed by a claim, and back again.
for my $way (
	[ 'DELETE', 'DELETE FROM _x_jobs.jobs' ],
	[ 'UPDATE', "UPDATE _x_jobs.jobs SET run_at = 'infinity'" ],
	[ 'TRUNCATE', 'TRUNCATE _x_jobs.jobs' ])
{
	my ($what, $statement) = @$way;
	for my $end ('ROLLBACK', 'ROLLBACK TO s', q{ROLLBACK PREPARED 'p'})
	{
		next if $what eq 'TRUNCATE' && $end =~ /PREPARED/;
		my $name = "$what, a claim and $end";
		my $queue = closed_queue($name);
		put($one, $queue, 'a', 'b');
		quietly($two, 'BEGIN', 'SAVEPOINT s', $statement);
		is(takes($two, $queue), '', "$name: the claim finds nothing");
		quietly($two, q{PREPARE TRANSACTION 'p'}) if $end =~ /PREPARED/;
		quietly($two, $end);
		quietly($two, 'COMMIT') if $end eq 'ROLLBACK TO s';
		finds($queue, 'a b', $name);
	}
}

# The change and the claim in one statement, which then fails.
$name = 'DELETE and a claim in one failing statement';
$queue = closed_queue($name);
put($one, $queue, 'a');
$two->sql("WITH gone AS MATERIALIZED (DELETE FROM _x_jobs.jobs WHERE queue = '$queue' RETURNING id),
		claimed AS MATERIALIZED (SELECT count(c) FROM (SELECT count(*) FROM gone) AS g(n), LATERAL x_jobs.claim(ARRAY['$queue'], repeat('w', g.n::integer)) AS c)
	SELECT 1 / count FROM claimed");
like($two->complaint, qr/division by zero/, "$name: it fails");
finds($queue, 'a', $name);

# A leased job that a repair puts back under its lease is watched again.
$name = 'a running row put back by hand, then its lapse';
$queue = closed_queue($name);
put($one, $queue, 'a');
takes($one, $queue, lease => '1 h');
quietly($one, 'DROP TABLE IF EXISTS kept', "CREATE TABLE kept AS SELECT * FROM _x_jobs.jobs WHERE queue = '$queue'",
	"DELETE FROM _x_jobs.jobs WHERE queue = '$queue'");
finds_nothing($queue, "$name: gone");
quietly($two, $insert);
finds_nothing($queue, "$name: held");
is_closed($queue, $name);
is(shifted('2 h', $queue), 'a', "$name: found");

# And one that is moved while it runs is watched where it stands now.
for my $column ('priority', 'queue')
{
	$name = "a running row moved by hand to another $column, then its lapse";
	$queue = closed_queue($name);
	my $to = $column eq 'queue' ? closed_queue("$name: the other") : $queue;
	put($one, $queue, 'a');
	takes($one, $queue, lease => '1 h');
	quietly($two, "UPDATE _x_jobs.jobs SET $column = " . ($column eq 'queue' ? "'$to'" : 3) . " WHERE queue = '$queue'");
	finds_nothing($to, "$name: held");
	is_closed($to, $name);
	is(shifted('2 h', $to), 'a', "$name: found");
}

done_testing();
