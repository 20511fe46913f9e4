"""nvbandwidth, bandwidthTest, TransferBench and nixlbench, and outputs made by the tools themselves."""

from __future__ import annotations

import json
import re

from support.foreign import INPUTS, curves_of, read_text

from wirespeed.foreign.explain import explain
from wirespeed.foreign.question import Question


def healthy(name: str) -> str:
    return (INPUTS / "healthy" / name).read_text()


def real(name: str) -> str:
    return (INPUTS / "real" / name).read_text()


def test_nvbandwidth() -> None:
    log = read_text(healthy("nvbandwidth.txt"))
    rows = [
        (curve.name, curve.operation, curve.direction, curve.memory, curve.pair, *point_of(curve))
        for curve in log.curves
    ]
    both = "device_to_device_bidirectional_memcpy_write_ce"
    assert rows == [
        ("host_to_device_memcpy_ce", "copy", "one", "H D", "CPU0 GPU0", 55.27e9),
        ("host_to_device_memcpy_ce", "copy", "one", "H D", "CPU0 GPU1", 55.31e9),
        ("device_to_device_memcpy_read_ce", "copy", "one", "D D", "GPU0 GPU1", 396.21e9),
        ("device_to_device_memcpy_read_ce", "copy", "one", "D D", "GPU1 GPU0", 396.3e9),
        (both, "copy", "both", "D D", "GPU0 GPU1", 750.21e9),
        (both, "copy", "both", "D D", "GPU1 GPU0", 750.3e9),
        ("host_device_latency_sm", "latency", "one", "", "CPU0 GPU0", 771.25e-9),
        ("host_device_latency_sm", "latency", "one", "", "CPU0 GPU1", 772 * 1e-9),
        ("device_local_copy", "local-copy", "one", "D D", "0 GPU0", 1300.1e9),
        ("device_local_copy", "local-copy", "one", "D D", "0 GPU1", 1301e9),
    ]
    assert log.versions == {"CUDA": ("12.8",), "driver": ("570.86.15",)} and not log.unknown
    assert log.topology["models"] == ("NVIDIA H100 80GB HBM3",)


def point_of(curve: object) -> tuple[float | None, ...]:
    (point,) = curve.points  # type: ignore[attr-defined]
    return (point.seconds if point.rate is None else point.rate,)


def test_nvbandwidth_in_json() -> None:
    case = {
        "name": "device_to_device_memcpy_read_ce",
        "status": "Passed",
        "bandwidth_description": "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)",
        "bandwidth_matrix": [["N/A", "396.21"], ["396.3", "N/A"]],
    }
    value = {"nvbandwidth": {"version": "v0.8", "Driver Version": "570.86", "testcases": [case]}}
    log = read_text(json.dumps(value, indent=3))
    assert [(curve.pair, *point_of(curve)) for curve in log.curves] == [
        ("GPU0 GPU1", 396.21e9),
        ("GPU1 GPU0", 396.3e9),
    ]
    assert {curve.version for curve in log.curves} == {"0.8"}


def test_bandwidth_test_counts_bytes_on_a_device_twice() -> None:
    to_device, on_device = curves_of(healthy("bandwidthTest.txt"))
    assert (to_device.memory, to_device.direction, to_device.placement) == (
        "H D",
        "one",
        "pinned host memory",
    )
    assert (on_device.operation, on_device.direction) == ("local-copy", "both")
    assert [one.points[0].rate for one in (to_device, on_device)] == [24.6e9, 1165.5e9]
    assert to_device.points[0].bytes == 32_000_000


def test_nixlbench_by_batches() -> None:
    one, two = curves_of(healthy("nixlbench.txt"))
    assert (one.name, one.memory, one.placement, two.placement) == (
        *("UCX WRITE", "D D", "batches of 1"),
        "batches of 2",
    )
    assert [(point.bytes, point.rate, point.seconds) for point in one.points] == [
        (4096, 0.512e9, 8.0 / 1e6),
        (8192, 1e9, 8.2 / 1e6),
    ]


def test_transferbench_matrix_and_transfers() -> None:
    curves = curves_of(healthy("TransferBench.txt"))
    assert len(curves) == 17 and {curve.points[0].bytes for curve in curves} == {268435456}
    found = {curve.pair: (curve.memory, *point_of(curve)) for curve in curves[:16]}
    assert found["CPU1 GPU0"] == ("H D", 44.74e9) and found["GPU0 CPU1"] == ("D H", 55.54e9)
    assert (curves[-1].pair, *point_of(curves[-1])) == ("GPU0 GPU1", 47.583e9)


def test_imb_as_it_ran_here() -> None:
    text = real("IMB-MPI1.txt")
    log = read_text(text)
    rows = re.findall(r"^ +\d+ +\d+ +[\d.]+(?: +[\d.]+)*$", text, re.M)
    points = [point for curve in log.curves if curve.operation != "barrier" for point in curve.points]
    assert len(points) == len(rows) > 60
    for row, point in zip(rows, points, strict=True):
        size, times, *figures = row.split()
        if len(figures) == 2:
            found = [point.seconds, point.rate]
        else:
            found = [point.t_min, point.t_max, point.seconds, *([point.rate] if len(figures) == 4 else [])]
        factors = [1e-6] * (len(found) - (point.rate is not None)) + [1e6] * (point.rate is not None)
        printed = [
            f"{value / factor:.2f}" for value, factor in zip(found, factors, strict=True) if value is not None
        ]
        assert (point.bytes, point.repetitions, printed) == (int(size), int(times), figures)
    assert not explain(log, Question()).findings, "two ranks alone on two cores"
    assert {curve.ranks for curve in log.curves} == {2} and {curve.version for curve in log.curves} == {
        "2021.11"
    }


def test_ucx_as_it_ran_here() -> None:
    text = real("ucx_perftest-tag_bw.txt")
    (curve,) = curves_of(text)
    rows = re.findall(r"^(?:\[thread 0\]|Final:) +(\d+) .* ([\d.]+) +([\d.]+) +\d+ +\d+$", text, re.M)
    assert [(str(point.repetitions), point.average, point.overall) for point in curve.points] == [
        (times, float(now) * 2**20, float(whole) * 2**20) for times, now, whole in rows
    ]
    (latency,) = curves_of(real("ucx_perftest-tag_lat.txt"))
    assert latency.operation == "pingpong" and latency.points[-1].seconds == 86.247 / 1e6
    devices = read_text(real("ucx_info-d.txt")).topology["ucx"]
    assert devices[0] == ("self", "memory0", 6911 * 2**20)
