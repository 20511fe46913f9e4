"""Variables of the environment that are known (variables.toml), and which of them a result file may hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate
from functools import cache
from typing import Any

from wirespeed.toml import beside

TableRow = Mapping[str, Any]

_TOKEN = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}")
"""A part of a value that is random rather than a setting: of a token, a key, a hash."""


def _tables() -> dict[str, Any]:
    return beside(__file__, "variables.toml")


def table(kind: str) -> tuple[TableRow, ...]:
    """Entries of a kind: library, fault or mpi."""
    return tuple(_tables()[kind])


def bad_settings(variables: Mapping[str, str]) -> Iterator[tuple[TableRow, str]]:
    """(entry, value) of each variable that is known to hurt by its value."""
    for row in table("fault"):
        value = variables.get(row["name"])
        if value is not None and re.fullmatch(row["bad"], value.strip(), re.IGNORECASE):
            yield row, value


def switches_of(vendor: str) -> TableRow:
    """An MPI's switches for GPU support; empty for an MPI that is not in the table."""
    return next((mpi for mpi in table("mpi") if mpi["vendor"] == vendor), {})


@cache
def _known() -> tuple[frozenset[str], re.Pattern[str]]:
    """Names, and what others look like."""
    names = [*_tables()["recorded"], *(fault["name"] for fault in table("fault"))]
    for library in table("library"):
        # An entry for all of a library's variables knows none of them by name.
        everything = {f"{prefix}*" for prefix in library["prefix"]}
        names += [*library.get("also", ()), *(library["does"].keys() - everything)]
    for mpi in table("mpi"):
        names += [*mpi["on"], *mpi["direct_off"], *mpi["rdma_off"], *mpi.get("idle", ())]
    exact = frozenset(name for name in names if "*" not in name)
    return exact, _any_of(name for name in names if "*" in name)


def _is_known(name: str, value: str) -> bool:
    exact, patterns = _known()
    # A site may have put a name of its own behind a library's.
    return name in exact or bool(patterns.match(name) and not _TOKEN.search(value))


@cache
def _private() -> re.Pattern[str]:
    return _any_of(name.upper() for name in _tables()["private"])


def _any_of(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, sorted(set(patterns)))))


def shareable(variables: Mapping[str, str]) -> dict[str, str]:
    """The part that a result file may hold, sorted by name: known names that are not private."""
    return {
        _text(name): _text(variables[name])
        for name in sorted(variables)
        if name.isidentifier()
        and name.isascii()
        and _is_known(name, variables[name])
        and not _private().match(name.upper())
    }


def hidden(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the other variables of known libraries, sorted: not their values."""
    prefixes = tuple(prefix for library in table("library") for prefix in library["prefix"])
    shown = shareable(variables)
    return tuple(_text(name) for name in sorted(variables) if name.startswith(prefixes) and name not in shown)


def _text(word: str) -> str:
    """Bytes of the environment that are no UTF-8, made printable."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
