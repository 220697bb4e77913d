# A claim and a heartbeat change no indexed column, so they are heap-only updates: of all that eight clients do to
# 100,000 jobs by claiming and renewing them, at least 99 of 100 updates are. If this failed, every claim would write to
# three indexes, and they would bloat with the throughput.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $jobs = $ENV{XJOBS_HOT_JOBS} // 100_000;
my $clients = 8;
my $batch = 25;

my $server = new_server('hot', preload => 1, conf => "autovacuum = off\nmax_wal_size = '4GB'");
my $s = session($server);
$s->sql('CREATE TABLE held (n integer GENERATED ALWAYS AS IDENTITY, worker text, ids uuid[], claims bigint[])');
my $each = 10_000;
for my $part (1 .. $jobs / $each)
{
	$s->sql("SELECT count(*) FROM x_jobs.enqueue_many('work', ARRAY(SELECT jsonb_build_object('n', n) FROM generate_series(1, $each) AS n),
		ARRAY(SELECT '$part-' || n FROM generate_series(1, $each) AS n), queue => 'q')");
}
is($s->sql('SELECT count(*) FROM _x_jobs.jobs'), $jobs, "$jobs jobs wait");

sub clients_do
{
	my ($name, $turns, %scripts) = @_;
	$server->pgbench("-n -M simple -c $clients -j 2 -t $turns", 0, [qr/actually processed: \S+\nnumber of failed transactions: 0 \(0\.000%\)/], [qr/^(?!.*ERROR)/s], $name, \%scripts);
	$server->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pgbench'");
	my ($updates, $hot) = split /\|/, $s->sql("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = '_x_jobs' AND relname = 'jobs'");
	note sprintf '%s: %d updates so far, %.2f %% of them heap-only', $name, $updates, 100 * $hot / ($updates || 1);
	return ($updates, $hot);
}

# A worker takes a batch and notes it; a worker renews a batch that was noted, as it would after a third of the lease.
my $claim = <<"SCRIPT";
INSERT INTO held (worker, ids, claims)
SELECT 'w:client_id', array_agg(id), array_agg(claim) FROM x_jobs.claim(ARRAY['q'], 'w:client_id', $batch, visibility_timeout => '1 h') HAVING count(*) > 0;
SCRIPT
my $renew = <<'SCRIPT';
\set n random(1, :batches)
SELECT count(b.held) FROM held AS h, LATERAL x_jobs.heartbeat_many(h.ids, h.worker, h.claims, '1 h') AS b WHERE h.n = :n;
SCRIPT

# Half of the backlog is claimed; then the other half, while the first is being renewed; then all of it is renewed.
my $half = $jobs / $batch / 2;
clients_do('half of the jobs are claimed', $half / $clients, 'hot_1' => $claim);
my $batches = $s->sql('SELECT max(n) FROM held');
$s->sql('CREATE INDEX ON held (n)');
clients_do('the others are claimed while these are renewed', 2 * $half / $clients * 1.2, 'hot_2@1' => $claim, 'hot_3@1' => $renew =~ s/:batches/$batches/r);
my $left = $s->sql("SELECT count(*) FROM _x_jobs.jobs WHERE state = 'ready'");
clients_do('the last are claimed', int($left / $batch / $clients) + 2, 'hot_4' => $claim) if $left;
$batches = $s->sql('SELECT max(n) FROM held');
my ($updates, $hot) = clients_do('all are renewed', 2 * $half / $clients, 'hot_5' => $renew =~ s/:batches/$batches/r);

is($s->sql("SELECT count(*) FROM _x_jobs.jobs WHERE state = 'running' AND claim = 1 AND attempt = 1"), $jobs, 'CLAIM-12 every job was claimed, and once');
cmp_ok($updates, '>=', 2 * $jobs, "there were $updates updates");
cmp_ok($hot / $updates, '>=', 0.99, sprintf('CLAIM-9 HB-3 %d of them were heap-only: %.2f %%', $hot, 100 * $hot / $updates));

$s->quit;
$server->stop;
done_testing();
