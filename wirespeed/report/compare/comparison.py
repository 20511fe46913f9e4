"""Two sides compared: runs in, verdicts and likely causes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.errors import WirespeedError
from wirespeed.report.compare.environment import Difference, differences
from wirespeed.report.compare.matching import Key, match
from wirespeed.report.compare.verdicts import FigureVerdict, figure_verdicts
from wirespeed.report.systems.published_curves import Reference, common_sizes, load_system
from wirespeed.results.runs import Run
from wirespeed.statistics.comparison import SPREAD


@dataclass(frozen=True)
class Comparison:
    """Two sides compared."""

    old: str
    new: str
    verdicts: list[FigureVerdict]
    """The most harmful first."""
    differences: list[Difference]
    only_old: list[Key]
    only_new: list[Key]
    spread: float
    notes: tuple[str, ...]
    """Where the old side was published: what it was measured on, and how."""

    @property
    def harmful(self) -> bool:
        return any(verdict.harmful for verdict in self.verdicts)

    @property
    def launches(self) -> tuple[int, int]:
        """The fewest launches of a figure on each side."""
        counts = [verdict.change.launches for verdict in self.verdicts if verdict.change]
        return min((old for old, _ in counts), default=0), min((new for _, new in counts), default=0)


def compare(
    old: Sequence[Run],
    new: Sequence[Run],
    names: tuple[str, str] = ("old", "new"),
    spread: float = SPREAD,
    least: float = 0.0,
    notes: tuple[str, ...] = (),
) -> Comparison:
    """Raises WirespeedError where the sides have no figure in common. `notes`: the old side was published."""
    matched = match(old, new)
    if not matched.pairs:
        ends = zip(names, (matched.only_old, matched.only_new), strict=True)
        sides = [f"{name} has {_listed(keys)}" for name, keys in ends]
        raise WirespeedError(f"no figure in common, so nothing to compare: {'; '.join(sides)}")
    verdicts = figure_verdicts(matched, spread, least, alike=not notes)
    further, only_old = ([], []) if notes else (differences(old, new), matched.only_old)
    return Comparison(*names, verdicts, further, only_old, matched.only_new, spread, notes)


def compare_published(
    name: str, new: Sequence[Run], new_name: str = "new", spread: float = SPREAD, least: float = 0.0
) -> Comparison:
    """A system's published curves as the old side. Raises WirespeedError as compare() does."""
    system = load_system(name)
    told = system.published
    notes = (
        f"{system.name}: {told.setting}. Source: {told.source}",
        f"{system.name}: {told.definition}; published without intervals, taken as exact",
    )
    return compare(published(system, new), new, (system.name, new_name), spread, least, notes)


def published(system: Reference, runs: Sequence[Run]) -> list[Run]:
    """The system's figures as runs, one for each set of conditions in `runs` with published figures."""
    found: dict[str, Run] = {}
    for run in runs:
        plan = run.head.plan
        if not run.published or run.slowed or plan.ranks not in (0, 2):
            continue
        twin = found.setdefault(str(plan), Run(system.name, head=run.head))
        for path in run.paths:
            for size in common_sizes(run, system, path):
                seconds = system.curves[path][size].seconds
                # Only its median is known, so whatever contradicts it goes.
                twin.entries[path, size] = run.entries[path, size].with_time(seconds, seconds, seconds, 0.0)
    return list(found.values())


def _listed(keys: Sequence[Key]) -> str:
    names = list(dict.fromkeys(key.title for key in keys))
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "") if names else "none"
