"""Ranks whose NIC is a bad choice: one farther from the GPU than another, or one for all ranks of a host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from wirespeed.evidence.nics.used import nic_name
from wirespeed.host.pci_topology import DISTANCES
from wirespeed.host.process import span
from wirespeed.limits.wires import PORTS
from wirespeed.results.nics import RankNics
from wirespeed.results.parts import Wire
from wirespeed.results.runs import Run

ORDER = [*DISTANCES]
MAX_LINES = 4
"""Lines about them."""


class Farther(Struct, frozen=True):
    """A rank's NIC, and one of its host that is nearer to its GPU and as fast."""

    rank: int
    nic: str
    distance: str
    nearer: str
    nearer_distance: str


class OneForAll(Struct, frozen=True):
    """The only NIC that several ranks of a host use, and others there that are as fast."""

    host: str
    ranks: tuple[int, ...]
    nic: str
    others: tuple[str, ...]


def farther(run: Run, path: str) -> Iterator[Farther]:
    """Findings about the path's largest messages, for ranks whose GPU is known."""
    gpus = {rank.rank: (rank.device.pci or "").lower() for rank in run.step(path).ranks if rank.device}
    for rank_nics in _nics(run, path):
        ports = _ports(run, path, rank_nics.host)
        gpu = gpus.get(rank_nics.rank, "")
        for nic in rank_nics.nics:
            if nic.distance not in ORDER or nic.name not in ports:
                continue
            near = [
                (ORDER.index(port.distances[gpu]), name)
                for name, port in ports.items()
                if port.distances.get(gpu) in ORDER and _as_good(port, ports[nic.name])
            ]
            if near and (nearest := min(near))[0] < ORDER.index(nic.distance):
                level, name = nearest
                yield Farther(rank_nics.rank, nic.name, nic.distance, name, ORDER[level])


def one_for_all(run: Run, path: str) -> Iterator[OneForAll]:
    """Hosts all of whose ranks, two or more, use one NIC of several."""
    hosts: dict[str, list[RankNics]] = {}
    for rank_nics in _nics(run, path):
        hosts.setdefault(rank_nics.host, []).append(rank_nics)
    for host, there in hosts.items():
        names = {nic.name for rank_nics in there for nic in rank_nics.nics}
        ports = _ports(run, path, host)
        if len(there) < 2 or len(names) != 1 or not names <= set(ports):
            continue
        (name,) = names
        others = tuple(
            other for other, port in ports.items() if other != name and _as_good(port, ports[name])
        )
        if others:
            yield OneForAll(host, tuple(rank_nics.rank for rank_nics in there), name, others)


def farther_lines(found: Iterable[Farther]) -> list[str]:
    """'ranks 1,3 use mlx5_1:1 (other NUMA node than the GPU); ...': a few lines, alike ranks together."""
    alike: dict[str, list[int]] = {}
    for farther in found:
        used, nearer = DISTANCES[farther.distance], DISTANCES[farther.nearer_distance]
        words = f"{farther.nic} ({used} the GPU); {farther.nearer} is nearer ({nearer} the GPU)"
        alike.setdefault(words, []).append(farther.rank)
    lines = [
        f"ranks {span(ranks)} use {words}" if len(ranks) > 1 else f"rank {ranks[0]} uses {words}"
        for words, ranks in alike.items()
    ]
    return [
        *lines[:MAX_LINES],
        *([f"... {len(lines)} such groups of ranks in all"] if len(lines) > MAX_LINES else []),
    ]


def _nics(run: Run, path: str) -> list[RankNics]:
    sizes = sorted(size for name, size in run.evidence if name == path)
    return next((found for size in reversed(sizes) if (found := run.evidence[path, size].nics)), [])


def _ports(run: Run, path: str, host: str) -> dict[str, Wire]:
    """The NICs of a host by name; virtual interfaces are none."""
    wires = (wire for wire in run.wires_of(path) if wire.host == host and wire.kind in PORTS and wire.pci)
    return {nic_name({"name": wire.name}): wire for wire in wires}


def _as_good(other: Wire, used: Wire) -> bool:
    """Whether it is another way to the same network, as far as that can be told: its kind and its rate."""
    return other.kind == used.kind and (other.rate or 0.0) >= (used.rate or 0.0) > 0
