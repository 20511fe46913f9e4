"""Figures to be judged, and findings about them. Sizes are bytes, times seconds, rates bytes per second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from wirespeed.toml import beside


class Point(NamedTuple):
    """Figures of one line of a table."""

    bytes: int
    """Size of a message; -1: the text does not say."""
    seconds: float | None = None
    rate: float | None = None
    """As printed: the curve's name and direction define what it counts."""
    peak: float | None = None
    """Highest rate of those that `average` is the average of."""
    average: float | None = None
    """Rate since the line before."""
    overall: float | None = None
    """Rate since the beginning."""
    t_min: float | None = None
    t_max: float | None = None
    """Shortest and longest time of a rank."""
    repetitions: int | None = None
    wrong: float | None = None
    """Wrong elements, or the largest error; 0: checked and right."""
    in_place: bool | None = None
    line: int = 0
    """Number of the line in the text, from 1."""


@dataclass(frozen=True)
class Curve:
    """One table of a tool: one operation between the same ranks in the same memory."""

    tool: str = ""
    version: str = ""
    operation: str = ""
    """wirespeed's word: pingpong, bandwidth, both-ways, allreduce, ..."""
    name: str = ""
    """The tool's word."""
    direction: str = "one"
    """Bytes that the rate counts: of 'one' direction, the sum of 'both', 'algorithm' or 'bus' bandwidth, or
    'unknown'."""
    memory: str = ""
    """'H H', 'H D', 'D D': of the sender and the receiver; '': not said."""
    ranks: int | None = None
    hosts: int | None = None
    points: tuple[Point, ...] = ()
    unit_words: str = ""
    """Unit of the printed rate: 'MB = 1e6 B'."""
    pair: str = ""
    """GPUs or NIC: 'GPU0 GPU3', 'mlx5_0'."""
    placement: str = ""


@dataclass(frozen=True)
class Finding:
    """Something that the user should know about his figures."""

    kind: str
    """Identifier: 'cliff', 'hump', 'two-speeds', ..."""
    severity: int
    """3: the figures are no figures; 2: something is wrong; 1: something to know."""
    seen: str
    cause: str = ""
    do: str = ""
    curve: Curve | None = None
    """None: several."""
    wrong: bool = False
    """The data are wrong: these figures are none."""
    impossible: bool = False


def finding(
    kind: str,
    severity: int,
    seen: str,
    curve: Curve | None = None,
    advice: str = "",
    /,
    **words: str,
) -> Finding:
    """With cause and remedy of advice.toml: those of `advice`, else of the kind. `words` fill them in."""
    told = beside(__file__, "advice.toml")[advice or kind]
    cause, do = (told[name].format(**words) for name in ("cause", "do"))
    return Finding(kind, severity, seen, cause, do, curve, kind == "wrong-data", kind == "impossible")
