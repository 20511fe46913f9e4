"""Events that observers of a run see besides its records and its ranks' messages."""

from __future__ import annotations

from typing import NamedTuple


class StepStart(NamedTuple):
    """A path begins."""

    path: str
    at: int
    """Nanoseconds of the front end's monotonic clock."""
    done: int
    """Paths that are over."""
    total: int
    launch: int = 1
    launches: int = 1


class StepEnd(NamedTuple):
    """A path's job step is over."""

    at: int
    """As in StepStart."""
