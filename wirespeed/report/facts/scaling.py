"""Scaling of a program: its step over the number of ranks, a curve for each path, and the ideal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wirespeed.grouping import grouped
from wirespeed.report.facts.markers import sign
from wirespeed.report.sources import ReportRun, host_of
from wirespeed.results.coerce import text
from wirespeed.results.contradictions import SAME_PROGRAM
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.samples import ratio_interval

IDEAL = "ideal"


@dataclass(frozen=True)
class ScalingPoint:
    """A figure of so many ranks."""

    ranks: int
    entry: Entry
    mark: str


@dataclass(frozen=True)
class ScalingCurve:
    """A path, from the fewest ranks on."""

    path: str
    label: str
    points: tuple[ScalingPoint, ...]


@dataclass(frozen=True)
class Scaling:
    """One program that was measured with several numbers of ranks."""

    title: str
    strong: bool
    curves: tuple[ScalingCurve, ...]
    base: ScalingPoint
    """One rank alone, or the fastest figure of the fewest ranks."""

    @property
    def ranks(self) -> list[int]:
        """Numbers of ranks that were measured."""
        return sorted({point.ranks for curve in self.curves for point in curve.points} | {self.base.ranks})

    def ideal(self, ranks: int) -> float:
        """Seconds of a step if communication and division cost nothing."""
        return self.base.entry.seconds / (ranks / self.base.ranks if self.strong else 1)

    def efficiency(self, point: ScalingPoint) -> tuple[float, float, float]:
        """The ideal time over the measured one, and the ends of its interval."""
        base, own = self.base.entry, point.entry
        if point is self.base:
            return 1.0, 1.0, 1.0
        share = self.base.ranks / point.ranks if self.strong else 1.0
        found = ratio_interval((base.seconds, base.low, base.high), (own.seconds, own.low, own.high))
        ratio, low, high = (share * end for end in found)
        return ratio, low, high


def scalings(sets: Sequence[ReportRun]) -> list[Scaling]:
    """Programs that were measured with two numbers of ranks or more, of all files together."""
    runs = [measured.run for measured in sets if measured.run.traits.kind.program and measured.run.entries]
    known = grouped(
        ((run.head.plan.pattern, domain, *(str(run.options.get(name)) for name in SAME_PROGRAM)), run)
        for run in runs
        for domain in _domains(run)
    )
    return [found for (name, domain, *_), alike in known.items() for found in _scaling(name, domain, alike)]


def _domains(run: Run) -> list[str]:
    return [*dict.fromkeys(entry.memory_domain for entry in run.entries.values())]


def _scaling(name: str, domain: str, runs: Sequence[Run]) -> Iterator[Scaling]:
    """None where all had the same number of ranks."""
    ordered = sorted(runs, key=lambda run: run.head.started)
    overlaps, hosts = {run.options.get("overlap") for run in runs}, {host_of(run) for run in runs}
    found: dict[tuple[str, str], dict[int, ScalingPoint]] = {}
    alone: dict[str, ScalingPoint] = {}
    for run in ordered:
        ranks = run.head.plan.ranks
        more = [f"overlap {run.options.get('overlap')}"] if len(overlaps) > 1 else []
        more += [host_of(run)] if len(hosts) > 1 else []
        for entry in run.entries.values():
            if entry.memory_domain != domain or entry.uncertain or not entry.program:
                continue
            point = ScalingPoint(ranks, entry, sign(run, entry))
            if ranks == 1:
                alone[host_of(run)] = point
            else:
                label = text(", ".join([entry.path, *more]))
                found.setdefault((entry.path, label), {})[ranks] = point
    points = [point for of in found.values() for point in of.values()]
    base = next(iter(alone.values()), None) or min(
        points, key=lambda point: (point.ranks, point.entry.seconds), default=None
    )
    if base is None or not any(point.ranks != base.ranks for point in points):
        return
    strong = runs[0].options.get("scaling") == "strong"
    size = f"{runs[0].options.get('size')} {'in all' if strong else 'a rank'}"
    memory = f", {domain} data" if any(len(_domains(run)) > 1 for run in runs) else ""
    title = f"{name}, {'strong' if strong else 'weak'} scaling: {size}{memory}"
    one = (base,) if base.ranks == 1 else ()
    curves = (
        ScalingCurve(path, label, (*one, *(of[ranks] for ranks in sorted(of))))
        for (path, label), of in found.items()
    )
    yield Scaling(text(title), strong, tuple(curves), base)
