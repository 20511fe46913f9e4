"""The patterns: an operation of all ranks, its sizes and figures, and what must come out of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import gcd
from types import ModuleType

from wirespeed.patterns.base import Pattern
from wirespeed.patterns.collectives import direct, doubling, one_shot, ring
from wirespeed.patterns.collectives.rank_view import REDUCING, REDUCTIONS, TYPES, WHOLE, RankView, extent
from wirespeed.patterns.rules import (
    BEST,
    COMPUTES,
    EVERY,
    LIBRARY,
    VARIANTS,
    Checking,
    Kind,
    Option,
    RankRule,
    Shown,
    SizeRule,
    Timing,
)
from wirespeed.patterns.steps import Collective, Derived, Figure, Step

ALGORITHMS: dict[str, ModuleType] = {
    "ring": ring,
    "doubling": doubling,
    "direct": direct,
    "one-shot": one_shot,
}
MAX_LANDING = 256 << 20
"""Bytes of memory beyond the least that an algorithm may take to be considered by `best`."""
POWERS_OF_TWO = ("allgather", "reducescatter")
"""Operations that `doubling` does for such numbers of ranks only."""
EXACT = {"fp32": 1 << 20, "fp16": 1 << 11, "bf16": 1 << 8, "fp64": 1 << 20, "int32": 1 << 20}
"""Whole numbers up to this one are exact, and their sums."""
LARGEST = {"fp32": 1 << 24, "fp16": 1 << 11, "bf16": 1 << 8, "fp64": 1 << 53, "int32": 1 << 31}
"""The same, as far as the type goes."""
ITERATIONS_OF_BATCH = 1 << 17
"""So many at most are summed up in place before their sums are compared."""
ONE_RANK_ODD, ALL_RANKS_ODD, TURNS, BALANCED = range(4)
"""Ranks with elements odd and even by turns; or all sums are 0 (native/kernels/element_kernels.h)."""


@dataclass(frozen=True)
class ExpectedElements:
    """Elements of the buffer that must equal those `first`, `first` + 1, ... of `ranks` ranks, combined:
    those of rank `own` once, the others' `times`.
    """

    offset: int
    count: int
    first: int
    rank: int
    ranks: int = 1
    own: int = 0
    times: int = 1


@dataclass(frozen=True)
class Content:
    """Recipe of checked elements: `most` and `odd` as the kernels take them."""

    most: int
    odd: int


class CollectivePattern(Pattern):
    """One operation; `shape.options["by"]` says who does it: the library, or one of ALGORITHMS."""

    kind = Kind(of_all_ranks=True, in_place=True)
    rank_rule = RankRule(None)
    timing = Timing(slowest=True)

    def __init__(self, moved: str, factor: str, *, name: str, summary: str) -> None:
        """`moved`: what a size counts; `factor`: of the bus bandwidth, in words."""
        self.name, self.summary, self._moved, self._factor = name, summary, moved, factor
        self.options, self.shown = tuple(self._options()), Shown(by_nccl_tests=name != "barrier")
        self.help = f"""
    {self._what()} A path named alone, such as "host", is the operation of its own library, where that has
    one. "host:best" is ours over the same path's messages: ring, recursive doubling, direct exchange
    or one shot, whichever is fastest at each size. Every element on every rank is checked.

    \b
    Examples:
      wirespeed {name} --ranks 4
      wirespeed {name} --ranks 2,4,8 --paths host --algorithm all{"" if name == "barrier" else " --sizes 1M"}
    """

    def _what(self) -> str:
        if self.name == "barrier":
            return "The time until all ranks have come, for the slowest one."
        return (
            f"A size is {self._moved}, in whole elements, one at least. GB/s are the bus bandwidth, "
            f"{self._factor} x size / time, which the links can be compared with; algbw is size / time."
        )

    def _options(self) -> list[Option]:
        choices = (LIBRARY, *VARIANTS, BEST, *self.algorithms(2), EVERY)
        text = (
            f"Who does it: the path's library ({', '.join(VARIANTS)}: its other ways), "
            "or ours over its messages; several as in library,ring."
        )
        found = [
            Option("algorithm", text, f"{LIBRARY},{BEST}", choices=choices, many=True, in_one_table=True)
        ]
        if self.name == "barrier":
            return found
        found.append(Option("type", "Type of the elements.", "fp32", choices=tuple(TYPES), many=True))
        if self.name in REDUCING:
            found.append(Option("op", "How elements are combined.", "sum", choices=REDUCTIONS, many=True))
        if self.name in ("broadcast", "reduce"):
            found.append(Option("root", "The rank that has the data, or gets them.", 0, least=0))
        text = "Results lie where the data were; several as in no,yes."
        return [*found, Option("in-place", text, "no", choices=("no", "yes"), many=True)]

    @property
    def checking(self) -> Checking:
        no_soak = "moves no bytes" if self.name == "barrier" else COMPUTES if self.name in REDUCING else ""
        return Checking("elements", no_soak=no_soak)

    def algorithms(self, ranks: int) -> list[str]:
        """Names of ours that do it on so many ranks."""
        power = ranks & (ranks - 1) == 0
        return [
            name
            for name, module in ALGORITHMS.items()
            if hasattr(module, self.name) and (name != "doubling" or power or self.name not in POWERS_OF_TWO)
        ]

    def candidates(self, size: int) -> list[str]:
        """Algorithms that `best` tries, alike on all ranks: none takes far more memory than others."""
        needed = {
            name: max(self._needed(rank, size, name) for rank in {0, self._root})
            for name in self.algorithms(self.ranks)
        }
        return [name for name, bytes_ in needed.items() if bytes_ - min(needed.values()) <= MAX_LANDING]

    def _needed(self, rank: int, size: int, by: str) -> int:
        """Bytes of a rank's buffer."""
        view = self.rank_view(rank, size)
        return max(16, view.scratch, extent(getattr(ALGORITHMS[by], self.name)(view), view))

    @property
    def lacks(self) -> str | None:
        """Why its algorithm does not suit so many ranks, in one line; None if it does."""
        by = self._by
        if by in (LIBRARY, BEST, *self.algorithms(self.ranks)):
            return None
        if not hasattr(ALGORITHMS[by], self.name):
            return f"{self.name} is not done by {by}; there are: {', '.join(self.algorithms(self.ranks))}"
        return f"{self.name} by {by} takes a power of two of ranks, not {self.ranks}"

    def refuse(self) -> str | None:
        if why := super().refuse():
            return why
        if self._root >= self.ranks:
            return f"--root {self._root}: there are {self.ranks} ranks, 0 to {self.ranks - 1}"
        view = self.rank_view(0, 0)
        if self._sums(view) and self.content.most < 1:
            return (
                f"{view.type} holds sums of at most {EXACT[view.type] // 2} ranks exactly, and others could "
                "not be checked: measure fp32"
            )
        return None

    @property
    def size_rule(self) -> SizeRule:
        """An element for each rank that has a part of its own, at least."""
        if self.name == "barrier":
            return SizeRule(fixed=(0,))
        least = TYPES[self["type"]] * (1 if self.name in WHOLE else self.ranks)
        return SizeRule("8,256,4K,64K,1M,16M,128M", least=least)

    @property
    def _root(self) -> int:
        return int(self.shape.options.get("root") or 0)

    @property
    def _by(self) -> str:
        """Who does it."""
        return str(self.shape.options.get("by", "ring"))

    def rank_view(self, rank: int, size: int) -> RankView:
        """A rank's part at this size, in whole elements: rounded down."""
        given = self.shape.options
        kind = str(given.get("type", "fp32"))
        count = size // TYPES[kind]
        if self.name not in WHOLE:
            count //= self.ranks
        if self.name == "barrier":
            count = 0
        op, in_place = str(given.get("op", "sum")), given.get("in_place") == "yes"
        return RankView(self.name, rank, self.ranks, count, kind, op, self._root, in_place)

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        view, by = self.rank_view(rank, size), self._by
        if by == LIBRARY:
            return [Step(collective=self._collective(view))]
        if by == BEST:
            by = self.algorithms(self.ranks)[0]
        found: list[Step] = getattr(ALGORITHMS[by], self.name)(view)
        return found

    def least_traffic(self, rank: int, size: int) -> list[Step]:
        """Steps that move as many bytes as any way to do it must."""
        ring_: list[Step] = getattr(ring, self.name)(self.rank_view(rank, size))
        return ring_

    def arrival(self, rank: int, size: int) -> tuple[int, int, int]:
        """(place, bytes, bytes of an element) of the result."""
        view = self.rank_view(rank, size)
        return view.got, view.got_bytes if view.gets else 0, view.element

    @staticmethod
    def _collective(view: RankView) -> Collective:
        return Collective(*(getattr(view, part.name) for part in fields(Collective)))

    def extent(self, rank: int, size: int) -> int:
        by = self._by
        if by == LIBRARY:
            return max(16, self.rank_view(rank, size).scratch)
        names = self.candidates(size) if by == BEST else [by]
        return max(self._needed(rank, size, name) for name in names)

    def figure(self, size: int) -> Figure:
        view, ranks = self.rank_view(0, size), self.ranks
        if self.name == "barrier":
            return Figure(1, 0, f"operation: barrier of {ranks} ranks, the slowest one's time")
        bytes_ = max(view.given_bytes, view.got_bytes)
        many, of = {"allreduce": (2 * (ranks - 1), ranks), "broadcast": (1, 1), "reduce": (1, 1)}.get(
            self.name, (ranks - 1, ranks)
        )
        common = gcd(many, of)
        text = f"{view.type} {view.reduction}" if self.name in REDUCING else view.type
        factor = f"{many // common}/{of // common} x " if many != of else ""
        follow = (
            "; operations follow each other, as in a loop" if self.name in ("broadcast", "reduce") else ""
        )
        definition = (
            f"operation: {self.name} of {text} on {ranks} ranks, "
            f"{'in' if view.in_place else 'out of'} place, "
            f"the slowest rank's time; GB/s: bus bandwidth, {factor}size / time; algbw: size / time{follow}"
        )
        return Figure(1, bytes_ * many // of, definition, (Derived("algbw", bytes_),))

    def _sums(self, view: RankView) -> bool:
        return self.name in REDUCING and view.reduction == "sum"

    @property
    def content(self) -> Content:
        """Elements that ranks give, so that every wrong one is found, and sums stay exact."""
        view = self.rank_view(0, 0)
        if self._sums(view):
            return Content(EXACT[view.type] // (2 * self.ranks), ONE_RANK_ODD)
        return Content(EXACT[view.type] // 2, ALL_RANKS_ODD if self.name in REDUCING else TURNS)

    @property
    def batch_content(self) -> Content | None:
        """Elements that ranks give before a batch; None: no such content is known.

        Where every rank's iterations add to what it gives, the sum of all is 0, and stays so. Where one
        rank's do, elements are so small that sums of ITERATIONS_OF_BATCH iterations are exact.
        """
        content = self.content
        if not self.accumulates:
            return content
        if self.name == "allreduce":
            unpaired = self.ranks if self.ranks % 2 else 0
            return Content(content.most, BALANCED | unpaired << 2)
        if self.name == "reduce" and self._by in ("ring", "doubling"):
            return None  # the others add to what they give, too
        kind = self.rank_view(0, 0).type
        others = 2 * max(1, self.ranks - 1) * (ITERATIONS_OF_BATCH + 1)
        most = min(content.most, LARGEST[kind] // others)
        return Content(most, content.odd) if most else None

    @property
    def accumulates(self) -> bool:
        """Do iterations add to what the ones before have added up? Elements soon are too large then."""
        view = self.rank_view(0, 0)
        return view.in_place and self._sums(view)

    def results(self, view: RankView, iterations: int = 1) -> list[ExpectedElements]:
        """Elements that must have come out on a rank after so many."""
        if not view.gets or self.name == "barrier":
            return []
        count = view.count
        if self.name in REDUCING:
            first = view.rank * count if self.name == "reducescatter" else 0
            own = view.rank if self.name == "reducescatter" else view.root
            # All-reduces in place are of sums that are 0.
            adds = view.in_place and self._sums(view) and self.name != "allreduce"
            times = iterations if adds else 1
            return [ExpectedElements(view.got, count, first, 0, view.ranks, own, times)]
        if self.name == "broadcast":
            return [ExpectedElements(view.got, count, 0, view.root)]
        if self.name == "alltoall" and view.in_place and iterations % 2 == 0:
            # Blocks that were exchanged twice are at home again.
            return [ExpectedElements(view.got, view.ranks * count, 0, view.rank)]
        first = view.rank * count if self.name == "alltoall" else 0
        return [
            ExpectedElements(view.got + rank * view.block, count, first, rank) for rank in range(view.ranks)
        ]


def as_operation(pattern: Pattern | None) -> CollectivePattern:
    """Casts to CollectivePattern. Precondition: pattern.kind.of_all_ranks."""
    assert isinstance(pattern, CollectivePattern)
    return pattern


_EVERY, _BLOCKS = "the bytes that each rank has", "the bytes of all ranks' blocks together"
PATTERNS = (
    CollectivePattern(
        _EVERY, "2(n-1)/n", name="allreduce", summary="Measure all-reduce: every rank gets the sum of all."
    ),
    CollectivePattern(
        _BLOCKS, "(n-1)/n", name="allgather", summary="Measure all-gather: every rank gets all blocks."
    ),
    CollectivePattern(
        _BLOCKS,
        "(n-1)/n",
        name="reducescatter",
        summary="Measure reduce-scatter: every rank gets a block of the sum.",
    ),
    CollectivePattern(
        _BLOCKS, "(n-1)/n", name="alltoall", summary="Measure all-to-all: every rank sends a block to each."
    ),
    CollectivePattern(
        _EVERY, "1", name="broadcast", summary="Measure broadcast: every rank gets the root's data."
    ),
    CollectivePattern(_EVERY, "1", name="reduce", summary="Measure reduce: the root gets the sum of all."),
    CollectivePattern(
        "nothing", "0", name="barrier", summary="Measure barrier: no rank goes on before all have come."
    ),
)
