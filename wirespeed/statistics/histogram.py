"""Histograms of times that span many orders of magnitude, small enough for a line of a result file."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import TypedDict

UNIT_S = 1e-9
BINS_PER_OCTAVE = 16
"""Resolution of the histogram in the result file: a bin is 4.4 % wide."""
SHORTEST_S = 1e-12
"""Time that a coarse clock's zero counts as."""


class HistogramCounts(TypedDict):
    """A histogram as a result file has it."""

    base: float
    unit_s: float
    first: int
    counts: list[int]


class Histogram:
    """Counts in log-spaced bins: bin i holds unit * 2^(i/n) <= seconds < unit * 2^((i+1)/n), n per octave."""

    def __init__(self, bins_per_octave: int = BINS_PER_OCTAVE, unit_s: float = UNIT_S) -> None:
        self.bins_per_octave, self.unit_s = bins_per_octave, unit_s
        self.counts: dict[int, int] = {}
        self.total = 0

    @property
    def base(self) -> float:
        """Upper end of a bin over its lower end."""
        return float(2.0 ** (1 / self.bins_per_octave))

    def edge(self, index: float) -> float:
        """Lower end of a bin; between two integers: that far into the bin, on the log scale."""
        return float(self.unit_s * 2.0 ** (index / self.bins_per_octave))

    def _index(self, seconds: float) -> int:
        seconds = max(seconds, SHORTEST_S)
        index = math.floor(math.log2(seconds / self.unit_s) * self.bins_per_octave)
        # At a bin's very edge the logarithm may be rounded to the wrong side.
        if seconds < self.edge(index):
            return index - 1
        return index + 1 if seconds >= self.edge(index + 1) else index

    def add(self, seconds: Sequence[float]) -> None:
        self.add_sorted(sorted(seconds))

    def add_sorted(self, seconds: Sequence[float]) -> None:
        """Adds samples in ascending order: one look-up a bin, not a logarithm a sample."""
        at = 0
        while at < len(seconds):
            index = self._index(seconds[at])
            behind = bisect_left(seconds, self.edge(index + 1), at + 1)
            self.counts[index] = self.counts.get(index, 0) + behind - at
            at = behind
        self.total += len(seconds)

    def merge(self, finer: Histogram) -> None:
        """Adds the counts of a histogram with a whole multiple of the bins per octave."""
        ratio, rest = divmod(finer.bins_per_octave, self.bins_per_octave)
        if rest or finer.unit_s != self.unit_s:
            raise ValueError("histograms whose bins do not fit into each other")
        for index, count in finer.counts.items():
            self.counts[index // ratio] = self.counts.get(index // ratio, 0) + count
        self.total += finer.total

    def _at(self, position: float) -> float:
        """The value with `position` samples below it, were each bin's spread evenly on the log scale."""
        if not self.total:
            raise ValueError("an empty histogram has no quantiles")
        indices = sorted(self.counts)
        ends = list(accumulate(self.counts[index] for index in indices))
        at = bisect_left(ends, position)
        count = self.counts[indices[at]]
        below = ends[at] - count
        return self.edge(indices[at] + (position - below) / count)

    def quantile(self, share: float) -> float:
        """The smallest value with at least this share of the samples at or below it, to within one bin.

        The result lies in that sample's bin, so it is off by less than a factor of `base`. Raises ValueError
        for an empty histogram.
        """
        if not 0 <= share <= 1:
            raise ValueError(f"a quantile is a share between 0 and 1, not {share}")
        return self._at(share * self.total)

    def ranked(self, rank: int) -> float:
        """The sample of this rank (1 is the smallest), to within one bin."""
        return self._at(rank - 0.5)

    def to_dict(self) -> HistogramCounts:
        """As in the result file: counts of all bins from `first` on."""
        first = min(self.counts, default=0)
        counts = [self.counts.get(i, 0) for i in range(first, max(self.counts) + 1)] if self.counts else []
        return {"base": self.base, "unit_s": self.unit_s, "first": first, "counts": counts}
