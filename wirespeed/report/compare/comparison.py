"""Two sides compared: runs in, verdicts and likely causes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from wirespeed.errors import ExitCode, gravest
from wirespeed.report import cannot_tell
from wirespeed.report.cannot_tell import (
    FEW_LAUNCHES,
    NOTHING_IN_COMMON,
    OLD_IS_FIXED,
    ONE_LAUNCH,
    Unjudged,
)
from wirespeed.report.compare.beside import Beside
from wirespeed.report.compare.definitions import aligned
from wirespeed.report.compare.environment import Difference, differences
from wirespeed.report.compare.matching import Key, LeftOut, match
from wirespeed.report.compare.verdicts import Verdicts, by_path, unjudged, verdicts
from wirespeed.report.systems.published_curves import PublishedCurves, common_sizes, load_system
from wirespeed.results.runs import Run
from wirespeed.statistics.student import COMPARED_ALARMS
from wirespeed.units import counted

NOTHING_BESIDE = Beside()


@dataclass(frozen=True)
class Comparison:
    """Two sides compared."""

    old: str
    new: str
    verdicts: Verdicts
    differences: list[Difference]
    only_old: list[Key]
    only_new: list[Key]
    spread: float | None
    """Difference between launches, if it is known."""
    notes: tuple[str, ...]
    """Conditions of an old side that was published: what it was measured on, and how."""
    impossible: tuple[list[LeftOut], list[LeftOut]] = ([], [])
    """Figures of the old and of the new side that cannot be true, and so are not compared."""

    least: float = 0.0
    """Changes of the time up to this share count as none."""
    foreign: bool = False
    """Has another tool measured one of the sides?"""
    fixed_old: bool = False
    """Can only the new side have more launches?"""
    order: str = ""
    """A line where all launches of one side came before those of the other."""
    lacking: list[Unjudged] = field(default_factory=list)
    """Figures of one side that the other was to measure; all of them where nothing is in common."""
    earlier: list[str] = field(default_factory=list)
    """Files beside with launches of the same thing."""
    bounds: list[str] = field(default_factory=list)
    """Files beside with what such launches differ by."""

    @property
    def harmful(self) -> bool:
        return self.verdicts.harmful

    @property
    def unjudged(self) -> list[Unjudged]:
        """Things that were asked and are not judged."""
        found = [*self.lacking, *unjudged(self.verdicts)]
        few = (FEW_LAUNCHES, ONE_LAUNCH) if self.fixed_old else ()
        return [replace(one, reason=OLD_IS_FIXED) if one.reason in few else one for one in found]

    def code(self, *, strict: bool = False) -> ExitCode:
        """Exit code of what is compared; `strict`: what cannot be told fails as well."""
        worse = ExitCode.WORSE if self.harmful else ExitCode.OK
        impossible = ExitCode.IMPOSSIBLE if any(self.impossible) else ExitCode.OK
        return gravest(worse, impossible, cannot_tell.code(bool(self.unjudged), strict=strict))

    @property
    def launches(self) -> list[tuple[int, int]]:
        """Launches on the old and on the new side, of each figure with a change."""
        return [verdict.change.launches for verdict in self.verdicts.figures if verdict.change]


def compare(
    old: Sequence[Run],
    new: Sequence[Run],
    names: tuple[str, str] = ("old", "new"),
    spread: float | None = None,
    least: float = 0.0,
    notes: tuple[str, ...] = (),
    beside: Beside = NOTHING_BESIDE,
    share_of_alarms: float = 1.0,
    fixed_old: bool = False,
) -> Comparison:
    """`spread`: what launches differ by, if it is known. `notes`: the old side was published.

    `beside`: files that may tell what launches differ by, where each side has one. `share_of_alarms`: of all
    looks at these launches, that of this one. `fixed_old`: only the new side can have more launches.
    """
    old, new, refused = aligned(old, new)
    matched = match(old, new)
    lacking = [*refused, *by_path(matched.lacking, matched.keys)]
    if not (refused or matched.pairs or any(matched.impossible)):
        ends = zip(names, (matched.only_old, matched.only_new), strict=True)
        sides = "; ".join(f"{name} has {_listed(keys)}" for name, keys in ends if keys or not lacking)
        lacking.append(Unjudged(sides or "all figures", NOTHING_IN_COMMON))
    further, only_old = ([], []) if notes else (differences(old, new), matched.only_old)
    history, earlier = beside.earlier([*old, *new])
    learnt, bounds = beside.learnt([*old, *new])
    told = verdicts(matched, spread, least, COMPARED_ALARMS * share_of_alarms, history, learnt)
    alone = only_old, matched.only_new
    foreign = any(run.foreign for run in (*old, *new))
    order = "" if notes else _order(old, new, fixed_old)
    return Comparison(
        *names,
        told,
        further,
        *alone,
        spread,
        notes,
        matched.impossible,
        least,
        foreign,
        fixed_old,
        order,
        lacking,
        earlier,
        bounds,
    )


def _order(old: Sequence[Run], new: Sequence[Run], fixed_old: bool) -> str:
    """A line where all launches of one side came before those of the other; those by turns share a drift.

    Or where both sides have the same ones, which no change can show.
    """
    if same := {run.name for run in old} & {run.name for run in new}:
        return f"{counted(len(same), 'run')} on both sides, held against itself: were other files meant?"
    sides = [
        [entry.at for run in runs for figure in run.entries.values() for entry in figure.each]
        for runs in (old, new)
    ]
    if not all(sides) or not all(map(all, sides)):
        return ""
    drift = "a drift of the machine looks like a change"
    if max(sides[0]) < min(sides[1]):
        remedy = "the old side cannot be measured again" if fixed_old else "launches that take turns tell"
        return f"all old launches came before the new ones: {drift}; {remedy}"
    if max(sides[1]) < min(sides[0]):
        return f"all new launches came before the old ones: {drift}; launches that take turns tell"
    return ""


def compare_published(
    name: str, new: Sequence[Run], new_name: str = "new", spread: float | None = None, least: float = 0.0
) -> Comparison:
    """A system's published curves as the old side. Raises WirespeedError for a system that is not known."""
    system = load_system(name)
    told = system.published
    notes = (
        f"{system.name}: {told.setting}. Source: {told.source}",
        f"{system.name}: {told.definition}; published without intervals, taken as exact",
    )
    return compare(published(system, new), new, (system.name, new_name), spread, least, notes)


def published(system: PublishedCurves, runs: Sequence[Run]) -> list[Run]:
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
                twin.add(run.entries[path, size].each[-1].with_time(seconds, seconds, seconds, 0.0))
    return list(found.values())


def _listed(keys: Sequence[Key]) -> str:
    names = list(dict.fromkeys(key.title for key in keys))
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "") if names else "none"
