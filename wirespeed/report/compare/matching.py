"""Two sides of a comparison: their figures, and which figure of one side belongs to which of the other."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from wirespeed.job.plan import Plan
from wirespeed.report.cannot_tell import FITS_NO_MORE, LEFT_OUT, NOT_ENDED, NOT_MEASURED, Reason
from wirespeed.report.facts.failures import why_left_out
from wirespeed.results.runs import CONDITIONS, IMPOSSIBLE, Entry, Failure, Run
from wirespeed.units import counted

WHAT = ("pattern", "options", "background", "ranks", "test", "profile")
"""Conditions that have to be equal for two figures to measure the same thing."""
HOW = tuple(name for name in CONDITIONS if name not in WHAT)
"""Conditions that may themselves be compared: another MPI, other hosts, another pair of GPUs."""

INTERRUPTED = "interrupted"
NO_FAILURE = (INTERRUPTED, IMPOSSIBLE)
"""Kinds of failure that say nothing about the path."""


@dataclass(frozen=True, order=True)
class Key:
    """Identity of a figure."""

    pattern: str
    path: str
    bytes: int
    what: str = ""
    """Other conditions of WHAT, as JSON."""
    words: str = ""
    """Options of the pattern that differ from the defaults: 'group 4'."""

    @property
    def title(self) -> str:
        """'pingpong aware', with the pattern's options where they differ from the defaults."""
        return f"{self.pattern} {self.path}" + (f" ({self.words})" if self.words else "")

    @property
    def series(self) -> Key:
        """This key without its size: the same for a whole curve."""
        return Key(self.pattern, self.path, 0, self.what, self.words)


@dataclass
class LaunchFigures:
    """Figures of one key on one side, under one set of HOW: one per launch."""

    entries: list[Entry] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class FigurePair:
    """A key that both sides measured, or that one measured and the other failed at."""

    key: Key
    old: LaunchFigures
    new: LaunchFigures


@dataclass(frozen=True)
class LeftOut:
    """A figure that cannot be true, and why."""

    key: Key
    why: str


@dataclass(frozen=True)
class Matched:
    """Figures that belong together, and the keys that only one side has."""

    pairs: list[FigurePair]
    only_old: list[Key]
    only_new: list[Key]
    impossible: tuple[list[LeftOut], list[LeftOut]] = field(default_factory=lambda: ([], []))
    """Figures of the old and of the new side that cannot be true."""
    lacking: list[tuple[Key, Reason]] = field(default_factory=list)
    """Figures that one side has, and that the other one's runs were to measure."""

    @property
    def keys(self) -> list[Key]:
        """Of all figures that can be true."""
        lacking = [key for key, _ in self.lacking]
        return [*(pair.key for pair in self.pairs), *self.only_old, *self.only_new, *lacking]


def match(old: Sequence[Run], new: Sequence[Run]) -> Matched:
    """Pairs with equal conditions; where each side has one set of HOW left for a key, those two as well."""
    (olds, old_impossible), (news, new_impossible) = _figures(old), _figures(new)
    pairs, only_old, only_new = [], [], []
    for key in sorted({*olds, *news}):
        mine, theirs = dict(olds.get(key, {})), dict(news.get(key, {}))
        together = [(mine.pop(how), theirs.pop(how)) for how in list(mine) if how in theirs]
        if len(mine) == len(theirs) == 1:
            together.append((mine.popitem()[1], theirs.popitem()[1]))
        pairs += [FigurePair(key, *both) for both in together if both[0].entries or both[1].entries]
        only_old += [key for left in mine.values() if left.entries]
        only_new += [key for left in theirs.values() if left.entries]
    only_old, only_new = _without(only_old, new_impossible), _without(only_new, old_impossible)
    lacking = [*_lacking(only_old, new, old), *_lacking(only_new, old)]
    there = {key for key, _ in lacking}
    only_old, only_new = ([key for key in keys if key not in there] for keys in (only_old, only_new))
    return Matched(pairs, only_old, only_new, (old_impossible, new_impossible), lacking)


def entries(runs: Sequence[Run]) -> dict[Key, list[Entry]]:
    """All figures that can be true, in the order of the runs."""
    found, _ = _figures(runs)
    return {key: [entry for figures in of.values() for entry in figures.entries] for key, of in found.items()}


def _lacking(
    keys: Iterable[Key], other: Sequence[Run], like: Sequence[Run] = ()
) -> Iterator[tuple[Key, Reason]]:
    """Those of one side's figures that the other one's runs were to measure, and why there are none.

    `like`: runs that the others were to measure the same as, where both name no paths: all that fit.
    """
    for key in keys:
        asking = [run for run in other if _asked(run, key)]
        if any(run.interrupted or any(f.what == INTERRUPTED for f in run.failures) for run in asking):
            yield key, NOT_ENDED
        elif any(why_left_out(run, key.path, key.bytes) for run in asking):
            yield key, LEFT_OUT
        elif any(key.path in run.head.plan.paths for run in asking):
            yield key, NOT_MEASURED
        elif any(_all_that_fit(run) for run in asking) and any(
            _all_that_fit(run) and key.path in run.paths for run in like
        ):
            tried = any(key.path in {*run.paths, *(f.path for f in run.failures)} for run in asking)
            yield key, NOT_MEASURED if tried else FITS_NO_MORE


def _all_that_fit(run: Run) -> bool:
    return not run.head.plan.paths and run.head.plan.device == "auto" and not run.foreign


def _asked(run: Run, key: Key) -> bool:
    plan = run.head.plan
    fits = not plan.paths or any(word == "all" or fnmatchcase(key.path, word) for word in plan.paths)
    return plan.pattern == key.pattern and key.bytes in plan.sizes and fits and _what(run) == key.what


def _without(keys: Iterable[Key], impossible: Iterable[LeftOut]) -> list[Key]:
    """Those that the other side has not even as impossible figures."""
    there = {left_out.key for left_out in impossible}
    return [key for key in dict.fromkeys(keys) if key not in there]


def _figures(runs: Iterable[Run]) -> tuple[dict[Key, dict[str, LaunchFigures]], list[LeftOut]]:
    found: dict[Key, dict[str, LaunchFigures]] = defaultdict(lambda: defaultdict(LaunchFigures))
    impossible: list[LeftOut] = []
    known: dict[Plan, tuple[str, str, str]] = {}
    for run in runs:
        plan = run.head.plan
        if plan not in known:
            known[plan] = _text({name: getattr(plan, name) for name in HOW}), _what(run), _words(run)
        how, what, words = known[plan]
        for entry in run.figures.values():
            key = Key(entry.pattern or run.head.plan.pattern, entry.path, entry.bytes, what, words)
            if entry.impossible:
                impossible.append(LeftOut(key, entry.why_impossible))
            else:
                found[key][how].entries.extend(entry.each)
        for failure in run.failures:
            # What one MPI failed at is no failure of a path that another one measured instead.
            if failure.what in NO_FAILURE or failure.cause.instead:
                continue
            # Sizes that it leaves without a figure: one, or all that were asked for.
            sizes = run.head.plan.sizes if failure.whole_path else (failure.bytes or 0,)
            for size in sizes:
                if not run.has(failure.path, size, failure.launch):
                    key = Key(run.head.plan.pattern, failure.path, size, what, words)
                    found[key][how].failures.append(failure)
    return found, impossible


def _what(run: Run) -> str:
    """Only options that differ from the defaults: older files do not have every option."""
    plan = run.head.plan
    return _text({"options": run.pattern_words, **{name: getattr(plan, name) for name in WHAT[2:]}})


def _words(run: Run) -> str:
    words = [*run.pattern_words, *([run.slowed] if run.slowed else [])]
    if (ranks := run.head.plan.ranks) not in (0, 2):
        words.append(counted(ranks, "rank"))
    return ", ".join(words)


def _text(conditions: dict[str, Any]) -> str:
    """Conditions as JSON; one that is not given equals one that an older file does not have."""
    given = {name: value for name, value in conditions.items() if value not in (None, [], (), "")}
    return json.dumps(given, sort_keys=True, default=str)
