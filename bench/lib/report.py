"""Turns what was measured into tables, documents and plots."""
import json
import tempfile
import pathlib

from . import marks
from .cluster import HERE

RECORDED = HERE / "recorded.json"
BEGIN, END = "<!-- figures of bench/run --record -->", "<!-- end of figures -->"
# A multiple beyond this says more about one setting of a peer than about the peer: not for the front page.
UNBELIEVABLE = 20
RAW = ("blocks", "all_us")


def without_raw_figures(value):
    if isinstance(value, dict):
        return {key: without_raw_figures(part) for key, part in value.items() if key not in RAW}
    if isinstance(value, list):
        return [without_raw_figures(part) for part in value]
    return value


def record(part):
    """Keeps what was measured, in place of what was recorded of the same measurements before."""
    part = without_raw_figures(part)
    kept = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {"measured": {}, "took": {}}
    recorded = {"machine": part["machine"], **{name: {**kept[name], **part[name]} for name in ("measured", "took")}}
    RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")


def shown(figures, form):
    """A spread as people read it: the median, and in parentheses the least and the most."""
    if figures["least"] == figures["most"]:
        return f"{figures['median']:{form}}"
    return f"{figures['median']:{form}} ({figures['least']:{form}} to {figures['most']:{form}})"


def mark_of(mark):
    bound = {(True, False): "at least", (True, True): "more than", (False, False): "at most",
             (False, True): "less than"}[mark.at_least, mark.strict]
    if not mark.at_least and not mark.reach:
        bound = "none:"
    return f"{bound} {mark.reach:g} {mark.unit}".strip()


def marks_table(recorded):
    lines = ["| what | against | mark | measured: median (least to most) | reached |", "| --- | --- | --- | --- | --- |"]
    for mark in marks.read(recorded["measured"]):
        form = ".0f" if mark.unit.startswith("buffers") else ".2f"
        note = f"; {mark.note}" if mark.note else ""
        lines.append(f"| {mark.what} | {mark.against or '-'} | {mark_of(mark)} | {shown(mark.figures, form)}{note} |"
                     f" {'yes' if mark.reached else '**no**'} |")
    return "\n".join(lines)


def machine_line(machine):
    peers = ", ".join(f"{name} {version}" for name, version in sorted(machine["peers"].items()))
    lines = (f"Measured {machine['date']}: x_jobs {machine['x_jobs']}, PostgreSQL {machine['server']}, {machine['processor']},"
             f" {machine['cores']} cores, {machine['memory_mb']} MB, {machine['file_system']}, Linux {machine['kernel']};"
             f" {machine['rounds']} interleaved rounds of {machine['seconds']} s; fsync and synchronous_commit on. Peers: {peers};"
             f" Node.js {machine['node']}.")
    for name, reason in machine["peers_missing"].items():
        lines += f" Without {name}: {reason}."
    return lines


def rates_tables(recorded):
    """Each comparison of rates, with all variants."""
    from .throughput import COMPARISONS
    lines = [machine_line(recorded["machine"]), ""]
    for name, comparison in COMPARISONS.items():
        measured = recorded["measured"].get(name)
        if not measured:
            continue
        not_kept = any("ratio_not_kept" in row for row in measured["rows"])
        lines += [f"**{name}**: {comparison.what}", "",
                  "| clients | variant | jobs/s: median (least to most) | x_jobs / this |" + (" not kept / this |" if not_kept else ""),
                  "| --- | --- | --- | --- |" + (" --- |" if not_kept else "")]
        for row in measured["rows"]:
            setting = measured["settings"].get(row["variant"])
            label = row["label"] + (f" ({setting})" if setting else "")
            ratio = "" if row["variant"] == "x_jobs" else shown(row["ratio"], ".2f")
            line = f"| {row['clients']} | {label} | {shown(row['rate'], ',.0f')} | {ratio} |"
            if not_kept:
                line += f" {'' if row['variant'] == 'x_jobs_not_kept' else shown(row['ratio_not_kept'], '.2f')} |"
            lines.append(line)
        if measured["trials"]:
            tried = {}
            for trial in measured["trials"]:
                tried.setdefault(trial["variant"], []).append(f"{trial['setting']} {trial['rate']:,.0f}")
            lines += ["", "Settings tried, in jobs/s: " + "; ".join(
                f"{marks.LABELS[variant]}: {', '.join(settings)}" for variant, settings in tried.items()) + "."]
        lines.append("")
    return "\n".join(lines).rstrip()


def short_table(recorded):
    """The few figures of the front page."""
    from .throughput import COMPARISONS
    lines = ["| jobs/s | 1 client | 8 clients |", "| --- | --- | --- |"]
    for name in ("enqueue", "enqueue_1000", "claim_ack", "exchange", "claim_settle_100"):
        if name not in recorded["measured"]:
            continue
        table = marks.Table(recorded["measured"][name])
        counts = (1, 8)
        for variant in ("x_jobs", "x_jobs_not_kept"):
            rates = [f"{table.rows[variant, count]['rate']['median']:,.0f}" if (variant, count) in table.rows else "-"
                     for count in counts]
            if set(rates) == {"-"}:
                continue
            kept = ", history not kept" if variant == "x_jobs_not_kept" else ""
            lines.append(f"| {COMPARISONS[name].what}{kept} | {' | '.join(rates)} |")
        for variant in ("insert_key", "by_id", "textbook", "graphile_worker", "pg_boss", "pgq"):
            there = [table.rows[variant, count] for count in counts if (variant, count) in table.rows]
            if there and max(row["ratio"]["median"] for row in there) < UNBELIEVABLE:
                ratio = "ratio_not_kept" if "ratio_not_kept" in there[0] else "ratio"
                cells = [f"{table.rows[variant, count][ratio]['median']:.2f}" if (variant, count) in table.rows else "-"
                         for count in counts]
                lines.append(f"| ... as a multiple of: {there[0]['label']} | {' | '.join(cells)} |")
    machine = recorded["machine"]
    lines += ["", f"Medians of {machine['rounds']} interleaved rounds on {machine['processor']}, {machine['cores']} cores, with"
              " fsync on. The multiples are those without kept history, where there are both. All marks:"
              " [performance](docs/performance.md); how it is measured: [bench](bench/README.md)."]
    return "\n".join(lines)


def performance(recorded):
    measured = recorded["measured"]
    rows = marks.read(measured)
    reached = sum(mark.reached for mark in rows)
    missing = [name for name in marks.READERS if name not in measured]
    parts = [machine_line(recorded["machine"]), "", f"{reached} of {len(rows)} marks are reached.", ""]
    if missing:
        parts += [f"Not recorded for this version: {', '.join(missing)}.", ""]
    parts += ["![Each mark, and what was measured](plots/marks.svg)", "", marks_table(recorded), "",
              "Every rate, and the settings of the peers that were tried: [bench](../bench/README.md).", ""]
    if "claim_ack" in measured:
        parts += ["## Rates", "", "![Claim and settle by number of clients](plots/rates.svg)", ""]
    if "steady" in measured:
        textbook = measured["steady"]["runs"]["textbook"]
        parts += ["## Speed that does not decay", "", "![Rate and latency over time with a pinned horizon](plots/steady.svg)", "",
                  f"The textbook queue went from {textbook['first']['rate']:,.0f} to {textbook['last']['rate']:,.0f} jobs/s in the"
                  f" same {len(textbook['seconds'])} s, and from {textbook['first']['p99_us'] / 1000:,.1f} to"
                  f" {textbook['last']['p99_us'] / 1000:,.1f} ms.", ""]
        if free := measured["steady"]["runs"].get("free"):
            parts += [f"x_jobs in a run of the same length with nothing pinned: 99 % latency {free['first']['p99_us'] / 1000:,.2f} ms at"
                      f" first and {free['last']['p99_us'] / 1000:,.2f} ms at last, {free['p99_ratio']:.2f} of it.", ""]
    if "dead_rows" in measured:
        dead = measured["dead_rows"]
        parts += [f"With {dead['dead']:,} dead rows in front the textbook queue worked at {dead['ratios']['textbook']['median']:.2f}"
                  f" of its rate without, x_jobs at {dead['ratios']['dead']['median']:.2f}.", ""]
    if {"reused_key", "scans"} & set(measured):
        parts += ["## What grows", "", *limits_tables(measured)]
    if "wait_latency" in measured:
        parts += ["## Waiting", "", "![From commit to claimed job](plots/waiting.svg)", "", waiting_table(measured["wait_latency"]), ""]
    return "\n".join(parts).rstrip()


def waiting_table(measured):
    lines = ["| workers | claims | waiting by | median, us | 99 %, us | median since it was sent, us |",
             "| --- | --- | --- | --- | --- | --- |"]
    for row in measured["rows"]:
        lines.append(f"| {row['waiters']:,} | {'durable' if row['durable'] else 'not durable'} | {measured['modes'][row['mode']]} |"
                     f" {shown(row['median_from_commit_us'], ',.0f')} | {shown(row['p99_from_commit_us'], ',.0f')} |"
                     f" {shown(row['median_from_send_us'], ',.0f')} |")
    return "\n".join(lines)


def limits_tables(measured):
    """What has no mark, and is not free."""
    lines = []
    if "reused_key" in measured:
        key = measured["reused_key"]
        lines += [f"One key used again and again, {key['lives']:,} lives of a job, one after another; median of a life in us:", "",
                  "| horizon | at first | half-way | at last |", "| --- | --- | --- | --- |"]
        for name, curve in key["curves_us"].items():
            lines.append(f"| {name} | {curve[0]:,.0f} | {curve[len(curve) // 2]:,.0f} | {curve[-1]:,.0f} |")
        lines.append("")
    if "scans" in measured:
        scans = measured["scans"]
        counts = list(next(iter(scans["seconds"].values())))
        lines += ["Calls over a backlog, in ms:", "", "| call | " + " | ".join(f"{int(count):,} ready" for count in counts) + " |",
                  "| --- |" + " --- |" * len(counts)]
        for name, by_count in scans["seconds"].items():
            cells = [f"{by_count[count]['median'] * 1000:,.1f}" for count in counts]
            lines.append(f"| {scans['what'][name]} | {' | '.join(cells)} |")
        lines.append("")
    return lines


def put_between_markers(path, text):
    """Replaces what stands between the markers of the file."""
    old = path.read_text(encoding="utf-8")
    head, found, rest = old.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not found or not closed:
        raise RuntimeError(f"{path} has no markers")
    path.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


def write_documents():
    """Everything that is made from bench/recorded.json."""
    from . import plots
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    root = HERE.parent
    put_between_markers(HERE / "README.md", rates_tables(recorded))
    put_between_markers(root / "README.md", short_table(recorded))
    put_between_markers(root / "docs/performance.md", performance(recorded))
    plots.draw(recorded["measured"], root / "docs/plots")


def prove(recorded):
    """Makes every document and plot whose measurements are there, and keeps none."""
    from . import plots, throughput
    rates_tables(recorded)
    if set(marks.READERS) <= set(recorded["measured"]) and set(throughput.COMPARISONS) <= set(recorded["measured"]):
        short_table(recorded)
        performance(recorded)
        with tempfile.TemporaryDirectory() as folder:
            plots.draw(recorded["measured"], pathlib.Path(folder))
