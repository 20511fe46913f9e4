"""Outputs that tools made on machines with H200s: read back to the digit, and no finding, as it should be."""

from __future__ import annotations

import json
import re

import pytest
from support.foreign import INPUTS, read_text

from wirespeed.foreign.explain import explain
from wirespeed.foreign.question import Question

REAL = INPUTS / "real"
OSU = {"osu_latency-host": 1e-6, "osu_latency-h200-x2": 1e-6, "osu_bw-host": 1e6, "osu_bibw-host": 1e6}
"""File -> unit of its one column."""
NVBANDWIDTH = ("nvbandwidth-h200.txt", "nvbandwidth-h200.json")
NCCL = ("all_reduce_perf-h200-x2", "sendrecv_perf-h200-x2")


@pytest.mark.parametrize("name", OSU)
def test_osu(name: str) -> None:
    text = (REAL / f"{name}.txt").read_text()
    (curve,) = read_text(text).curves
    told: list[object] = [(point.bytes, point.rate or point.seconds) for point in curve.points]
    rows = [line.split() for line in text.splitlines() if re.match(r"\d+ +[\d.]+$", line)]
    assert told == [(int(size), pytest.approx(float(value) * OSU[name], rel=1e-12)) for size, value in rows]
    assert len(rows) > 15 and curve.direction == ("both" if "bibw" in name else "one")


@pytest.mark.parametrize("name", NCCL)
def test_nccl_tests(name: str) -> None:
    text = (REAL / f"{name}.txt").read_text()
    (curve,) = read_text(text).curves
    rows = [line.split() for line in text.splitlines() if re.match(r" +\d+ +\d+ +float", line)]
    for in_place, time, bus in ((False, 5, 7), (True, 9, 11)):
        points = [point for point in curve.points if point.in_place == in_place]
        told: list[object] = [(point.bytes, point.seconds, point.rate) for point in points]
        assert told == [
            (int(row[0]), pytest.approx(float(row[time]) / 1e6), pytest.approx(float(row[bus]) * 1e9))
            for row in rows
        ]


def test_nvbandwidth() -> None:
    text, as_json = ((REAL / name).read_text() for name in NVBANDWIDTH)
    sums = re.findall(r"^SUM (\w+) ([\d.]+)", text, re.M)
    units = [1e-9 if "latency" in name else 1e9 for name, _ in sums]
    told = [curve.points[0] for curve in read_text(text).curves]
    assert [point.rate or point.seconds for point in told] == [
        pytest.approx(float(value) * unit) for (_, value), unit in zip(sums, units, strict=True)
    ]
    cases = {one["name"]: one for one in json.loads(as_json)["nvbandwidth"]["testcases"]}
    log = read_text(as_json)
    assert [curve.name for curve in log.curves] == [*cases] and log.topology["models"] == ("NVIDIA H200",)
    for curve in log.curves:
        ((value,),) = cases[curve.name]["bandwidth_matrix"]
        (point,) = curve.points
        unit = 1e9 if point.rate else 1e-9
        assert (point.rate or point.seconds) == pytest.approx(float(value) * unit)


@pytest.mark.parametrize("name", [*NVBANDWIDTH, *(f"{name}.txt" for name in (*OSU, *NCCL))])
def test_nothing_is_found(name: str) -> None:
    assert not explain(read_text((REAL / name).read_text()), Question()).findings


@pytest.mark.parametrize("given", ["H200", "NVIDIA H200", "h200"])
def test_a_gpu_by_its_short_name(given: str) -> None:
    """Protects the limit from `--gpu H200`, as people and vendors write it."""
    log = read_text((REAL / "all_reduce_perf-h200-x2.txt").read_text())
    assert {one.limit for one in explain(log, Question(gpu=given)).curves} == {450e9}


@pytest.mark.parametrize("test", ["tag_lat", "tag_bw"])
def test_ucx_perftest_names_sizes_in_its_rules(test: str) -> None:
    """Debian's ucx-utils 1.13.1 with a batch file; a name that its figures contradict is no size."""
    text = (REAL / f"ucx_perftest-{test}-sizes.txt").read_text()
    log = read_text(text)
    (curve,) = log.curves
    sizes = [int(size) for size in re.findall(r"^\+(\d+)-", text, re.M)]
    assert list(dict.fromkeys(point.bytes for point in curve.points)) == sizes and len(sizes) == 8
    assert not explain(log, Question()).findings
    (wrong,) = read_text(text.replace("+4096-", "+8192-")).curves
    assert [point.bytes for point in wrong.points].count(-1) == 1


def test_stretches_of_an_even_run() -> None:
    log = read_text((REAL / "ucx_perftest-tag_bw-64KiB.txt").read_text())
    assert len(log.curves[0].points) == 4 and not explain(log, Question()).findings
