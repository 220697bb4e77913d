"""How large and how long everything is: once for figures that count, once only to show that it works."""
import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Sizes:
    smoke: bool = False
    transactions: int = 0               # of each client in a block, instead of a time
    seconds: int = int(os.environ.get("BENCH_SECONDS", "5"))
    rounds: int = int(os.environ.get("BENCH_ROUNDS", "3"))
    clients: tuple = (1, 8)
    claim_clients: tuple = (1, 8, 32)
    batch_clients: tuple = (8,)
    trial_seconds: int = 2              # for each setting of a peer, before a comparison
    backlog: int = 200_000              # ready jobs when claims of one are measured
    batch_backlog: int = 400_000        # ready jobs when claims of 100 are measured
    rescan_seconds: int = 60
    steady_rate: int = 800
    steady_warm: int = 20
    steady_seconds: int = 120
    steady_window: int = 10
    abandoned: int = 100                # jobs whose leases lapse half-way through the steady run
    dead_rows: int = 300_000
    dead_backlog: int = 150_000
    many_ready: int = 2_000_000
    many_delayed: int = 1_000_000
    few_ready: int = 1_000
    claims_timed: int = 300             # in each round, of those few
    waiters: tuple = (1, 100, 1000)
    waiting_jobs: int = 200             # in each round
    idle_waiters: int = 1000
    idle_seconds: int = 10
    lives: int = 3_000
    key_lives: int = 20_000
    key_stretches: int = 20
    crash_live: int = 1_000_000
    crash_running: int = 100_000
    crash_dead: int = 300_000

    def limit(self, seconds):
        """For pgbench: so many seconds, or a few transactions of each client."""
        return ("-t", self.transactions) if self.transactions else ("-T", seconds)


SMOKE = Sizes(smoke=True, transactions=5, seconds=1, rounds=1, clients=(2,), claim_clients=(2,), batch_clients=(2,), backlog=2_000, batch_backlog=4_000,
              rescan_seconds=1, steady_rate=200, steady_warm=3, steady_seconds=3, steady_window=1, abandoned=10, dead_rows=2_000,
              dead_backlog=3_000, many_ready=5_000, many_delayed=5_000, few_ready=1_000, claims_timed=100, waiters=(1, 10),
              waiting_jobs=5, idle_waiters=10, idle_seconds=1, lives=50, key_lives=100, key_stretches=4, crash_live=5_000, crash_running=1_000,
              crash_dead=1_000)

# Smoke judges no time: nothing has to reach the disk.
SMOKE_SERVER = {"fsync": "off", "shared_buffers": "'256MB'"}
