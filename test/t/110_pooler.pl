# C-066: clients behind a pooler in transaction mode, in the simple and in the extended protocol, with every statement
# possibly on another server connection than the one before. Claims live in rows and tokens, not in sessions, so
# everything works and nothing stays behind on a server connection. If this failed, x_jobs could not be used where most
# applications are.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use IPC::Run;
use JobServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($pgbouncer) = grep { -x } '/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer';
die 'this test needs the program pgbouncer' unless $pgbouncer;

my $server = new_server('pooled', preload => 1, conf => "x_jobs.max_claim_wait = '60s'\nx_jobs.poll_interval = '60s'");
my $user = $server->safe_psql('postgres', 'SELECT current_user');
my $folder = $server->basedir;
my $sockets = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
append_to_file("$folder/users.txt", qq{"$user" ""\n});
append_to_file("$folder/pgbouncer.ini", <<"INI");
[databases]
postgres = host=@{[ $server->host ]} port=@{[ $server->port ]} dbname=postgres
[pgbouncer]
listen_port = $port
unix_socket_dir = $sockets
auth_type = trust
auth_file = $folder/users.txt
pool_mode = transaction
default_pool_size = 6
server_round_robin = 1
max_client_conn = 100
ignore_startup_parameters = extra_float_digits
logfile = $folder/pgbouncer.log
INI
my $pooler = IPC::Run::start([ $pgbouncer, "$folder/pgbouncer.ini" ], '<', \undef, '>', "$folder/pgbouncer.out", '2>', "$folder/pgbouncer.err");
my $pooled = "host=$sockets port=$port dbname=postgres user=$user";
ok( wait_until(
		sub {
			my ($status) = $server->psql('postgres', 'SELECT 1', connstr => $pooled, timeout => 10, timed_out => \my $late);
			return defined $status && $status == 0;
		}),
	'C-066 the pooler answers') or BAIL_OUT(slurp_file("$folder/pgbouncer.err"));

# A client whose statements run on changing server connections: they go round, and during each of them another client holds
# one of them in a transaction.
my $client = session($server, connstr => $pooled);
my @takers = map { session($server, connstr => $pooled) } 1 .. 3;
my %used;
$_->sql('BEGIN') for @takers;
$_->sql('SELECT pg_backend_pid()') for $client, @takers;
$_->sql('COMMIT') for @takers;

sub elsewhere
{
	my ($sql) = @_;
	my $taker = shift @takers;
	push @takers, $taker;
	$taker->sql('BEGIN');
	$taker->sql('SELECT pg_backend_pid()');
	$used{ $client->sql('SELECT pg_backend_pid()') }++;
	my $rows = $client->sql($sql);
	my $complaint = $client->complaint;
	$used{ $client->sql('SELECT pg_backend_pid()') }++;
	$taker->sql('COMMIT');
	return $rows . $complaint;
}

my $id = job_id(1);
is(elsewhere("SELECT deduped FROM x_jobs.enqueue('work', '{\"n\": [1, \"x\"]}', 'k', queue => 'q', id => '$id')"), 'f', 'C-066 enqueue');
is(elsewhere("SELECT deduped FROM x_jobs.enqueue('work', '2', 'k', queue => 'q')"), 't', 'C-066 enqueue of the same key');
is(elsewhere("SELECT id, claim, input FROM x_jobs.claim(ARRAY['q'], 'w')"), "$id|1|{\"n\": [1, \"x\"]}", 'C-066 claim, JSON as JSON');
is(elsewhere("SELECT x_jobs.heartbeat('$id', 'w', 1)"), 't', 'C-066 heartbeat from another connection');
is(elsewhere("SELECT x_jobs.progress('$id', 'w', 1, 1, 2)"), 't', 'C-066 progress from another connection');
is(elsewhere("SELECT x_jobs.nack('$id', 'w', 1, error => 'again')"), 't', 'C-066 nack from another connection');
is(elsewhere("SELECT id, claim FROM x_jobs.claim(ARRAY['q'], 'w')"), "$id|2", 'C-066 claim again');
is(elsewhere("BEGIN; SELECT x_jobs.guard('$id', 'w', 2); SELECT x_jobs.ack('$id', 'w', 2); COMMIT"), "\nt", 'C-066 guard and ack in a transaction');
is(elsewhere("SELECT x_jobs.ack('$id', 'w', 2)"), 'f', 'C-066 ack again');
is(elsewhere("CALL x_jobs.wait(ARRAY['q'], '50 ms')"), '', 'C-066 CALL wait, in vain');
is(elsewhere("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', wait => '50 ms')"), '0', 'C-066 claim(wait), in vain');
is(elsewhere("SELECT x_jobs.pause_queue('q') IS NOT NULL"), 't', 'C-066 pause');
is(elsewhere("SELECT deduped FROM x_jobs.enqueue('work', '1', 'paused', queue => 'q')"), 'f', 'C-066 enqueue into the paused queue');
is(elsewhere("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w')"), '0', 'C-066 the pause holds on every connection') for 1 .. 4;
is(elsewhere("SELECT x_jobs.resume_queue('q')"), 't', 'C-066 resume');
is(elsewhere("SELECT idempotency_key FROM x_jobs.claim(ARRAY['q'], 'w')"), 'paused', 'C-066 and so does the resume');
cmp_ok(scalar keys %used, '>', 1, 'C-066 the statements ran on ' . keys(%used) . ' server connections');

# Waiting through the pooler is ended by a commit through the pooler.
for my $wait ("SELECT queue FROM x_jobs.claim(ARRAY['waited'], 'w', wait => '50 s')", "CALL x_jobs.wait(ARRAY['waited'], '50 s')")
{
	$client->send($wait);
	ok($server->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Extension' AND query LIKE '%waited%'"),
		"C-066 asleep in $wait");
	$takers[0]->sql("SELECT x_jobs.enqueue('work', '1', queue => 'waited', dedupe => false)");
	ok(wait_until(sub { !$client->pending }, within => 20), "C-066 woken from $wait");
	is($client->result . $client->complaint, $wait =~ /CALL/ ? '' : 'waited', "C-066 the answer of $wait");
}

# Nothing stays behind: no lock and no transaction on a connection that nobody uses.
$_->quit for $client, @takers;
ok( $server->poll_query_until('postgres',
		"SELECT count(*) = 0 FROM pg_locks WHERE locktype = 'advisory' OR pid IN (SELECT pid FROM pg_stat_activity WHERE state <> 'active' AND pid <> pg_backend_pid())"),
	'C-066 no lock stays behind on a server connection');

# Many clients on few connections, in both protocols; a third of the jobs needs a second attempt.
for my $protocol ('simple', 'extended')
{
	my $jobs = 1_200;
	$server->safe_psql('postgres',
		"DELETE FROM _x_jobs.jobs; DELETE FROM _x_jobs.history;
		 SELECT count(*) FROM x_jobs.enqueue_many('work', array_fill('1'::jsonb, ARRAY[$jobs]), ARRAY(SELECT 'k' || n FROM generate_series(1, $jobs) AS n), queue => 'many')");
	my $turns = int($jobs * 4 / 3 / 20) + 60;
	my $host = $server->host;
	local %ENV = (%ENV, PGHOST => $sockets, PGPORT => $port, PGUSER => $user, PGDATABASE => 'postgres');
	my $out = run_pgbench("-n -M $protocol -c 20 -j 2 -t $turns", "pooled_$protocol", <<'SCRIPT');
SELECT coalesce(max(id), '01890000-0000-7000-8000-000000000000') AS id, coalesce(max(claim), 0) AS claim, coalesce(max(idempotency_key), 'k1') AS key
  FROM (SELECT id::text, claim, idempotency_key FROM x_jobs.claim(ARRAY['many'], 'w' || (:client_id)::text, 1)) AS c \gset
\if :claim > 0
SELECT x_jobs.heartbeat((:id)::uuid, 'w' || (:client_id)::text, (:claim)::bigint);
\if :claim = 1
SELECT CASE WHEN substr(:key, 2)::integer % 3 = 0 THEN x_jobs.nack((:id)::uuid, 'w' || (:client_id)::text, (:claim)::bigint)
            ELSE x_jobs.ack((:id)::uuid, 'w' || (:client_id)::text, (:claim)::bigint) END;
\else
SELECT x_jobs.ack((:id)::uuid, 'w' || (:client_id)::text, (:claim)::bigint);
\endif
SELECT deduped FROM x_jobs.enqueue('follow-up', '1', (:key)::text, queue => 'later');
\endif
SCRIPT
	like($out, qr/number of failed transactions: 0 /, "C-066 $protocol protocol: no failure");
	unlike($out, qr/ERROR|aborted/, "C-066 $protocol protocol: no error") or diag $out;
	is( $server->safe_psql('postgres', "SELECT state, count(*), sum(claim) FROM x_jobs.all_jobs WHERE name = 'work' GROUP BY state"),
		"done|$jobs|" . ($jobs + $jobs / 3), "C-066 $protocol protocol: every job is done, with the claims that it needed");
	is( $server->safe_psql('postgres', "SELECT count(*) FROM x_jobs.all_jobs WHERE name = 'follow-up'"), $jobs, "C-066 $protocol protocol: and so are their follow-ups");
}

# pgbench through the pooler; the simple protocol needs its text variables quoted, the extended one must not have them so.
sub run_pgbench
{
	my ($options, $name, $script) = @_;
	$script =~ s/\(:(id|key)\)/(':$1')/g, $script =~ s/substr\(:key/substr(':key'/ if $options =~ /simple/;
	$script =~ s/:key, 2/(:key)::text, 2/ if $options =~ /extended/;
	append_to_file("$folder/$name.sql", $script);
	my ($out, $err) = ('', '');
	IPC::Run::run([ 'pgbench', split(/ /, $options), '-f', "$folder/$name.sql" ], '>', \$out, '2>', \$err);
	return "$out\n$err";
}

$pooler->kill_kill(grace => 5);
$server->stop;
done_testing();
