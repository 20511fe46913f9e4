"""Two sides of a comparison: their figures, and which figure of one side belongs to which of the other."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from wirespeed.results.runs import CONDITIONS, Entry, Failure, Run

WHAT = ("pattern", "options", "background", "ranks", "test", "profile")
"""Conditions that have to be equal for two figures to measure the same thing."""
HOW = tuple(name for name in CONDITIONS if name not in WHAT)
"""Conditions that may themselves be compared: another MPI, other hosts, another pair of GPUs."""

NO_FAILURE = ("interrupted",)
"""Kinds of failure that say nothing about the path."""


@dataclass(frozen=True, order=True)
class Key:
    """What was measured."""

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
    """LaunchFigures of one key on one side, under one set of HOW: one figure per launch."""

    entries: list[Entry] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class FigurePair:
    """A key that both sides measured, or that one measured and the other failed at."""

    key: Key
    old: LaunchFigures
    new: LaunchFigures


@dataclass(frozen=True)
class Matched:
    """LaunchFigures that belong together, and the keys that only one side has."""

    pairs: list[FigurePair]
    only_old: list[Key]
    only_new: list[Key]


def match(old: Sequence[Run], new: Sequence[Run]) -> Matched:
    """Pairs with equal conditions; where each side has one set of HOW left for a key, those two as well."""
    olds, news = _figures(old), _figures(new)
    pairs, only_old, only_new = [], [], []
    for key in sorted({*olds, *news}):
        mine, theirs = dict(olds.get(key, {})), dict(news.get(key, {}))
        together = [(mine.pop(how), theirs.pop(how)) for how in list(mine) if how in theirs]
        if len(mine) == len(theirs) == 1:
            together.append((mine.popitem()[1], theirs.popitem()[1]))
        for one, other in together:
            if one.entries or other.entries:
                pairs.append(FigurePair(key, one, other))
        only_old += [key for left in mine.values() if left.entries]
        only_new += [key for left in theirs.values() if left.entries]
    return Matched(pairs, list(dict.fromkeys(only_old)), list(dict.fromkeys(only_new)))


def _figures(runs: Iterable[Run]) -> dict[Key, dict[str, LaunchFigures]]:
    found: dict[Key, dict[str, LaunchFigures]] = defaultdict(lambda: defaultdict(LaunchFigures))
    for run in runs:
        plan = run.head.plan.to_dict()
        how = _text({name: plan.get(name) for name in HOW})
        # Only options that differ from the defaults: older files do not have every option.
        what = _text({"options": run.pattern_words, **{name: plan.get(name) for name in WHAT[2:]}})
        words = _words(run)
        for entry in run.entries.values():
            pattern = entry.pattern or run.head.plan.pattern
            found[Key(pattern, entry.path, entry.bytes, what, words)][how].entries.extend(entry.each)
        for failure in run.failures:
            # Sizes that it leaves without a figure: one, or all that were asked for.
            sizes = run.head.plan.sizes if failure.whole_path else (failure.bytes or 0,)
            for size in sizes:
                if failure.what not in NO_FAILURE and not run.has(failure.path, size, failure.launch):
                    key = Key(run.head.plan.pattern, failure.path, size, what, words)
                    found[key][how].failures.append(failure)
    return found


def _words(run: Run) -> str:
    words = [*run.pattern_words, *([run.slowed] if run.slowed else [])]
    if (ranks := run.head.plan.ranks) not in (0, 2):
        words.append(f"{ranks} rank{'s' if ranks != 1 else ''}")
    return ", ".join(words)


def _text(conditions: dict[str, Any]) -> str:
    """Conditions as JSON; one that is not given equals one that an older file does not have."""
    given = {name: value for name, value in conditions.items() if value not in (None, [], (), "")}
    return json.dumps(given, sort_keys=True, default=str)
