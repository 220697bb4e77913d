# Calls that are cut short: by statement_timeout, by lock_timeout, by an operator's cancel, by the end of the session; at
# the start, in the middle of their work and at the commit. A verb that ended with an error has changed nothing, and
# the job can be claimed, renewed and settled as if it had never been called. If this failed, a server-wide timeout
# would leave jobs half settled, or taken by nobody.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my @ids = map { job_id($_) } 0 .. 9;

# Fresh jobs: 1 is held by w for long, 2 has lapsed, 3 has lapsed on its final attempt, 4 and 5 wait, 6 is a dead letter, 7 waits
# for later.
sub fresh
{
	my ($session) = @_;
	$session->sql('DELETE FROM _x_jobs.jobs; DELETE FROM _x_jobs.history; DELETE FROM _x_jobs.attempts;
		DELETE FROM _x_jobs.tally_0; DELETE FROM _x_jobs.tally_1; DELETE FROM _x_jobs.tally_2');
	for my $number (1 .. 7)
	{
		my $more = $number == 3 ? ', max_attempts => 1' : '';
		my $when = $number == 7 ? q{clock_timestamp() + '1 h'::interval} : "'2001-01-0$number 00:00+00'";
		my $queue = { 1 => 'held', 6 => 'dead' }->{$number} // 'q';
		$session->sql("SELECT x_jobs.enqueue('work', '1', 'k$number', queue => '$queue', run_at => $when, id => '$ids[$number]'$more)");
		$session->sql("SELECT x_jobs.claim(ARRAY['held'], 'w', visibility_timeout => '1 h')") if $number == 1;
		$session->sql("SELECT x_jobs.claim(ARRAY['q'], 'w', 2, visibility_timeout => '0')") if $number == 3;
		$session->sql("SELECT x_jobs.nack(id, 'w', claim, dead_letter => true) FROM x_jobs.claim(ARRAY['dead'], 'w')") if $number == 6;
	}
	return;
}

my $settlements = 'ARRAY[' . join(', ', map { "jsonb_populate_record(NULL::x_jobs.settlement, '{\"id\": \"$ids[$_]\", \"claim\": 1, \"verb\": \"ack\"}')" } 1, 2) . ']';

# Every verb that writes, with what it answers when nothing disturbs it.
my @verbs = (
	[ 'claim', q{SELECT string_agg(idempotency_key, ' ') FROM x_jobs.claim(ARRAY['q', 'held'], 'x', 10)}, 'k2 k4 k5' ],
	[ 'heartbeat', "SELECT x_jobs.heartbeat('$ids[1]', 'w', 1)", 't' ],
	[ 'heartbeat_many', "SELECT string_agg(held::text, ' ') FROM x_jobs.heartbeat_many(ARRAY['$ids[1]', '$ids[2]']::uuid[], 'w', ARRAY[1, 1]::bigint[])", 'true true' ],
	[ 'progress', "SELECT x_jobs.progress('$ids[1]', 'w', 1, 1, 2)", 't' ],
	[ 'ack', "SELECT x_jobs.ack('$ids[1]', 'w', 1, result => '{}')", 't' ],
	[ 'nack', "SELECT x_jobs.nack('$ids[1]', 'w', 1, error => 'e')", 't' ],
	[ 'a dead letter', "SELECT x_jobs.nack('$ids[1]', 'w', 1, error => 'e', dead_letter => true)", 't' ],
	[ 'fail', "SELECT landed FROM x_jobs.fail('$ids[1]', 'w', 1, 'e')", 't' ],
	[ 'release', "SELECT x_jobs.release('$ids[1]', 'w', 1)", 't' ],
	[ 'settle', "SELECT string_agg(landed::text, ' ') FROM x_jobs.settle($settlements, 'w')", 'true true' ],
	[ 'exchange', "SELECT string_agg(status || ' ' || idempotency_key, ', ') FROM x_jobs.exchange($settlements, ARRAY['q'], 'w', 2)", 'claimed k4' ],
	[ 'enqueue', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'new', queue => 'q')", 'f' ],
	[ 'enqueue into a new queue', "SELECT deduped FROM x_jobs.enqueue('work', '1', 'new', queue => 'brand new')", 'f' ],
	[ 'a replacement', "SELECT deduped FROM x_jobs.enqueue('work', '2', 'k4', queue => 'q', on_conflict => 'replace')", 't' ],
	[ 'enqueue_many', "SELECT count(*) FROM x_jobs.enqueue_many('work', ARRAY['1', '2']::jsonb[], ARRAY['n1', 'n2'], queue => 'q')", '2' ],
	[ 'cancel', "SELECT state FROM x_jobs.cancel('$ids[4]', 'r')", 'cancelled' ],
	[ 'requeue', "SELECT state FROM x_jobs.requeue('$ids[6]')", 'ready' ],
	[ 'remove', "SELECT state FROM x_jobs.remove('$ids[5]')", 'ready' ],
	[ 'remove of a finished job', "SELECT state FROM x_jobs.remove('$ids[6]')", 'dead' ],
	[ 'promote', "SELECT state FROM x_jobs.promote('$ids[7]')", 'ready' ],
	[ 'pause', "SELECT x_jobs.pause_queue('q') IS NOT NULL", 't' ],
	[ 'resume', "SELECT x_jobs.resume_queue('q')", 'f' ],
	[ 'a guarded write', "BEGIN; INSERT INTO ledger VALUES ('effect'); SELECT x_jobs.guard('$ids[1]', 'w', 1); COMMIT", '' ]);

my $server = new_server('timeouts', preload => 1);
$server->safe_psql('postgres', 'CREATE TABLE ledger (entry text)');
my $admin = session($server);
my $victim = session($server);
my @tables = split /\n/, $admin->sql(
	q{SELECT relname FROM pg_class WHERE relnamespace = '_x_jobs'::regnamespace AND relkind IN ('r', 'p')
	     AND relname IN ('jobs', 'history', 'tally_0', 'tally_1', 'tally_2', 'attempts', 'queues') ORDER BY 1});

# What the tables hold, in one line.
sub contents
{
	return $admin->sql(join ' UNION ALL ', map { "SELECT '$_', count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text)) FROM $_ AS t" }
		qw(_x_jobs.jobs _x_jobs.history _x_jobs.tally _x_jobs.attempts _x_jobs.queues ledger));
}

# 1. A table is locked, so that the verb stops wherever it first needs that table: some before they have begun, some when the
# row is already changed and only its record is missing. The leaves of the ring count as their parent.
$victim->sql("SET lock_timeout = '60ms'");
$admin->sql('SET client_min_messages = warning');
fresh($admin);
my %stopped;
for my $verb (@verbs)
{
	my ($name, $sql, $right) = @$verb;
	my @undisturbed;
	for my $table (@tables)
	{
		fresh($admin);
		$admin->sql('SELECT x_jobs.resume_queue(queue) FROM x_jobs.paused(); DELETE FROM ledger; DELETE FROM _x_jobs.queues WHERE queue = \'brand new\'');
		my $before = contents();
		$admin->sql("BEGIN; LOCK TABLE _x_jobs.$table IN ACCESS EXCLUSIVE MODE");
		my $answer = $victim->sql($sql);
		my $state = $victim->sqlstate;
		$victim->sql('ROLLBACK') if $sql =~ /BEGIN/;
		$admin->sql('ROLLBACK');
		if ($state eq '')
		{
			push @undisturbed, $table;
			next;
		}
		$stopped{$name}++;
		is($state, '55P03', "$name with $table locked: lock_timeout") or diag $victim->complaint;
		is(contents(), $before, "$name with $table locked: nothing is half done");
		is($victim->sql($sql) . $victim->sqlstate, $right, "$name with $table locked: works once the lock is gone");
	}
	note "$name does not need: @undisturbed";
	ok($stopped{$name}, "$name was stopped by at least one lock");
}

# 2. A row is locked: the verbs that name it wait, for as long as their timeouts allow.
for my $verb (grep { $_->[0] =~ /^(?:heartbeat|heartbeat_many|progress|ack|nack|a dead letter|fail|release|settle|a guarded write)$/ } @verbs)
{
	my ($name, $sql, $right) = @$verb;
	for my $way ('lock_timeout', 'statement_timeout', 'pg_cancel_backend', 'pg_terminate_backend')
	{
		# A guard waits in the commit, and the server switches statement_timeout off before a commit begins.
		next if $way eq 'statement_timeout' && $name eq 'a guarded write';
		fresh($admin);
		$admin->sql('DELETE FROM ledger');
		my $before = contents();
		my $cut = session($server);
		$admin->sql("BEGIN; SELECT id FROM _x_jobs.jobs WHERE id = '$ids[1]' FOR UPDATE");
		$cut->sql("SET $way = '60ms'") if $way =~ /timeout/;
		my $pid = $cut->pid;
		$cut->send($sql);
		if ($way =~ /backend/)
		{
			$server->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted AND pid = $pid");
			$admin->sql("SELECT $way($pid)");
		}
		$cut->result;
		my %code = (lock_timeout => '55P03', statement_timeout => '57014', pg_cancel_backend => '57014', pg_terminate_backend => '57P01');
		is($cut->sqlstate, $code{$way}, "C-100 $name on a locked row: $way") or diag $cut->complaint;
		$cut->quit;
		$admin->sql('ROLLBACK');
		is(contents(), $before, "C-100 $name on a locked row, $way: nothing is half done");
		is($admin->sql($sql) . $admin->sqlstate, $right, "C-100 $name on a locked row, $way: lands once the lock is gone");
	}
}

# 3. A claim of very many jobs is cut anywhere in its work. It has taken all or nothing, and the next claim finds everything.
fresh($admin);
my $many = 10_000;
$admin->sql("SELECT count(*) FROM x_jobs.enqueue_many('many', array_fill('1'::jsonb, ARRAY[$many]), dedupe => false, queue => 'many')");
my ($cut, $whole) = (0, 0);
$victim->sql("SET lock_timeout = 0");
for my $millis (1 .. 40)
{
	$victim->sql("SET statement_timeout = '${millis}ms'");
	my $taken = $victim->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'v', $many)");
	my $state = $victim->sqlstate;
	$victim->sql('SET statement_timeout = 0');
	if ($state eq '57014')
	{
		$cut++;
		my $running = $admin->sql("SELECT count(*) FROM x_jobs.all_jobs WHERE queue = 'many' AND state <> 'ready'");
		is($running, '0', "a claim cut after $millis ms took nothing") if $running ne '0';
		next;
	}
	$whole++;
	is($taken, $many, "a claim that was not cut after $millis ms took everything") if $taken ne $many;
	$admin->sql("SELECT count(x_jobs.release(id, 'v', claim)) FROM x_jobs.all_jobs WHERE queue = 'many'");
}
cmp_ok($cut, '>', 0, "statement_timeout in the middle of a claim: it was cut $cut times");
is($admin->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'z', $many)"), $many, 'and then one claim takes every job');

# The same by an operator's cancel, and by the end of the session.
for my $way ('pg_cancel_backend', 'pg_terminate_backend')
{
	$admin->sql("SELECT count(x_jobs.release(id, 'z', claim)) FROM x_jobs.all_jobs WHERE queue = 'many' AND worker_id = 'z'");
	my $hits = 0;
	for my $round (1 .. 10)
	{
		my $session = session($server);
		my $pid = $session->pid;
		$session->send("SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'z', $many)");
		wait_until(sub { $admin->sql("SELECT state = 'active' OR query LIKE '%claim%' FROM pg_stat_activity WHERE pid = $pid") eq 't' });
		$admin->sql("SELECT $way($pid)");
		$session->result;
		$hits++ if $session->sqlstate =~ /^57/;
		$session->abandon;
		wait_until(sub { $admin->sql("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND state = 'active'") eq '0' });
		my $counts = $admin->sql("SELECT string_agg(n::text, ' ') FROM (SELECT count(*) AS n FROM x_jobs.all_jobs WHERE queue = 'many' GROUP BY state) AS s");
		is($counts, $many, "$way in the middle of a claim: all or nothing") if $counts ne $many;
		$admin->sql("SELECT count(x_jobs.release(id, 'z', claim)) FROM x_jobs.all_jobs WHERE queue = 'many' AND worker_id = 'z'");
	}
	cmp_ok($hits, '>', 0, "$way in the middle of a claim: it was hit $hits times of 10");
	is($admin->sql("SELECT count(*) FROM x_jobs.claim(ARRAY['many'], 'z', $many)"), $many, "$way: and then one claim takes every job");
}

# 4. Waiting calls obey the timeouts too.
$victim->sql("SET statement_timeout = '200ms'; SET x_jobs.max_claim_wait = '60s'");
$victim->sql("SELECT * FROM x_jobs.claim(ARRAY['nothing'], 'v', wait => '30 s')");
is($victim->sqlstate, '57014', 'statement_timeout ends a waiting claim');
$victim->sql("CALL x_jobs.wait(ARRAY['nothing'], '30 s')");
is($victim->sqlstate, '57014', 'statement_timeout ends CALL wait');
$victim->sql('SET statement_timeout = 0');
is($victim->sql("SELECT deduped FROM x_jobs.enqueue('work', '1', 'after it', queue => 'nothing')"), 'f', 'the session goes on');
is($victim->sql("SELECT idempotency_key FROM x_jobs.claim(ARRAY['nothing'], 'v', wait => '30 s')"), 'after it', 'and claims as before');

# 5. A producer that waits for another's key.
$admin->sql("BEGIN; SELECT x_jobs.enqueue('work', '1', 'contended', queue => 'q')");
for my $way ('lock_timeout', 'statement_timeout')
{
	$victim->sql("SET $way = '60ms'");
	$victim->sql("SELECT x_jobs.enqueue('work', '1', 'contended', queue => 'q')");
	is($victim->sqlstate, $way eq 'lock_timeout' ? '55P03' : '57014', "ENQ-16 $way ends the wait for a key");
	$victim->sql("RESET $way");
}
$admin->sql('ROLLBACK');
is($victim->sql("SELECT deduped FROM x_jobs.enqueue('work', '1', 'contended', queue => 'q')"), 'f', 'ENQ-16 and the key is taken by the next');

$_->quit for $admin, $victim;
unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash in the log');
$server->stop;
done_testing();
