"""Findings about the form of a curve: cliffs, humps, and falls from a peak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise

from wirespeed.judge.given import Curve, Finding, finding
from wirespeed.judge.series import (
    Row,
    Series,
    between_hosts,
    is_collective,
    on_gpu,
    seconds_words,
    sizes_words,
    time_words,
    times,
)
from wirespeed.units import format_rate, format_size

CLIFF = 3.0
"""Growth of the time, over that of the bytes, between neighbouring sizes. Of 700 curves in results/, 1.9."""
NEIGHBOURS = 8
"""Ratio of neighbouring sizes, at most: over larger steps a cache or a wire is filled in between."""
RECOVERED = 8
"""Ratio of sizes within which a rate that exceeds the one before the cliff makes it a mere step."""
HUMP = 2.5
"""Time over that of a larger message. Where Open MPI changes its protocol for GPU memory, it is 2.05."""
EDGE = 1.25
"""The same of the sizes beside it that belong to the hump."""
FIRST_ROWS = 2
"""Sizes at the beginning of a curve that may still warm up."""
FIRST = 5.0
"""The same of the first size alone, which may carry what is set up once."""
CACHED = 5.0
"""Highest rate over that of the largest message, in host memory: caches explain 4.2 on a virtual machine."""
CACHED_SLOW, SLOW = 3.0, 1.5e9
"""The same where the largest message is slower than SLOW: so slow is no host's memory."""
UNCACHED = 1.5
"""The same where no cache has a part: in GPU memory, and between hosts."""
HALF_CACHED = 2.0
"""The same of messages between host and GPU memory: caches serve one end, and PCIe is slower than they."""
ALONE = 2.2
"""The same where only the largest size is so much slower."""
APART, AGAIN = 1.4, 0.95
"""Ratio of neighbouring sizes of a dip, at least; share of the rate before it that a larger size has."""
BYTEWISE = 2e-9
"""Seconds a byte from which on a CPU copies GPU memory by words: reads over PCIe 0.1 us, writes 5 ns."""
LARGE = 1 << 20
"""Bytes from which a fall is no matter of a protocol's first size."""
SCATTERED = 3
"""Humps, and a cliff beside them, that are separate: so many are noise, not thresholds."""


def shape(series: Series) -> Iterator[Finding]:
    """The findings of one series."""
    humps = list(_humps(series.rows))
    inside = {row.bytes for hump in humps for row in hump.rows}
    rest = tuple(row for row in series.rows if row.bytes not in inside)
    sound = Series(series.curve, rest, series.in_place)
    cliff = _cliff(rest)
    if humps and len(humps) + bool(cliff) >= SCATTERED:
        yield _scattered(series, humps)
        return
    yield from (_hump(series, hump) for hump in humps)
    if cliff:
        yield _cliff_finding(sound, *cliff)
    elif fall := _fall(sound):
        yield _fall_finding(sound, *fall)
    elif dip := _dip(rest):
        yield _dip_finding(sound, *dip)


@dataclass(frozen=True)
class _Hump:
    """Sizes that take longer than a larger one."""

    rows: tuple[Row, ...]
    quicker: Row
    first: bool
    """It begins with the curve's first size."""

    @property
    def slowest(self) -> Row:
        return max(self.rows, key=lambda row: row.seconds)

    @property
    def ratio(self) -> float:
        return self.slowest.seconds / self.quicker.seconds


def _humps(rows: tuple[Row, ...]) -> Iterator[_Hump]:
    quickest = list(rows)
    for at in range(len(rows) - 2, -1, -1):
        later = quickest[at + 1]
        quickest[at] = rows[at] if rows[at].seconds <= later.seconds else later
    ratios = [row.seconds / quickest[at].seconds for at, row in enumerate(rows)]
    for slow, group in groupby(range(len(rows)), key=lambda at: ratios[at] > EDGE):
        places = list(group)
        if not slow:
            continue
        own = tuple(rows[at] for at in places)
        hump = _Hump(own, rows[places[-1] + 1], places[0] == 0)
        if hump.ratio > (FIRST if hump.first and len(own) <= FIRST_ROWS else HUMP):
            yield hump


def _cliff(rows: tuple[Row, ...]) -> tuple[Row, Row] | None:
    """The steepest step."""
    steps = [
        (slow.seconds / fast.seconds * fast.bytes / slow.bytes, fast, slow) for fast, slow in pairwise(rows)
    ]
    steep = [step for step in steps if step[0] > CLIFF and step[2].bytes <= NEIGHBOURS * step[1].bytes]
    found = max(steep, key=lambda step: step[0], default=None)
    return found[1:] if found else None


def _fall(series: Series) -> tuple[Row, Row] | None:
    """The fastest row, and the last one."""
    rows = series.rows
    if len(rows) < 3:
        return None
    peak, last = max(rows, key=lambda row: row.rate), rows[-1]
    if last.bytes < LARGE:
        return None
    ratio, each_way = peak.rate / last.rate, last.rate / (2 if series.curve.direction == "both" else 1)
    curve = series.curve
    through_memory = not on_gpu(curve) or "H" in curve.memory or "staged" in curve.name
    cached = through_memory and not between_hosts(curve)
    slow = each_way < SLOW and not is_collective(series.curve)
    # Ours have intervals; of another's, one low figure alone may be noise.
    lasting = rows[-2].rate * UNCACHED < peak.rate or curve.tool == "wirespeed"
    uncached = UNCACHED if lasting else ALONE
    most = uncached if not cached else CACHED_SLOW if slow else CACHED
    if cached and on_gpu(curve) and curve.operation in ("pingpong", "bandwidth", "both-ways"):
        most = max(uncached, HALF_CACHED)
    return (peak, last) if ratio > most else None


def _dip(rows: tuple[Row, ...]) -> tuple[Row, Row, Row] | None:
    """The row before a large size that is much slower, that one, and a larger one that is as fast again."""
    for before, slow in pairwise(rows):
        neighbours = LARGE <= slow.bytes <= NEIGHBOURS * before.bytes and slow.bytes > APART * before.bytes
        if neighbours and before.rate > UNCACHED * slow.rate:
            again = (row for row in rows if row.bytes > slow.bytes and row.rate > AGAIN * before.rate)
            if regained := next(again, None):
                return before, slow, regained
    return None


def _dip_finding(series: Series, before: Row, slow: Row, regained: Row) -> Finding:
    seen = (
        f"falls from {format_rate(before.rate)} GB/s at {format_size(before.bytes)} to "
        f"{series.rate_words(slow)} at {format_size(slow.bytes)}{series.where}, and is as fast again at "
        f"{format_size(regained.bytes)}"
    )
    sizes = {"below": format_size(before.bytes), "above": format_size(slow.bytes)}
    return finding("dip", 1, seen, series.curve, **sizes)


def _cliff_finding(series: Series, fast: Row, slow: Row) -> Finding:
    later = [row.rate for row in series.rows if row.bytes > slow.bytes]
    stays = later and max(later) < fast.rate
    soon = [row.rate for row in series.rows if slow.bytes < row.bytes <= RECOVERED * slow.bytes]
    severity = 1 if max(soon, default=0.0) > fast.rate else 2
    seen = (
        f"{time_words(slow)}, {format_size(fast.bytes)} {seconds_words(fast.seconds)}{series.where}: "
        f"{times(slow.seconds / fast.seconds)} times as long for {times(slow.bytes / fast.bytes)} times the "
        f"bytes; {format_rate(fast.rate)} -> {series.rate_words(slow)}"
    )
    if stays:
        seen += f"; no larger size is faster than {format_rate(max(later))} GB/s"
    sizes = {"below": format_size(fast.bytes), "above": format_size(slow.bytes)}
    advice = _threshold(series.curve)
    if advice == "cliff-gpu" and later and not stays:
        advice = "cliff-gpu-start"
    return finding("cliff", severity, seen, series.curve, advice, **sizes)


def _threshold(curve: Curve) -> str:
    """Advice where another way begins between two sizes."""
    if any("ccl" in name.lower() for name in (curve.tool, curve.name)):
        return "cliff-nccl"
    return "cliff-collective" if is_collective(curve) else "cliff-gpu" if on_gpu(curve) else "cliff"


def _fall_finding(series: Series, peak: Row, last: Row) -> Finding:
    between = (row for row in series.rows if peak.bytes < row.bytes < last.bytes)
    half = next((row for row in between if row.rate * UNCACHED < peak.rate), None)
    by_way = f", {format_size(half.bytes)} {format_rate(half.rate)}" if half else ""
    seen = (
        f"falls from {format_rate(peak.rate)} GB/s at {format_size(peak.bytes)}{by_way} to "
        f"{series.rate_words(last)} at {format_size(last.bytes)}{series.where}, "
        f"{times(peak.rate / last.rate)} times less"
    )
    return finding("fall", 2, seen, series.curve, "fall-gpu" if on_gpu(series.curve) else "fall")


def _hump(series: Series, hump: _Hump) -> Finding:
    slow, quick, rows = hump.slowest, hump.quicker, hump.rows
    verb = "take up to" if len(rows) > 1 else "takes"
    seen = (
        f"{sizes_words(rows)} {verb} {times(hump.ratio)} times as long as {format_size(quick.bytes)}"
        f"{series.where} ({seconds_words(slow.seconds)} at {format_size(slow.bytes)} against "
        f"{seconds_words(quick.seconds)})"
    )
    words = {
        "sizes": sizes_words(rows),
        "first": format_size(rows[0].bytes),
        "below": format_size(rows[-1].bytes),
        "above": format_size(quick.bytes),
    }
    # Ours are warm when they are measured.
    if len(rows) <= FIRST_ROWS and hump.first and series.curve.tool != "wirespeed":
        return finding("hump", 1, seen, series.curve, "hump-first")
    slope = _slope(rows)
    by_nccl = _threshold(series.curve) == "cliff-nccl"
    if slope and slope > BYTEWISE and on_gpu(series.curve) and not by_nccl:
        seen += f"; about {slope * 1e6:.1g} us a byte"
        return finding("hump", 2, seen, series.curve, "hump-bytewise", **words)
    if len(rows) == 1:
        return finding("hump", 2, seen, series.curve, "hump-single", **words)
    # One row alone may be the one that is false.
    many = "hump-nccl" if by_nccl else "hump-last" if quick is series.rows[-1] else "hump"
    return finding("hump", 2, seen, series.curve, many, **words)


def _slope(rows: tuple[Row, ...]) -> float | None:
    """Seconds a byte where times grow evenly with size, and by little else, over at least three rows."""
    if len(rows) < 3:
        return None
    slopes = [(more.seconds - less.seconds) / (more.bytes - less.bytes) for less, more in pairwise(rows)]
    even = min(slopes) > 0 and max(slopes[1:]) < 2 * min(slopes[1:])
    slope = (rows[-1].seconds - rows[0].seconds) / (rows[-1].bytes - rows[0].bytes)
    return slope if even and 2 * slope * rows[-1].bytes > rows[-1].seconds else None


def _scattered(series: Series, humps: list[_Hump]) -> Finding:
    worst = max(humps, key=lambda hump: hump.ratio)
    seen = (
        f"sizes here and there take much longer than larger ones{series.where}; worst: "
        f"{time_words(worst.slowest)}, {format_size(worst.quicker.bytes)} "
        f"{seconds_words(worst.quicker.seconds)}"
    )
    return finding("scattered", 2, seen, series.curve)
