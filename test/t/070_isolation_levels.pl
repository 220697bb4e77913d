# Workers that do all their work at REPEATABLE READ or SERIALIZABLE, four at a time on one queue. A claim reads the
# queue as it is now and takes part in no conflict detection, so neither a claim nor a settle ever fails to serialize;
# and every job is done exactly once, with its effect. If this failed, an application that runs at SERIALIZABLE would
# spend its time on retries of a queue that nobody's consistency depends on.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $jobs = 2_000;

my $server = new_server('levels', preload => 1);
$server->safe_psql('postgres', 'CREATE TABLE effects (client integer, job uuid, claim bigint)');

# A worker's turn, in the simple protocol, where pgbench puts its variables into the text. LEVEL is replaced below.
# The claim is a transaction of its own, the work and its settle are the next.
my $two_transactions = <<'SCRIPT';
BEGIN ISOLATION LEVEL LEVEL;
SELECT max(id::text) AS id, coalesce(max(claim), 0) AS claim FROM x_jobs.claim(ARRAY['q'], 'w:client_id', 1) \gset
COMMIT;
\if :claim > 0
BEGIN ISOLATION LEVEL LEVEL;
SELECT x_jobs.guard(':id', 'w:client_id', :claim);
SELECT x_jobs.heartbeat(':id', 'w:client_id', :claim);
INSERT INTO effects VALUES (:client_id, ':id', :claim);
SELECT x_jobs.ack(':id', 'w:client_id', :claim);
COMMIT;
\endif
SCRIPT

# All in one transaction; the first attempt is handed back, the second makes a follow-up; and a batch of follow-ups.
my $one_transaction = <<'SCRIPT';
BEGIN ISOLATION LEVEL LEVEL;
SELECT max(id::text) AS id, coalesce(max(claim), 0) AS claim FROM x_jobs.claim(ARRAY['q'], 'w:client_id', 1) \gset
\if :claim > 1
INSERT INTO effects VALUES (:client_id, ':id', :claim);
SELECT x_jobs.enqueue('follow-up', '1', 'after :id', queue => 'later');
SELECT x_jobs.ack(':id', 'w:client_id', :claim);
\elif :claim > 0
SELECT x_jobs.nack(':id', 'w:client_id', :claim, error => 'the first time never works');
\endif
COMMIT;
BEGIN ISOLATION LEVEL LEVEL;
SELECT count(x_jobs.ack(id, 'w:client_id', claim)) FROM x_jobs.claim(ARRAY['later'], 'w:client_id', 3);
COMMIT;
SCRIPT

my $run = 0;
for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	for my $way ([ 'two transactions', $two_transactions, 1 ], [ 'one transaction', $one_transaction, 2 ])
	{
		my ($name, $script, $rounds) = @$way;
		my $title = "X-21 $level, $name";
		my $turns = int($jobs * $rounds / 4) + 200;
		$run++;
		$server->safe_psql('postgres', 'TRUNCATE effects; DELETE FROM _x_jobs.jobs; DELETE FROM _x_jobs.history');
		$server->safe_psql('postgres',
			"SELECT count(*) FROM x_jobs.enqueue_many('work', array_fill('1'::jsonb, ARRAY[$jobs]), ARRAY(SELECT 'k' || n FROM generate_series(1, $jobs) AS n), queue => 'q')");
		$server->pgbench(
			"-n -M simple -c 4 -j 2 -t $turns", 0,
			[ qr/actually processed: \S+\nnumber of failed transactions: 0 \(0\.000%\)/, qr/number of transactions actually processed: @{[ 4 * $turns ]}\// ],
			[qr/^(?!.*ERROR)/s],
			"$title: no serialization failure and no error",
			{ "levels_$run" => $script =~ s/LEVEL LEVEL/LEVEL $level/gr });
		is($server->safe_psql('postgres', 'SELECT count(*), count(DISTINCT job) FROM effects'), "$jobs|$jobs", "$title: CLAIM-12 each job has one effect");
		is( $server->safe_psql('postgres', "SELECT state, count(*), count(DISTINCT id), max(claim) FROM x_jobs.all_jobs WHERE name = 'work' GROUP BY state"),
			"done|$jobs|$jobs|$rounds", "$title: each job is done, none was claimed more often than asked for");
		is( $server->safe_psql('postgres', "SELECT count(*), count(DISTINCT idempotency_key) FROM x_jobs.all_jobs WHERE name = 'follow-up'"),
			$rounds == 2 ? "$jobs|$jobs" : '0|0', "$title: each follow-up was made with its job's effect");
	}
}

# C-082: many sessions enqueue the same keys into new queues at once: one job each, and everybody gets its id.
for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	$run++;
	$server->safe_psql('postgres', 'DELETE FROM _x_jobs.jobs; DELETE FROM _x_jobs.history; DELETE FROM _x_jobs.queues; DROP TABLE IF EXISTS answers;
		CREATE TABLE answers (key integer, id uuid, deduped boolean)');
	$server->pgbench(
		'-n -M simple -c 16 -j 2 -t 60 -D turn=1', 0,
		[qr/actually processed: \S+\nnumber of failed transactions: 0 \(0\.000%\)/],
		[qr/^(?!.*ERROR)/s],
		"C-082 ENQ-16 $level: no error for anyone",
		{ "same_key_$run" => <<"SCRIPT" });
BEGIN ISOLATION LEVEL $level;
SELECT 'the snapshot is taken here';
INSERT INTO answers SELECT :turn, id, deduped FROM x_jobs.enqueue('work', '1', 'k:turn', queue => 'fresh :turn');
COMMIT;
\\set turn :turn + 1
SCRIPT
	is( $server->safe_psql('postgres', 'SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE NOT deduped), count(DISTINCT (key, id)) FROM answers'),
		'960|60|60|60', "C-082 ENQ-16 $level: one new job of each key, everybody else has its id");
	is($server->safe_psql('postgres', 'SELECT count(*), count(DISTINCT queue) FROM _x_jobs.queues'), '60|60', "C-082 $level: each queue was made once");
}

# ENQ-16: four producers of one key against the worker that settles its job, over and over.
$server->safe_psql('postgres', 'DELETE FROM _x_jobs.jobs; DELETE FROM _x_jobs.history; TRUNCATE answers');
$server->pgbench(
	'-n -M simple -c 5 -j 2 -t 800', 0,
	[qr/actually processed: \S+\nnumber of failed transactions: 0 \(0\.000%\)/],
	[qr/^(?!.*ERROR)/s],
	'ENQ-16 four producers against the ack of the holder: no error',
	{ 'holder' => <<'SCRIPT' });
\if :client_id = 0
SELECT count(x_jobs.ack(id, 'w', claim)) FROM x_jobs.claim(ARRAY['one'], 'w', 10);
\else
INSERT INTO answers SELECT :client_id, id, deduped FROM x_jobs.enqueue('work', '1', 'the key', queue => 'one');
\endif
SCRIPT
is($server->safe_psql('postgres', 'SELECT count(*), count(id) FROM answers'), '3200|3200', 'ENQ-16 every caller got an id');
is( $server->safe_psql('postgres', q{
	SELECT (SELECT count(*) FROM answers WHERE NOT deduped) = (SELECT count(*) FROM x_jobs.all_jobs),
	       (SELECT count(*) FROM answers WHERE NOT deduped) > 1,
	       (SELECT count(*) FROM answers a WHERE NOT EXISTS (SELECT FROM x_jobs.all_jobs j WHERE j.id = a.id)),
	       (SELECT count(*) FROM x_jobs.all_jobs WHERE state = 'ready') <= 1}),
	't|t|0|t', 'ENQ-16 each new job was made by one caller, and every answer names a job');
# Between the claim and the ack of one job no other of its key was made: their lives do not overlap.
is( $server->safe_psql('postgres', q{
	SELECT count(*) FROM (SELECT finished_at, lead(claimed_at) OVER (ORDER BY claimed_at) AS next_claim FROM x_jobs.all_jobs WHERE state = 'done') AS lives
	 WHERE next_claim < finished_at}),
	'0', 'ENQ-16 at most one live job of the key at any time');

$server->stop;
done_testing();
