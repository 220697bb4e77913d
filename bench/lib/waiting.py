"""Waiting workers: how soon one has a job that was committed, beside LISTEN/NOTIFY, and what idle ones cost."""
import json

from .cluster import say
from .figures import quantile, ratios, spread
from .packages import build_client

MODES = {"claim": "claim(wait => ...)", "call": "CALL wait, then claim", "listen": "LISTEN/NOTIFY, then claim"}
SETTINGS = {"x_jobs.max_claim_wait": "'600 s'"}


def run(bench, *options):
    """The turns that the client took, one after the other."""
    program = build_client(bench.cluster.folder, "waiters")
    with bench.cluster.database("bench_waiting", "bench_template", SETTINGS) as database:
        printed = bench.cluster.run(database, program, "--rounds", bench.sizes.rounds, *options)
    return [json.loads(line) for line in printed.splitlines()]


def wait_latency(bench):
    """The modes by turns, for each number of waiting workers, with claims that are durable and that are not."""
    rows = []
    with bench.cluster.restarted_with(track_commit_timestamp="on"):
        for waiters in bench.sizes.waiters:
            turns = run(bench, "--waiters", waiters, "--jobs", bench.sizes.waiting_jobs)
            for durable in (False, True):
                by_mode = {mode: [turn for turn in turns if (turn["mode"], turn["durable"]) == (mode, durable)] for mode in MODES}
                for mode in MODES:
                    rows.append(summarise(waiters, durable, mode, by_mode))
    return {"rows": rows, "modes": MODES}


def summarise(waiters, durable, mode, by_mode):
    """Medians of the rounds, each with its ratio to LISTEN/NOTIFY in the same round."""
    row = {"waiters": waiters, "durable": durable, "mode": mode}
    for since in ("from_commit_us", "from_send_us"):
        for name, share in (("median", 0.5), ("p99", 0.99)):
            ours = [quantile(turn[since], share) for turn in by_mode[mode]]
            theirs = [quantile(turn[since], share) for turn in by_mode["listen"]]
            row[f"{name}_{since}"] = spread(ours)
            row[f"{name}_{since}_ratio"] = ratios(ours, theirs)
    row["all_us"] = [turn["from_commit_us"] for turn in by_mode[mode]]
    say(f"wait_latency {waiters:4} waiters, claims {'' if durable else 'not '}durable  {mode:7}"
        f" {row['median_from_commit_us']['median']:8,.0f} us, 99 % {row['p99_from_commit_us']['median']:8,.0f} us after the commit;"
        f" {row['median_from_send_us']['median']:8,.0f} us after it was sent")
    return row


def idle_waiters(bench):
    """Processor time and voluntary switches of backends that wait and get nothing."""
    count, seconds = bench.sizes.idle_waiters, bench.sizes.idle_seconds
    turns = run(bench, "--waiters", count, "--idle", seconds)
    by_mode = {mode: [turn for turn in turns if turn["mode"] == mode] for mode in ("claim", "call")}
    shares = {mode: spread([turn["cpu_seconds"] / seconds for turn in turns]) for mode, turns in by_mode.items()}
    switches = {mode: spread([turn["switches"] / count / seconds for turn in turns]) for mode, turns in by_mode.items()}
    for mode in by_mode:
        say(f"idle_waiters {count} in {mode:6} {shares[mode]['median'] * 100:6.1f} % of a core,"
            f" {switches[mode]['median']:.2f} switches each second and waiter")
    return {"waiters": count, "seconds": seconds, "cpu_share": shares, "switches": switches}
