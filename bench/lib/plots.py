"""The plots, as SVG and PNG."""
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

from . import marks  # noqa: E402

# The same figures make the same files.
matplotlib.rcParams.update({"svg.hashsalt": "x_jobs", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True})
REACHED, MISSED = "#2a7f4f", "#b5452c"
COLOURS = ("#2a7f4f", "#8cc7a5", "#4a4a4a", "#8a8a8a", "#c9824a", "#7a6fb0", "#4a90b5")


def save(figure, folder, name):
    folder.mkdir(exist_ok=True)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})
    plt.close(figure)


def plot_marks(measured, folder):
    """Every mark as a bar: 1 is the mark."""
    rows = [mark for mark in marks.read(measured) if mark.reach]
    figure, axes = plt.subplots(figsize=(10, 0.21 * len(rows) + 1.2))
    for place, mark in enumerate(rows):
        median, least, most = (min(value, 4) for value in mark.share)
        axes.barh(place, median, color=REACHED if mark.reached else MISSED, height=0.7)
        axes.plot([least, most], [place, place], color="black", linewidth=1)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(range(len(rows)))
    axes.set_yticklabels([f"{mark.what}{f' / {mark.against}' if mark.against else ''}{f', {mark.unit}' if mark.unit else ''}"
                          for mark in rows], fontsize=6)
    axes.invert_yaxis()
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("share of the mark reached, cut at 4; line: least to most")
    save(figure, folder, "marks")


def plot_rates(measured, folder):
    """Claim and settle, one job each: jobs per second by variant and number of clients."""
    rows = measured["claim_ack"]["rows"]
    variants = list(dict.fromkeys(row["variant"] for row in rows))
    clients = sorted({row["clients"] for row in rows})
    figure, axes = plt.subplots(figsize=(8, 3.6))
    width = 0.8 / len(variants)
    for number, variant in enumerate(variants):
        chosen = [next(row for row in rows if (row["variant"], row["clients"]) == (variant, count)) for count in clients]
        rates = [row["rate"] for row in chosen]
        medians = [rate["median"] for rate in rates]
        errors = [[rate["median"] - rate["least"] for rate in rates], [rate["most"] - rate["median"] for rate in rates]]
        places = [place + number * width for place in range(len(clients))]
        axes.bar(places, medians, width * 0.95, yerr=errors, label=chosen[0]["label"], color=COLOURS[number % len(COLOURS)],
                 error_kw={"linewidth": 0.8})
    axes.set_xticks([place + width * (len(variants) - 1) / 2 for place in range(len(clients))])
    axes.set_xticklabels([marks.counted(count) for count in clients])
    axes.set_ylabel("jobs/s, claim one and settle it")
    axes.legend(fontsize=7)
    save(figure, folder, "rates")


def plot_steady(measured, folder):
    """Rate and latency over time while the horizon is pinned."""
    labels = {"steady": "x_jobs", "free": "x_jobs, horizon not pinned", "late": "x_jobs, late producers", "textbook": "textbook SKIP LOCKED queue"}
    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5), sharex=True)
    for (kind, run), colour in zip(measured["steady"]["runs"].items(), ("#2a7f4f", "#9a9a9a", "#4a90b5", "#b5452c")):
        seconds = range(1, len(run["seconds"]) + 1)
        above.plot(seconds, [second["rate"] for second in run["seconds"]], label=labels[kind], color=colour, linewidth=1.2)
        times = [second["p99_us"] / 1000 if second["rate"] else float("nan") for second in run["seconds"]]
        below.plot(seconds, times, label=labels[kind], color=colour, linewidth=1.2)
    above.set_ylabel("claimed jobs/s")
    above.set_ylim(bottom=0)
    above.legend(fontsize=7)
    below.set_ylabel("99 % latency of claims, ms")
    below.set_yscale("log")
    below.set_xlabel(f"seconds at {measured['steady']['rate']} jobs/s in and out, xmin horizon pinned by another session but for one run")
    save(figure, folder, "steady")


def plot_waiting(measured, folder):
    """From commit to claimed job, by number of waiting workers."""
    rows = measured["wait_latency"]["rows"]
    modes = measured["wait_latency"]["modes"]
    waiters = sorted({row["waiters"] for row in rows})
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for panel, durable in zip(panels, (False, True)):
        for (mode, label), colour in zip(modes.items(), ("#2a7f4f", "#4a90b5", "#b5452c")):
            chosen = [next(row for row in rows if (row["mode"], row["waiters"], row["durable"]) == (mode, count, durable))
                      for count in waiters]
            places = range(len(waiters))
            for name, style in (("median", "o-"), ("p99", "s:")):
                panel.plot(places, [max(row[f"{name}_from_commit_us"]["median"], 1) / 1000 for row in chosen], style,
                           color=colour, label=f"{label}, {'median' if name == 'median' else '99 %'}", markersize=4)
        panel.set_xticks(list(places))
        panel.set_xticklabels([f"{count:,}" for count in waiters])
        panel.set_xlabel("waiting workers")
        panel.set_yscale("log")
        panel.set_title("claims durable" if durable else "claims not durable", fontsize=9)
    panels[0].set_ylabel("ms from commit to claimed job")
    panels[1].legend(fontsize=6)
    save(figure, folder, "waiting")


# Each with the measurement that it shows.
PLOTS = ((plot_marks, None), (plot_rates, "claim_ack"), (plot_steady, "steady"), (plot_waiting, "wait_latency"))


def draw(measured, folder):
    for plot, shown in PLOTS:
        if shown is None or shown in measured:
            plot(measured, folder)
