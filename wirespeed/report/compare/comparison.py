"""Two sides compared: runs in, verdicts and likely causes out."""

from __future__ import annotations

from collections.abc import Sequence

from wirespeed.errors import WirespeedError
from wirespeed.report.compare.environment import differences
from wirespeed.report.compare.matching import Key, Matched, match
from wirespeed.report.compare.terminal import Comparison, series_name
from wirespeed.report.compare.verdicts import judge
from wirespeed.report.systems.published_curves import Reference, common_sizes, load_system
from wirespeed.results.runs import Entry, Run
from wirespeed.statistics.comparison import SPREAD


def compare(
    old: Sequence[Run],
    new: Sequence[Run],
    names: tuple[str, str] = ("old", "new"),
    spread: float = SPREAD,
    least: float = 0.0,
) -> Comparison:
    """Raises WirespeedError where the sides have no figure in common."""
    matched = match(old, new)
    _something(matched, names)
    return Comparison(
        *names,
        judge(matched, spread, least),
        differences(old, new),
        matched.only_old,
        matched.only_new,
        spread,
    )


def compare_published(
    name: str, new: Sequence[Run], new_name: str = "new", spread: float = SPREAD, least: float = 0.0
) -> Comparison:
    """A system's published curves as the old side. Raises WirespeedError as compare() does."""
    system = load_system(name)
    old = published(system, new)
    matched = match(old, new)
    _something(matched, (system.name, new_name))
    return Comparison(
        system.name,
        new_name,
        judge(matched, spread, least, alike=False),
        only_new=matched.only_new,
        spread=spread,
        notes=(
            f"{system.name}: {system.published.setting}. Source: {system.published.source}",
            f"{system.name}: {system.published.definition}; published without intervals, taken as exact",
        ),
    )


def published(system: Reference, runs: Sequence[Run]) -> list[Run]:
    """The system's figures as runs, one for each set of conditions in `runs` that fit them."""
    found: dict[str, Run] = {}
    for run in runs:
        plan = run.head.plan
        if not run.published or run.background or plan.ranks not in (0, 2):
            continue
        twin = found.setdefault(str(plan), Run(system.name, head=run.head))
        for path in run.paths:
            for size in common_sizes(run, system, path):
                entry, seconds = run.entries[path, size], system.curves[path][size].seconds
                twin.entries[path, size] = _published(entry, seconds)
    return list(found.values())


def _published(entry: Entry, seconds: float) -> Entry:
    """What was published beside this entry. Only its median is known, and nothing that belies it."""
    return entry.with_time(seconds, seconds, seconds, 0.0)


def _something(matched: Matched, names: tuple[str, str]) -> None:
    if matched.pairs:
        return
    sides = [
        f"{name} has {_listed(keys)}"
        for name, keys in zip(names, (matched.only_old, matched.only_new), strict=True)
    ]
    raise WirespeedError(f"no figure in common, so nothing to compare: {'; '.join(sides)}")


def _listed(keys: Sequence[Key]) -> str:
    names = list(dict.fromkeys(series_name(key.series) for key in keys))
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "") if names else "none"
