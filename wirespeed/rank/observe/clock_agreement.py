"""The clock that stamps a program's samples, held against the host's clock around every batch."""

from __future__ import annotations

from wirespeed.job.records import BatchClock
from wirespeed.rank.program import LONG_STAMPS, SHORT_STAMPS, Batch
from wirespeed.rank.world import World


class ClockAgreement:
    """Counts this rank's batches whose samples do not add up to the host's clock."""

    def __init__(self, of: str = "") -> None:
        """`of`: whose batches they are, if not the figure's own."""
        self._of = of
        self._batches = self._long = self._short = 0
        self._worst: Batch | None = None

    def add(self, batch: Batch) -> None:
        """Leaves out the batch of a rank that had no part in it."""
        if batch.host_s <= 0:
            return
        self._batches += 1
        self._long += batch.verdict == LONG_STAMPS
        self._short += batch.verdict == SHORT_STAMPS
        if self._worst is None or _rank(batch) > _rank(self._worst):
            self._worst = batch

    def worst(self, comm: World) -> BatchClock | None:
        """Collective. The counts of the rank with most such batches, on every rank; None: of no rank."""
        mine = None
        if worst := self._worst:
            mine = BatchClock(
                of=self._of,
                batches=self._batches,
                long=self._long,
                short=self._short,
                host_s=worst.host_s,
                stamped_s=worst.stamped_s,
            )
        share = _share(mine)
        most = comm.maximum(share)
        found = comm.first(mine if share == most else None)
        return found[1] if found else None


def gravest(*clocks: BatchClock | None) -> BatchClock | None:
    """The agreement (worst()) with the largest share of batches that do not add up."""
    return max(clocks, key=_share, default=None)


def _share(clock: BatchClock | None) -> float:
    return (clock["long"] + clock["short"]) / clock["batches"] if clock else -1.0


def _rank(batch: Batch) -> tuple[bool, float]:
    """By which the worst batch is found."""
    return batch.verdict != 0, abs(batch.host_s - batch.stamped_s)
