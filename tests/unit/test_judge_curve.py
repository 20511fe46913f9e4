"""Findings about curves, and sound ones that are not blamed; explain.transcript has what users posted."""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import Golden

from wirespeed.judge.curve import find, of_curve
from wirespeed.judge.given import Curve, Finding, Point

KIB, MIB = 1 << 10, 1 << 20


def timed(*rows: tuple[int, float], **traits: Any) -> Curve:
    """Of (bytes, microseconds)."""
    return Curve(points=tuple(Point(size, micro / 1e6) for size, micro in rows), **traits)


def rated(*rows: tuple[int, float], **traits: Any) -> Curve:
    """Of (bytes, GB/s)."""
    return Curve(points=tuple(Point(size, None, rate * 1e9) for size, rate in rows), **traits)


def of_figures(figures: Sequence[tuple[int, float]], **traits: str) -> list[Finding]:
    """Of (bytes, seconds)."""
    return of_curve(timed(*((size, seconds * 1e6) for size, seconds in figures), **traits))


def matrix(rate: Callable[[int, int], float], gpus: int = 4, **traits: Any) -> list[Curve]:
    """Copies between every two GPUs; `rate`: GB/s."""
    traits = {"tool": "p2pBandwidthLatencyTest", "operation": "copy", "memory": "D D", **traits}
    pairs = [(a, b) for a in range(gpus) for b in range(gpus) if a != b]
    return [rated((160_000_000, rate(a, b)), pair=f"GPU{a} GPU{b}", **traits) for a, b in pairs]


def slower(*pairs: tuple[int, int], by: float) -> list[Curve]:
    return matrix(lambda a, b: by if (a, b) in pairs or (b, a) in pairs else 270.0, name="copy")


def both_and_one(both: float, one: float, tool: str = "OSU MPI", size: int = 4 * MIB) -> list[Curve]:
    alone = rated((size, one), tool="OSU MPI", operation="bandwidth", name="Bandwidth Test", memory="H H")
    traits = {"operation": "both-ways", "name": "Both", "direction": "both", "memory": "H H"}
    return [alone, rated((size, both), tool=tool, **traits)]


def stretches(*rates: float) -> Curve:
    """Of GB/s since the line before."""
    points = [Point(MIB, None, rate * 1e9, average=rate * 1e9, overall=5e9) for rate in rates]
    return Curve(points=tuple(points), tool="ucx_perftest", operation="bandwidth", memory="D D")


def nic(name: str, peak: float, average: float) -> Curve:
    """Gb/s."""
    point = Point(8192, None, average / 8 * 1e9, peak / 8 * 1e9, average / 8 * 1e9, repetitions=30000)
    test = Curve("perftest", operation="bandwidth", name="RDMA_Write BW Test", memory="D D")
    return replace(test, points=(point,), pair=name)


def start(first: float) -> Curve:
    return timed((4, first), *((1 << at, 10.0) for at in range(3, 12)))


NCCL = {"tool": "nccl-tests", "memory": "D D"}
BELOW = timed((8, 0.2), (16, 9.0), (32, 9.0), operation="all-reduce", **NCCL)
PROTOCOLS = [(4096, 3.8), (8192, 6.4), (16384, 1.5), (32768, 3.0), (65536, 6.0), (131072, 12.0)]
CACHE = [(512 * KIB, 13.3), (MIB, 7.6), (4 * MIB, 5.7), (16 * MIB, 3.2), (64 * MIB, 3.2)]
TO_GPU: dict[str, Any] = {"operation": "bandwidth", "memory": "D D"}
TWICE = [
    rated((64 * KIB, one), (MIB, other), tool="OSU MPI", name="Bandwidth", operation="bandwidth")
    for one, other in ((7.0, 12.0), (5.0, 4.0))
]
READ = {"tool": "perftest", "name": "RDMA_Write", "operation": "bandwidth", "pair": "mlx5_0"}
ISLANDS = matrix(lambda a, b: 100.0 if (a < 2) != (b < 2) else 270.0, name="copy")
LINKS = {("GPU0", "GPU1"): "PIX", ("GPU0", "GPU3"): "SYS"}
DISABLED, ENABLED = ("Unidirectional P2P=" + word + " Bandwidth Matrix" for word in ("Disabled", "Enabled"))


def near(far: float) -> list[Curve]:
    """Four GPUs without peer access; those at GPU 3 are far from GPU 0."""
    return matrix(lambda a, b: far if {a, b} == {0, 3} else 10.0, name=DISABLED)


BLAMED: dict[str, list[Finding]] = {
    "a time that falls as size grows: no mark shows a precise figure at the wrong size": of_curve(
        timed(*((8, 5), (4 * KIB, 8), (64 * KIB, 389), (MIB, 143), (16 * MIB, 1900)), operation="pingpong")
    ),
    "many humps are noise": of_curve(
        timed(*((1 << at, (200 if at in (3, 7, 12, 15) else 1) + 1e-4 * 2**at) for at in range(20)))
    ),
    "the first size may carry the start": of_curve(start(100.0)),
    "a rate beyond its wire": of_curve(
        rated((MIB, 20.0), (2 * MIB, 26.0), tool="OSU MPI", operation="bandwidth"), limit=25e9
    ),
    "less time than a cache line takes": of_curve(timed((8, 0.01), (16, 0.01), operation="pingpong")),
    "less time than a launch takes": of_curve(BELOW),
    "the time of all iterations is not that of one": of_curve(
        Curve(points=(Point(8, 3.2, repetitions=262144),), operation="pingpong")
    ),
    "both ways are slower than one": find(both_and_one(9.0, 12.0)),
    "both ways are told, where another tool may count them otherwise": find(both_and_one(24.0, 12.0, "IMB")),
    "a step that soon recovers: gdr_copy up to 8 KiB, then CUDA IPC": of_curve(rated(*PROTOCOLS, **TO_GPU)),
    "the same, where nobody saw that it recovers": of_curve(rated(*PROTOCOLS[:-1], **TO_GPU)),
    "what a cache explains in host memory is a fall of a GPU's": of_curve(
        rated(*CACHE, operation="pingpong", memory="D D")
    ),
    "stretches of one size that differ": of_curve(stretches(1.5, 1.5, 7.8, 7.81, 7.7, 7.7)),
    "a NIC whose average is far below its peak": find([nic("GPU0 rdmap87s0", 170.04, 132.18)]),
    "a collective that takes long whatever its size": of_curve(
        timed((128 * MIB, 95e3), (512 * MIB, 110e3), (4096 * MIB, 137e3), operation="all-to-all", **NCCL)
    ),
    "two tables of one test are told": find(TWICE),
    "one NIC reads GPU memory slower than host memory": find(
        [rated((32 * MIB, 11.0), memory="D D", **READ), rated((32 * MIB, 24.0), **READ)]
    ),
    "direct copies are slower than through the host": find(
        [*matrix(lambda a, b: 20.0, name=DISABLED), *matrix(lambda a, b: 10.1 + b / 100, name=ENABLED)]
    ),
    "a matrix is told once": find(
        [
            replace(curve, operation="latency", points=(Point(-1, 49e-3),))
            for curve in matrix(lambda a, b: 1.0, 3, name="P2P=Enabled Latency (P2P Writes) Matrix")
        ]
    ),
    "near pairs are slower than far ones": find(near(20.0), LINKS),
    "a pair that is slower than all others": find(slower((1, 3), by=9.8)),
    "a GPU that is slower than all others": find(slower((0, 3), (1, 3), (2, 3), by=180.0)),
}
SOUND: dict[str, list[Finding]] = {
    "the first size, four times the others": of_curve(start(40.0)),
    "a rate as high as its wire": of_curve(rated((MIB, 20.0), (2 * MIB, 26.0)), limit=26e9),
    "twice as much both ways": find(both_and_one(24.0, 12.0)),
    "both ways of a few bytes": find(both_and_one(0.009, 0.012, size=8)),
    "pageable copies that leave a cache": of_curve(
        rated((MIB, 12.0), (16 * MIB, 14.0), (256 * MIB, 6.6), operation="copy", memory="H D")
    ),
    "a virtual machine's shared memory beyond its cache": of_curve(
        rated(*CACHE, operation="pingpong", memory="H H")
    ),
    "the first stretch warms up": of_curve(stretches(1.5, 7.8, 7.81, 7.7, 7.7)),
    "one stretch is slow": of_curve(stretches(7.0, 7.8, 5.0, 7.7, 7.7)),
    "a NIC": find([nic("GPU0 rdmap85s0", 174.57, 171.50)]),
    "small messages of many ranks": of_curve(
        timed((8, 900), (KIB, 950), (64 * KIB, 1000), operation="all-to-all", **NCCL)
    ),
    "a collective that takes its bytes' time": of_curve(
        timed((128 * MIB, 5e3), (512 * MIB, 20e3), (4096 * MIB, 160e3), operation="all-to-all", **NCCL)
    ),
    "tables of two memories": find([TWICE[0], replace(TWICE[1], memory="D D")]),
    "a table twice": find([TWICE[0], TWICE[0]]),
    "GPU memory read nearly as fast": find(
        [rated((32 * MIB, 22.0), memory="D D", **READ), rated((32 * MIB, 24.0), **READ)]
    ),
    "direct copies that are faster": find(
        [*matrix(lambda a, b: 20.0, name=DISABLED), *matrix(lambda a, b: 50.0, name=ENABLED)]
    ),
    "one way by peer access, both ways without": find(
        [
            *matrix(lambda a, b: 390.0, name=ENABLED),
            *matrix(lambda a, b: 18.0, name=DISABLED.replace("Uni", "Bi"), direction="both"),
        ]
    ),
    "far pairs that are slower": find(near(9.0), LINKS),
    "two islands": find(ISLANDS),
    "a slow pair of which the topology says why": find(
        slower((1, 3), by=9.8), {("GPU1", "GPU3"): "SYS", ("GPU0", "GPU1"): "NV12"}
    ),
}


def test_what_is_blamed(golden: Golden) -> None:
    """Protects from a finding without a cause and an advice, too."""
    said = {}
    for case, found in BLAMED.items():
        lines = [f"{one.severity} {one.kind}: {one.seen}\n  {one.cause}\n  {one.do}\n" for one in found]
        assert lines and "{" not in "".join(lines)
        said[case] = "".join(lines)
    golden("judge/curves", said)


@pytest.mark.parametrize("case", SOUND)
def test_what_is_not(case: str) -> None:
    assert SOUND[case] == []


def test_one_rank_moves_nothing() -> None:
    """Protects one rank's collective, which may take less time than a launch."""
    assert not any(finding.impossible for finding in of_curve(replace(BELOW, ranks=1)))


@pytest.mark.parametrize("factor", [1.0, 1.9, 2.0])
def test_a_change_of_protocol_is_not_blamed(factor: float) -> None:
    """Protects curves with an eager threshold: a step of up to twice the time for the same bytes."""
    figures = [(1 << at, 1e-6 + 2**at / 12e9) for at in range(24)]
    stepped = [(size, seconds * factor + 3e-6 if size > 8192 else seconds) for size, seconds in figures]
    assert not of_figures(stepped, operation="pingpong")
    dropped = [(size, seconds if size > 8192 else seconds * factor) for size, seconds in figures]
    assert not of_figures(dropped, operation="pingpong", memory="D D")


@pytest.mark.parametrize("seed", range(60))
def test_noise_of_a_sound_machine_is_not_blamed(seed: int) -> None:
    """Latency, bandwidth, a rendezvous that costs some microseconds, and noise of 10 % on each figure."""
    chance = random.Random(seed)
    latency, rate, extra = chance.uniform(0.3e-6, 30e-6), chance.uniform(1e9, 400e9), chance.uniform(0, 10e-6)
    begins = 1 << chance.randint(10, 18)
    figures = [
        (1 << at, (latency + 2**at / rate + (min(extra, latency) if 1 << at >= begins else 0.0)))
        for at in range(28)
    ]
    noisy = [(size, seconds * math.exp(chance.gauss(0, 0.1))) for size, seconds in figures]
    for memory in ("H H", "D D"):
        assert not of_figures(noisy, operation="pingpong", memory=memory)


def test_published_curves_are_sound() -> None:
    file = Path(__file__).parents[2] / "wirespeed/systems/reference/summit_pingpong.csv"
    rows = list(csv.DictReader(file.read_text().splitlines()))
    for path in {row["path"] for row in rows}:
        figures = [(int(row["bytes"]), float(row["seconds_one_way"])) for row in rows if row["path"] == path]
        memory = "H H" if path == "host" else "D D"
        assert not of_figures(figures, operation="pingpong", memory=memory), path


numbers = st.one_of(
    st.none(),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, 5e-324, 1.0, -1.0, 1e308]),
)
points = st.builds(
    Point,
    bytes=st.integers(-1, 1 << 62) | st.sampled_from([0, 8, 8192, MIB]),
    **dict.fromkeys(("seconds", "rate", "peak", "average", "overall", "t_min", "t_max", "wrong"), numbers),
    repetitions=st.none() | st.integers(-1, 1 << 40),
    in_place=st.none() | st.booleans(),
)
curves = st.builds(
    Curve,
    points=st.lists(points, max_size=12).map(tuple),
    tool=st.sampled_from(["", "nccl-tests", "OSU MPI", "perftest", "p2p", "ucx_perftest"]),
    operation=st.sampled_from(["", "pingpong", "bandwidth", "copy", "local-copy", "all-reduce", "both-ways"]),
    name=st.sampled_from(["", "P2P=Enabled", "P2P=Disabled"]),
    direction=st.sampled_from(["one", "both", "bus"]),
    memory=st.sampled_from(["", "H H", "H D", "D D"]),
    ranks=st.none() | st.integers(0, 8),
    pair=st.sampled_from(["", "GPU0 GPU1", "GPU1 GPU0", "a b c", "{x}"]),
)


@given(st.lists(curves, max_size=4), numbers)
def test_no_figures_end_with_a_traceback(given_curves: list[Curve], limit: float | None) -> None:
    limits = {0: limit} if limit and math.isfinite(limit) and limit > 0 else {}
    found = find(given_curves, {("GPU0", "GPU1"): "PIX"}, limits)
    assert all(finding.seen and finding.cause and finding.do for finding in found)
    order = [(not finding.impossible, not finding.wrong, -finding.severity) for finding in found]
    assert order == sorted(order)
