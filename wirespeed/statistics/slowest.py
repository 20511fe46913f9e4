"""The interval of the slowest of many teams, which is the slowest in part by chance."""

from __future__ import annotations

from wirespeed.statistics.samples import Summary
from wirespeed.statistics.student import KNOWN, student_point

FEW = 6
"""Fewer batches have an interval by Student's t."""


def of_the_slowest(summary: Summary, teams: int) -> Summary:
    """The summary of the slowest of so many teams: the lower end of its interval holds for all at once.

    Of many equal teams the one that looks slowest is measured too slow, so a team's own interval would lie
    above them all too often. The upper end needs no such room.
    """
    times = summary["seconds"]
    median, low, high = times["median"], times["low"], times["high"]
    if teams < 2 or not low or not high or not median:
        return summary
    batches = summary["batches"]
    freedom = batches - 1 if batches < FEW else KNOWN
    wider = student_point(0.05 / teams, freedom) / student_point(0.05, freedom)
    low = median * (low / median) ** wider
    return {**summary, "seconds": {**times, "low": low}, "precision": (high - low) / 2 / median}
