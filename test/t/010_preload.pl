# Without shared_preload_libraries everything works and one notice says what is missing; with it there is no
# notice; the jobs are the same either way. Making and dropping the extension are transactions like any other, and
# sessions that were there before go on with what is there now. If this failed, a stranger's first minute would, or
# a rolled-back DROP EXTENSION would cost him his jobs.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

# Takes one job through the verbs, in one session, and answers what it saw.
sub walk
{
	my ($session, $queue) = @_;
	return join "\n", map { $session->sql($_) } (
		"SELECT deduped FROM x_jobs.enqueue('walk', '1', 'k', queue => '$queue', max_attempts => 5)",
		"SELECT deduped FROM x_jobs.enqueue('walk', '2', 'k', queue => '$queue')",
		"CREATE TEMP TABLE held AS SELECT id, claim, attempt FROM x_jobs.claim(ARRAY['$queue'], 'w')",
		'SELECT x_jobs.heartbeat(id, \'w\', claim), x_jobs.progress(id, \'w\', claim, 1, 2) FROM held',
		'SELECT x_jobs.nack(id, \'w\', claim, error => \'again\') FROM held',
		"TRUNCATE held; INSERT INTO held SELECT id, claim, attempt FROM x_jobs.claim(ARRAY['$queue'], 'w')",
		'SELECT landed, outcome FROM held, x_jobs.fail(id, \'w\', claim, \'once more\', retry_after => \'0\')',
		'SELECT j.state, j.claim FROM held, x_jobs.job(id) AS j',
		"CALL x_jobs.wait(ARRAY['no such queue'], '10 ms')",
		"SELECT count(*) FROM x_jobs.claim(ARRAY['no such queue'], 'w', wait => '10 ms')",
		'SELECT j.state FROM held, x_jobs.cancel(id) AS j',
		"SELECT queue, ready, running FROM x_jobs.stats() WHERE queue = '$queue'",
		'DROP TABLE held');
}

my $walked = join "\n", 'f', 't', '', 't|t', 't', '', 't|retried', 'ready|2', '', '0', 'cancelled', '%s|0|0', '';
# A retry may wait for a moment, and is then not yet ready but delayed.
my $delayed = $walked =~ s/ready\|2/delayed|2/r;

sub walks
{
	my ($session, $queue, $name) = @_;
	my $seen = walk($session, $queue);
	my %right = map { sprintf($_, $queue) => 1 } $walked, $delayed;
	ok($right{$seen}, $name) or diag $seen;
	return;
}

my $server = new_server('preload', extension => 0);

# Not preloaded.
my ($status, $out, $err) = $server->psql('postgres', 'CREATE EXTENSION x_jobs');
is($status, 0, 'CREATE EXTENSION works without preload');
is(scalar(() = $err =~ /^(?:psql:\S+ )?NOTICE:/mg), 1, 'one NOTICE without preload') or diag $err;
like($err, qr/shared_preload_libraries/, 'the notice says what is missing');

my $early = session($server);
walks($early, 'plain', 'every verb works without preload');
($status, $out, $err) = $server->psql('postgres', "SELECT deduped FROM x_jobs.enqueue('quiet', dedupe => false)");
is("$out|$err", 'f|', 'later sessions are not told again');

# DROP EXTENSION, rolled back and not.
$server->safe_psql('postgres', "SELECT x_jobs.enqueue('kept', '\"input\"', 'kept', queue => 'kept')");
my $before = fingerprint($server, 'postgres');
my $dropper = session($server);
$dropper->sql('BEGIN');
$dropper->sql('DROP EXTENSION x_jobs');
is($dropper->complaint, '', 'DROP EXTENSION inside a transaction');
$dropper->sql('SELECT x_jobs.version()');
is($dropper->sqlstate, '3F000', 'C-052 the surface is gone for the dropping transaction');
$dropper->sql('ROLLBACK');
is_deeply(fingerprint($server, 'postgres'), $before, 'C-052 a rolled-back DROP EXTENSION leaves every row');
is($early->sql("SELECT idempotency_key FROM x_jobs.claim(ARRAY['kept'], 'w')"), 'kept', 'C-052 and the jobs are claimed as before');

# A drop waits for the transaction of a claim, and no longer.
$early->sql("SELECT x_jobs.enqueue('work', '1', 'open', queue => 'open')");
is($early->sql("BEGIN; SELECT idempotency_key FROM x_jobs.claim(ARRAY['open'], 'w')"), 'open', 'a claim in an open transaction');
$dropper->send('DROP EXTENSION x_jobs');
ok( wait_until(
		sub {
			$server->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DROP%'");
		}),
	'C-052 DROP EXTENSION waits for an open claim');
$early->sql('COMMIT');
$dropper->result;
is($dropper->complaint, '', 'C-052 and goes on when it commits');
is( $server->safe_psql('postgres', "SELECT count(*) FROM pg_namespace WHERE nspname IN ('x_jobs', '_x_jobs')"),
	'0', 'nothing is left after DROP EXTENSION');
$early->sql("SELECT x_jobs.enqueue('walk', dedupe => false)");
is($early->sqlstate, '3F000', 'an old session is told that the extension is gone');

# CREATE EXTENSION, rolled back and not.
$dropper->sql('BEGIN; CREATE EXTENSION x_jobs');
$dropper->sql("SELECT x_jobs.enqueue('walk', dedupe => false)");
is($dropper->complaint, '', 'the transaction that creates the extension can use it');
$dropper->sql('ROLLBACK');
is( $server->safe_psql('postgres', "SELECT count(*) FROM pg_namespace WHERE nspname IN ('x_jobs', '_x_jobs')"),
	'0', 'a rolled-back CREATE EXTENSION leaves nothing');
$dropper->sql('BEGIN; SAVEPOINT p; CREATE EXTENSION x_jobs');
$dropper->sql("SELECT x_jobs.enqueue('walk', dedupe => false); ROLLBACK TO SAVEPOINT p; CREATE EXTENSION x_jobs");
$dropper->sql('COMMIT');
is($server->safe_psql('postgres', 'SELECT count(*) FROM x_jobs.all_jobs'), '0', 'made again after a rollback to a savepoint, it is empty');
walks($early,   'again', 'C-052 a session from before the drop works with the new tables');
walks($dropper, 'again', 'C-052 so does the one that dropped and made it');
$_->quit for $early, $dropper;

# Preloaded.
$server->safe_psql('postgres', "SELECT x_jobs.enqueue('kept', '1', 'kept', queue => 'kept')");
$before = fingerprint($server, 'postgres');
$server->append_conf('postgresql.conf', "shared_preload_libraries = 'x_jobs'");
$server->restart;
is_deeply(fingerprint($server, 'postgres'), $before, 'jobs are the same after a restart with preload');
my $worker = session($server);
is($worker->sql("SELECT idempotency_key FROM x_jobs.claim(ARRAY['kept'], 'w')"), 'kept', 'a claim finds what was made without preload');
walks($worker, 'preloaded', 'every verb works with preload');

# Two databases of one server do not see each other; one is a copy of the other, down to the oids of its tables.
$server->safe_psql('postgres', 'CREATE DATABASE first');
($status, $out, $err) = $server->psql('first', 'CREATE EXTENSION x_jobs');
is("$status|$err", '0|', 'no NOTICE with preload');
$server->safe_psql('first', "SELECT x_jobs.enqueue('work', to_jsonb(n), 'k' || n, queue => 'q') FROM generate_series(1, 3) AS n");
is( $server->safe_psql('first', "SELECT string_agg(idempotency_key, ' ') FROM x_jobs.claim(ARRAY['q'], 'w', 2)"),
	'k1 k2', 'the first database has handed out two jobs');
$server->safe_psql('postgres', 'CREATE DATABASE second TEMPLATE first');
is( $server->safe_psql('second', "SELECT string_agg(idempotency_key, ' ') FROM x_jobs.claim(ARRAY['q'], 'w', 5)"),
	'k3', 'a copy of the database has its own jobs');
$server->safe_psql('second', "SELECT x_jobs.enqueue('work', '0', 'k0', queue => 'q', run_at => '2001-01-01 00:00+00')");
is( $server->safe_psql('first', "SELECT string_agg(idempotency_key, ' ') FROM x_jobs.claim(ARRAY['q'], 'w', 5)"),
	'k3', 'and so has the original');
is( $server->safe_psql('second', "SELECT string_agg(idempotency_key, ' ') FROM x_jobs.claim(ARRAY['q'], 'w', 5)"),
	'k0', 'a job that sorts before everything claimed so far is found');

# A database dropped and made again starts empty, whatever the shared memory remembers of its name.
$worker->quit;
$server->safe_psql('postgres', 'DROP DATABASE first');
$server->safe_psql('postgres', 'CREATE DATABASE first');
$server->safe_psql('first', 'CREATE EXTENSION x_jobs');
my $again = session($server, database => 'first');
walks($again, 'q', 'every verb works in a database made anew');
$again->quit;

unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash in the log');

done_testing();
