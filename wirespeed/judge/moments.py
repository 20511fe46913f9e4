"""Findings about figures that one number does not describe: two speeds, pauses, ranks that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from math import inf

from wirespeed.grouping import ends
from wirespeed.judge.given import Curve, Finding, Point, finding
from wirespeed.judge.series import Row, Series, is_wrong, seconds_words, sizes_words, times, usable
from wirespeed.units import counted, format_rate, format_size

TWO_SPEEDS, ONE_SPEED = 1.5, 1.25
"""Ratio of two speeds, at least, and of the rates of one of them, at most."""
UNSTEADY = 2.0
"""The same of two stretches, one of which is not the first."""
FEWEST = 4
"""Rates that show two speeds by turns."""
PEAK, PEAK_BYTES = 1.2, 4096
"""Peak over average (of sound NICs, 1.02), and bytes below which a peak is that of a few queued messages."""
APART = 2.0
"""Time in place over that out of place, or the other way round."""
UNEVEN, LONG_S = 1.5, 10e-6
"""Time of the slowest rank over that of the quickest, where that is no matter of the clock."""
FEW = 20
"""Repetitions that one interruption spoils."""
NEAR, NEAR_TIMES = 0.01, 1.4
"""Share by which two sizes differ, at most, and ratio of their times, at least."""
ROOTED = ("broadcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
"""Operations of which a rank may return early."""


def rate_of(point: Point) -> float | None:
    """Its rate, whatever the column is called."""
    for rate in (point.rate, point.average, point.overall):
        if rate is not None and 0 < rate < inf:
            return rate
    return None


def two_speeds(curve: Curve) -> Iterator[Finding]:
    """Rates of one size, one behind the other in time, that switch between two values."""
    if not curve.points or curve.points[0].bytes != curve.points[-1].bytes:
        return
    rows = [point for point in curve.points if usable(point.average)]
    if len({point.bytes for point in rows}) != 1:
        return
    if found := _split([point.average or 0.0 for point in rows]):
        slow, fast = found
        overall = rows[-1].overall
        mean = f"; overall {format_rate(overall)} GB/s is a mean of both and no speed" if overall else ""
        seen = f"two speeds by turns, {ends(slow, format_rate)} and {ends(fast, format_rate)} GB/s{mean}"
        yield finding("two-speeds", 2, seen, curve)


def unsteady(curve: Curve) -> Iterator[Finding]:
    """Rates of one size, one behind the other in time, that differ by more than a warm-up explains."""
    if not curve.points or curve.points[0].bytes != curve.points[-1].bytes:
        return
    rates = [point.average for point in curve.points if point.average and point.overall is not None][1:]
    if len(rates) >= FEWEST - 1 and min(rates) > 0 and max(rates) > UNSTEADY * min(rates):
        overall = curve.points[-1].overall or 0.0
        words = " ".join(format_rate(rate) for rate in rates[:6]) + (" ..." if len(rates) > 6 else "")
        seen = f"from stretch to stretch {ends(rates, format_rate)} GB/s ({words})"
        seen += f": overall {format_rate(overall)} GB/s"
        yield finding("unsteady", 2, f"{seen} is a mean of them and no speed", curve)


def _split(rates: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """The slow and the fast rates, without those of both ends that fit neither: the narrowest pair.

    The first rates warm up, the last one may be that of a part of a stretch.
    """
    found: list[tuple[float, list[float], list[float]]] = []
    ends = [len(rates), len(rates) - 1]
    spans = [
        rates[first:end]
        for end in ends
        for first in range(min(end - FEWEST, end // 2) + 1)
        if end - first >= FEWEST
    ]
    for span in spans:
        rest = sorted(span)
        cut = max(range(1, len(rest)), key=lambda at: rest[at] / rest[at - 1])
        slow, fast = rest[:cut], rest[cut:]
        turns = sum(1 for _ in groupby(rate >= fast[0] for rate in span))
        spread = max(slow[-1] / slow[0], fast[-1] / fast[0])
        if fast[0] >= TWO_SPEEDS * slow[-1] and spread <= ONE_SPEED and turns >= FEWEST:
            found.append((spread, slow, fast))
    best = min(found, key=lambda item: item[0], default=None)
    return best[1:] if best else None


def peaks(curve: Curve) -> Iterator[Finding]:
    """An average far below the peak, at the largest size."""
    known = [
        (point, point.peak, average)
        for point in curve.points
        if point.peak and usable(point.peak) and (average := point.average or point.rate) and usable(average)
    ]
    point, peak, average = max(known, key=lambda row: row[0].bytes, default=(None, 0.0, 1.0))
    if point and point.bytes >= PEAK_BYTES and peak > PEAK * average:
        seen = (
            f"{curve.pair + ': ' if curve.pair else ''}at {format_size(point.bytes)} on average "
            f"{bits(average)}, at its peak {bits(peak)}, {times(peak / average)} times as much"
        )
        yield finding("peak-average", 2, seen, curve)


def bits(rate: float) -> str:
    """'132.2 Gb/s'."""
    return f"{rate * 8 / 1e9:.1f} Gb/s"


def in_place_apart(curve: Curve) -> Iterator[Finding]:
    """Times in place and out of place of the same size."""
    seconds: dict[bool, dict[int, float]] = {True: {}, False: {}}
    for point in curve.points:
        if point.in_place is not None and point.seconds and usable(point.seconds) and not is_wrong(point):
            seconds[point.in_place].setdefault(point.bytes, point.seconds)
    both = sorted(size for size in seconds[True].keys() & seconds[False].keys() if size > 0)
    # The first size carries what is set up once.
    rows = [(size, seconds[False][size], seconds[True][size]) for size in both[1:] or both]
    ratio, size = max(((max(out / own, own / out), size) for size, out, own in rows), default=(1.0, 0))
    if ratio > APART:
        seen = (
            f"{format_size(size)} takes {seconds_words(seconds[False][size])} out of place and "
            f"{seconds_words(seconds[True][size])} in place, {times(ratio)} times apart: a figure of a moment"
        )
        yield finding("in-place", 2, seen, curve)


def uneven(curve: Curve) -> Iterator[Finding]:
    """Ranks of which one takes much longer than another, in an operation that all of them end together."""
    if curve.operation in ROOTED:
        return
    rows = [
        (point.t_max / point.t_min, point.t_min, point.t_max, point)
        for point in curve.points
        if point.t_min and point.t_max and usable(point.t_min) and usable(point.t_max)
    ]
    rows = [row for row in rows if row[0] > UNEVEN and row[2] > LONG_S]
    # The largest size: short ones are uneven by chance.
    ratio, t_min, t_max, point = max(rows, key=lambda row: row[3].bytes, default=(0.0, 0.0, 0.0, None))
    if point:
        count = f", with {point.repetitions} repetitions" if point.repetitions else ""
        seen = (
            f"at {format_size(point.bytes)} the slowest rank takes {times(ratio)} times as long as the "
            f"quickest ({seconds_words(t_max)} against {seconds_words(t_min)}){count}"
        )
        yield finding("uneven", 1, seen, curve)


def few_repetitions(series: Series) -> Iterator[Finding]:
    """Few repetitions: they may be the reason where something else is wrong."""
    rows = [row for row in series.rows if row.point.repetitions is not None and row.point.repetitions <= FEW]
    if rows:
        counts = [row.point.repetitions or 0 for row in rows]
        yield finding(
            "few", 1, f"few repetitions: {ends(counts)} at {sizes_words(tuple(rows))}", series.curve
        )


def _stays(rows: Sequence[tuple[Row, Series]], slow: Row, fast: Row) -> bool:
    """Are all larger sizes, two at least, as slow as this one?"""
    later = [row.rate for row, _ in rows if row.bytes > slow.bytes]
    return len(later) > 1 and max(later) * NEAR_TIMES < fast.rate


def are_near(small: int, large: int) -> bool:
    """Two sizes that are nearly the same."""
    return 0 < large - small <= NEAR * small


def near_sizes(series: Sequence[Series]) -> Iterator[Finding]:
    """Sizes that are nearly the same, whose times are not; of one way of measuring, in any of its tables."""
    rows = sorted(((row, one) for one in series for row in one.rows), key=lambda item: item[0].bytes)
    for (small, of), (large, _) in pairwise(rows):
        slow, fast = (large, small) if large.seconds > small.seconds else (small, large)
        differ, ratio = large.bytes - small.bytes, slow.seconds / fast.seconds
        if are_near(small.bytes, large.bytes) and ratio > NEAR_TIMES:
            seen = (
                f"{slow.bytes} B takes {seconds_words(slow.seconds)}, {fast.bytes} B "
                f"{seconds_words(fast.seconds)}{of.where}: {times(ratio)} times as long for a difference of "
                f"{counted(differ, 'byte')}"
            )
            if slow is large and _stays(rows, large, fast):
                continue  # a threshold, which is a fall or a cliff
            words = {"slow": f"{slow.bytes}", "fast": f"{fast.bytes}"}
            powers = {f"{name}_power": format_size(int(size) & -int(size)) for name, size in words.items()}
            yield finding("alignment", 2, seen, of.curve, **words, **powers)
