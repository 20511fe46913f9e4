"""What a real GPU's driver says of its health, and faults of the environment that the doctor must see."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from gpu.conftest import DEVICE, sharing
from support.command import Done, captured, wirespeed
from support.selection import slow_case

COUNTERS = ("PCIe replays", "NVLink replay errors")
pytestmark = pytest.mark.nvidia


def observed(prefix: Path, out: Path, sizes: str, path: str = "gpu") -> Done:
    """With all that the driver counts."""
    return wirespeed(
        *("pingpong", "--device", DEVICE, "--paths", path, "--sizes", sizes, "--max-time", "0.05"),
        *("--mpi", prefix),
        *sharing(),
        out=out,
        environment={"WIRESPEED_NO_EVIDENCE": ""},
    ).ok()


def test_each_link_is_read_at_the_largest_size(prefix: Path, tmp_path: Path) -> None:
    """Protects from what reading 18 links takes at every size, and the sum of them from that of the GPU."""
    done = observed(prefix, tmp_path / "r.jsonl", "1M,16M")
    found = {proof["bytes"]: proof["wires"] for proof in done.of("evidence")}
    nvlinks = {size: [wire for wire in wires if wire["kind"] == "nvlink"] for size, wires in found.items()}
    assert len(nvlinks[1 << 20]) == 2 and not any(wire["links"] for wire in nvlinks[1 << 20])
    for wire in nvlinks[16 << 20]:
        assert len(wire["links"]) > 1 and sum(sent for sent, _ in wire["links"]) == wire["sent"], wire


@pytest.mark.gpus(1)
def test_a_run_reads_the_gpus_health(prefix: Path, shared: bool, tmp_path: Path) -> None:
    """Protects `health` records from counters that exist in a stand-in alone."""
    done = observed(prefix, tmp_path / "r.jsonl", "8,1M", "staged" if shared else "gpu")
    (health,) = (record for record in done.records if record["kind"] == "health")
    # A GPU alone may have no link that is up.
    assert set(COUNTERS[: 2 - shared]) <= set(health["counted"]), health
    assert len(health["watched"]) >= 2 - shared, health
    assert health["clocks"] and health["reading_s"] > 0, health


@pytest.mark.gpus(1)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUDA_LAUNCH_BLOCKING", "1"),
        ("UCX_TLS", "tcp,sm,self,cuda_copy"),
        slow_case("UCX_RNDV_THRESH", "inf"),
        slow_case("NCCL_PROTO", "Simple"),
        slow_case("UCX_NET_DEVICES", "lo"),
        slow_case("NCCL_P2P_DISABLE", "1"),
        slow_case("NCCL_SHM_DISABLE", "1"),
        slow_case("UCX_MEMTYPE_CACHE", "n"),
    ],
)
def test_a_planted_fault_is_seen(name: str, value: str) -> None:
    """Protects the doctor's look at the environment where the GPUs are real."""
    done = captured(
        [sys.executable, "-I", "-m", "wirespeed", "doctor", "--look-only", "--json"],
        env={**os.environ, name: value},
        timeout=120,
    )
    titles = [one["title"] for one in json.loads(done.stdout)["findings"]]
    assert any(name in title for title in titles), (titles, done.stderr)
