# A streaming standby. It can be read; a claim or an enqueue there is refused as the server refuses every write. After
# its promotion it is a primary like any other, with what had been replicated, and claim ordinals jump to a range of
# the new timeline: a worker that still holds a claim of the old primary, which went on by itself, can never be taken
# for the holder of a claim of the new one. If this failed, two workers would own one job after a failover.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $first = job_id(1);
my $second = job_id(2);
my $third = job_id(3);

my $primary = new_server('primary', preload => 1, streaming => 1, conf => 'max_prepared_transactions = 5');
my $w = session($primary);
$w->sql("SELECT x_jobs.enqueue('work', '1', 'k' || n, queue => 'q', run_at => '2001-01-01 00:00+00'::timestamptz + n * '1 h'::interval, id => ('01890000-0000-7000-8000-00000000000' || n)::uuid)
	FROM generate_series(1, 6) AS n");
is($w->sql("SELECT string_agg(idempotency_key || ' ' || claim, ', ') FROM x_jobs.claim(ARRAY['q'], 'w', 2)"), 'k1 1, k2 1', 'X-10 ordinals start at 1');
$w->sql("SELECT x_jobs.heartbeat('$first', 'w', 1, '0'), x_jobs.nack('$second', 'w', 1, error => 'broken', dead_letter => true)");
is($w->sql("SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY['q'], 'w', 1, visibility_timeout => '0')"), 'k1|2', 'X-10 and grow by one');

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

# Everything after the backup arrives by replication.
$w->sql("SELECT x_jobs.enqueue('work', '1', 'late', queue => 'q', run_at => '2001-01-02 00:00+00')");
$w->sql("BEGIN; SELECT x_jobs.enqueue('work', '1', 'prepared', queue => 'q', run_at => '2001-01-03 00:00+00'); PREPARE TRANSACTION 'over the failover'");
$w->sql("BEGIN; SELECT x_jobs.enqueue('work', '1', 'never committed', queue => 'q')");
$primary->safe_psql('postgres', 'SELECT txid_current()');
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('insert'));

# Reading there.
my $look = q{SELECT string_agg(concat_ws(' ', idempotency_key, state, claim), ', ' ORDER BY id) FROM x_jobs.all_jobs};
my $r = session($standby);
my $there = $primary->safe_psql('postgres', $look);
is($r->sql($look), $there, 'C-070 the standby shows the same jobs');
for my $read (
	'SELECT * FROM x_jobs.stats()', 'SELECT done, failed, dead, retried FROM x_jobs.counter_totals()', 'SELECT count(*) FROM x_jobs.counters()', 'SELECT count(*) FROM x_jobs.jobs()', 'SELECT idempotency_key FROM x_jobs.dead_letters()', "SELECT idempotency_key, state FROM x_jobs.job('$first')",
	"SELECT count(*) FROM x_jobs.attempts('$second')", 'SELECT count(*) FROM x_jobs.paused()', 'SELECT x_jobs.version()')
{
	my $answer = $r->sql($read);
	is($r->complaint, '', "C-070 the standby answers $read");
	my $here = $primary->safe_psql('postgres', $read);
	s/\|[^|\n]*$// for ($answer, $here);    # the age of the oldest job goes on
	is($answer, $here, "C-070 as the primary does");
}

# Writing there.
for my $write (
	"SELECT * FROM x_jobs.claim(ARRAY['q'], 'w')", "SELECT * FROM x_jobs.claim(ARRAY['q'], 'w', wait => '1 h')", "SELECT x_jobs.enqueue('work', '1', 'k')",
	"SELECT x_jobs.enqueue_many('work', ARRAY['1']::jsonb[], ARRAY['k'])", "SELECT x_jobs.heartbeat('$first', 'w', 2)", "SELECT x_jobs.ack('$first', 'w', 2)",
	"SELECT x_jobs.nack('$first', 'w', 2)", "SELECT x_jobs.release('$first', 'w', 2)", "SELECT x_jobs.fail('$first', 'w', 2, 'e')", "SELECT x_jobs.cancel('$first')", "SELECT x_jobs.requeue('$second')",
	"SELECT x_jobs.remove('$third')", "SELECT x_jobs.pause_queue('q')", "SELECT x_jobs.resume_queue('q')", 'SELECT x_jobs.maintain()')
{
	$r->sql($write);
	is($r->sqlstate, '25006', "C-070 $write is refused on the standby as every write is") or diag $r->complaint;
}
is($r->sql($look), $there, 'C-070 and the standby is as it was');

# A read-only transaction on the primary is refused in the same way.
my $ro = session($primary);
$ro->sql('BEGIN READ ONLY');
$ro->sql("SELECT * FROM x_jobs.claim(ARRAY['q'], 'w')");
is($ro->sqlstate, '25006', 'C-070 a claim in a read-only transaction is refused');
$ro->sql('ROLLBACK; BEGIN READ ONLY');
$ro->sql("SELECT x_jobs.enqueue('work', '1', 'k')");
is($ro->sqlstate, '25006', 'C-070 so is an enqueue');
$ro->quit;

# The standby is promoted while the primary lives on: two worlds. A session that was there before the promotion goes on.
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or BAIL_OUT('the standby was not promoted');
my $old = $w;
$old->sql('ROLLBACK');
is($old->sql("SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY['q'], 'w', 1, visibility_timeout => '1 h')"), 'k1|3', 'X-10 the old primary goes on as before');
my $jumped = 4_294_967_297;
my $token = $r->sql("SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY['q'], 'w', 1, visibility_timeout => '1 h')");
like($token, qr/^k1\|\d+$/, 'X-10 the promoted standby hands out the same job, also to a session of before the promotion');
my ($ordinal) = $token =~ /(\d+)$/;
cmp_ok($ordinal, '>=', $jumped, 'X-10 under an ordinal of the new timeline');
is($r->sql("SELECT x_jobs.heartbeat('$first', 'w', 3), x_jobs.ack('$first', 'w', 3), x_jobs.nack('$first', 'w', 3), x_jobs.progress('$first', 'w', 3, 1, 2)"), 'f|f|f|f',
	'X-10 the claim made on the old primary does not match on the new one');
is($old->sql("SELECT x_jobs.heartbeat('$first', 'w', $ordinal), x_jobs.ack('$first', 'w', $ordinal)"), 'f|f', 'X-10 nor the other way round');
is($r->sql("SELECT x_jobs.ack('$first', 'w', $ordinal)"), 't', 'X-10 the holder on the new primary settles it');

# Jobs that never were claimed start in the new range as well, and grow by one there.
my $claims = $r->sql("SELECT string_agg(idempotency_key || ' ' || (claim >= $jumped), ', ') FROM x_jobs.claim(ARRAY['q'], 'w', 10, visibility_timeout => '0')");
like($claims, qr/\bk3 true\b/, 'X-10 a first claim on the new primary is of its timeline') or diag $claims;
unlike($claims, qr/false/, 'X-10 so is every other');
my $before = $r->sql("SELECT claim FROM x_jobs.all_jobs WHERE id = '$third'");
$r->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', 10, visibility_timeout => '0')");
is($r->sql("SELECT claim - $before FROM x_jobs.all_jobs WHERE id = '$third'"), '1', 'X-10 they go on growing by one');
like($claims, qr/\blate\b/, 'C-070 what was enqueued before the failover is found');
unlike($claims, qr/prepared|never/, 'C-070 and nothing that was not committed');
$r->sql("COMMIT PREPARED 'over the failover'");
is($r->complaint, '', 'C-070 a transaction prepared on the old primary is committed on the new one');
is($r->sql("SELECT string_agg(idempotency_key, ' ') FROM x_jobs.claim(ARRAY['q'], 'v', 10) WHERE idempotency_key = 'prepared'"), 'prepared', 'C-070 and its job is claimed at once');

# Everything else works there.
is($r->sql("SELECT deduped FROM x_jobs.enqueue('work', '1', 'brand new', queue => 'new')"), 'f', 'C-070 the new primary takes jobs');
is($r->sql("SELECT state FROM x_jobs.requeue('$second')"), 'ready', 'C-070 and requeues one that ended on the old');
is($r->sql('SELECT bool_and(affected >= 0) FROM x_jobs.maintain()'), 't', 'C-070 and upkeep runs there');

# One more failover, to the third timeline.
$r->quit;
$old->quit;
$primary->stop('immediate');
$standby->append_conf('postgresql.conf', "restore_command = 'false'");
$standby->stop;
$standby->set_standby_mode;
$standby->adjust_conf('postgresql.conf', 'primary_conninfo', undef);
$standby->start;
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or BAIL_OUT('the standby was not promoted again');
cmp_ok($standby->safe_psql('postgres', "SELECT claim FROM x_jobs.claim(ARRAY['new'], 'w')"), '>=', 8_589_934_593, 'X-10 the third timeline has a range of its own');
unlike(slurp_file($standby->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash in the log');
$standby->stop;

done_testing();
