# Where shared memory has an end, or begins anew: more queues than slots, more leases than entries, crashes, databases
# with equal names. If this failed, the jobs of the one queue too many would never be found, or those of a worker that
# died before the server did.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Heads;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = heads_server('heads_limits', conf => "x_jobs.max_queues = 1\nx_jobs.max_leases = 16");
my $one = session($server);
my $two = session($server);

# One slot for several queues.
my $name = 'more queues than slots';
my @queues = map { "many $_" } 1 .. 5;
takes($one, $_) for @queues;
is(places($_), $_ eq $queues[0] ? 'closed' : 'unknown', "$name: $_") for @queues;
for my $round (1 .. 3)
{
	put($one, $_, "a$round", "b$round") for @queues;
	quietly($two, 'BEGIN');
	is(takes($two, $_, max => 1), "a$round", "$name: claimed, round $round") for @queues;
	quietly($two, 'ROLLBACK');
	is(takes($one, $_, max => 1), "a$round", "$name: found after the rollback, round $round") for @queues;
	my $list = join ', ', map { "'$_'" } @queues;
	is($one->sql("SELECT count(*) FROM x_jobs.claim(ARRAY[$list], 'w', 100)"), '5', "$name: in one claim, round $round");
	finds_nothing($_, "$name: nothing more, round $round") for @queues;
}
is(shifted('2 h', $_), 'a1 a2 a3 b1 b2 b3', "$name: lapses") for @queues;

# The slot goes to another queue once it has not been used for a while; what was noted for its old owner is stale then.
$name = 'a slot that changes its owner';
quietly($one, enqueue('many 1', 'late'));
quietly($two, 'BEGIN', enqueue('many 1', 'later'));
is(takes($one, 'many 1', lease => '1 h'), 'late', "$name: claimed");
ok(wait_until(sub { takes($one, 'new owner'); places('new owner') ne 'unknown' }), "$name: after a while");
is(places('many 1'), 'unknown', "$name: the old owner has none");
quietly($two, 'COMMIT');
finds('many 1', 'later', $name);
is(shifted('2 h', 'many 1', names => 'work'), 'late later', "$name: and its lapses");
quietly($one, enqueue('new owner', 'a'));
finds('new owner', 'a', "$name: the new one has its own");
ok(wait_until(sub { takes($one, 'many 1'); places('many 1') ne 'unknown' }), "$name: and back again");
is(shifted('8 h', 'new owner'), 'a', "$name: the lapse of the second");

$name = 'a lease shortened while its queue gets another slot';
my %ids = put($one, 'many 1', 'b');
is(takes($one, 'many 1', lease => '5 h'), 'b', "$name: claimed");
quietly($two, 'BEGIN', "SELECT x_jobs.heartbeat('$ids{b}', 'w', 1, '1 h')");
ok(wait_until(sub { takes($one, 'new owner'); places('new owner') ne 'unknown' }), "$name: after a while");
ok(wait_until(sub { takes($one, 'many 1'); places('many 1') ne 'unknown' }), "$name: and back again");
finds_nothing('many 1', "$name: held as before");
quietly($two, 'COMMIT');
is(shifted('2 h', 'many 1'), 'b', "$name: found at the new end");

# Leases beyond the room for them.
$name = 'more leases than entries';
ok(wait_until(sub { takes($one, 'crowd'); places('crowd') ne 'unknown' }), "$name: a queue with a slot");
scatter($one, 'crowd', 100);
is(quietly($one, q{SELECT count(*) FROM x_jobs.claim(ARRAY['crowd'], 'w', 40, visibility_timeout => '1 h')}), '40', "$name: forty for an hour");
is(quietly($one, q{SELECT count(*) FROM x_jobs.claim(ARRAY['crowd'], 'w', 60, visibility_timeout => '3 h')}), '60', "$name: sixty for three");
finds_nothing('crowd', "$name: no more");
is_closed('crowd', $name);
my $shifting = session($server);
sub count_at
{
	my ($offset, $lease) = @_;
	return quietly($shifting, "SET x_jobs.test_clock_offset = '$offset'",
		"SELECT count(*) FROM x_jobs.claim(ARRAY['crowd'], 's', 1000, visibility_timeout => '$lease')");
}
is(count_at('2 h', '10 h'), '40', "$name: the forty lapse");
is(count_at('2 h', '10 h'), '0', "$name: once");
quietly($one, q{SELECT x_jobs.heartbeat(id, 'w', claim, '8 h') FROM _x_jobs.jobs WHERE queue = 'crowd' AND claimed_by = 'w' ORDER BY id LIMIT 20});
is(count_at('4 h', '10 h'), '40', "$name: of the sixty those that were not kept alive");
is(count_at('9 h', '10 h'), '20', "$name: then those too");
is(count_at('13 h', '0'), '40', "$name: and the first again");
is(count_at('13 h', '0'), '40', "$name: which have lapsed at once");

# The same, rolled back: no watch may be lost with the transaction.
$name = 'more leases than entries, rolled back';
quietly($one, 'BEGIN');
is(quietly($one, q{SELECT count(*) FROM x_jobs.claim(ARRAY['crowd'], 'w', 1000, visibility_timeout => '1 h')}), '0', "$name: nothing is free today");
quietly($one, 'ROLLBACK');
is(count_at('100 h', '1 h'), '100', "$name: all lapse");
quietly($shifting, 'BEGIN');
is(count_at('102 h', '1 h'), '100', "$name: claimed again");
quietly($shifting, 'ROLLBACK');
is(count_at('102 h', '1 h'), '100', "$name: and found after the rollback");

# Crashes.
for my $how ('immediate', 'fast')
{
	$name = "a $how stop";
	quietly($one, 'DELETE FROM _x_jobs.jobs');
	put($one, 'crash', 'ready', 'lapsing', 'held');
	$two->sql('ROLLBACK');
	quietly($two, 'BEGIN', enqueue('crash', 'prepared'), "PREPARE TRANSACTION 'crash $how'");
	quietly($one, 'BEGIN');
	is(takes($one, 'crash', max => 1), 'ready', "$name: claimed by a transaction that is cut off");
	is(takes($two, 'crash', max => 1, lease => '1 h'), 'lapsing', "$name: for an hour");
	is(takes($two, 'crash', max => 1, lease => '9 h'), 'held', "$name: for nine");
	$server->stop($how);
	$_->abandon for $one, $two, $shifting;
	$server->start;
	use_server($server);
	($one, $two, $shifting) = map { session($server) } 1 .. 3;
	finds('crash', 'ready', "$name: what the cut off transaction held");
	is_closed('crash', "$name, then");
	quietly($two, "COMMIT PREPARED 'crash $how'");
	finds('crash', 'prepared', "$name: what was prepared before");
	is(shifted('2 h', 'crash'), 'ready lapsing prepared', "$name: leases from before lapse, and from after");
	is(shifted('10 h', 'crash'), 'ready lapsing held prepared', "$name: all of them");
}

# A worker that outlived the server shortens its lease while the first claim after the start makes the queue's slot.
$name = 'a lease shortened while its queue has no slot';
quietly($one, 'DELETE FROM _x_jobs.jobs');
%ids = put($one, 'slotless', 'a');
is(takes($one, 'slotless', lease => '5 h'), 'a', "$name: claimed");
$server->stop('fast');
$_->abandon for $one, $two, $shifting;
$server->start;
use_server($server);
($one, $two, $shifting) = map { session($server) } 1 .. 3;
quietly($two, 'BEGIN', "SELECT x_jobs.heartbeat('$ids{a}', 'w', 1, '1 h')");
finds_nothing('slotless', "$name: held as before");
quietly($two, 'COMMIT');
is(shifted('2 h', 'slotless'), 'a', "$name: found at the new end");

# A backend that dies without a word: the server begins anew by itself.
$name = 'a backend that is killed';
quietly($one, 'DELETE FROM _x_jobs.jobs');
$server->append_conf('postgresql.conf', 'restart_after_crash = on');
$server->reload;
put($one, 'killed', 'a', 'b');
is(takes($one, 'killed', max => 1, lease => '1 h'), 'a', "$name: one is held");
quietly($two, 'BEGIN');
is(takes($two, 'killed'), 'b', "$name: one is held by a transaction");
kill 'KILL', $two->pid;
$server->poll_query_until('postgres', 'SELECT true') or BAIL_OUT('the server did not come back');
gone($two->pid);
ok(wait_until(sub { $server->psql('postgres', 'SELECT 1') == 0 }), "$name: the server is back");
$_->abandon for $one, $two, $shifting;
use_server($server);
($one, $two, $shifting) = map { session($server) } 1 .. 3;
finds('killed', 'b', $name);
is(shifted('2 h', 'killed'), 'a b', "$name: and the lapses");

# Databases with equal names.
$server->safe_psql('postgres', 'CREATE DATABASE second');
$server->safe_psql('second', 'CREATE EXTENSION x_jobs');
$server->append_conf('postgresql.conf', 'x_jobs.max_queues = 100');
$server->restart;
$_->abandon for $one, $two, $shifting;
use_server($server);
$one = session($server);
my $abroad = session($server, database => 'second');
$name = 'two databases';
is(takes($one, 'same'), '', "$name: nothing here");
is(takes($abroad, 'same'), '', "$name: nothing there");
is_closed('same', $name);
my %here = put($one, 'same', 'here');
put($abroad, 'same', 'there');
is(takes($abroad, 'same', lease => '1 h'), 'there', "$name: there");
finds('same', 'here', "$name: here");
quietly($one, "SELECT x_jobs.nack('$here{here}', 'finder', 1)");
is(takes($abroad, 'same'), '', "$name: no more there");
finds('same', 'here', "$name: here again");
is(shifted('2 h', 'nothing'), '', "$name: a claim here");
quietly($abroad, q{SET x_jobs.test_clock_offset = '2 h'});
is(takes($abroad, 'same'), 'there', "$name: does not lose the lapse there");

# A database made from one that has jobs brings them along.
$name = 'a database from a template';
$_->quit for $one, $abroad;
use_server($server);
$server->safe_psql('second', enqueue('copied', 'a'));
$server->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE second');
use_server($server, database => 'copy');
finds('copied', 'a', $name);
use_server($server, database => 'second');
finds('copied', 'a', "$name: the original too");

done_testing();
