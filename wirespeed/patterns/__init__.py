"""Patterns: who sends how many bytes to whom, in which order.

Each module in this package has one `PATTERN`; a new one is found by being there. A pattern is a pure
function of one rank's view: it names no transport, no device and no library.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from wirespeed.errors import WirespeedError


@dataclass(frozen=True)
class Transfer:
    """`bytes` to or from `peer`, at `offset` in the send or the receive buffer."""

    peer: int
    bytes: int
    offset: int = 0


@dataclass(frozen=True)
class Step:
    """Transfers under way at once; the next step starts when all are done."""

    sends: tuple[Transfer, ...] = ()
    receives: tuple[Transfer, ...] = ()


@dataclass(frozen=True)
class Figure:
    """What a sample means: seconds = sample / divisor, for `bytes` bytes."""

    divisor: float
    bytes: int
    definition: str


@dataclass(frozen=True)
class Shape:
    """The world as a pattern sees it: how many ranks, and in groups of how many."""

    ranks: int
    options: dict[str, int] = field(default_factory=dict)


class Pattern(Protocol):
    """One way of moving data between ranks."""

    name: str
    summary: str

    def refuse(self, shape: Shape) -> str | None:
        """Why this world cannot run the pattern, in one line; None if it can."""
        ...

    def steps(self, rank: int, shape: Shape, size: int) -> list[Step]:
        """What `rank` does in one round, in order."""
        ...

    def figure(self, shape: Shape, size: int) -> Figure:
        """Which bytes over which time."""
        ...


@cache
def all_patterns() -> dict[str, Pattern]:
    """Every pattern by name."""
    found = (importlib.import_module(f"{__name__}.{m.name}").PATTERN for m in pkgutil.iter_modules(__path__))
    return {pattern.name: pattern for pattern in found}


def find_pattern(name: str) -> Pattern:
    """The pattern called `name`. Raises WirespeedError that lists the names there are."""
    try:
        return all_patterns()[name]
    except KeyError:
        known = ", ".join(all_patterns())
        raise WirespeedError(f"there is no pattern called '{name}'; there are: {known}") from None
