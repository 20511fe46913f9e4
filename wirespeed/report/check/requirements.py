"""site.toml: what a machine must reach, read; every mistake with its line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from wirespeed import inputs
from wirespeed.errors import WirespeedError
from wirespeed.inputs import why
from wirespeed.judge.spreads import LONG, MIDDLE, SHORT, group_of
from wirespeed.patterns import Pattern, find_pattern
from wirespeed.report.check import health
from wirespeed.results.reading import cannot
from wirespeed.units import parse_sizes

SOAK, MEDIAN, LAUNCHES = "soak", "median", "launches"
SMALLEST = 1e-30
"""Bound that anything may have, as its inverse is the largest: no sum with it overflows."""
BASELINE = "baseline"
"""Kind of a bound on a share of the speed of a pattern's baseline."""
TOP = (LAUNCHES,)
"""Keys above all [[require]]."""
FORMER = {MEDIAN: "all paths together have no median any more: remove this line, or learn the bounds anew"}
"""Keys above all [[require]] in files that earlier versions learnt, and what to do with them."""
KEYS = ("pattern", "path", "ranks", "oversubscribe", "options", *health.KEYS, SOAK, MEDIAN, "sizes")
GROUPS = (SHORT, MIDDLE, LONG)
TOP_LEVEL = -1
"""Number of what stands above all [[require]]."""
USUALLY = "usually"
EXAMPLE = "'at least 380 GB/s', 'at most 12 us' or 'at least 80 % of limit'"
_NUMBER = r"(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?"
_BOUND = re.compile(rf"at (least|most)\s+({_NUMBER})\s*(\S+?)(?:\s+of(?:\s+the)?\s+(\w+))?")
_SPREAD = rf"(?:\s*\(spread\s+({_NUMBER})\s*%\))?"
_MEDIAN = re.compile(rf"(at most\s+({_NUMBER})\s*%\s+of\s+the\s+usual){_SPREAD}")
_USUAL = re.compile(rf"{USUALLY}\s+({_NUMBER})\s*(\S+?){_SPREAD}")
_NAMED = re.compile(r"""\s*\[+\s*([\w.-]+)\s*\]+|\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*=""")
RATES = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "MiB/s": 2.0**20, "GiB/s": 2.0**30}
TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
UNITS = {"rate": RATES, "time": TIMES, "share": {"%": 0.01}}


@dataclass(frozen=True)
class Bound:
    """At least or at most: bytes per second, seconds, or a share of the limit or of the baseline."""

    least: bool
    value: float
    kind: str
    """rate, time, share, BASELINE, SOAK, MEDIAN, or one of health.KEYS."""
    text: str
    """As the file has it."""

    @property
    def against_slow(self) -> bool:
        """True where a slow figure breaks it; at least a rate is at most a time."""
        return self.least == (self.kind != "time")


@dataclass(frozen=True)
class Requirement:
    """Bound that one path must reach at one size, or keep at all of them."""

    line: int
    pattern: str
    path: str
    bytes: int | None
    """None: the rule holds for the path as a whole."""
    bound: Bound
    ranks: int | None = None
    options: dict[str, Any] = field(default_factory=dict, hash=False)
    oversubscribe: bool = False
    """--measure may start many more ranks than there are CPUs."""
    usual: float | None = None
    """The usual figure, in the unit of the bound; the path's median is held against it."""
    rule: int = 0
    """Number of its [[require]] in the file."""
    launches: int = 1
    """So many launches, one after the other, must be beyond the bound to break it."""
    spread: float | None = None
    """Standard deviation between launches of the figure, or of the median, as a share of the usual."""
    group: str = ""
    """Sizes of which MEDIAN is the bound: one of GROUPS; '': all of them."""

    @property
    def name(self) -> str:
        """'pingpong aware'."""
        return f"{self.pattern} {self.path}"


def read_requirements(name: str) -> list[Requirement]:
    """Raises WirespeedError, with the line, for what cannot be meant."""
    try:
        text = inputs.text(name)
    except (OSError, ValueError) as error:
        raise cannot(f"cannot read {name}: {why(error)}") from None
    try:
        data = inputs.of_toml(text)
    except ValueError as error:
        raise WirespeedError(f"{name}: no TOML: {error}") from None
    found = list(_Reader(name, text).requirements(data))
    if not found:
        raise WirespeedError(f"{name}: it requires nothing; write [[require]] with path and sizes")
    return found


class _Reader:
    """Knows the file's name and its lines, for complaints."""

    def __init__(self, name: str, text: str) -> None:
        self._name, self._lines = name, _lines(text)

    @contextmanager
    def _at(self, number: int, key: str) -> Iterator[None]:
        """Raises an error from inside with the line of this key."""
        try:
            yield
        except WirespeedError as error:
            raise self._error(number, key, str(error)) from None

    def _error(self, number: int, key: str, why: str) -> WirespeedError:
        line = self._line(number, key)
        return WirespeedError(f"{self._name}{f', line {line}' if line else ''}: {why}")

    def _line(self, number: int, key: str) -> int:
        """The key's line; of a size inside braces that of all sizes, else the entry's; 0: not known."""
        places = [(number, key), *([] if key in KEYS else [(number, "sizes")]), (number, "")]
        return next((self._lines[place] for place in places if place in self._lines), 0)

    def requirements(self, data: dict[str, Any]) -> Iterator[Requirement]:
        entries, launches = data.get("require", []), data.get(LAUNCHES, 1)
        for key in (name for name in data if name not in ("require", *TOP)):
            why = f"there is no '{key}'; there are: {', '.join(TOP)}, [[require]]"
            raise self._error(TOP_LEVEL, key, FORMER.get(key, why))
        if type(launches) is not int or launches not in (1, 2):
            how = f"{LAUNCHES} = {launches!r}: write 2 or 1: how many must break a bound"
            raise self._error(TOP_LEVEL, LAUNCHES, how)
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._error(
                TOP_LEVEL, "require", "write [[require]], with two brackets: there may be several"
            )
        found = [asked for number, entry in enumerate(entries) for asked in self._of_entry(number, entry)]
        for asked in found:
            yield replace(asked, launches=launches)

    def _of_entry(self, number: int, entry: dict[str, Any]) -> Iterator[Requirement]:
        for key in (name for name in entry if name not in KEYS):
            raise self._error(number, key, f"there is no '{key}'; there are: {', '.join(KEYS)}")
        with self._at(number, "pattern"):
            pattern = find_pattern(str(entry.get("pattern", "pingpong")))
        with self._at(number, "path"):
            path = _path(entry.get("path"))
        ranks, oversubscribe = entry.get("ranks"), entry.get("oversubscribe", False)
        if ranks is not None and (type(ranks) is not int or ranks < 1):
            raise self._error(number, "ranks", f"ranks = {ranks!r}: write a whole number from 1 on")
        if type(oversubscribe) is not bool:
            raise self._error(number, "oversubscribe", "oversubscribe: write true or false")
        with self._at(number, "options"):
            options = _options(pattern, entry.get("options", {}))
        sizes = entry.get("sizes", {} if SOAK in entry else None)
        if not isinstance(sizes, dict) or ("sizes" in entry and not sizes):
            raise self._error(number, "sizes", f"sizes: write a table of bounds, as in 1G = {EXAMPLE[:21]}")
        for key in (name for name in (*health.KEYS, SOAK) if name in entry):
            with self._at(number, key):
                bound = _of_path(key, entry[key])
            line = self._line(number, key)
            yield Requirement(line, pattern.name, path, None, bound, ranks, options, rule=number)
        found: list[Requirement] = []
        for word, text in sizes.items():
            with self._at(number, word):
                bounds, (kind, value, spread) = _bounds(word, text, pattern.timing.baseline)
                line = self._line(number, word)
                for bound, size in itertools.product(bounds, parse_sizes(word)):
                    known = (value, spread) if bound.kind == kind else (None, None)
                    if size == 0 and bound.kind != "time":
                        raise WirespeedError("0 bytes have no bandwidth: write a time, as in 'at most 2 us'")
                    how = ranks, options, oversubscribe, known[0], number
                    found.append(Requirement(line, pattern.name, path, size, bound, *how, spread=known[1]))
        yield from self._medians(number, entry.get(MEDIAN, {}), found)
        yield from found

    def _medians(self, number: int, given: Any, of: Sequence[Requirement]) -> Iterator[Requirement]:
        """The rules on the median of these sizes, or of those of each group."""
        texts = given if isinstance(given, dict) else {"": given}
        for group, text in texts.items():
            with self._at(number, MEDIAN):
                if group and group not in GROUPS:
                    raise WirespeedError(f"{MEDIAN}: there is no '{group}'; there are: {', '.join(GROUPS)}")
                match = _MEDIAN.fullmatch(text) if isinstance(text, str) else None
                if not match or not SMALLEST <= float(match[2]) <= 1 / SMALLEST:
                    raise WirespeedError(f"{MEDIAN} = {text!r}: write 'at most 105 % of the usual'")
                if not any(asked.usual and group in ("", group_of(asked.bytes or 0)) for asked in of):
                    which = f"size of {group} messages" if group else "size"
                    raise WirespeedError(
                        f"no {which} says what it usually is, as in 'at most 12 us, {USUALLY} 11 us'"
                    )
            bound = Bound(False, float(match[2]) / 100, MEDIAN, match[1])
            known = replace(of[0], bytes=None, bound=bound, usual=None, rule=number)
            line = self._line(number, MEDIAN)
            yield replace(known, line=line, spread=_share(match[3]), group=group)


def _of_path(key: str, value: Any) -> Bound:
    """The bound of a rule that holds for a path as a whole."""
    text = f"{key} = {str(value).lower()}"
    if key != SOAK:
        return Bound(False, health.limit(key, value), key, text)
    if type(value) is not int or value < 1:
        how = "write the messages that must be checked at each size, as in soak = 30_000"
        raise WirespeedError(f"{text}: {how}")
    return Bound(True, value, SOAK, text)


def _path(name: Any) -> str:
    from wirespeed.job.path_selection import check, is_pattern

    if not isinstance(name, str):
        raise WirespeedError("path: write a path's name; 'wirespeed paths' lists them")
    # Another tool's figures have a path of such a name: 'osu-mpi/H-H'.
    if "/" not in name:
        check(name)
    if is_pattern(name):
        raise WirespeedError(f"path = '{name}': write the name of one path")
    return name


def _options(pattern: Pattern, options: Any) -> dict[str, Any]:
    if not isinstance(options, dict):
        raise WirespeedError("options: write a table, as in {group = 4}")
    known = [option.key for option in pattern.options]
    for key in options:
        if key not in known:
            have = f"there are: {', '.join(known)}" if known else "it has none"
            raise WirespeedError(f"{pattern.name} has no option '{key}'; {have}")
    return options


_Usual = tuple[str, float | None, float | None]
"""Kind, value and spread of the usual figure."""


def _bounds(word: str, text: Any, baseline: str) -> tuple[list[Bound], _Usual]:
    if not isinstance(text, str):
        raise WirespeedError(f"{word} = {text!r}: write {EXAMPLE}, with quotes")
    parts = [part.strip() for part in text.split(",")]
    found = [parse_bound(part, baseline) for part in parts if not part.startswith(USUALLY)]
    usual = [_usual(part, found) for part in parts if part.startswith(USUALLY)]
    if not found or len(usual) > 1:
        raise WirespeedError(f"'{text}': write {EXAMPLE}, then perhaps '{USUALLY} 11 us'")
    for bound, other in itertools.permutations(found, 2):
        if bound.least and not other.least and bound.kind == other.kind and bound.value > other.value:
            raise WirespeedError(f"'{bound.text}' and '{other.text}' cannot both hold")
    return found, next(iter(usual), ("", None, None))


def _share(percent: str | None) -> float | None:
    return None if percent is None else float(percent) / 100


def _usual(text: str, bounds: Sequence[Bound]) -> _Usual:
    """A time or a rate, as the bounds beside it are."""
    match = _USUAL.fullmatch(text)
    for bound in bounds:
        scale = {"rate": RATES, "time": TIMES}.get(bound.kind, {}).get(match[2], 0.0) if match else 0.0
        if match and SMALLEST <= float(match[1]) * scale <= 1 / SMALLEST:
            return bound.kind, float(match[1]) * scale, _share(match[3])
    raise WirespeedError(f"'{text}': write '{USUALLY} 11 us', or a rate where the bound is one")


def parse_bound(text: str, baseline: str = "") -> Bound:
    """Bound from 'at least 380 GB/s'; `baseline`: that of the pattern. Raises WirespeedError."""
    match = _BOUND.fullmatch(text)
    if match and float(match[2]) > 0:
        for kind, units in UNITS.items():
            of: dict[str | None, str] = {None: kind}
            if kind == "share":
                of |= {"limit": kind, baseline: BASELINE}
            if match[3] in units and match[4] in of:
                value = float(match[2]) * units[match[3]]
                if SMALLEST <= value <= 1 / SMALLEST:
                    return Bound(match[1] == "least", value, of[match[4]], text)
    known = (*RATES, *TIMES, "% of limit", *([f"% of {baseline}"] if baseline else []))
    raise WirespeedError(f"'{text}': write {EXAMPLE}; units are: {', '.join(known)}")


def _lines(text: str) -> dict[tuple[int, str], int]:
    """(number of the [[require]], key) -> line. The key '' is the [[require]] itself; -1 is what is above.

    TOML's parser keeps no lines. One key a line, as `--learn` writes it, is found; of others the entry's is.
    """
    found: dict[tuple[int, str], int] = {}
    number = -1
    for line, content in enumerate(text.splitlines(), 1):
        if re.match(r"\s*\[\[\s*require\s*\]\]", content):
            number += 1
            found[number, ""] = line
        elif match := _NAMED.match(content):
            header, *key = match.groups()
            name = header.rpartition(".")[2] if header else next(part for part in key if part is not None)
            found.setdefault((-1 if header and "." not in header else number, name), line)
    return found
