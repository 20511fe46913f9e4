"""nccl-tests' tables and JSON, and NCCL's own lines."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from support.foreign import curves_of, read_text, text_of

from wirespeed.foreign.shapes import Point

RESULTS = Path(__file__).parents[2] / "results"
OURS = ["eight/h200-x8-nccl-tests.txt", "collectives/h200-x4-nccl-tests-one-way.txt"]
ROW = re.compile(
    r"^ *(\d+) +\d+ +\w+ +\w+ +-1 +([\d.]+) +[\d.]+ +([\d.]+) +0"
    r" +([\d.]+) +[\d.]+ +([\d.]+) +(?:0|N/A)",
    re.M,
)


def printed(text: str) -> list[tuple[str, ...]]:
    return [found.groups() for found in ROW.finditer(text)]


def times_of(*points: Point) -> list[str]:
    """Microseconds."""
    return [f"{1e6 * (point.seconds or 0):g}" for point in points]


def test_the_post_of_24_ranks() -> None:
    text = text_of("01")
    log = read_text(text)
    (curve,) = log.curves
    assert (curve.operation, curve.ranks, curve.direction, curve.hosts) == ("all-reduce", 24, "bus", None)
    rows = printed(re.sub(r"\[0\]", "", text))
    assert len(rows) == 11 and len(curve.points) == 22
    for (size, *figures), out, inside in zip(rows, curve.points[::2], curve.points[1::2], strict=True):
        assert (out.bytes, inside.bytes) == (int(size), int(size))
        assert times_of(out, inside) == [f"{float(word):g}" for word in figures[::2]]
        assert [out.rate, inside.rate] == [float(word) * 1e9 for word in figures[1::2]]
    assert {(one.kind, one.detail) for one in log.transports} == {("NET", "IBext_v8/7/GDRDMA")}


@pytest.mark.parametrize("file", OURS)
def test_our_own_outputs_to_the_digit(file: str) -> None:
    text = (RESULTS / file).read_text()
    log = read_text(text)
    points = [point for curve in log.curves for point in curve.points]
    rows = printed(text)
    assert len(points) == 2 * len(rows) > 100 and not log.unknown
    for (size, *figures), out, inside in zip(rows, points[::2], points[1::2], strict=True):
        assert out.bytes == inside.bytes == int(size)
        assert times_of(out, inside) == [f"{float(word):g}" for word in figures[::2]]
        assert [out.rate, inside.rate] == [float(word) * 1e9 for word in figures[1::2]]
    assert {(curve.ranks, curve.hosts) for curve in log.curves} <= {(8, 1), (4, 1)}


def test_wrong_data_and_two_runs_in_one_text() -> None:
    first, second = curves_of(text_of("26"))
    assert (first.operation, first.ranks) == ("sendrecv", None)
    assert (second.operation, second.ranks, second.hosts) == ("sendrecv", 2, 1)
    assert [(point.bytes, point.in_place, point.wrong) for point in first.points] == [
        (37748744, False, 0.0),
        (37748744, True, 300.0),
    ]
    assert [(point.bytes, point.seconds) for point in second.points] == [(37748736, 6485.7 / 1e6)]


def test_json_of_nccl_tests() -> None:
    value = {
        "version": 1,
        "args": ["./all_reduce_perf", "-g", "2"],
        "env": ["NCCL_ALGO=Ring", "HOME=/home/me"],
        "nccl_version": 22809,
        "config": {"devices": [{"hostname": "n1", "device_info": "NVIDIA H200"}] * 2},
        "results": [
            {
                "size": 1048576,
                "out_of_place": {"time": 24.5, "alg_bw": 42.8, "bus_bw": 42.8, "nwrong": 0.0},
                "in_place": {"time": 25.5, "alg_bw": 41.1, "bus_bw": 41.1, "nwrong": 3.0},
            }
        ],
    }
    log = read_text("some line\n" + json.dumps(value, indent=2))
    (curve,) = log.curves
    assert (curve.operation, curve.ranks, curve.hosts) == ("all-reduce", 2, 1)
    assert [(point.seconds, point.rate, point.wrong) for point in curve.points] == [
        (24.5 / 1e6, 42.8e9, 0.0),
        (25.5 / 1e6, 41.1e9, 3.0),
    ]
    assert log.settings == {"NCCL_ALGO": "Ring"} and log.versions["NCCL"] == ("2.28.9",)


LINES = """n1:11:22 [0] NCCL INFO NCCL version 2.18.3+cuda12.2
n1:11:22 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[2] via P2P/CUMEM/read
n1:11:22 [1] NCCL INFO Channel 01/0 : 1[1] -> 2[2] via P2P/CUMEM/read
n1:11:22 [3] NCCL INFO Channel 00 : 3[3000] -> 4[4000] [receive] via NET/Socket/0
n1:11:22 [0] NCCL INFO NET/IB : No device found.
n1:11:22 [0] NCCL INFO Using network Socket
n1:11:22 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.
n1:11:22 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-x1 to 9637892 bytes
"""


def test_nccl_lines() -> None:
    log = read_text(LINES)
    assert log.versions == {"NCCL": ("2.18.3",), "CUDA": ("12.2",)}
    assert [(one.sender, one.receiver, one.kind, one.detail) for one in log.transports] == [
        ("1", "2", "P2P", "CUMEM/read"),
        ("3", "4", "NET", "Socket/0"),
    ]
    assert log.topology["nccl-network"] == "Socket" and log.settings == {"NCCL_IB_DISABLE": "1"}
    assert [(one.kind, one.line) for one in log.failures] == [("no-ib", 5), ("shm-space", 8)]
