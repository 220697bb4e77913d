# Savepoints and exception blocks around the verbs. What a rolled-back subtransaction enqueued, claimed, settled or
# guarded is undone, what a released one did stands and falls with its parent, and the jobs that became free again
# are found by the next claim, in the same transaction and in others. If this failed, a handler that catches an
# error would settle a job that it did not do, or leave one that nobody finds.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $first = job_id(10);
my $claim = q{SELECT string_agg(idempotency_key || ' ' || claim, ', ') FROM x_jobs.claim(ARRAY['q'], 'x', 10)};
my $keys = q{SELECT string_agg(concat_ws(' ', idempotency_key, state), ', ' ORDER BY idempotency_key, state) FROM x_jobs.all_jobs};

for my $preload (1, 0)
{
	my $how = $preload ? 'preloaded' : 'not preloaded';
	my $server = new_server("subtransactions_$preload", preload => $preload);
	my $s = session($server);
	my $other = session($server);

	my $case = sub {
		my ($name, $jobs, @steps) = @_;
		$s->sql('DELETE FROM _x_jobs.jobs; DELETE FROM _x_jobs.history; DELETE FROM _x_jobs.attempts;
			DELETE FROM _x_jobs.tally_0; DELETE FROM _x_jobs.tally_1; DELETE FROM _x_jobs.tally_2');
		my $number = 10;
		for my $key (split / /, $jobs)
		{
			$s->sql("SELECT x_jobs.enqueue('work', '1', '$key', queue => 'q', run_at => '2001-01-01 00:00+00'::timestamptz + '$number h'::interval, id => '"
				. job_id($number++) . "')");
		}
		while (my ($sql, $right) = splice @steps, 0, 2)
		{
			my $who = $sql =~ s/^other: // ? $other : $s;
			my $seen = $who->sql($sql);
			$seen .= $who->sqlstate;
			is($seen, $right, "$how: $name: $sql") if defined $right;
			diag $who->complaint if defined $right && $seen ne $right;
		}
	};

	# Enqueue.
	$case->('enqueue', '',
		'BEGIN; SAVEPOINT p', '',
		"SELECT deduped FROM x_jobs.enqueue('work', '1', 'k', queue => 'q')", 'f',
		"SELECT deduped FROM x_jobs.enqueue('work', '1', 'k', queue => 'q')", 't',
		'ROLLBACK TO p', '',
		$claim, '',
		"SELECT deduped FROM x_jobs.enqueue('work', '1', 'k', queue => 'q')", 'f',
		'RELEASE p', '',
		"SELECT deduped FROM x_jobs.enqueue('work', '1', 'k', queue => 'q')", 't',
		"other: $claim", '',
		'COMMIT', '',
		"other: $claim", 'k 1');
	$case->('enqueue, nested', '',
		'BEGIN; SAVEPOINT outer_one', '',
		"SELECT deduped FROM x_jobs.enqueue('work', '1', 'k1', queue => 'q')", 'f',
		'SAVEPOINT inner_one', '',
		"SELECT deduped FROM x_jobs.enqueue('work', '1', 'k2', queue => 'q')", 'f',
		'RELEASE inner_one; ROLLBACK TO outer_one', '',
		"SELECT deduped FROM x_jobs.enqueue('work', '1', 'k3', queue => 'q')", 'f',
		'COMMIT', '',
		"other: $claim", 'k3 1');
	$case->('enqueue, inner rolled back', '',
		"BEGIN; SAVEPOINT one; SELECT x_jobs.enqueue('work', '1', 'k1', queue => 'q', run_at => '2001-01-02 00:00+00')", undef,
		"SAVEPOINT two; SELECT x_jobs.enqueue('work', '1', 'k2', queue => 'q', run_at => '2001-01-01 00:00+00')", undef,
		'ROLLBACK TO two; RELEASE one; COMMIT', '',
		"other: $claim", 'k1 1');

	# Claim.
	$case->('claim', 'a b',
		'BEGIN; SAVEPOINT p', '',
		"SELECT idempotency_key FROM x_jobs.claim(ARRAY['q'], 'w', 1)", 'a',
		"other: $claim", 'b 1',
		'ROLLBACK TO p', '',
		"SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY['q'], 'w', 1)", 'a|1',
		'ROLLBACK TO p', '',
		"other: $claim", 'a 1',
		'COMMIT', '',
		$keys, 'a running, b running');
	$case->('claim, released then rolled back', 'a b',
		"BEGIN; SAVEPOINT one; SAVEPOINT two; SELECT x_jobs.claim(ARRAY['q'], 'w', 5); RELEASE two", undef,
		"other: $claim", '',
		'ROLLBACK TO one', '',
		"other: $claim", 'a 1, b 1',
		'COMMIT', '');
	$case->('claim, whole transaction rolled back after a release', 'a b',
		"BEGIN; SAVEPOINT one; SELECT x_jobs.claim(ARRAY['q'], 'w', 1); RELEASE one; SAVEPOINT two; SELECT x_jobs.claim(ARRAY['q'], 'w', 1)", undef,
		"other: $claim", '',
		'ROLLBACK', '',
		"other: $claim", 'a 1, b 1');
	$case->('enqueue and claim in one transaction', '',
		"BEGIN; SELECT x_jobs.enqueue('work', '1', 'k', queue => 'q', id => '$first')", undef,
		"SAVEPOINT p; SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY['q'], 'w')", 'k|1',
		"SELECT x_jobs.ack('$first', 'w', 1)", 't',
		'ROLLBACK TO p', '',
		"SELECT idempotency_key, claim FROM x_jobs.claim(ARRAY['q'], 'w')", 'k|1',
		"SELECT x_jobs.ack('$first', 'w', 1)", 't',
		'COMMIT', '',
		$keys, 'k done');

	# Settle.
	for my $settle ("SELECT x_jobs.ack('$first', 'w', 1)", "SELECT x_jobs.nack('$first', 'w', 1)", "SELECT x_jobs.release('$first', 'w', 1)",
		"SELECT landed FROM x_jobs.fail('$first', 'w', 1, 'no')", "SELECT x_jobs.nack('$first', 'w', 1, dead_letter => true)",
		"SELECT landed FROM x_jobs.settle(ARRAY[jsonb_populate_record(NULL::x_jobs.settlement, '{\"id\": \"$first\", \"claim\": 1, \"verb\": \"ack\"}')], 'w')")
	{
		$case->('settle', 'a',
			"SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w')", '1',
			'BEGIN; SAVEPOINT p', '',
			$settle, 't',
			$settle, 'f',
			'ROLLBACK TO p', '',
			$keys, 'a running',
			"SELECT x_jobs.heartbeat('$first', 'w', 1)", 't',
			'RELEASE p', '',
			$settle, 't',
			'COMMIT', '',
			$settle, 'f',
			"SELECT count(*) FROM x_jobs.all_jobs WHERE id = '$first'", '1');
	}
	$case->('an ack that is undone counts nothing', 'a',
		"SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', visibility_timeout => '0')", '1',
		"BEGIN; SAVEPOINT p; SELECT x_jobs.ack('$first', 'w', 1); ROLLBACK TO p; COMMIT", 't',
		'SELECT count(*) FROM _x_jobs.tally', '0',
		"other: $claim", 'a 2');
	$case->('cancel and requeue', 'a',
		'BEGIN; SAVEPOINT p', '',
		"SELECT state FROM x_jobs.cancel('$first')", 'cancelled',
		"SELECT state FROM x_jobs.requeue('$first')", 'ready',
		'ROLLBACK TO p', '',
		"SELECT state FROM x_jobs.cancel('$first')", 'cancelled',
		'SAVEPOINT r', '',
		"SELECT state FROM x_jobs.requeue('$first')", 'ready',
		'ROLLBACK TO r', '',
		'COMMIT', '',
		$keys, 'a cancelled',
		"other: $claim", '',
		"SELECT state FROM x_jobs.requeue('$first')", 'ready',
		"other: $claim", 'a 1');

	# Guard.
	$case->('guard', 'a',
		"SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', visibility_timeout => '0')", '1',
		"BEGIN; SELECT txid_current() > 0", 't',
		"SAVEPOINT p; SELECT x_jobs.guard('$first', 'w', 1); ROLLBACK TO p", '',
		"other: $claim", 'a 2',
		'COMMIT', '');
	$case->('X-20 guard, released', 'a',
		"SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', visibility_timeout => '0')", '1',
		"BEGIN; SELECT txid_current() > 0", 't',
		"SAVEPOINT p; SAVEPOINT q; SELECT x_jobs.guard('$first', 'w', 1); RELEASE q; RELEASE p", '',
		"other: $claim", 'a 2',
		'COMMIT', 'XJ102');
	$case->('X-20 guard, the ack that held it rolled back', 'a',
		"SELECT count(*) FROM x_jobs.claim(ARRAY['q'], 'w', visibility_timeout => '0')", '1',
		"BEGIN; SELECT x_jobs.guard('$first', 'w', 1)", '',
		"SAVEPOINT p; SELECT x_jobs.ack('$first', 'w', 1); ROLLBACK TO p", 't',
		"other: $claim", 'a 2',
		'SELECT txid_current() > 0', 't',
		'COMMIT', 'XJ102');

	# Exception blocks, as a handler in PL/pgSQL has them.
	$case->('exception blocks', 'a b',
		q{DO $$
		DECLARE
			held x_jobs.claimed_job;
		BEGIN
			FOR n IN 1 .. 2 LOOP
				BEGIN
					SELECT * INTO held FROM x_jobs.claim(ARRAY['q'], 'w');
					PERFORM x_jobs.enqueue('work', '1', 'made by ' || held.idempotency_key, queue => 'made');
					PERFORM x_jobs.ack(held.id, 'w', held.claim);
					PERFORM 1 / (n - 1);
				EXCEPTION WHEN division_by_zero THEN
					NULL;
				END;
			END LOOP;
		END $$}, '',
		$keys, 'a done, b ready, made by a ready');
	$case->('an error of the library inside an exception block', '',
		q{DO $$ BEGIN
			BEGIN
				PERFORM x_jobs.enqueue('work', '1', 'k', queue => 'q');
				PERFORM x_jobs.enqueue('work', '1', 'k', queue => 'q', on_conflict => 'error');
			EXCEPTION WHEN SQLSTATE 'XJ003' THEN
				PERFORM x_jobs.enqueue('work', '1', 'other', queue => 'q');
			END;
		END $$}, '',
		"other: $claim", 'other 1');

	# Many subtransactions: more than the server keeps in memory for one session.
	$case->('three hundred savepoints', '',
		q{DO $$ BEGIN
			FOR n IN 1 .. 300 LOOP
				BEGIN
					PERFORM x_jobs.enqueue('work', '1', 'many ' || n, queue => 'q');
					IF n % 3 = 0 THEN RAISE EXCEPTION SQLSTATE 'UU001'; END IF;
				EXCEPTION WHEN SQLSTATE 'UU001' THEN NULL;
				END;
			END LOOP;
		END $$}, '',
		"other: SELECT count(*), count(*) FILTER (WHERE replace(idempotency_key, 'many ', '')::integer % 3 = 0) FROM x_jobs.claim(ARRAY['q'], 'x', 1000)", '200|0');

	# A claim and its settlement in one statement.
	$case->('claim and ack in one statement', 'a b c',
		"SELECT string_agg(idempotency_key || ' ' || x_jobs.ack(id, 'w', claim), ', ') FROM x_jobs.claim(ARRAY['q'], 'w', 2)", 'a true, b true',
		$keys, 'a done, b done, c ready');

	$_->quit for $s, $other;
	unlike(slurp_file($server->logfile), qr/PANIC|TRAP|terminated by signal/, "$how: no crash in the log");
	$server->stop;
}

done_testing();
