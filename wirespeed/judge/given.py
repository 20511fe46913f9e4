"""Figures to be judged, and findings about them. Sizes are bytes, times seconds, rates bytes per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Protocol

from wirespeed.toml import parse


class GivenPoint(Protocol):
    """One row of a table; None: it has no such column."""

    @property
    def bytes(self) -> int: ...
    @property
    def seconds(self) -> float | None: ...
    @property
    def rate(self) -> float | None: ...
    @property
    def peak(self) -> float | None: ...
    @property
    def average(self) -> float | None: ...
    @property
    def overall(self) -> float | None: ...
    @property
    def t_min(self) -> float | None: ...
    @property
    def t_max(self) -> float | None: ...
    @property
    def repetitions(self) -> int | None: ...
    @property
    def wrong(self) -> float | None: ...
    @property
    def in_place(self) -> bool | None: ...


class GivenCurve(Protocol):
    """A table of one operation between the same ranks."""

    @property
    def tool(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def direction(self) -> str: ...
    @property
    def memory(self) -> str: ...
    @property
    def ranks(self) -> int | None: ...
    @property
    def hosts(self) -> int | None: ...
    @property
    def pair(self) -> str: ...
    @property
    def placement(self) -> str: ...
    @property
    def points(self) -> Sequence[GivenPoint]: ...


@dataclass(frozen=True)
class FigureRow:
    """A row that has a size, and a time or a rate."""

    bytes: int
    seconds: float | None = None
    rate: float | None = None
    peak: float | None = None
    average: float | None = None
    overall: float | None = None
    t_min: float | None = None
    t_max: float | None = None
    repetitions: int | None = None
    wrong: float | None = None
    in_place: bool | None = None


@dataclass(frozen=True)
class PlainCurve:
    """A curve of our own, or a plain list of figures."""

    points: tuple[FigureRow, ...]
    tool: str = ""
    operation: str = ""
    name: str = ""
    direction: str = "one"
    memory: str = ""
    ranks: int | None = None
    hosts: int | None = None
    pair: str = ""
    placement: str = ""


@dataclass(frozen=True)
class CurveFinding:
    """Something that the user should know about his figures."""

    kind: str
    """Identifier: 'cliff', 'hump', 'two-speeds', ..."""
    severity: int
    """3: the figures are no figures; 2: something is wrong; 1: something to know."""
    seen: str
    cause: str
    do: str
    curve: Any = None
    """The curve as it was given; None: several."""
    wrong: bool = False
    impossible: bool = False


@cache
def _advice() -> dict[str, dict[str, str]]:
    return parse(files(__package__).joinpath("advice.toml").read_text("utf-8"))


def finding(
    kind: str,
    severity: int,
    seen: str,
    curve: Any = None,
    advice: str = "",
    /,
    **words: str,
) -> CurveFinding:
    """With cause and remedy of advice.toml: those of `advice`, else of the kind. `words` fill them in."""
    told = _advice()[advice or kind]
    cause, do = (told[name].format(**words) for name in ("cause", "do"))
    return CurveFinding(kind, severity, seen, cause, do, curve, kind == "wrong-data", kind == "impossible")
