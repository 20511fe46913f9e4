"""Named ranges of a rank: for a profiler that is attached, for --timeline and for --timing.

They are opened and closed between timed batches; inside a batch there are none.
"""

from __future__ import annotations

import json
import time
from contextlib import AbstractContextManager, nullcontext

from wirespeed.host.core import Core
from wirespeed.host.handles import Library
from wirespeed.host.process import clock_name
from wirespeed.job.messages import Row

OUTER = ("start", "connect", "introduce", "path", "size", "counting")
"""Kinds of ranges that are few, and kept whatever the room."""
ABSORBING = ("trial", "limits", "computation", "counting")
"""Kinds whose time includes that of the ranges inside them."""
MAX_RANGES, MIN_RANGES = 100_000, 200
"""Ranges of a path: of all ranks together, and of each rank at least."""
_NOTHING: AbstractContextManager[None] = nullcontext()


class Ranges:
    """Calling it gives a range as a context manager; ranges nest."""

    def __init__(self, core: Core | None = None, rank: int = 0, keep: bool = False) -> None:
        """`keep`: for take()."""
        self.kept = keep
        self.room = MAX_RANGES
        self._lib: Library | None = None
        if core and json.loads(core.text(core.check(core.lib.ws_ranges_open(f"rank {rank}".encode())))):
            self._lib = core.lib
        self._open: list[_Range] = []
        self._clear()

    def _clear(self) -> None:
        self._rows: list[Row] = []
        self._dropped = 0
        self._totals: dict[str, int] = {}

    def __call__(self, kind: str, name: str = "", **facts: int) -> AbstractContextManager[None]:
        """A range called `name`, else as its kind; `facts` are shown with it in a timeline."""
        if not self.kept and self._lib is None:
            return _NOTHING
        return _Range(self, kind, name or kind, facts)

    @property
    def clock_name(self) -> str:
        """The same for processes that read the same clock."""
        return clock_name()

    def clock(self) -> int:
        """This rank's clock, in nanoseconds."""
        return time.monotonic_ns()

    def add(self, kind: str, begin: int, end: int) -> None:
        """A range that is over, by clock(), and had none inside."""
        if self.kept:
            self._rows.append((kind, kind, begin, end, {}))
            self._totals[kind] = self._totals.get(kind, 0) + end - begin

    def take(self) -> tuple[list[Row], int, dict[str, int]]:
        """The ranges closed since the last call, by clock(); how many found no room; nanoseconds of each
        kind, without those of the ranges inside."""
        found = self._rows, self._dropped, self._totals
        self._clear()
        return found

    def begin(self, opened: _Range) -> None:
        above = self._open[-1].owner if self._open else ""
        opened.owner = above if above in ABSORBING else opened.kind
        self._open.append(opened)
        if self._lib is not None:
            self._lib.ws_range_push(opened.name.encode())
        opened.began = self.clock()

    def end(self, opened: _Range) -> None:
        now = self.clock()
        if self._lib is not None:
            self._lib.ws_range_pop()
        self._open.pop()
        if not self.kept:
            return
        took = now - opened.began
        self._totals[opened.owner] = self._totals.get(opened.owner, 0) + took - opened.inside
        if self._open:
            self._open[-1].inside += took
        if len(self._rows) < self.room or opened.kind in OUTER:
            self._rows.append((opened.kind, opened.name, opened.began, now, opened.facts))
        else:
            self._dropped += 1


class _Range(AbstractContextManager[None]):
    """One range, while it is open."""

    __slots__ = ("began", "facts", "inside", "kind", "name", "owner", "ranges")

    def __init__(self, ranges: Ranges, kind: str, name: str, facts: dict[str, int]) -> None:
        self.ranges, self.kind, self.name, self.facts = ranges, kind, name, facts
        self.began = self.inside = 0
        self.owner = kind

    def __enter__(self) -> None:
        self.ranges.begin(self)

    def __exit__(self, *_: object) -> None:
        self.ranges.end(self)
