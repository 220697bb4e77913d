# A standby has no schedulers and does not speak of them; when it is promoted, they are at work within seconds, go on where
# the old primary was, and fire nothing that it had fired. The old primary, brought back as a standby, has none either. If
# this failed, a failover would leave the tasks without anybody, or fire them twice.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JobServer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $primary = new_server('primary', preload => 1, scheduler => 1, streaming => 1, conf => "wal_log_hints = on\nwal_keep_size = 256MB");
my $p = session($primary);
$p->sql(q{SELECT x_jobs.schedule('ticks', '* * * * * *', entries => '[{"name": "tick", "queue": "ticks"}]', catch_up => 'all', max_catch_up => 1000, overlap => 'allow')});
$p->sql(q{SELECT x_jobs.schedule('daily', '0 3 * * *', entries => '[{"name": "daily"}]')});

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
# What is seen on the primary from here on is on the standby too.
$primary->append_conf('postgresql.conf', "synchronous_standby_names = '*'");
$primary->reload;
ok(wait_until(sub { $p->sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") eq '1' }), 'the standby follows');
ok(wait_until(sub { $p->sql("SELECT count(*) >= 3 FROM x_jobs.all_jobs WHERE name = 'tick'") eq 't' }, within => 30), 'the task fires on the primary');

# The standby.
my $r = session($standby);
ok(wait_until(sub { $r->sql("SELECT count(*) >= 3 FROM x_jobs.all_jobs WHERE name = 'tick'") eq 't' }), 'C-070 what was fired is seen on the standby');
is($r->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'x_jobs%'"), '0', 'C-070 no worker runs there');
is($r->sql(q{SELECT worker, pid, state, starts FROM x_jobs.background_workers()}), 'launcher||not running|0', 'C-070 background_workers() says so');
is($r->sql(q{SELECT state, detail FROM x_jobs.health() WHERE name = 'scheduler'}), 'ok|This server is a standby: the scheduler starts when it is promoted.', 'C-070 health() finds that right');
is($r->sql("SELECT task, state FROM x_jobs.tasks ORDER BY task"), "daily|active\nticks|active", 'C-070 the tasks are shown');
is($r->complaint, '', 'C-070 without a complaint');
# It has replayed for some seconds by now.
unlike(slurp_file($standby->logfile), qr/x_jobs(?!_test)|ERROR|WARNING|FATAL/, 'C-070 its log has no word of it');

# The failover: the primary is gone from one moment to the next.
my $leader = $p->sql('SELECT holder FROM x_jobs.leader()');
my $list = q{SELECT run_at, id FROM x_jobs.all_jobs WHERE name = 'tick' ORDER BY run_at};
my $was_fired = $p->sql($list);
$p->quit;
$primary->stop('immediate');
my $offset = -s $standby->logfile;
my $began = time;
$standby->promote;
$standby->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or BAIL_OUT('the standby was not promoted');
my ($last) = $was_fired =~ /([^\n|]*)\|[^\n]*\z/;
my $promoted = $r->sql('SELECT clock_timestamp()');
ok(wait_until(sub { $r->sql("SELECT count(*) > 0 FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at >= '$promoted'") eq 't' }, within => 20), 'C-070 C-024 the new primary fires');
cmp_ok(time - $began, '<', 10, 'C-070 C-024 within ten seconds of the promotion');

my $is_fired = $r->sql($list);
my %union;
$union{$_} = 1 for split /\n/, "$was_fired\n$is_fired";
my %occurrences;
++$occurrences{ (split /\|/)[0] } for keys %union;
is(scalar(grep { $_ > 1 } values %occurrences), 0, 'C-024 no occurrence was fired on both');
my ($all, $different, $seconds) = split /\|/,
  $r->sql(q{SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = 'tick'});
is("$all $different", "$seconds $seconds", 'C-024 and none was left out, from the old primary to the new one');
is(index($is_fired, $was_fired), 0, 'C-024 the new one goes on where the old one was');
is($r->sql("SELECT bool_and(isfinite(watermark) AND isfinite(next_occurrence)) FROM x_jobs.tasks"), 't', 'C-024 every task has a finite next instant');
is($r->sql("SELECT count(*) FROM _x_jobs.task_states s WHERE NOT isfinite(s.watermark) OR NOT isfinite(s.last_occurrence) OR NOT isfinite(s.dispatched_at) OR NOT isfinite(s.moved_at)"), '0', 'C-024 and none an infinite one');
ok(wait_until(sub { $r->sql("SELECT renewed_at > '$promoted' FROM x_jobs.leader()") eq 't' }, within => 20), 'LEAD-2 the lease is renewed there');
is($r->sql("SELECT holder FROM x_jobs.leader()"), $leader, 'LEAD-1 by the scheduler of what is the same database system');
unlike(slurp_file($standby->logfile, $offset), qr/x_jobs(?!_test)|ERROR|WARNING|PANIC/, 'C-070 C-024 the log of the promotion has no word of it');

# The old primary comes back as a standby of the new one.
$standby->safe_psql('postgres', 'CHECKPOINT');
my $config = slurp_file($primary->data_dir . '/postgresql.conf');
command_ok([ 'pg_rewind', '--no-sync', '--target-pgdata', $primary->data_dir, '--source-server', $standby->connstr('postgres') ], 'the old primary is rewound');
# The configuration came along.
open my $file, '>', $primary->data_dir . '/postgresql.conf' or die $!;
print $file $config;
close $file;
$primary->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$primary->enable_streaming($standby);
$primary->set_standby_mode;
$offset = -s $primary->logfile;
$primary->start;
my $q = session($primary);
my $now = $r->sql('SELECT clock_timestamp()');
ok(wait_until(sub { $q->sql("SELECT count(*) > 1 FROM x_jobs.all_jobs WHERE name = 'tick' AND run_at > '$now'") eq 't' }), 'C-070 the old primary follows the new one');
is($q->sql("SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'x_jobs%'"), '0', 'C-070 and has no workers any more');
unlike(slurp_file($primary->logfile, $offset), qr/x_jobs(?!_test)|ERROR|WARNING/, 'C-070 nor a word of them');
$_->quit for $q, $r;
$primary->stop;
$standby->stop;

done_testing();
