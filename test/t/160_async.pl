# Claims whose commit does not wait for its log: claim(durable => false), and sessions with synchronous_commit = off. A
# crash may lose such a claim; the job is then handed out again, and the token of the lost claim must never match
# again, whoever holds the job then and however it was claimed. The log writer is stopped here, so that the claims are really
# lost. If this failed, two workers would hold one job under one token, and both acknowledgements would land.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = new_server('async', preload => 1, conf => "wal_writer_delay = 10s\nfsync = on\nautovacuum = off\nbgwriter_delay = 10s\ncheckpoint_timeout = 1h");
my $number = 0;

# Kills the server like a power cut would: what was not written is gone. Processes that are stopped cannot notice that
# their postmaster has died, so they are killed too.
sub power_cut
{
	my @stopped = @_;
	my @pids = split /\n/, $server->safe_psql('postgres', 'SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()');
	$server->kill9;
	kill 'KILL', $_ for @stopped;
	gone(@pids) or BAIL_OUT('a process of the dead server stays');
	$server->start;
	return;
}

sub log_writer
{
	return $server->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'");
}

my @ways = (
	[ 'durable => false', '', 'durable => false' ],
	[ 'synchronous_commit = off', 'SET synchronous_commit = off', 'durable => true' ],
	[ 'both', 'SET synchronous_commit = off', 'durable => false' ]);
my $lost = 0;

for my $way (@ways)
{
	my ($name, $before, $durable) = @$way;

	# The claim after the crash is made in each way as well, so that no token is repeated from one way into another.
	for my $next (@ways)
	{
		my ($next_name, $next_before, $next_durable) = @$next;
		my $title = "$name, then $next_name";
		my $id = job_id(++$number);
		my $queue = "q$number";
		my $s = session($server);
		$s->sql("SELECT x_jobs.enqueue('work', '1', '$number', queue => '$queue', id => '$id', max_attempts => 100)");
		my @tokens = ($s->sql("SELECT claim FROM x_jobs.claim(ARRAY['$queue'], 'w', visibility_timeout => '0')"));
		is($tokens[0], '1', "X-10 $title: a durable claim is the first");
		my $writer = log_writer();
		kill 'STOP', $writer;
		$s->sql($before) if $before;
		push @tokens, $s->sql("SELECT claim FROM x_jobs.claim(ARRAY['$queue'], 'w', visibility_timeout => '0', $durable)");
		is($s->sql("SELECT x_jobs.heartbeat('$id', 'w', $tokens[-1], '0')"), 't', "X-10 $title: the claim holds before the crash");
		push @tokens, $s->sql("SELECT claim FROM x_jobs.claim(ARRAY['$queue'], 'w', visibility_timeout => '0', $durable)");
		ok($tokens[0] < $tokens[1] && $tokens[1] < $tokens[2], "X-10 $title: ordinals grow: @tokens");
		$s->abandon;
		power_cut($writer);

		my $after = session($server);
		my ($state, $kept) = split /\|/, $after->sql("SELECT state, claim FROM x_jobs.all_jobs WHERE id = '$id'");
		$lost++ if $kept < $tokens[-1];
		is($state, 'running', "$title: the durable claim is there after the crash");
		$after->sql($next_before) if $next_before;
		my $new = $after->sql("SELECT claim FROM x_jobs.claim(ARRAY['$queue'], 'w', visibility_timeout => '1 h', $next_durable)");
		like($new, qr/^\d+$/, "$title: the job is handed out again");
		ok(!grep({ $_ >= $new } @tokens), "X-10 $title: under a token above all that were given: @tokens, $new");
		for my $token (@tokens)
		{
			is( $after->sql("SELECT x_jobs.heartbeat('$id', 'w', $token), x_jobs.progress('$id', 'w', $token, 1, 2), x_jobs.nack('$id', 'w', $token), x_jobs.ack('$id', 'w', $token)"),
				'f|f|f|f', "X-10 ACK-8 HB-6 $title: token $token of before the crash does not match");
		}

		# And never again, through any number of later claims.
		my %seen = map { $_ => 1 } @tokens, $new;
		for (1 .. 3)
		{
			$after->sql("SELECT x_jobs.heartbeat('$id', 'w', $new, '0')");
			$new = $after->sql("SELECT claim FROM x_jobs.claim(ARRAY['$queue'], 'w', visibility_timeout => '1 h')");
			ok(!$seen{$new}++, "X-10 $title: a later claim has a token of its own, $new");
		}
		is($after->sql("SELECT x_jobs.ack('$id', 'w', $new)"), 't', "$title: the last one lands");
		$after->quit;
	}
}
cmp_ok($lost, '>=', 5, "the crash lost the claims in $lost of $number cases, so the test tests");

# A transaction that wrote something of its own keeps its durability, whatever its claim asked for.
$server->safe_psql('postgres', 'CREATE TABLE ledger (entry text)');
for my $order ('before', 'after')
{
	my $id = job_id(++$number);
	my $s = session($server);
	$s->sql("SELECT x_jobs.enqueue('work', '1', '$number', queue => 'd$number', id => '$id')");
	my $writer = log_writer();
	kill 'STOP', $writer;
	my $take = "SELECT claim FROM x_jobs.claim(ARRAY['d$number'], 'w', durable => false)";
	my $write = "INSERT INTO ledger VALUES ('$order')";
	$s->sql('BEGIN');
	$s->sql($_) for $order eq 'before' ? ($write, $take) : ($take, $write);
	$s->sql('COMMIT');
	is($s->complaint, '', "a claim and a write $order it commit");
	$s->abandon;
	power_cut($writer);
	is($server->safe_psql('postgres', "SELECT count(*) FROM ledger WHERE entry = '$order'"), '1', "what was written $order a claim that need not be durable survives");
	is($server->safe_psql('postgres', "SELECT state FROM x_jobs.all_jobs WHERE id = '$id'"), 'running', 'and so does that claim');
}

# A durable claim always survives, and an acknowledgement too.
{
	my $id = job_id(++$number);
	my $s = session($server);
	$s->sql("SELECT x_jobs.enqueue('work', '1', '$number', queue => 'e', id => '$id'); SELECT x_jobs.enqueue('work', '1', 'x', queue => 'e')");
	my $writer = log_writer();
	kill 'STOP', $writer;
	$s->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['e'], 'w', 2)");
	is($s->sql("SELECT x_jobs.ack('$id', 'w', 1)"), 't', 'a durable claim and its ack');
	$s->abandon;
	power_cut($writer);
	is($server->safe_psql('postgres', "SELECT string_agg(state || ' ' || claim, ', ' ORDER BY state) FROM x_jobs.all_jobs WHERE queue = 'e'"), 'done 1, running 1', 'both survive the crash');
}

$server->stop;
done_testing();
