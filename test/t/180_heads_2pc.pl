# Two-phase commit and the places of a queue: what was prepared is nobody's until it is decided, by whatever session, and
# then it is found. If this failed, a job committed in two phases would lie in the table, and no worker would look there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Heads;
use JobServer;
use PostgreSQL::Test::Utils;
use Test::More;

my $server = heads_server('heads_2pc');
my ($one, $two, $decider) = map { session($server) } 1 .. 3;

# What is prepared, of a queue with the lapsed job `lapsed`, the waiting job `ready` and the job `held` for an hour; what
# a claim finds after COMMIT PREPARED, after ROLLBACK PREPARED, and two hours later beside these.
for my $case (
	[ 'an enqueue', [ enqueue('QUEUE', 'new', "run_at => '" . at(2) . "'") ], 'new', '', 'held', 'held' ],
	[ 'an enqueue in a released savepoint', [ 'SAVEPOINT s', enqueue('QUEUE', 'new'), 'RELEASE s' ], 'new', '', 'held', 'held' ],
	[ 'a claim', [ claim_of('QUEUE', max => 2) ], '', 'lapsed ready', 'lapsed ready held', 'held', free => 1 ],
	[ 'a claim in a released savepoint', [ 'SAVEPOINT s', claim_of('QUEUE', max => 2), 'RELEASE s' ], '', 'lapsed ready', 'lapsed ready held', 'held', free => 1 ],
	[ 'an ack of the lapsed job', [ q{SELECT x_jobs.ack('LAPSED', 'w', 1)}, claim_of('QUEUE', names => 'nothing') ], '', 'lapsed', 'held', 'held', free => 'ready' ],
	[ 'a nack of the lapsed job', [ q{SELECT x_jobs.nack('LAPSED', 'w', 1)} ], 'lapsed', 'lapsed', 'held', 'held', free => 'ready' ],
	[ 'a heartbeat of the lapsed job', [ q{SELECT x_jobs.heartbeat('LAPSED', 'w', 1, '90 min')} ], '', 'lapsed', 'lapsed held', 'held', free => 'ready' ],
	[ 'a heartbeat of the held job', [ q{SELECT x_jobs.heartbeat('HELD', 'holder', 1, '5 h')} ], '', '', '', 'held' ],
	[ 'an ack of the held job', [ q{SELECT x_jobs.ack('HELD', 'holder', 1)} ], '', '', '', 'held' ],
	[ 'a nack of the held job', [ q{SELECT x_jobs.nack('HELD', 'holder', 1)} ], 'held', '', '', 'held' ],
	[ 'a cancel of the waiting job', [ q{SELECT x_jobs.cancel('READY')}, claim_of('QUEUE', names => 'nothing') ], '', 'ready', 'held', 'held', free => 'lapsed' ],
	[ 'a guard of the lapsed job', [ q{SELECT x_jobs.guard('LAPSED', 'w', 1)}, 'CREATE TABLE noted()', 'DROP TABLE noted' ], 'lapsed', 'lapsed', 'held', 'held', free => 'ready' ])
{
	my ($what, $statements, $committed, $rolled_back, $later_committed, $later_rolled_back, %options) = @$case;
	for my $end ('COMMIT', 'ROLLBACK')
	{
		my $name = "$what, $end PREPARED";
		my $queue = closed_queue($name);
		my %ids = put($one, $queue, 'held', 'lapsed');
		is(takes($one, $queue, max => 1, lease => '1 h', worker => 'holder'), 'held', "$name: held");
		is(takes($one, $queue, max => 1, lease => '0'), 'lapsed', "$name: lapsed");
		# Behind the lapsed one.
		quietly($one, enqueue($queue, 'ready', "run_at => '" . at(15) . "'", "id => '" . ($ids{ready} = job_id($ids{held} =~ /(....)$/ ? 0x990000 + hex $1 : 0)) . "'"));
		quietly($two, 'BEGIN');
		for my $statement (@$statements)
		{
			(my $sql = $statement) =~ s/QUEUE/$queue/g;
			$sql =~ s/'(HELD|LAPSED|READY)'/"'" . $ids{lc $1} . "'"/e;
			quietly($two, $sql);
		}
		quietly($two, q{PREPARE TRANSACTION 'p'});
		my $free = $options{free} // 'lapsed ready';
		finds($queue, $free eq '1' ? '' : $free, "$name: what is free meanwhile");
		quietly($decider, "$end PREPARED 'p'");
		finds($queue, $end eq 'COMMIT' ? $committed : $rolled_back, $name);
		# Whatever was taken above is held for an hour too.
		my %later = map { $_ => 1 } split / /, join ' ', $end eq 'COMMIT' ? $later_committed : $later_rolled_back, $free eq '1' ? '' : $free,
			$end eq 'COMMIT' ? $committed : $rolled_back;
		is(join(' ', sort split / /, shifted('2 h', $queue)), join(' ', sort grep { $_ ne '' } keys %later), "$name: what lapses later");
	}
}

# An end that another session waits for, and a crash between the two phases.
my $name = 'a crash between the phases';
my %queues = map { $_ => closed_queue($name) } 'enqueue', 'claim';
put($one, $queues{claim}, 'a', 'b');
quietly($two, 'BEGIN', enqueue($queues{enqueue}, 'a'), q{PREPARE TRANSACTION 'enqueue'});
quietly($two, 'BEGIN', claim_of($queues{claim}, max => 1), q{PREPARE TRANSACTION 'claim'});
finds($queues{claim}, 'b', "$name: what is free meanwhile");
$server->stop('immediate');
$_->abandon for $one, $two, $decider;
$server->start;
use_server($server);
($one, $two, $decider) = map { session($server) } 1 .. 3;
finds_nothing($queues{$_}, "$name: nothing after it") for 'enqueue', 'claim';
quietly($decider, q{COMMIT PREPARED 'enqueue'}, q{ROLLBACK PREPARED 'claim'});
finds($queues{$_}, 'a', "$name, of $_") for 'enqueue', 'claim';

done_testing();
