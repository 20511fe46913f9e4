"""Some days of a fleet's history: one time for each figure of each node and each pair of nodes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wirespeed.fleet.observations import Observation
from wirespeed.statistics.samples import middle

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Names = NDArray[np.object_]

FACTS = ("driver", "MPI", "kernel")
"""What may have changed when a node became slower, the likeliest cause first."""
Facts = dict[str, dict[str, set[str]]]
"""Of each node: the values of each of FACTS that were seen."""


@dataclass(frozen=True)
class Window:
    """Rows as columns, ordered by figure: each row is the median of what was measured in these days."""

    figures: Names
    ones: Names
    others: Names
    """'' for a node alone."""
    parts: Names
    logs: NDArray[np.float64]
    """Natural logarithms of seconds."""
    counts: NDArray[np.int64]
    """Measurements behind each."""

    def __len__(self) -> int:
        return len(self.figures)

    def by_figure(self) -> Iterator[tuple[str, Window]]:
        """Each figure, with its rows."""
        if not len(self):
            return
        starts = np.flatnonzero(np.concatenate([[True], self.figures[1:] != self.figures[:-1]]))
        for start, end in zip(starts, [*starts[1:], len(self)], strict=True):
            yield str(self.figures[start]), self[slice(start, end)]

    def __getitem__(self, which: Any) -> Window:
        columns = (self.figures, self.ones, self.others, self.parts, self.logs, self.counts)
        return Window(*(column[which] for column in columns))

    @property
    def nodes(self) -> list[str]:
        """Their names, in alphabetical order."""
        return sorted({*self.ones, *self.others} - {""})


def window_of(found: Iterable[Observation]) -> Window:
    """The medians of observations."""
    times: dict[tuple[str, str, str, str], list[float]] = defaultdict(list)
    for one in found:
        times[one.figure, one.one, one.other, one.part].append(math.log(one.seconds))
    keys = sorted(times)
    figures, ones, others, parts = (_names([key[place] for key in keys]) for place in range(4))
    return Window(
        figures,
        ones,
        others,
        parts,
        np.array([middle(sorted(times[key])) for key in keys], dtype=np.float64),
        np.array([len(times[key]) for key in keys], dtype=np.int64),
    )


def _names(words: Sequence[str]) -> Names:
    column = np.empty(len(words), dtype=object)
    column[:] = words
    return column


def facts_of(found: Iterable[tuple[str, str, str, str, str]]) -> Facts:
    """From rows of node, partner ('': none), and the FACTS of a measurement; '' is not known."""
    facts: Facts = defaultdict(lambda: defaultdict(set))
    for one, other, *values in found:
        for node in filter(None, (one, other)):
            for name, value in zip(FACTS, values, strict=True):
                if value:
                    facts[node][name].add(value)
    return facts
