"""Findings about curves: what users posted, planted faults, and sound machines that must not be blamed."""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirespeed.judge.curve import find, of_curve
from wirespeed.judge.given import Curve, Finding, Point

KIB, MIB = 1 << 10, 1 << 20


def kinds(found: Sequence[Finding]) -> list[str]:
    return [finding.kind for finding in found]


def only(found: Sequence[Finding], kind: str) -> Finding:
    (finding,) = (finding for finding in found if finding.kind == kind)
    assert finding.cause and finding.do and "{" not in finding.cause + finding.do
    return finding


def table(
    points: Sequence[Point],
    tool: str = "",
    operation: str = "",
    name: str = "",
    direction: str = "one",
    memory: str = "",
    **traits: Any,
) -> Curve:
    words: dict[str, Any] = {"operation": operation, "name": name, "direction": direction, "memory": memory}
    return Curve(tool, points=tuple(points), **words, **traits)


def timed(*rows: tuple[int, float], **traits: Any) -> Curve:
    """Of (bytes, microseconds)."""
    return table(tuple(Point(size, micro / 1e6) for size, micro in rows), **traits)


def rated(*rows: tuple[int, float], **traits: Any) -> Curve:
    """Of (bytes, MB/s)."""
    points = tuple(Point(size, None, rate * 1e6) for size, rate in rows)
    return table(points, **traits)


def both_places(*rows: tuple[int, float, float, float, float]) -> Curve:
    """Of (bytes, out of place: microseconds, GB/s of the bus, in place: the same)."""
    points = []
    for size, outside, outside_rate, inside, inside_rate in rows:
        points.append(Point(size, outside / 1e6, outside_rate * 1e9, in_place=False))
        points.append(Point(size, inside / 1e6, inside_rate * 1e9, in_place=True))
    return table(tuple(points), tool="nccl-tests", operation="all-reduce", direction="bus", memory="D D")


ALL_REDUCE = both_places(
    (524288, 366.5, 2.74, 340.8, 2.95),
    (1048576, 1626.5, 1.24, 2302.3, 0.87),
    (2097152, 2325.3, 1.73, 416.7, 9.65),
    (4194304, 622.6, 12.91, 625.8, 12.85),
    (8388608, 992.6, 16.20, 986.0, 16.31),
    (16777216, 1334.9, 24.09, 1336.5, 24.06),
    (33554432, 2180.1, 29.50, 2285.2, 28.14),
    (67108864, 24410, 5.27, 24425, 5.27),
    (134217728, 49264, 5.22, 48558, 5.30),
    (268435456, 125807, 4.09, 121575, 4.23),
    (536870912, 193909, 5.31, 192903, 5.33),
)
TO_DEVICE = timed(
    *((0, 2.64), (1, 3.53), (2, 3.53), (4, 3.53), (8, 3.53), (16, 3.85), (32, 5.02), (64, 6.71)),
    *((128, 10.34), (256, 28.88), (512, 53.57), (1024, 102.97), (2048, 5.07), (4096, 5.89)),
    *((8192, 6.26), (16384, 8.45), (32768, 11.01), (65536, 14.24), (131072, 19.98), (262144, 32.36)),
    *((524288, 57.00), (1048576, 105.77), (2097152, 202.88)),
    tool="OSU MPI-ROCM",
    operation="pingpong",
    memory="H D",
)
FALLS_AT_RENDEZVOUS = rated(
    *((1, 1.60), (2, 3.21), (4, 6.34), (8, 10.81), (16, 21.42), (32, 42.94), (64, 83.96), (128, 166.28)),
    *((256, 329.42), (512, 629.98), (1024, 1146.88), (2048, 2149.59), (4096, 3761.13), (8192, 6421.73)),
    *((16384, 1484.76), (32768, 1868.04), (65536, 2345.00), (131072, 2879.16), (262144, 3526.87)),
    *((524288, 4084.24), (1048576, 4031.50), (2097152, 3895.92), (4194304, 3840.19)),
    tool="OSU MPI-CUDA",
    operation="bandwidth",
    memory="D D",
)
OVER_TCP = rated(
    *((1, 0.31), (2, 0.62), (4, 1.11), (8, 2.27), (16, 4.34), (32, 8.62), (64, 18.61), (128, 26.94)),
    *((256, 63.55), (512, 99.83), (1024, 159.31), (2048, 293.59), (4096, 401.15), (8192, 435.54)),
    *((16384, 472.90), (32768, 483.79), (65536, 504.40), (131072, 512.21), (262144, 536.86)),
    *((524288, 550.71), (1048576, 556.74)),
    tool="OSU MPI",
    operation="bandwidth",
    memory="H H",
)


def test_a_cliff_of_an_all_reduce() -> None:
    found = of_curve(ALL_REDUCE)
    cliff = only(found, "cliff")
    assert cliff.severity == 2
    assert "64 MiB takes 24.4 ms, 32 MiB 2.18 ms" in cliff.seen
    assert "11.2 times as long for 2 times the bytes; 29.5 -> 5.27 GB/s bus bandwidth" in cliff.seen
    assert "NCCL_ALGO" in cliff.do
    apart = only(found, "in-place").seen
    assert "2 MiB takes 2.33 ms out of place and 417 us in place, 5.58 times apart" in apart


def test_a_hump_that_the_cpu_copies_byte_by_byte() -> None:
    (hump,) = of_curve(TO_DEVICE)
    assert hump.kind == "hump"
    assert (
        "64 B to 1 KiB take up to 20.3 times as long as 2 KiB (103 us at 1 KiB against 5.07 us)" in hump.seen
    )
    assert "about 0.1 us a byte" in hump.seen
    assert "byte by byte" in hump.cause and "UCX_RNDV_THRESH" in hump.do and "if this MPI uses UCX" in hump.do


def test_a_bandwidth_that_falls_where_rendezvous_begins() -> None:
    (cliff,) = of_curve(FALLS_AT_RENDEZVOUS)
    assert cliff.kind == "cliff"
    assert "6.42 -> 1.48 GB/s; no larger size is faster than 4.08 GB/s" in cliff.seen
    assert "rendezvous" in cliff.cause and "GPUDirect" in cliff.cause


def test_two_speeds_by_turns() -> None:
    mib = 2.0**20
    averages = (2325.25, 18942.88, 5567.95, 21526.05, 5289.26, 21404.13)
    overalls = (2325.25, 3475.90, 3734.98, 4721.83, 4774.64, 5540.74)
    rows = zip(averages, overalls, strict=True)
    points = tuple(Point(-1, average=rate * mib, overall=mean * mib) for rate, mean in rows)
    (speeds,) = of_curve(table(points, tool="ucx_perftest", operation="bandwidth"))
    assert speeds.kind == "two-speeds"
    assert "5.55 to 5.84 and 22.4 to 22.6 GB/s" in speeds.seen
    assert "overall 5.81 GB/s is a mean of both and no speed" in speeds.seen


def nic(name: str, peak: float, average: float) -> Curve:
    point = Point(8192, None, average / 8 * 1e9, peak / 8 * 1e9, average / 8 * 1e9, repetitions=30000)
    return table((point,), "perftest", "bandwidth", "RDMA_Write BW Test", memory="D D", pair=name)


def test_of_two_nics_with_alike_peaks_one_stalls() -> None:
    curves = [nic("GPU0 rdmap85s0", 174.57, 171.50), nic("GPU0 rdmap87s0", 170.04, 132.18)]
    (stalls,) = find(curves)
    assert "GPU0 rdmap85s0 has 171.5 Gb/s on average and GPU0 rdmap87s0 132.2 Gb/s" in stalls.seen
    assert "peaks are alike (174.6 Gb/s and 170.0 Gb/s)" in stalls.seen
    assert stalls.cause == "GPU0 rdmap87s0 stalls; its way is not slower"
    (alone,) = find(curves[1:])
    assert alone.kind == "peak-average" and not find(curves[:1])


def matrix(test: str, direct: float, devices: int = 3, *, step: float = 0.01) -> list[Curve]:
    curves = []
    for a in range(devices):
        for b in range(devices):
            rate = (920 if a == b else direct + step * b) * 1e9
            curves.append(
                table(
                    (Point(160_000_000, None, rate),),
                    tool="p2pBandwidthLatencyTest",
                    operation="local-copy" if a == b else "copy",
                    name=test,
                    memory="D D",
                    pair=f"GPU{a} GPU{b}",
                )
            )
    return curves


def test_direct_copies_slower_than_through_the_host() -> None:
    curves = [
        *matrix("Unidirectional P2P=Disabled Bandwidth Matrix", 20.0),
        *matrix("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix", 10.1),
        *matrix("Unidirectional P2P=Enabled Bandwidth (P2P Reads) Matrix", 12.4),
    ]
    (staged,) = find(curves)
    assert (
        "direct (10.1 to 12.4 GB/s) is slower than through the host (20.0 GB/s), for every pair"
        in staged.seen
    )
    assert "keep peer access off" in staged.do
    sound = [*curves[:9], *matrix("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix", 50.0)]
    assert not find(sound)


def test_a_matrix_is_told_once_and_its_directions_by_their_way() -> None:
    times = [
        replace(curve, operation="latency", points=(Point(-1, 49e-3),))
        for curve in matrix("P2P=Enabled Latency (P2P Writes) Matrix", 1.0)
        if curve.operation == "copy"
    ]
    (slow,) = find(times)
    assert slow.seen == "GPU0 GPU1: 49.0 ms for a few bytes; 5 more pairs like it"
    both = [
        replace(curve, direction="both")
        for curve in matrix("Bidirectional P2P=Disabled Bandwidth Matrix", 18.0)
    ]
    assert not find([*matrix("Unidirectional P2P=Enabled Bandwidth Matrix", 390.0), *both])


def test_near_pairs_slower_than_far_ones() -> None:
    curves = matrix("Unidirectional P2P=Disabled Bandwidth Matrix", 10.0, 2)
    far = replace(curves[1], pair="GPU0 GPU4", points=(Point(160_000_000, None, 20e9),))
    links = {("GPU0", "GPU1"): "PIX", ("GPU0", "GPU4"): "SYS"}
    (near,) = find([*curves, far], links)
    assert "PIX pairs (10.0 GB/s) are slower than SYS pairs (20.0 GB/s)" in near.seen
    assert "uplink" in near.cause
    assert not find([*curves, replace(far, points=(Point(160_000_000, None, 9e9),))], links)


SENDRECV = tuple(
    Point(size, average / 1e6, rate * 1e6, t_min=low / 1e6, t_max=high / 1e6, repetitions=count)
    for size, count, low, high, average, rate in (
        (262144, 160, 30.48, 33.48, 32.24, 15660.37),
        (524288, 80, 46.49, 59.52, 54.79, 17616.61),
        (1048576, 40, 164.35, 258.68, 217.49, 8107.16),
        (2097152, 20, 824.89, 936.35, 893.57, 4479.40),
        (4194304, 10, 2010.12, 3076.62, 2165.94, 2726.56),
    )
)


def test_a_fall_with_uneven_ranks_and_few_repetitions() -> None:
    found = of_curve(table(SENDRECV, "IMB", "sendrecv", "Sendrecv", "both", "H H"))
    assert kinds(found) == ["fall", "uneven", "few"]
    assert "falls from 17.6 GB/s at 512 KiB, 1 MiB 8.11 to 2.73 GB/s both ways at 4 MiB" in found[0].seen
    assert "at 4 MiB the slowest rank takes 1.53 times as long as the quickest (3.08 ms" in found[1].seen
    assert found[1].seen.endswith("with 10 repetitions")
    assert "10 to 20 at 2 MiB to 4 MiB" in found[2].seen


def test_a_plain_rise_over_tcp_has_no_finding() -> None:
    assert not of_curve(OVER_TCP)
    assert not find([OVER_TCP], limits={0: 1.25e9})


def test_rates_beyond_every_memory() -> None:
    rows = (
        *((4, 262144, 2.699e6), (8, 262144, 4.54e6), (16, 262144, 7.77e6), (32, 262144, 1.49e7)),
        *((64, 262144, 3.45e7), (128, 262144, 5.47e7), (256, 262144, 1.027e8), (512, 262144, 2.33e8)),
        *((1024, 262144, 4.718e8), (2048, 131072, 3.79e8), (4096, 65536, 2.95e8), (1048576, 256, 2.95e6)),
    )
    points = tuple(Point(size, None, rate * 1e6, repetitions=count) for size, count, rate in rows)
    (found,) = of_curve(table(points, "MPIBenchmarks.jl", "bandwidth"))
    assert found.impossible and found.severity == 3
    assert "471800 GB/s is beyond every memory and wire" in found.seen
    assert "no figure of this table can be used" in found.seen
    assert "divided by its 262144 iterations it would be 1.80 GB/s" in found.cause


def test_a_rate_beyond_its_wire() -> None:
    curve = rated((MIB, 20e3), (2 * MIB, 26e3), tool="OSU MPI", operation="bandwidth")
    assert kinds(of_curve(curve, limit=25e9)) == ["impossible"]
    assert not of_curve(curve, limit=26e9)


def test_less_time_than_a_cache_line_or_a_launch_takes() -> None:
    assert of_curve(timed((8, 0.01), (16, 0.01), operation="pingpong"))[0].impossible
    nccl = timed((8, 0.2), (16, 9.0), (32, 9.0), tool="nccl-tests", operation="all-reduce", memory="D D")
    assert of_curve(nccl)[0].impossible
    alone = of_curve(replace(nccl, ranks=1))
    assert not any(finding.impossible for finding in alone), "one rank moves nothing"


def test_milliseconds_for_a_few_bytes() -> None:
    mib = 2.0**20
    rows = (
        (1879.089, 0.0),
        (1136.229, 0.0),
        (1814.508, 0.0),
        (1873.954, 0.0),
        (1795.314, 0.01),
        (1791.232, 0.02),
    )
    points = tuple(Point(-1, micro / 1e6, rate * mib or None, repetitions=10000) for micro, rate in rows)
    (slow,) = of_curve(table(points, "ucx_perftest", "pingpong", "tag_lat"))
    assert "1.14 ms to 1.88 ms for a few bytes (by its rates at most some 40 B)" in slow.seen
    assert "1 to 5 us of a NIC" in slow.seen
    assert not of_curve(timed((8, 25), (1024, 30), tool="ucx_perftest", operation="pingpong"))


def test_the_same_size_but_for_eight_bytes_and_wrong_data() -> None:
    traits: dict[str, Any] = {
        "tool": "nccl-tests",
        "operation": "sendrecv",
        "direction": "bus",
        "memory": "D D",
    }
    odd = table(
        (
            Point(37748744, 11732e-6, 3.22e9, wrong=0.0, in_place=False),
            Point(37748744, 11698e-6, 3.23e9, wrong=3e2, in_place=True),
        ),
        **traits,
    )
    even = table((Point(37748736, 6485.7e-6, 5.82e9, wrong=0.0, in_place=False),), **traits)
    wrong, aligned = find([odd, even])
    assert wrong.wrong and wrong.severity == 3
    assert "wrong data at 37748744 B in place (300): its figure is none; 1 other stands" in wrong.seen
    assert "37748744 B takes 11.7 ms, 37748736 B 6.49 ms out of place: 1.81 times as long" in aligned.seen
    assert "a multiple of 8 B, 37748736 of 4 MiB" in aligned.cause
    assert not find([even])


def of_figures(figures: Sequence[tuple[int, float]], **traits: str) -> list[Finding]:
    """Of (bytes, seconds)."""
    return of_curve(timed(*((size, seconds * 1e6) for size, seconds in figures), **traits))


def of_rates(rates: Sequence[tuple[int, float]], **traits: str) -> list[Finding]:
    """Of (bytes, bytes per second)."""
    return of_curve(rated(*((size, rate / 1e6) for size, rate in rates), **traits))


def test_a_time_that_falls_as_size_grows() -> None:
    """Protects what no mark shows: a precise figure at the wrong size."""
    figures = [
        (8, 5e-6),
        (4 * KIB, 8e-6),
        (64 * KIB, 389e-6),
        (MIB, 143e-6),
        (16 * MIB, 1.9e-3),
        (64 * MIB, 7e-3),
    ]
    found = of_figures(figures, operation="pingpong")
    assert kinds(found) == ["hump"]
    assert "64 KiB takes 2.72 times as long as 1 MiB (389 us at 64 KiB against 143 us)" in found[0].seen


def test_many_humps_are_noise() -> None:
    figures = [(1 << at, (200e-6 if at in (3, 7, 12, 15) else 1e-6) + 1e-10 * 2**at) for at in range(20)]
    assert kinds(of_figures(figures)) == ["scattered"]


def test_the_first_size_may_carry_the_start() -> None:
    figures = [(1 << at, 10e-6) for at in range(3, 12)]
    assert not of_figures([(4, 40e-6), *figures])
    (found,) = of_figures([(4, 100e-6), *figures])
    assert found.severity == 1 and "warm-up" in found.do


def both_and_one(both: float, one: float, tool: str = "OSU MPI") -> list[Curve]:
    return [
        table((Point(4 * MIB, None, one),), "OSU MPI", "bandwidth", "Bandwidth Test", memory="H H"),
        table((Point(4 * MIB, None, both),), tool, "both-ways", "Both", "both", "H H"),
    ]


def test_both_ways_and_sums() -> None:
    (slow,) = find(both_and_one(9e9, 12e9))
    assert "both ways together 9.00 GB/s, one way alone 12.0 GB/s" in slow.seen
    assert not find(both_and_one(24e9, 12e9)), "twice as much is what both ways are"
    assert not find([replace(c, points=(c.points[0]._replace(bytes=8),)) for c in both_and_one(9e6, 12e6)])
    (counted,) = find(both_and_one(24e9, 12e9, "IMB"))
    assert counted.kind == "sum" and counted.severity == 1


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


def test_a_step_that_soon_recovers_is_something_to_know() -> None:
    """Device memory over NVLink: by gdr_copy up to 8 KiB, then by CUDA IPC, which soon is faster."""
    rates = [(4096, 3.8e9), (8192, 6.4e9), (16384, 1.5e9), (32768, 3e9), (65536, 6e9), (131072, 12e9)]
    traits = {"operation": "bandwidth", "memory": "D D"}
    (step,) = of_rates(rates, **traits)
    assert (step.kind, step.severity) == ("cliff", 1)
    (cliff,) = of_rates(rates[:-1], **traits)
    assert cliff.severity == 2


def test_pageable_copies_that_leave_a_cache_are_not_blamed() -> None:
    rates = [(MIB, 12e9), (16 * MIB, 14e9), (256 * MIB, 6.6e9)]
    assert not of_rates(rates, operation="copy", memory="H D")


def test_a_cache_is_not_blamed() -> None:
    """Rates of a virtual machine's shared memory, 4.2 times lower beyond its cache."""
    rates = [(512 * KIB, 13.3e9), (MIB, 7.6e9), (4 * MIB, 5.7e9), (16 * MIB, 3.2e9), (64 * MIB, 3.2e9)]
    assert not of_rates(rates, operation="pingpong", memory="H H")
    assert kinds(of_rates(rates, operation="pingpong", memory="D D")) == ["fall"]


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


def stretches(*rates: float) -> Curve:
    """Of GB/s since the line before."""
    points = [Point(MIB, None, rate * 1e9, average=rate * 1e9, overall=5e9) for rate in rates]
    return table(tuple(points), tool="ucx_perftest", operation="bandwidth", memory="D D")


def test_stretches_of_one_size_that_differ() -> None:
    assert "7.81" in only(of_curve(stretches(1.5, 1.5, 7.8, 7.81, 7.7, 7.7)), "unsteady").seen
    assert not of_curve(stretches(1.5, 7.8, 7.81, 7.7, 7.7)), "the first stretch warms up"
    assert not of_curve(stretches(7.0, 7.8, 5.0, 7.7, 7.7))


def test_a_collective_that_takes_long_whatever_its_size() -> None:
    words = {"tool": "nccl-tests", "operation": "all-to-all", "memory": "D D"}
    slow = timed((128 * MIB, 95e3), (512 * MIB, 110e3), (4096 * MIB, 137e3), **words)
    assert "32 times the bytes" in only(of_curve(slow), "floor").seen
    assert not of_curve(timed((8, 900), (KIB, 950), (64 * KIB, 1000), **words)), "many ranks"
    assert not of_curve(timed((128 * MIB, 5e3), (512 * MIB, 20e3), (4096 * MIB, 160e3), **words))


def test_two_tables_of_one_test_are_told_not_blamed() -> None:
    rates = [(64 * KIB, 7e3), (MIB, 12e3)], [(64 * KIB, 5e3), (MIB, 4e3)]
    tables = [rated(*rows, tool="OSU MPI", name="Bandwidth", operation="bandwidth") for rows in rates]
    assert only(find(tables), "same-test").severity == 1
    tenth = rated((MIB, 1.2e3), tool="OSU MPI", name="Bandwidth", operation="bandwidth")
    assert only(find([tables[0], tenth]), "same-test").severity == 2, "no two launches lie so far apart"
    assert not find([tables[0], replace(tables[1], memory="D D")]), "another memory is another test"
    assert not find([tables[0], tables[0]])


def test_gpu_memory_that_one_nic_reads_slower_than_host_memory() -> None:
    def table(rate: float, memory: str) -> Curve:
        words = {"tool": "perftest", "name": "RDMA_Write", "operation": "bandwidth", "pair": "mlx5_0"}
        return rated((32 * MIB, rate), memory=memory, **words)

    assert "GPU memory 11.0 GB/s" in only(find([table(11e3, "D D"), table(24e3, "")]), "gpu-slower").seen
    assert not find([table(22e3, "D D"), table(24e3, "")])


def test_the_time_of_all_iterations_is_not_that_of_one() -> None:
    summed = table((Point(8, 3.2, repetitions=262144),), operation="pingpong")
    found = only(of_curve(summed), "impossible")
    assert "9.71 days" in found.seen and "12.2 us" in found.cause


def test_a_pair_or_a_gpu_that_is_slower_than_all_others() -> None:
    def matrix(slow: dict[tuple[int, int], float]) -> list[Curve]:
        return [
            rated(
                (MIB, slow.get((a, b), 270e3)),
                operation="copy",
                memory="D D",
                name="copy",
                pair=f"GPU{a} GPU{b}",
            )
            for a in range(4)
            for b in range(4)
            if a != b
        ]

    assert "GPU1 and GPU3 9.80" in only(find(matrix({(1, 3): 9.8e3, (3, 1): 9.8e3})), "odd-pair").seen
    one_gpu = {ends: 180e3 for a in range(3) for ends in ((a, 3), (3, a))}
    assert "GPU3 180 GB/s, the other pairs 270" in only(find(matrix(one_gpu)), "odd-pair").seen
    halves = {(a, b): 100e3 for a in range(4) for b in range(4) if (a < 2) != (b < 2)}
    assert not find(matrix(halves)), "two islands"
    links = {("GPU1", "GPU3"): "SYS", ("GPU0", "GPU1"): "NV12"}
    assert not find(matrix({(1, 3): 9.8e3, (3, 1): 9.8e3}), links), "the topology says why"
