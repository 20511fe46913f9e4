"""Files beside those that are compared, which tell what launches of the same thing differ by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from wirespeed.judge.model import Side
from wirespeed.judge.spreads import Spread, group_of
from wirespeed.report.check.evaluate import fits
from wirespeed.report.check.requirements import MEDIAN, Requirement
from wirespeed.report.compare.matching import Key, entries
from wirespeed.report.compare.verdicts import launches
from wirespeed.report.facts.machine import devices_lines, mpi_title
from wirespeed.results.runs import Run

MOST_DAYS = 30
"""Older runs do not tell what launches differ by now."""


@dataclass(frozen=True)
class Beside:
    """Files in the folders of both sides, by name."""

    results: Mapping[str, Sequence[Run]] = field(default_factory=dict)
    bounds: Mapping[str, Sequence[Requirement]] = field(default_factory=dict)
    """Learnt by 'wirespeed check --learn'."""

    def earlier(self, compared: Sequence[Run]) -> tuple[dict[Key, Side], list[str]]:
        """Launches of the same plan on the same GPUs by the same MPI, and the files that they are in."""
        found = [
            (run.head.started, file, run)
            for file, runs in self.results.items()
            for run in runs
            if _is_earlier(run, compared)
        ]
        found.sort(key=lambda one: one[:2])
        return launches([run for *_, run in found]), [*dict.fromkeys(file for _, file, _ in found)]

    def learnt(self, compared: Sequence[Run]) -> tuple[dict[Key, Spread], list[str]]:
        """Spreads that bounds on what is compared state, and the files that they are in."""
        found: dict[Key, Spread] = {}
        files = []
        for file, asked in self.bounds.items():
            if new := dict(_stated(asked, compared)):
                found |= new
                files.append(file)
        return found, files


def _stated(asked: Sequence[Requirement], runs: Sequence[Run]) -> Iterator[tuple[Key, Spread]]:
    """Of each figure that a bound states a spread of; a group without a median has that of the figure."""
    for run in runs:
        known = [one for one in asked if one.spread is not None and fits(one, run)]
        groups = {(one.path, one.group): one.spread for one in known if one.bound.kind == MEDIAN}
        figures = {(one.path, one.bytes): one.spread for one in known}
        for key in entries([run]):
            if figure := figures.get((key.path, key.bytes)):
                whole = groups.get((key.path, group_of(key.bytes))) or groups.get((key.path, "")) or figure
                yield key, Spread(whole, figure)


def _is_earlier(run: Run, compared: Sequence[Run]) -> bool:
    """Is it at most MOST_DAYS older than a run of its kind that is compared?"""
    known = {_kind(one): one.head.started for one in compared}
    latest = known.get(_kind(run))
    if latest is None or run.name in {one.name for one in compared}:
        return False
    return timedelta(0) <= _moment(latest) - _moment(run.head.started) <= timedelta(MOST_DAYS)


def _kind(run: Run) -> tuple[str, ...]:
    mpis = {mpi_title(step.mpi) for step in run.steps if step.mpi}
    return str(run.conditions), *devices_lines(run.head.environment.devices), *sorted(mpis)


def _moment(started: str) -> datetime:
    """The beginning of time, where the file does not say."""
    try:
        return datetime.fromisoformat(started).replace(tzinfo=None)
    except ValueError:
        return datetime.min
