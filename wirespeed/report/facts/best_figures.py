"""A run's best figures: least time, highest bandwidth. Every table, line and page has them from here."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.report.facts import markers
from wirespeed.results.runs import Entry, Run

SHORT = 4 << 10
"""Bytes of a message whose time is a latency; that of a longer one is its bandwidth's."""


def quickest(run: Run, entries: Sequence[Entry]) -> Entry:
    """The least time of a short message; where no short one is sound, a doubtful one."""
    if run.traits.shown.by_size:
        size = max(SHORT, min(entry.bytes for entry in entries))
        amount = max(SHORT, min(entry.amount for entry in entries))
        entries = [entry for entry in entries if entry.bytes <= size or entry.amount <= amount]
    return min(_named(run, entries), key=lambda entry: (entry.reckoned_s, not _sound(run, entry)))


def greatest_rate(run: Run, entries: Sequence[Entry]) -> Entry:
    """The highest bandwidth, of messages that are not short; where none of these is sound, a doubtful one."""
    long = [entry for entry in entries if not run.traits.shown.by_size or entry.amount > SHORT] or entries
    return max(_named(run, long), key=lambda entry: (entry.amount / entry.reckoned_s, _sound(run, entry)))


def _named(run: Run, entries: Sequence[Entry]) -> Sequence[Entry]:
    """Those that have an interval; all where there are none.

    What slowed a figure bounds it from one side: if it is the best even so, it is named, with its mark.
    """
    certain = [entry for entry in entries if not entry.uncertain]
    return [entry for entry in certain if markers.sign(run, entry) != markers.NO_INTERVAL] or entries


def _sound(run: Run, entry: Entry) -> bool:
    """Nothing slowed it; of equal figures such a one is named."""
    return markers.sign(run, entry) not in markers.SPOILED
