"""The store of published figures: a TOML file for each kind of machine or network, each figure with its
source, its date and what was counted.

A new kind is found by being there.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from wirespeed.systems.reading import read
from wirespeed.systems.reference.model import Curves, Kind, Publication, PublishedFigure
from wirespeed.units import format_seconds, format_size

__all__ = ["FOLDER", "CurvePoint", "Reference", "Taken", "curves_of", "kinds", "load_curves", "usual"]

FOLDER = Path(__file__).parent
TOLERANCE = 0.05
"""A figure outside a range by no more than this share of its end is as usual as those inside it."""
WIRES = {
    "NVLink-C2C": r"nvlink-?c2c.*|c2c",
    "NVLink": r"nvlink.*",
    "PCIe": r"pcie.*|pci express.*",
    "Infinity Fabric": r"xgmi.*|infinity fabric.*",
    "Xe Link": r"xe ?link.*",
    "tile to tile": r"tile to tile",
}
"""Wire as the files call it -> regular expression of what others call it, the narrowest first."""


@dataclass(frozen=True)
class Taken:
    """A figure and its source."""

    figure: PublishedFigure
    source: Publication


@dataclass(frozen=True)
class Reference:
    """Figures of others; bytes per second, one direction."""

    kind: str
    """Name of the kind of machine or network."""
    operation: str
    wire: str
    """'': a network's, or none."""
    bytes: int
    rate: float
    """The figure that is judged; 0: none."""
    taken: tuple[Taken, ...]

    @property
    def lowest(self) -> float:
        return min(taken.figure.rates[0] for taken in self.taken)

    @property
    def highest(self) -> float:
        return max(taken.figure.rates[1] for taken in self.taken)

    @property
    def sources(self) -> int:
        """Number of different sources."""
        return len({taken.source.address for taken in self.taken})

    @property
    def own(self) -> int:
        """Number of those that are this project's."""
        return len({taken.source.address for taken in self.taken if taken.source.runs})

    @property
    def verdict(self) -> str:
        """'usual', 'below', 'above'; '' where there is no figure to judge."""
        if not self.rate:
            return ""
        if self.rate < self.lowest * (1 - TOLERANCE):
            return "below"
        return "above" if self.rate > self.highest * (1 + TOLERANCE) else "usual"

    @property
    def timed(self) -> bool:
        """Were times published, not rates?"""
        return all(taken.figure.microseconds for taken in self.taken)

    @property
    def words(self) -> str:
        """'395 GB/s at 1 GiB: usual for H200 over NVLink (380 to 397, 5 sources)'; '' without a figure."""
        if not self.rate:
            return ""
        where = f"{self.kind} over {self.wire}" if self.wire else self.kind
        what = f"{self._one(self.rate)} at {format_size(self.bytes)}"
        if self.verdict == "usual":
            return f"{what}: usual for {where} ({self.range}, {self._sources})"
        who = "this project" if self.own == self.sources else "others"
        return f"{what}: {self._outside} what {who} measured on {where}: {self.range} ({self._sources})"

    @property
    def range(self) -> str:
        """'380 to 397': in GB/s, or in microseconds where times were published."""
        ends = (self.highest, self.lowest) if self.timed else (self.lowest, self.highest)
        short = [self._number(rate) for rate in ends]
        return short[0] if short[0] == short[1] else " to ".join(short)

    @property
    def _outside(self) -> str:
        if self.timed:
            return {"below": "longer than", "above": "shorter than"}[self.verdict]
        return self.verdict

    @property
    def _sources(self) -> str:
        number = f"{self.sources} source{'s' if self.sources != 1 else ''}"
        if not self.own:
            return number
        whose = f"{self.own} of them" if self.own < self.sources else "all" if self.own > 1 else "it is"
        return f"{number}, {whose} this project's"

    def _one(self, rate: float) -> str:
        return format_seconds(self.bytes / rate) if self.timed else f"{self._number(rate)} GB/s"

    def _number(self, rate: float) -> str:
        """As many digits as tell two figures apart, without a unit."""
        value = self.bytes / rate * 1e6 if self.timed else rate / 1e9
        if value >= 100:
            return f"{value:.0f}"
        return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def usual(
    machine: str | None,
    wire: str | None,
    operation: str,
    bytes: int,  # noqa: A002
    rate: float,
    *,
    ranks: int | None = None,
    run: str = "",
) -> Reference | None:
    """Figures of others for such a machine; None where none are known, or where it is not sure which ones are
    of such a machine.

    machine: a GPU, or a CPU for 'pingpong', as its driver or a user names it. wire: 'NVLink', 'NVLink x4'
    with the number of links between two GPUs, 'PCIe', 'HDR', '100GbE'. operation: see OPERATIONS. bytes: of
    a message. rate: bytes per second, 0 for the range alone. ranks: of an all-reduce. run: the judged run's
    id, whose own figures do not count.
    """
    name = (wire if operation.startswith("network") else machine) or ""
    found = {kind.name: taken for kind in _called(name) if (taken := _taken(kind, operation, bytes, run))}
    network = operation.startswith("network")
    found = {
        name: left for name, taken in found.items() if (left := taken if network else _of_wire(taken, wire))
    }
    if len(found) != 1:
        return None
    (kind, taken), *_ = found.items()
    if operation == "allreduce-node":
        counts = {one.figure.ranks for one in taken}
        wanted = ranks if ranks is not None else counts.pop() if len(counts) == 1 else -1
        taken = [one for one in taken if one.figure.ranks == wanted]
    if not taken:
        return None
    return Reference(kind, operation, taken[0].figure.wire, bytes, rate, tuple(taken))


@lru_cache(maxsize=64)
def _called(name: str) -> list[Kind]:
    return [kind for kind in kinds().values() if kind.is_called(name)]


def _taken(kind: Kind, operation: str, size: int, run: str) -> list[Taken]:
    return [
        Taken(figure, source)
        for source in kind.sources
        if not (run and run in source.runs)
        for figure in source.figures
        if figure.operation == operation and figure.stands_for(size)
    ]


def _of_wire(taken: list[Taken], wire: str | None) -> list[Taken]:
    """Those over this wire, with as many links; none where that leaves open which ones they are."""
    if wire and any(one.figure.wire for one in taken):
        known = next((name for name, is_called in WIRES.items() if re.fullmatch(is_called, wire, re.I)), wire)
        taken = [one for one in taken if one.figure.wire == known]
        links = re.search(r"x ?(\d+)$", wire) if known != "PCIe" else None
        if links:
            taken = [one for one in taken if one.figure.links in (0, int(links[1]))]
    same = {(one.figure.wire, one.figure.links or None) for one in taken}
    distinct = {links for _, links in same if links}
    return taken if len({name for name, _ in same}) == 1 and len(distinct) <= 1 else []


@cache
def kinds(folder: Path = FOLDER) -> dict[str, Kind]:
    """All kinds, by the names of their files. Raises WirespeedError that says what is wrong in which file."""
    return {file.stem: read(file.read_bytes(), file.name, Kind) for file in sorted(folder.glob("*.toml"))}


def of_machines() -> Iterator[tuple[str, Taken]]:
    """(machine's name in systems/, figure), of those that were measured on a machine as a whole."""
    for kind in kinds().values():
        if kind.system:
            yield from (
                (kind.system, Taken(figure, source)) for source in kind.sources for figure in source.figures
            )


@dataclass(frozen=True)
class CurvePoint:
    """One size of a published curve."""

    seconds: float
    gib_per_second: float

    @property
    def rate(self) -> float:
        """Bytes per second, from the bandwidth as published."""
        return self.gib_per_second * 2**30


def curves_of(system: str) -> Curves | None:
    """Published curves of a machine of systems/."""
    return next((kind.curves for kind in kinds().values() if kind.system == system), None)


def load_curves(curves: Curves, folder: Path = FOLDER) -> dict[str, dict[int, CurvePoint]]:
    """Path -> size in bytes -> point, under our names of the paths."""
    found: dict[str, dict[int, CurvePoint]] = {}
    with (folder / curves.file).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            curve = found.setdefault(curves.paths.get(row["path"], row["path"]), {})
            curve[int(row["bytes"])] = CurvePoint(float(row["seconds_one_way"]), float(row["GiB_per_s"]))
    return found


def peaks(curves: Curves) -> Sequence[tuple[str, int, CurvePoint]]:
    """(path, size, point) of each curve's highest rate."""
    return [
        (path, *max(points.items(), key=lambda item: item[1].rate))
        for path, points in load_curves(curves).items()
    ]
