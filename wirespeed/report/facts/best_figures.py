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
    return min(_sound(run, entries), key=lambda entry: entry.reckoned_s)


def greatest_rate(run: Run, entries: Sequence[Entry]) -> Entry:
    """The highest bandwidth, of messages that are not short; where none of these is sound, a doubtful one."""
    long = [entry for entry in entries if not run.traits.by_size or entry.amount > SHORT] or entries
    return max(_sound(run, long), key=lambda entry: entry.amount / entry.reckoned_s)


def _sound(run: Run, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Those that are the path's own speed and have an interval; all where there are none."""
    doubtful = (*markers.SPOILED, markers.NO_INTERVAL)
    sound = (entry for entry in entries if not entry.uncertain)
    return [entry for entry in sound if markers.sign(run, entry) not in doubtful] or entries
