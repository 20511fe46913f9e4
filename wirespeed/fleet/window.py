"""Some days of a fleet's history: the independent times of each node and each pair of nodes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from wirespeed.fleet.observations import Observation
from wirespeed.statistics.arrays import Floats, Names
from wirespeed.statistics.samples import median

FACTS = ("driver", "MPI", "kernel")
"""Possible changes when a node became slower, the likeliest cause first."""
NodeFacts = dict[str, dict[str, set[str]]]
"""Values of each of FACTS that were seen, by node."""
MINUTES_APART = 10
"""Times of one launch and one pair that are so far apart are independent."""
SLOT_S = 60 * MINUTES_APART
EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class HistoryWindow:
    """Rows as columns, ordered by figure: each is one independent time."""

    figures: Names
    ones: Names
    others: Names
    """'' for a node alone."""
    parts: Names
    launches: Names
    """Names of the launches; what one launch measured may have an effect in common."""
    moments: Floats
    """Days since 1970."""
    logs: Floats
    """Natural logarithms of seconds."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """The hardware of each node, where it is known."""

    def __len__(self) -> int:
        return len(self.figures)

    def by_figure(self) -> Iterator[tuple[str, HistoryWindow]]:
        """Each figure, with its rows."""
        if not len(self):
            return
        starts = np.flatnonzero(np.concatenate([[True], self.figures[1:] != self.figures[:-1]]))
        for start, end in zip(starts, [*starts[1:], len(self)], strict=True):
            yield str(self.figures[start]), self[slice(start, end)]

    def __getitem__(self, which: Any) -> HistoryWindow:
        names = (self.figures, self.ones, self.others, self.parts, self.launches)
        figures, ones, others, parts, launches = (column[which] for column in names)
        return HistoryWindow(
            figures, ones, others, parts, launches, self.moments[which], self.logs[which], self.kinds
        )

    @property
    def nodes(self) -> list[str]:
        """Their names, in alphabetical order."""
        return sorted({*self.ones, *self.others} - {""})


def window_of(found: Iterable[Observation]) -> HistoryWindow:
    """Independent times: medians of what one launch measured of the same pair within MINUTES_APART."""
    times: dict[tuple[str, str, str, str, str, int], list[float]] = defaultdict(list)
    days: dict[tuple[str, str, str, str, str, int], float] = {}
    kinds: dict[str, str] = {}
    for seen in sorted(found, key=lambda seen: seen.at):
        seconds = (seen.at - EPOCH).total_seconds()
        key = (seen.figure, seen.one, seen.other, seen.part, seen.launch_name, int(seconds // SLOT_S))
        times[key].append(math.log(seen.seconds))
        days.setdefault(key, seconds / 86400)
        kinds.update((node, kind) for node, kind in seen.hardware_of if kind)
    keys = sorted(times)
    figures, ones, others, parts, launches = (_names([str(key[place]) for key in keys]) for place in range(5))
    return HistoryWindow(
        *(figures, ones, others, parts, launches),
        np.array([days[key] for key in keys], dtype=np.float64),
        np.array([median(times[key]) for key in keys], dtype=np.float64),
        kinds,
    )


def _names(words: Sequence[str]) -> Names:
    column = np.empty(len(words), dtype=object)
    column[:] = words
    return column


def facts_of(found: Iterable[tuple[str, str, str, str, str]]) -> NodeFacts:
    """From rows of node, partner ('': none), and the FACTS of a measurement; '' is not known."""
    facts: NodeFacts = defaultdict(lambda: defaultdict(set))
    for word, other, *values in found:
        for node in filter(None, (word, other)):
            for name, value in zip(FACTS, values, strict=True):
                if value:
                    facts[node][name].add(value)
    return facts
