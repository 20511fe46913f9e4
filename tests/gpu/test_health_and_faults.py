"""What a real GPU's driver says of its health, and faults of the environment that the doctor must see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.command import wirespeed

COUNTERS = ("NVLink replay errors", "PCIe replays")


def test_a_run_reads_the_gpus_health(prefix: Path, tmp_path: Path) -> None:
    """Protects `health` records from counters that exist in a stand-in alone."""
    done = wirespeed(
        *("pingpong", "--device", "cuda", "--paths", "gpu", "--sizes", "8,1M", "--max-time", "0.05"),
        *("--mpi", prefix),
        out=tmp_path / "r.jsonl",
        environment={"WIRESPEED_NO_EVIDENCE": ""},
    )
    assert done.code == 0, done.err + done.out
    (health,) = (record for record in done.records if record["kind"] == "health")
    assert set(COUNTERS) <= set(health["counted"]), health
    assert len(health["watched"]) >= 2, health
    assert health["clocks"] and health["reading_s"] > 0, health


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("UCX_RNDV_THRESH", "inf"),
        ("NCCL_PROTO", "Simple"),
        ("UCX_NET_DEVICES", "lo"),
        ("NCCL_P2P_DISABLE", "1"),
        ("NCCL_SHM_DISABLE", "1"),
        ("UCX_TLS", "tcp,sm,self,cuda_copy"),
        ("UCX_MEMTYPE_CACHE", "n"),
        ("CUDA_LAUNCH_BLOCKING", "1"),
    ],
)
def test_a_planted_fault_is_seen(name: str, value: str) -> None:
    """Protects the doctor's look at the environment where the GPUs are real."""
    done = subprocess.run(
        [sys.executable, "-I", "-m", "wirespeed", "doctor", "--look-only", "--json"],
        env={**os.environ, name: value},
        capture_output=True,
        text=True,
        timeout=120,
    )
    titles = [one["title"] for one in json.loads(done.stdout)["findings"]]
    assert any(name in title for title in titles), (titles, done.stderr)
