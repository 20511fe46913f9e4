"""How often the verdicts of compare, check and watch are right, under noise that machines have (claims.py).

Each repetition makes result files up (no machine is measured), reads them, and takes the verdict that the
command would give. A figure is the time of one path at one size in one launch: its logarithm is 0 plus noise
of bench/noise.py; a launch's effect is common to a path's sizes.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np
from msgspec import structs
from noise import Noise

from wirespeed.cli.common.sides import LOOKS as LAUNCHES
from wirespeed.cli.common.sides import MeasuredSide, measure_until_decided
from wirespeed.judge import model
from wirespeed.judge.bounds import figure_limit, group_limit
from wirespeed.judge.model import LaunchMedian, Side
from wirespeed.judge.spreads import groups, stated
from wirespeed.judge.verdict import BETTER, NOT_WORSE, WORSE
from wirespeed.paths import mover_of
from wirespeed.report.check.evaluate import FAILED, GROSS, check
from wirespeed.report.check.learn import learn
from wirespeed.report.check.requirements import read_requirements
from wirespeed.report.compare.comparison import Comparison, compare
from wirespeed.report.drift.detection import FIRST, Drift
from wirespeed.results.reading import record_of
from wirespeed.results.runs import Entry, Run, collect

if TYPE_CHECKING:
    from noise import Floats
    from numpy.random import Generator
    from numpy.typing import NDArray

PATHS = (
    *("gpu", "nccl-stream", "ipc-write", "aware", "nccl", "aware-nogdr"),
    *("staged-pipelined", "staged", "host"),
)
"""The quietest first."""
NEXT = 10
"""Launches that are held against each set of learnt bounds."""
BY_FILE = 2
"""Sets of bounds that go through files and check() as well, which takes many times longer."""
LOOKS = 100
"""Looks of a watch that names nothing, if it is right."""
ROUNDED = 0.001
"""Largest part of a figure that its rounding in a file is."""
WITHIN = 0.002
"""Half width of the interval within a launch."""
NOISES = {
    "launches differ by 1 % (normal), sizes by 0.3 % more": Noise(normal=0.003, launch=0.01),
    "by 3 %": Noise(normal=0.003, launch=0.03),
    "by 5 %": Noise(normal=0.003, launch=0.05),
    "each figure by 1 % (normal), nothing in common": Noise(normal=0.01),
    "each figure by 1 % (t3)": Noise(normal=0.0, t3=0.01),
    "each figure by exponential delays of 1 %": Noise(normal=0.0, exponential=0.01),
    "1 %, and 5 % of the figures late by 5 %": Noise(late_share=0.05),
    "1 %, and 30 % of the figures in a mode 5 % slower": Noise(mode_share=0.3),
    "launches differ by 2 % (t3)": Noise(normal=0.003, launch_t3=0.02),
    "by 2 % (exponential)": Noise(normal=0.003, launch_exponential=0.02),
    "1 %, and a drift of 10 %, sides by turns": Noise(drift=0.10),
}
LEARNT: dict[str, Callable[[float], Noise]] = {
    "launches differ (normal)": lambda size: Noise(normal=0.1 * size, launch=size),
    "each figure": lambda size: Noise(normal=size),
    "each figure (t3)": lambda size: Noise(normal=0.0, t3=size),
    "5 % of the figures late by 5 %": lambda size: Noise(normal=size, late_share=0.05),
    "launches (exponential)": lambda size: Noise(normal=0.1 * size, launch_exponential=size),
    "launches (t3)": lambda size: Noise(normal=0.1 * size, launch_t3=size),
}
WATCHED = {
    "launches (normal)": Noise(normal=0.003, launch=0.01),
    "figures (t3)": Noise(normal=0.0, t3=0.01),
    "figures (exponential)": Noise(normal=0.0, exponential=0.01),
    "5 % of the figures late by 5 %": Noise(late_share=0.05),
    "30 % of them 5 % slower": Noise(mode_share=0.3),
}
COUNTS = ((1, 1), (2, 2), (3, 3), (5, 5), (5, 1), (10, 2))


def logs(dice: Generator, noise: Noise, paths: int, sizes: int, launches: int) -> Floats:
    """Logarithms of times of that shape; the launches are in the order of time."""
    shape = (paths, sizes, launches)
    path, _, launch = np.indices(shape)
    numbers = path * launches + launch
    moments = launch / max(launches - 1, 1)
    return noise.measured(dice, numbers, np.zeros(shape, dtype=np.int64), moments)


def runs(
    times: Floats,
    name: str,
    of_bytes: Sequence[int] = (),
    moments: Sequence[int] = (),
    paths_of: Sequence[str] = PATHS,
) -> list[Run]:
    """A run for each launch, as read from a file; `of_bytes`: the sizes, powers of two by default.

    `moments`: places of the launches in the order of time, if that is known.
    """
    paths, sizes, launches = times.shape
    head, end = _ends(sizes)
    of_bytes = of_bytes or [1 << size for size in range(sizes)]
    records: list[Any] = []
    for launch in range(launches):
        run = f"{name}{launch}"
        at = f"2026-01-01T00:00:{moments[launch]:02}+00:00" if len(moments) else ""
        records.append(structs.replace(head, run=run))
        for path in range(paths):
            records += (
                structs.replace(_entry(run, paths_of[path], of_bytes[size], times[path, size, launch]), at=at)
                for size in range(sizes)
            )
        records.append(structs.replace(end, run=run))
    return collect(records)


@cache
def _ends(sizes: int) -> tuple[Any, Any]:
    """The first and the last record of a run, as read."""
    plan = {"pattern": "pingpong", "ranks": 2, "sizes": [1 << size for size in range(sizes)]}
    head = record_of({"kind": "run", "run": "", "plan": plan, "environment": {"host": "n1"}})
    return head, record_of({"kind": "end", "run": "", "status": "complete"})


def _entry(run: str, path: str, size: int, log: float) -> Entry:
    seconds = 1e-3 * math.exp(log)
    low, high = seconds * (1 - WITHIN), seconds * (1 + WITHIN)
    read = _read(path, size)
    times = structs.replace(read.times, median=seconds, low=low, high=high, min=low, p99=high)
    return structs.replace(read, run=run, times=times)


@cache
def _read(path: str, size: int) -> Entry:
    """An entry of that path and size, as read: reading takes most of a simulation's time."""
    times = {"median": 1.0, "low": 1.0, "high": 1.0, "min": 1.0, "p99": 1.0}
    what = {"kind": "entry", "run": "", "pattern": "pingpong", "path": path, "memory": "pageable"}
    how = {"definition": "one way: half of a round trip", "samples": 120, "stopped": "precision"}
    entry = record_of({**what, **how, "bytes": size, "seconds": times, "precision": WITHIN})
    assert isinstance(entry, Entry)
    return entry


def compared(
    dice: Generator, noise: Noise, counts: tuple[int, int], paths: int, sizes: int, slower: float = 0.0
) -> Comparison:
    """One comparison; the first path of the new side is `slower`."""
    both = logs(dice, noise, paths, sizes, sum(counts))
    mine = np.zeros(sum(counts), dtype=bool)
    # By turns: the launches of the larger side are spread evenly.
    mine[np.round(np.linspace(0, sum(counts) - 1, counts[0] * 2 + 1))[1::2].astype(int)] = True
    while mine.sum() > counts[0]:
        mine[np.flatnonzero(mine)[-1]] = False
    while mine.sum() < counts[0]:
        mine[np.flatnonzero(~mine)[0]] = True
    new = both[:, :, ~mine]
    new[0] += math.log1p(slower)
    places = np.flatnonzero(mine), np.flatnonzero(~mine)
    return compare(
        runs(both[:, :, mine], "old", moments=places[0].tolist()),
        runs(new, "new", moments=places[1].tolist()),
    )


_UNTOLD = patch.object(model, "found_at", lambda level, freedom: 0.0)
"""Where only what is named counts, what would have been found, which takes most of the time, is left out."""


def named(found: Comparison) -> bool:
    figures = [one.what for one in found.verdicts.figures]
    return any(what in (WORSE, BETTER) for what in [*figures, *(one.what for one in found.verdicts.groups)])


def share(count: float, repetitions: int) -> str:
    return f"{100 * count / repetitions:.1f}"


def false_alarms(repetitions: int) -> Iterator[str]:
    """The percentage of comparisons of equal sides that name anything, of one path or of nine."""
    yield "| launches old, new | " + " | ".join(f"{a}, {b}" for a, b in COUNTS) + " |"
    yield "|---" * (len(COUNTS) + 1) + "|"
    for name, noise in NOISES.items():
        cells = []
        for counts in COUNTS:
            both = []
            for paths, sizes in ((1, 5), (9, 3)):
                dice = np.random.default_rng([paths, *counts])
                with _UNTOLD:
                    results = (compared(dice, noise, counts, paths, sizes) for _ in range(repetitions))
                    both.append(sum(map(named, results)))
            cells.append(share(max(both), repetitions))
        yield f"| {name} | " + " | ".join(cells) + " |"


@dataclass
class _Side(MeasuredSide):
    """A side whose launches are drawn beforehand."""

    times: Floats = field(default_factory=lambda: np.zeros(0))
    """Of each path, size and moment."""
    place: int = 0
    """0: it begins; 1: it is the other one."""
    made: list[Run] = field(default_factory=list)

    @property
    def runs(self) -> list[Run]:
        return self.made

    def measure(self, paths: Collection[str], seconds: float) -> None:
        moment = 2 * self.launches + (self.place != self.launches % 2)
        self.launches += 1
        chosen = [place for place, path in enumerate(PATHS) if not paths or path in paths]
        times = self.times[chosen, :, moment : moment + 1]
        name = f"{self.name}{self.launches}-"
        self.made += runs(times, name, (), [moment], [PATHS[place] for place in chosen])


def measured(repetitions: int) -> Iterator[str]:
    """Sides that are measured by turns until all is decided: what is named, and after how many launches."""
    yield "| noise | nothing changed: named | launches a side | `gpu` 5 % slower: named | launches a side |"
    yield "|---|---|---|---|---|"
    for name in NOISES:
        cells = []
        for slower in (0.0, 0.05):
            dice, hits, launches = np.random.default_rng(1), 0, 0
            for _ in range(repetitions):
                found, many = _until_decided(
                    logs(dice, NOISES[name], len(PATHS), 3, 2 * LAUNCHES[-1]), slower
                )
                right = {group.key.path for group in found.verdicts.groups if group.what == WORSE}
                hits += PATHS[0] in right if slower else named(found)
                launches += many
            cells += [share(hits, repetitions), f"{launches / repetitions:.1f}"]
        yield f"| {name} | {' | '.join(cells)} |"


def _until_decided(times: Floats, slower: float) -> tuple[Comparison, int]:
    """The comparison, and how many launches each side had; the first path of the new side is `slower`."""
    changed = times.copy()
    changed[0] += math.log1p(slower)
    old = _Side("old", [], "old", times=times)
    new = _Side("new", [], "new", times=changed, place=1)

    def judged(part: float) -> Comparison:
        return compare(old.runs, new.runs, share_of_alarms=part)

    with _UNTOLD:
        found, _ = measure_until_decided([old, new], judged, None, lambda text: None)
    return found, old.launches


def slowdowns(repetitions: int) -> Iterator[str]:
    """The percentage of comparisons that name a slower path, and what they say of a change by 5 %."""
    launches = (3, 3), (5, 5)
    yield "| paths | noise | " + " | ".join(f"{a}, {b} launches" for a, b in launches) + " |"
    yield "|---" * (len(launches) + 2) + "|"
    noises = {
        "launches differ by 1 %": Noise(normal=0.003, launch=0.01),
        "each figure by 1 %": Noise(normal=0.01),
    }
    for paths, sizes in ((1, 5), (9, 3)):
        for name, noise in noises.items():
            cells = [_slower(repetitions, noise, counts, paths, sizes) for counts in launches]
            yield f"| {paths} | {name} | " + " | ".join(cells) + " |"


def _slower(repetitions: int, noise: Noise, counts: tuple[int, int], paths: int, sizes: int) -> str:
    cells, unsure, overlooked, smallest = [], 0, 0, []
    for slower in (0.05, 0.10):
        dice, hits = np.random.default_rng([paths, *counts]), 0
        for _ in range(repetitions):
            found = compared(dice, noise, counts, paths, sizes, slower)
            (path,) = (one for one in found.verdicts.groups if one.key.path == PATHS[0])
            figures = [one.what for one in found.verdicts.figures if one.key.path == PATHS[0]]
            hits += WORSE in (path.what, *figures)
            if slower == 0.05:
                unsure += bool(found.unjudged)
                overlooked += path.what in (NOT_WORSE, BETTER) and WORSE not in figures
            smallest.append(path.smallest or 0.0)
        cells.append(share(hits, repetitions))
    cells += [share(count, repetitions) for count in (overlooked, unsure)]
    return "; ".join([*cells, f"{100 * float(np.median(smallest)):.1f}"])


def bounds(repetitions: int) -> Iterator[str]:
    """Pairs of healthy launches that break any learnt bound, and slow ones that are found."""
    shapes = (5, 1), (5, 9), (10, 1), (10, 9), (20, 1)
    yield "| noise; launches, bounds | " + " | ".join(f"{a}, {31 * paths}" for a, paths in shapes) + " |"
    yield "|---" * (len(shapes) + 1) + "|"
    for name, noise in LEARNT.items():
        cells = []
        for launches, paths in shapes:
            found = np.zeros(3)
            for seed in range(repetitions):
                dice = np.random.default_rng(seed)
                size = 0.02 if launches == 10 else 0.01
                found += _learnt(dice, noise(size), paths, 31, launches, seed < BY_FILE)
            cells.append("; ".join(share(count, repetitions) for count in found))
        yield f"| {name} | " + " | ".join(cells) + " |"


def _learnt(dice: Generator, noise: Noise, paths: int, sizes: int, launches: int, by_file: bool) -> Floats:
    """The shares of pairs of launches that fail: healthy; all paths slower; the first path slower."""
    times = logs(dice, noise, paths, sizes, launches + NEXT)
    seen = 1e-3 * np.exp(times[:, :, :-NEXT].reshape(-1, launches))
    sides: list[Side] = [
        {
            number: LaunchMedian(time, time * (1 - WITHIN), time * (1 + WITHIN))
            for number, time in enumerate(row)
        }
        for row in seen.tolist()
    ]
    spreads = [(mover_of(PATHS[path]), 1 << size) for path in range(paths) for size in range(sizes)]
    limits = [figure_limit(side, stated(*of)) for side, of in zip(sides, spreads, strict=True)]
    usual, bounds = (
        np.array([getattr(limit, name) for limit in limits]).reshape(paths, sizes, 1)
        for name in ("usual", "highest")
    )
    places = groups([1 << size for size in range(sizes)])
    medians = [
        [
            group_limit(
                [sides[path * sizes + at] for at in group],
                stated(*spreads[path * sizes + group[0]]),
                paths * len(places),
            )
            for group in places
        ]
        for path in range(paths)
    ]
    wholes = np.array([[limit.highest if limit else math.inf for limit in row] for row in medians])
    slower = np.zeros((3, paths, 1, 1))
    slower[1] = slower[2, 0] = math.log(1.1)
    cases = times[:, :, -NEXT:] + slower

    def broken(rounded: float) -> NDArray[np.bool_]:
        found = []
        for case in cases:
            low = rounded * 1e-3 * np.exp(case) * (1 - WITHIN) / usual
            found.append(_twice(low.reshape(-1, NEXT), (bounds / usual).reshape(-1, 1), 1.0))
            for at, group in enumerate(places):
                found[-1] |= _twice(np.median(low[:, group], axis=1), wholes[:, at : at + 1])
        return np.array(found)

    if by_file:
        _through_files(times[:, :, :-NEXT], cases, [broken(1 - ROUNDED), broken(1 + ROUNDED)])
    failing: Floats = np.mean(broken(1.0), axis=1)
    return failing


def _twice(shares: Floats, bounds: Floats, least: float = 0.0) -> NDArray[np.bool_]:
    """Launches that break any bound as the one before does, too, or one grossly, by `least` at least."""
    broken = shares > bounds
    gross = shares > 1 + np.maximum(GROSS * (bounds - 1), least)
    both = (broken[:, 1:] & broken[:, :-1]) | gross[:, 1:]
    failing: NDArray[np.bool_] = np.asarray(both.any(axis=0))
    return failing


def _through_files(seen: Floats, cases: Floats, broken: Sequence[NDArray[np.bool_]]) -> None:
    """Stops where the file that --learn writes, and check, say anything else of the first two launches.

    `broken`: by times that are a little shorter, and longer, than they are: the file's figures are rounded.
    """
    file = Path(tempfile.gettempdir(), f"wirespeed-bench-site-{os.getpid()}.toml")
    file.write_text(learn(runs(seen, "good"), ["good"]).text)
    if "[[require]]" not in file.read_text():
        sys.exit(f"{file}: no bound was learnt")
    asked = read_requirements(str(file))
    for at, case in enumerate(cases):
        bad = any(bound.what == FAILED for bound in check(asked, runs(case[:, :, :2], "next")))
        if bad not in (expected := [found[at, 0] for found in broken]):
            sys.exit(f"{file}: check says {bad}, the simulation {expected[0]}")


def watches(repetitions: int) -> Iterator[str]:
    """Watches in which anything is named, of a steady machine, and of one that slows down after 40 looks."""
    yield f"| noise | steady, {LOOKS} looks: named | 5 % slower: within 5 looks | 10 % slower: within 3 |"
    yield "|---|---|---|---|"
    for name, noise in WATCHED.items():
        found = np.zeros(3)
        for seed in range(repetitions):
            dice = np.random.default_rng(seed)
            steady = runs(logs(dice, noise, 1, 5, FIRST + LOOKS), "watched")
            found[0] += _named_in(steady, FIRST)
            for at, slower, looks in ((1, 0.05, 5), (2, 0.10, 3)):
                times = logs(dice, noise, 1, 5, FIRST + 40 + looks)
                times[:, :, -looks:] += math.log1p(slower)
                found[at] += _named_in(runs(times, "watched"), FIRST + 40)
        yield f"| {name} | " + " | ".join(share(count, repetitions) for count in found) + " |"


def _named_in(launches: list[Run], quiet: int) -> bool:
    """Does a watch name anything? It does not look before so many repetitions."""
    drift = Drift(runs=launches[:quiet])
    with _UNTOLD:
        for run in launches[quiet:]:
            drift.runs.append(run)
            if drift.verdicts.harmful:
                return True
    return False
