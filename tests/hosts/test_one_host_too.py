"""One command measures on one host and across two, and prints both halves of one table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import Measure, wirespeed
from support.hosts import Hosts
from support.mpis import InstalledMpi
from support.selection import slow_case
from support.shim import aware

pytestmark = pytest.mark.slow(after=1)

MODES = ("aware", "aware-nogdr", "staged", "host")


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", slow_case("mpich")], indirect=True)
def test_one_byte_in_each_mode_on_one_host_and_on_two(
    two: Hosts, mpi: InstalledMpi, builds: Path, measure: Measure
) -> None:
    """Protects the price of GPUDirect as the slides have it: three modes, 1 B, one node and two nodes."""
    prefix = aware(builds, mpi, needs="libuct_cuda.so.0")
    before = two["n1"].sent_bytes()
    done = measure(
        *(f"pingpong --hosts {two.names} --one-host-too --mpi", prefix, "--device emulated --paths"),
        *(",".join(MODES), "--sizes 1,64K --max-time 0.02 --no-evidence"),
        before=two["n1"].enter(),
        environment={**mpi.variables, **two.environment},
    ).ok()
    steps = done.of("step")
    assert [[rank["host"] for rank in step["ranks"]] for step in steps] == [
        *[["n1", "n1"]] * len(MODES), *[["n1", "n2"]] * len(MODES)
    ]  # fmt: skip
    switched = [step["variables"] for step in steps if step["path"] == "aware-nogdr"]
    assert [one.get("UCX_IB_GPU_DIRECT_RDMA") for one in switched] == [None, "n"]
    assert two["n1"].sent_bytes() > before
    table = done.out.rpartition("on one host and on 2 hosts: one way of the shortest message, and bandwidth")[
        2
    ]
    rows = {line.split()[0]: line for line in table.splitlines() if line.split() and line.split()[0] in MODES}
    assert [*rows] == list(MODES) and "1 B" in table and "GB/s at 64 KiB" in table
    for path, row in rows.items():
        times = re.findall(r"[\d.]+ (?:us|ms)", row)
        found = [
            entry["seconds"]["median"]
            for entry in done.entries
            if (entry["path"], entry["bytes"]) == (path, 1)
        ]
        assert len(times) == len(found) == 2
    assert "on one host and on 2 hosts" in wirespeed("show", measure.out).out
