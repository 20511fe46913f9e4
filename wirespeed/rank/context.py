"""Facts that all of a rank's measurements share, and how something fails on every rank together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeVar

from wirespeed.host.core import Core, NativeError
from wirespeed.host.handles import BuffersHandle, DeviceHandle, TransportHandle
from wirespeed.job.messages import Message, PathFailure
from wirespeed.job.plan import Plan
from wirespeed.patterns import Pattern, Shape, Step
from wirespeed.rank.ranges import Ranges
from wirespeed.rank.world import World

if TYPE_CHECKING:
    from wirespeed.rank.path_time import PathTime

Tell = Callable[[Message], None]
Result = TypeVar("Result")


class Unusable(Exception):
    """Some rank cannot continue with this path; raised on every rank."""

    rank = None

    def __init__(self, text: str, lack: bool = False) -> None:
        super().__init__(text)
        self.what = "unavailable" if lack else "error"


class ListPlacement(Protocol):
    """Memory of several allocations, in which lists of blocks lie (rank/path/allocations.py)."""

    def placed(self, steps: Sequence[Step], size: int) -> tuple[BuffersHandle, list[Step]]:
        """Collective. Buffers for these steps' lists, and the steps as they lie there."""

    def between(self, steps: Sequence[Step]) -> int:
        """Bytes from one of a block's places in a soak to the next one."""


@dataclass(frozen=True)
class Wanted:
    """A program that is to be opened."""

    transport: TransportHandle
    buffers: BuffersHandle
    size: int
    phase: int = 0
    in_place: bool | None = None
    """In one buffer; None: as the pattern has it."""
    steps: Sequence[Step] | None = None
    """Instead of the pattern's, with transfers on every rank or on none."""


@dataclass(frozen=True)
class RankContext:
    """Facts that stay the same for all sizes and paths of a rank."""

    core: Core
    comm: World
    device: DeviceHandle
    plan: Plan
    pattern: Pattern
    """As it is in this job."""
    tell: Tell
    open_transport: Callable[[str, str], TransportHandle]
    """Opens a transport by name, with these options; collective."""
    fresh: bool = False
    """Do programs move bytes from new memory?"""
    offset: int = 0
    """Every transfer starts so many bytes into its buffer."""
    ranges: Ranges = field(default_factory=Ranges)
    put_threads_aside: Callable[[], bool] = lambda: False
    """Moves threads of libraries to CPUs on which no rank measures; False: there are none."""
    time: PathTime | None = None
    """Time of the path; None: the run has no bound."""
    more_until: float | None = None
    """Until then (`time.monotonic()`) figures that take turns may take more than --max-time; None: the run
    has no bound."""
    ending: Callable[[], bool] = lambda: False
    """Is the run to end? Then rank 0 tells the figures that are under way."""

    allocations: ListPlacement | None = None
    """Memory that lists of blocks lie in; None: a program's own buffers."""
    behind: str = ""
    """Words that stand behind a failure of the path: what keeps ranks of a host apart."""

    @property
    def shape(self) -> Shape:
        return self.pattern.shape

    @property
    def late(self) -> bool:
        """Is the time for figures over, on this rank's clock?"""
        return self.time is not None and self.time.over

    def failed(
        self, what: str, text: str, size: int | None = None, rank: int | None = None, fatal: bool = True
    ) -> None:
        """Tells that the path, or one size of it, has no figure. `fatal`: nothing of it will be measured."""
        behind = "" if what == "mismatch" else self.behind
        self.tell(PathFailure(what, text + behind, size, rank, fatal))

    def collectively(self, call: Callable[[], Result], undo: Callable[[Result], object]) -> Result:
        """Collective. Runs what may fail on some ranks only; raises Unusable on all if it failed on one."""
        results, error = list[Result](), None
        try:
            results.append(call())
        except NativeError as caught:
            error = (str(caught), caught.lack)
        first = self.comm.first(error)
        if first is None:
            return results[0]
        rank, found = first
        text, lack = found
        # Where all ranks failed together, the core has already said whose fault it was; what all of them
        # lack is nobody's.
        alike = self.comm.minimum(int(error == found)) == 1
        for result in results:
            undo(result)
        whose = "" if (lack and alike) or text.startswith("rank ") else f"rank {rank}: "
        raise Unusable(whose + text, lack)
