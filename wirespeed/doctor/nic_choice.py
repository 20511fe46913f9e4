"""Ranks whose NIC is a bad choice: one farther from the GPU than another, or one for all ranks of a host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from wirespeed.evidence.nics.used import nic_name
from wirespeed.grouping import grouped
from wirespeed.host.pci_topology import DISTANCES, cpu_distance
from wirespeed.host.process import cpu_list, span
from wirespeed.limits.wires import PORTS
from wirespeed.results.parts import Rank, RankNics, Wire
from wirespeed.results.runs import Run

ORDER = [*DISTANCES]
MAX_LINES = 4
"""Lines about them."""


class Farther(Struct, frozen=True):
    """NICs of a rank, equally far, and one of its host that is nearer to its GPU or CPUs and as fast."""

    rank: int
    nics: tuple[str, ...]
    distance: str
    nearer: str
    nearer_distance: str
    end: str = "GPU"
    """What the distances begin at: GPU or CPUs."""


class OneForAll(Struct, frozen=True):
    """The only NIC that several ranks of a host use, and others there that are as fast."""

    host: str
    ranks: tuple[int, ...]
    nic: str
    others: tuple[str, ...]


def farther(run: Run, path: str) -> Iterator[Farther]:
    """Findings about the path's largest messages, for ranks whose GPU or CPUs are known to be far."""
    ranks = {rank.rank: rank for rank in run.step(path).ranks}
    for rank_nics in _nics(run, path):
        if (rank := ranks.get(rank_nics.rank)) is None:
            continue
        ports = _ports(run, path, rank_nics.host)
        found: dict[tuple[str, str, str], list[str]] = {}
        for nic in rank_nics.nics:
            if nic.distance not in ORDER or nic.name not in ports:
                continue
            near = [
                (ORDER.index(distance), name)
                for name, port in ports.items()
                if (distance := _distance(rank, port)) in ORDER and _as_good(port, ports[nic.name])
            ]
            if near and (nearest := min(near))[0] < ORDER.index(nic.distance):
                at, name = nearest
                found.setdefault((nic.distance, name, ORDER[at]), []).append(nic.name)
        for (distance, name, level), nics in found.items():
            yield Farther(rank.rank, tuple(nics), distance, name, level, end_of(rank))


def end_of(rank: Rank) -> str:
    """What a rank's NIC should be near: its GPU, or its CPUs where it has none."""
    return "GPU" if rank.device else "CPUs"


def one_for_all(run: Run, path: str) -> Iterator[OneForAll]:
    """Hosts all of whose ranks, two or more, use one NIC of several."""
    hosts = grouped((rank_nics.host, rank_nics) for rank_nics in _nics(run, path))
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
    """'ranks 1,3 use mlx5_1:1 (other NUMA node than its GPU); ...': a few lines, alike ranks together."""
    alike = grouped((_words(one), one.rank) for one in found)
    lines = [
        f"ranks {span(ranks)} use {words}" if len(ranks) > 1 else f"rank {ranks[0]} uses {words}"
        for words, ranks in alike.items()
    ]
    return [
        *lines[:MAX_LINES],
        *([f"... {len(lines)} such groups of ranks in all"] if len(lines) > MAX_LINES else []),
    ]


def _words(one: Farther) -> str:
    used, nearer = (f"{DISTANCES[word]} its {one.end}" for word in (one.distance, one.nearer_distance))
    return f"{' and '.join(one.nics)} ({used}); {one.nearer} is nearer ({nearer})"


def _distance(rank: Rank, port: Wire) -> str:
    """From a rank's GPU to a NIC, or from its CPUs where it has none; empty where it is not known."""
    if rank.device:
        return port.distances.get((rank.device.pci or "").lower(), "")
    return cpu_distance(cpu_list(rank.cpus), cpu_list(port.near))


def _nics(run: Run, path: str) -> list[RankNics]:
    return next((evidence.nics for evidence in reversed(run.evidence_of(path)) if evidence.nics), [])


def _ports(run: Run, path: str, host: str) -> dict[str, Wire]:
    """The NICs of a host by name; virtual interfaces are none."""
    wires = (wire for wire in run.wires_of(path) if wire.host == host and wire.kind in PORTS and wire.pci)
    return {nic_name({"name": wire.name}): wire for wire in wires}


def _as_good(other: Wire, used: Wire) -> bool:
    """Whether it is another way to the same network, as far as that can be told: its kind and its rate."""
    return other.kind == used.kind and (other.rate or 0.0) >= (used.rate or 0.0) > 0
