"""Parts of the records of hosts' health. Members: see model.py."""

from __future__ import annotations

from wirespeed.results.parts import Amount, Fact, RecordPart, Sparse, Whole


class NewErrors(RecordPart, frozen=True, kw_only=True):
    """Errors of one kind that a counter rose by."""

    host: str = ""
    place: str
    """GPU 0 link 3, mlx5_0 port 1, eth0, ..."""
    what: str
    """NVLink replay errors, PCIe replays, ..."""
    count: Fact


class Throttled(Sparse, frozen=True, kw_only=True):
    """Clocks that something held back. Settings and idling do not count."""

    host: str = ""
    place: str
    """GPU 0, CPU."""
    reason: str
    """its power cap, its temperature limit, ..."""
    seconds: Amount | None = None
    """For how long; missing: there is no counter."""
    times: Whole | None = None
    """Number of times; missing: there is no counter."""
    before: bool = False
    """Were they held back when the path began?"""
    after: bool = False
    """Were they when it ended?"""


class ClockRates(RecordPart, frozen=True, kw_only=True):
    """Clocks of one GPU, in megahertz: sm, memory, most_sm, most_memory."""

    host: str = ""
    place: str
    before: dict[str, Whole] = {}
    after: dict[str, Whole] = {}
