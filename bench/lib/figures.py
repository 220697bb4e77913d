"""Medians, spreads and ratios."""
import statistics


def spread(figures):
    return {"median": statistics.median(figures), "least": min(figures), "most": max(figures)}


def ratios(ours, theirs):
    """Of two interleaved series, round by round."""
    return spread([mine / other for mine, other in zip(ours, theirs)])


def quantile(figures, share):
    ordered = sorted(figures)
    return ordered[int(share * (len(ordered) - 1))]
