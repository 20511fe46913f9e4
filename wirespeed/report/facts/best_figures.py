"""A run's best figures: least time, highest bandwidth. Every table, line and page has them from here."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.report.facts import markers
from wirespeed.results.runs import Entry, Run

SHORT = 4 << 10
"""Bytes of a message whose time is a latency; that of a longer one is its bandwidth's."""


def quickest(run: Run, entries: Sequence[Entry]) -> Entry:
    """The least time of a short message; where no short one is sound, a doubtful one."""
    if run.traits.by_size:
        size = max(SHORT, min(entry.bytes for entry in entries))
        amount = max(SHORT, min(entry.amount for entry in entries))
        entries = [entry for entry in entries if entry.bytes <= size or entry.amount <= amount]
    return min(_sound(run, entries), key=_reckoned)


def greatest_rate(run: Run, entries: Sequence[Entry]) -> Entry:
    """The highest bandwidth; of figures in doubt only where there are no others."""
    return max(_sound(run, entries), key=lambda entry: entry.amount / _reckoned(entry))


def _sound(run: Run, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Those that are the path's own speed and have an interval; all where there are none."""
    doubtful = (*markers.SPOILED, markers.NO_INTERVAL)
    sound = (entry for entry in entries if not entry.uncertain)
    return [entry for entry in sound if markers.sign(run, entry) not in doubtful] or entries


def _reckoned(entry: Entry) -> float:
    """Seconds by which figures compete: the end of a wide interval, since that figure may be a lucky one."""
    wide = entry.precision is None or entry.precision > markers.FAR
    return max(entry.high, entry.seconds) if wide else entry.seconds
