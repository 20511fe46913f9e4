"""site.toml: what a machine must reach, read; every mistake with its line."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.toml import parse
from wirespeed.units import parse_sizes

KEYS = ("pattern", "path", "ranks", "options", "sizes")
EXAMPLE = "'at least 380 GB/s', 'at most 12 us' or 'at least 80 % of limit'"
_BOUND = re.compile(r"at (least|most)\s+([0-9.]+(?:[eE][+-]?[0-9]+)?)\s*(\S+?)(?:\s+of(?:\s+the)?\s+limit)?")
_NAMED = re.compile(r"""\s*\[+\s*([\w.-]+)\s*\]+|\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*=""")
RATES = {"B/s": 1.0, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "MiB/s": 2.0**20, "GiB/s": 2.0**30}
TIMES = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
LIMIT = "%"


@dataclass(frozen=True)
class Bound:
    """At least or at most: bytes per second, seconds, or a share of the limit."""

    least: bool
    value: float
    kind: str
    """rate, time or share."""
    text: str
    """As the file has it."""


@dataclass(frozen=True)
class Requirement:
    """What one path must reach at one size."""

    line: int
    pattern: str
    path: str
    bytes: int
    bound: Bound
    ranks: int | None = None
    options: dict[str, Any] = field(default_factory=dict, hash=False)


def read_requirements(name: str) -> list[Requirement]:
    """Raises WirespeedError, with the line, for what cannot be meant."""
    try:
        text = Path(name).read_text("utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise WirespeedError(f"cannot read {name}: {why}", ExitCode.CANNOT_WRITE) from None
    try:
        data = parse(text)
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

    def _bad(self, number: int, key: str, text: str) -> WirespeedError:
        line = self._line(number, key)
        return WirespeedError(f"{self._name}{f', line {line}' if line else ''}: {text}")

    def _line(self, number: int, key: str) -> int:
        """The key's line; of a size inside braces that of all sizes, else the entry's; 0: not known."""
        places = [(number, key), *([] if key in KEYS else [(number, "sizes")]), (number, "")]
        return next((self._lines[place] for place in places if place in self._lines), 0)

    def requirements(self, data: dict[str, Any]) -> Iterator[Requirement]:
        for key in data:
            if key != "require":
                raise self._bad(-1, key, f"there is no '{key}'; there is: [[require]]")
        entries = data.get("require", [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._bad(-1, "require", "write [[require]], with two brackets: there may be several")
        for number, entry in enumerate(entries):
            yield from self._of_entry(number, entry)

    def _of_entry(self, number: int, entry: dict[str, Any]) -> Iterator[Requirement]:
        for key in entry:
            if key not in KEYS:
                raise self._bad(number, key, f"there is no '{key}'; there are: {', '.join(KEYS)}")
        pattern = self._pattern(number, entry.get("pattern", "pingpong"))
        path = self._path(number, entry.get("path"))
        ranks, options = entry.get("ranks"), entry.get("options", {})
        if ranks is not None and (not isinstance(ranks, int) or isinstance(ranks, bool) or ranks < 1):
            raise self._bad(number, "ranks", f"ranks = {ranks!r}: write a whole number from 1 on")
        if not isinstance(options, dict):
            raise self._bad(number, "options", "options: write a table, as in {group = 4}")
        self._options(number, pattern, options)
        sizes = entry.get("sizes")
        if not isinstance(sizes, dict) or not sizes:
            raise self._bad(number, "sizes", f"sizes: write a table of bounds, as in 1G = {EXAMPLE[:21]}")
        for word, text in sizes.items():
            line = self._line(number, word)
            for bound in self._bounds(number, word, text):
                for size in self._sizes(number, word):
                    if size == 0 and bound.kind != "time":
                        why = "0 bytes have no bandwidth: write a time, as in 'at most 2 us'"
                        raise self._bad(number, word, why)
                    yield Requirement(line, pattern, path, size, bound, ranks, options)

    def _pattern(self, number: int, name: Any) -> str:
        from wirespeed.patterns import all_patterns

        if not isinstance(name, str) or name not in all_patterns():
            known = ", ".join(sorted(all_patterns()))
            raise self._bad(number, "pattern", f"there is no pattern called {name!r}; there are: {known}")
        return str(name)

    def _path(self, number: int, name: Any) -> str:
        from wirespeed.job.path_selection import check, is_pattern

        if not isinstance(name, str):
            raise self._bad(number, "path", "path: write a path's name; 'wirespeed paths' lists them")
        try:
            check(name)
        except WirespeedError as error:
            raise self._bad(number, "path", str(error)) from None
        if is_pattern(name):
            raise self._bad(number, "path", f"path = '{name}': write the name of one path")
        return name

    def _options(self, number: int, pattern: str, options: dict[str, Any]) -> None:
        from wirespeed.patterns import find_pattern

        known = [one.key for one in find_pattern(pattern).options]
        for key in options:
            if key not in known:
                have = f"there are: {', '.join(known)}" if known else "it has none"
                raise self._bad(number, "options", f"{pattern} has no option '{key}'; {have}")

    def _sizes(self, number: int, word: str) -> tuple[int, ...]:
        try:
            return parse_sizes(word)
        except WirespeedError as error:
            raise self._bad(number, word, str(error)) from None

    def _bounds(self, number: int, word: str, text: Any) -> Iterator[Bound]:
        if not isinstance(text, str):
            raise self._bad(number, word, f"{word} = {text!r}: write {EXAMPLE}, with quotes")
        found: list[Bound] = []
        for part in text.split(","):
            bound = parse_bound(part)
            if bound is None:
                units = ", ".join((*RATES, *TIMES, "% of limit"))
                raise self._bad(number, word, f"'{part.strip()}': write {EXAMPLE}; units are: {units}")
            found.append(bound)
        for one, other in itertools.permutations(found, 2):
            if one.least and not other.least and one.kind == other.kind and one.value > other.value:
                raise self._bad(number, word, f"'{one.text}' and '{other.text}' cannot both hold")
        yield from found


def parse_bound(text: str) -> Bound | None:
    """Of 'at least 380 GB/s'; None for what is none."""
    match = _BOUND.fullmatch(text.strip())
    if not match:
        return None
    try:
        value = float(match[2])
    except ValueError:
        return None
    share = match[3] == LIMIT
    if not value > 0 or (not share and "limit" in text):
        return None
    for kind, units in (("rate", RATES), ("time", TIMES), ("share", {LIMIT: 0.01})):
        if match[3] in units:
            return Bound(match[1] == "least", value * units[match[3]], kind, text.strip())
    return None


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
