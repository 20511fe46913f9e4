"""A figure where no column has its interval: with its mark, or as a range where that is wide."""

from __future__ import annotations

from typing import NamedTuple

from wirespeed.report.facts import figures
from wirespeed.report.facts.markers import FAR_OFF, sign
from wirespeed.results.runs import Entry, Run
from wirespeed.units import format_rate


class CellWords(NamedTuple):
    """The mark, which a terminal colours, and the figure or its range: '18-23', '11|16' of two speeds."""

    mark: str
    words: str

    @property
    def spaced(self) -> str:
        """'~ 15.3 us', '14-26 us'."""
        return " ".join(filter(None, self))


class _WideInterval(NamedTuple):
    """Seconds at both ends, and what stands between: '|' where no time between them is usual."""

    low: float
    high: float
    sign: str


def marked_time(run: Run, entry: Entry) -> str:
    """'~0.47 us': its median with its mark, within a sentence."""
    return sign(run, entry) + figures.time_of(entry, entry.seconds)


def marked_rate(run: Run, entry: Entry) -> str:
    """'~393': its bandwidth in GB/s with its mark, within a sentence."""
    return sign(run, entry) + format_rate(entry.rate)


def time_cell(run: Run, entry: Entry) -> CellWords:
    """Its time with the unit."""
    if wide := _range(run, entry):
        return CellWords("", figures.time_range(*wide))
    return CellWords(sign(run, entry), figures.time_of(entry, entry.seconds))


def microseconds_cell(run: Run, entry: Entry) -> CellWords:
    """Its time where the unit stands elsewhere."""
    if wide := _range(run, entry):
        return CellWords("", figures.between(wide.low * 1e6, wide.high * 1e6, wide.sign))
    return CellWords(sign(run, entry), figures.microseconds(entry.seconds))


def rate_cell(run: Run, entry: Entry) -> CellWords:
    """Its bandwidth in GB/s, without the unit."""
    if wide := _range(run, entry):
        slow, fast = (entry.amount / seconds / 1e9 for seconds in (wide.high, wide.low))
        return CellWords("", figures.between(slow, fast, wide.sign))
    return CellWords(sign(run, entry), format_rate(entry.rate))


def _range(run: Run, entry: Entry) -> _WideInterval | None:
    """None where the median says enough, or the interval nothing."""
    if sign(run, entry) != FAR_OFF or entry.uncertain:
        return None
    return (
        _WideInterval(*entry.times.speeds, "|")
        if entry.times.speeds
        else _WideInterval(entry.low, entry.high, "-")
    )
