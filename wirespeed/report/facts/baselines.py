"""A figure's share of its baseline's speed: a list of blocks, of one contiguous message's."""

from __future__ import annotations

from dataclasses import dataclass

from wirespeed.patterns import all_patterns
from wirespeed.report.facts.figures import UNCERTAIN
from wirespeed.report.facts.markers import sign
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import median_interval, middle, ratio_interval


@dataclass(frozen=True)
class ShareOfBaseline:
    """The baseline's time over the figure's, and the ends of its 95 % interval where both have one."""

    name: str
    share: float
    low: float | None = None
    high: float | None = None
    mark: str = ""
    """Mark of the figure."""

    @property
    def uncertain(self) -> bool:
        """Is the interval wider than ±100 %?"""
        return self.low is not None and self.high is not None and self.high - self.low > 2 * self.share

    @property
    def percent(self) -> str:
        """'97', '9.7', '0.97'."""
        number = 100 * self.share
        return f"{number:.0f}" if number >= 9.95 else f"{number:.1f}" if number >= 0.995 else f"{number:.2g}"

    def __str__(self) -> str:
        """'97 % ±1.2', in points of per cent, as far as there is an interval."""
        text = f"{self.percent} %"
        if self.low is None or self.high is None:
            return text
        half = 50 * (self.high - self.low)
        digits = ".0f" if half >= 9.95 else ".1f" if half >= 0.95 else ".1g"
        return f"{text} {UNCERTAIN}" if self.uncertain else f"{text} ±{half:{digits}}"


def share_of_baseline(run: Run, entry: Entry) -> ShareOfBaseline | None:
    """None where nothing that its pattern has as baseline was measured beside it, or either has no time."""
    base = entry.baseline
    if not base or not entry.has_time or not base.seconds or base.name != _baseline_of(entry.pattern):
        return None
    mark = sign(run, entry)
    if entry.launches > 1:
        # Both are slow in a slow launch: their ratio differs less than either.
        timed = (launch for launch in entry.each if launch.has_time)
        ratios = [launch.baseline.seconds / launch.seconds for launch in timed if launch.baseline]
        share = middle(sorted(ratios))
        low, high = median_interval(ratios, share) or (None, None)
        return ShareOfBaseline(base.name, share, low, high, mark)
    if entry.precision is None or base.times.low is None or base.times.high is None:
        return ShareOfBaseline(base.name, base.seconds / entry.seconds, mark=mark)
    times = (base.seconds, base.low, base.high), (entry.seconds, entry.low, entry.high)
    return ShareOfBaseline(base.name, *ratio_interval(*times), mark)


def _baseline_of(pattern: str) -> str | None:
    known = all_patterns().get(pattern)
    return known.baseline if known else None


def baselines(run: Run) -> list[str]:
    """Names of all baselines of a run's figures, each once."""
    return list(dict.fromkeys(entry.baseline.name for entry in run.entries.values() if entry.baseline))
