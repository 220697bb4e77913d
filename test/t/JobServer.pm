# A throwaway server with x_jobs in it, and sessions that may be left waiting.
#
#   my $server  = new_server('name', preload => 1, conf => "...");    a started PostgreSQL::Test::Cluster
#   my $session = session($server);                                   a psql that stays connected
#   $session->sql('SELECT 1')       its rows; what psql complained of is in $session->complaint
#   $session->send('SELECT ...');   leaves the statement running: ask ->pending, then fetch ->result
#
# Nothing here sleeps for a fixed time: every wait is for a condition, with the bound of PostgreSQL::Test.
package JobServer;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

our @EXPORT = qw(each_second_once new_server session wait_until fingerprint job_id gone);

# The id with the given last digits: a version 7 uuid of a fixed instant.
sub job_id
{
	my ($number) = @_;
	return sprintf('01890000-0000-7000-8000-%012x', $number);
}

# Makes and starts a server. Options: preload, scheduler (1: with one), streaming, conf (more settings), extension (0: do not
# create it), start (0: only make it).
sub new_server
{
	my ($name, %options) = @_;
	my $server = PostgreSQL::Test::Cluster->new($name);
	$server->init(
		extra => [ '--no-sync', '--encoding=UTF8', '--locale=C' ],
		allows_streaming => $options{streaming} ? 1 : 0);
	$server->append_conf('postgresql.conf', <<"CONF");
log_statement = none
log_replication_commands = off
max_connections = 40
max_worker_processes = 16
CONF
	$server->append_conf('postgresql.conf', "shared_preload_libraries = 'x_jobs'") if $options{preload};
	$server->append_conf('postgresql.conf', 'x_jobs.scheduler = off') unless $options{scheduler};
	$server->append_conf('postgresql.conf', $options{conf}) if $options{conf};
	return $server if defined $options{start} && !$options{start};
	$server->start;
	$server->safe_psql('postgres', 'CREATE EXTENSION x_jobs') unless defined $options{extension} && !$options{extension};
	return $server;
}

sub session
{
	my ($server, %options) = @_;
	return JobServer::Session->new($server, %options);
}

# A test: the jobs of that name, made by a task of every second, are due once at each second from the first to the last.
sub each_second_once
{
	my ($session, $job, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($all, $different, $seconds) = split /\|/,
	  $session->sql("SELECT count(*), count(DISTINCT run_at), extract(epoch FROM max(run_at) - min(run_at))::integer + 1 FROM x_jobs.all_jobs WHERE name = '$job'");
	return is("$all $different", "$seconds $seconds", $name);
}

# Asks until the condition answers true; the answer, or nothing once the bound has passed.
sub wait_until
{
	my ($condition, %options) = @_;
	my $deadline = time + ($options{within} // $PostgreSQL::Test::Utils::timeout_default);
	while (1)
	{
		my $answer = $condition->();
		return $answer if $answer;
		return if time > $deadline;
		usleep(20_000);
	}
}

# True once none of the processes exists any more.
sub gone
{
	my @pids = @_;
	return wait_until(sub { !grep { kill 0, $_ } @pids });
}

# What the tables hold, as table => 'rows checksum'; equal fingerprints are equal contents.
sub fingerprint
{
	my ($server, $database, @tables) = @_;
	my $listed = @tables ? join(',', map { "'$_'" } @tables) : q{SELECT c.relname FROM pg_catalog.pg_class c
		WHERE c.relnamespace = '_x_jobs'::regnamespace AND c.relkind = 'r'};
	my $queries = $server->safe_psql(
		$database, qq{
		SELECT pg_catalog.format('SELECT %L, count(*), md5(string_agg(t::text, chr(10) ORDER BY t::text COLLATE "C")) FROM _x_jobs.%I t;',
			c.relname, c.relname)
		  FROM pg_catalog.pg_class c WHERE c.relnamespace = '_x_jobs'::regnamespace AND c.relname IN ($listed) ORDER BY c.relname});
	my %found;
	for my $line (split /\n/, $server->safe_psql($database, $queries))
	{
		my ($table, $rows, $checksum) = split /\|/, $line;
		$found{$table} = "$rows " . ($checksum // '');
	}
	return \%found;
}

package JobServer::Session;

use strict;
use warnings;

use IPC::Run;
use Time::HiRes qw(time usleep);

# Options: database, connstr (instead of the server's own), extra (more arguments of psql), environment.
sub new
{
	my ($class, $server, %options) = @_;
	my $self = bless { in => '', out => '', err => '', count => 0, complaint => '', server => $server }, $class;
	my $target = $options{connstr} // $server->connstr($options{database} // 'postgres');
	local %ENV = (%ENV, %{ $options{environment} // {} });
	$self->{run} = IPC::Run::start(
		[ $server->installed_command('psql'), '-XAtq', '-d', $target, '-f', '-', @{ $options{extra} // [] } ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err});
	$self->sql('\set VERBOSITY verbose');
	die "no connection: " . $self->complaint if $self->complaint ne '';
	return $self;
}

# Starts a statement without waiting for its end.
sub send
{
	my ($self, $sql) = @_;
	die 'a statement is still running' if $self->{mark};
	my $mark = 'end of statement ' . ++$self->{count};
	$self->{mark} = $mark;
	$self->{in} .= "$sql\n;\n\\echo '$mark'\n\\warn '$mark'\n";
	$self->{run}->pump_nb;
	return;
}

# True while the statement sent last has not ended.
sub pending
{
	my ($self) = @_;
	return 0 unless $self->{mark};
	return 0 unless $self->{run}->pumpable;
	$self->{run}->pump_nb;
	return !$self->_ended;
}

# The rows of the statement sent last, as psql prints them; waits for its end.
sub result
{
	my ($self, %options) = @_;
	my $deadline = time + ($options{within} // $PostgreSQL::Test::Utils::timeout_default);
	while ($self->pending)
	{
		die "statement did not end in time; it wrote: $self->{out}$self->{err}" if time > $deadline;
		usleep(3_000);
	}
	$self->{complaint} = $self->_take('err');
	my $rows = $self->_take('out');
	$self->{mark} = undef;
	return $rows;
}

sub sql
{
	my ($self, $sql, %options) = @_;
	$self->send($sql);
	return $self->result(%options);
}

# What the last statement wrote to the standard error: errors, notices, warnings; '' if nothing.
sub complaint
{
	my ($self) = @_;
	return $self->{complaint};
}

# The SQLSTATE of the last statement's error, '' if it had none.
sub sqlstate
{
	my ($self) = @_;
	return $self->{complaint} =~ /(?:ERROR|FATAL):\s+([0-9A-Z]{5}):/ ? $1 : '';
}

sub pid
{
	my ($self) = @_;
	return $self->{pid} //= $self->sql('SELECT pg_catalog.pg_backend_pid()');
}

# Ends the session; also if its server is gone.
sub quit
{
	my ($self) = @_;
	return unless $self->{run};
	$self->{in} .= "\\q\n" if $self->{run}->pumpable;
	eval { $self->{run}->finish };
	$self->{run} = undef;
	return;
}

# Ends psql without asking the server.
sub abandon
{
	my ($self) = @_;
	return unless $self->{run};
	$self->{run}->kill_kill(grace => 0);
	$self->{run} = undef;
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local ($@, $?);
	eval { $self->{run}->kill_kill(grace => 0) if $self->{run} };
	return;
}

sub _ended
{
	my ($self) = @_;
	# The end of the line counts too: psql writes its standard error in pieces, and a mark without it is half a mark.
	return $self->{out} =~ /^\Q$self->{mark}\E\n/m && $self->{err} =~ /^\Q$self->{mark}\E\n/m;
}

# What was written before the mark; everything, if the session has died before it.
sub _take
{
	my ($self, $stream) = @_;
	my $written = $self->{$stream};
	if ($self->{mark} && $written =~ s/^(.*?)^\Q$self->{mark}\E\n//ms)
	{
		$self->{$stream} = $written;
		$written = $1;
	}
	else
	{
		$self->{$stream} = '';
	}
	chomp $written;
	return $written;
}

1;
