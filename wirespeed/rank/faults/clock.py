"""For tests: a rank whose clock is not that of the others of its host."""

from __future__ import annotations

from wirespeed.host.core import Core
from wirespeed.rank.ranges import Ranges


class RangesAhead(Ranges):
    """Ranges by a clock that is so many seconds ahead."""

    def __init__(self, core: Core, rank: int, keep: bool, ahead: float) -> None:
        self._ahead = round(ahead * 1e9)
        super().__init__(core, rank, keep)

    @property
    def clock_name(self) -> str:
        return f"{super().clock_name} {self._ahead}"

    def clock(self) -> int:
        return super().clock() + self._ahead
