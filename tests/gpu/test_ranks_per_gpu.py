"""Four ranks on two GPUs, and GPUs by UUID: what a driver does that a stand-in only claims."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Done, Measure, wirespeed
from support.selection import slow_case

from wirespeed.host.core import core

FAST = ("--max-time", "0.02")
pytestmark = pytest.mark.nvidia


def uuids() -> list[str]:
    return [str(core().identity_of("cuda", index)["id"]) for index in range(2)]


def devices_of(done: Done) -> list[str]:
    return [rank["device"]["id"] for rank in done.of("step")[0]["ranks"]]


def test_four_ranks_on_two_gpus(prefix: Path, measure: Measure) -> None:
    """Protects every path that ranks on one GPU can use, and the line of each that they cannot."""
    one, two = uuids()
    done = measure(
        *("ring --device cuda --ranks-per-gpu 2 --sizes 8,64K", *FAST, "--mpi", prefix),
        "--paths staged,staged-pipelined,aware,ipc-write,nccl,gpu",
    ).ok()
    assert devices_of(done) == [one, one, two, two]
    lacking = {failure["path"]: failure for failure in done.failures}
    assert {"gpu", "nccl"} <= set(lacking), done.out
    assert all(failure["what"] == "unavailable" for failure in lacking.values()), done.failures
    assert f"share the GPU {one} and take turns on it" in lacking["gpu"]["text"]
    measured = {entry["path"] for entry in done.entries}
    assert {"staged", "staged-pipelined", "ipc-write"} <= measured, done.out
    told = " ".join(done.out.split())
    assert "ranks 0-1 share GPU 0" in told and "ranks 2-3 share GPU 1" in told
    assert "MPS" in told


@pytest.mark.parametrize("digits", [16, slow_case(40)])
def test_gpus_by_uuid_and_prefix(digits: int, prefix: Path, measure: Measure) -> None:
    """Protects that --device takes the UUIDs that nvidia-smi prints, whole and shortened, in any order."""
    one, two = uuids()
    assert one[:16] != two[:16], "two GPUs whose UUIDs begin alike: the test needs more digits"
    done = measure(
        *(f"pingpong --device cuda:{two[:digits]},cuda:{one[:digits]} --mpi", prefix),
        *("--paths ipc-write,gpu --sizes 8", *FAST),
    )
    assert done.code == 0 and not done.failures, done.err + done.out
    assert devices_of(done) == [two, one]


def test_uuids_in_cuda_visible_devices(prefix: Path, measure: Measure, tmp_path: Path) -> None:
    """Protects the order of CUDA_VISIBLE_DEVICES, and the entry that ends it."""
    one, two = uuids()
    command = ("pingpong", "--paths", "ipc-write", "--sizes", "8", *FAST, "--mpi", prefix)
    turned = {"CUDA_VISIBLE_DEVICES": f"{two[:16]},{one}"}
    done = measure(*command, environment=turned)
    assert done.code == 0 and devices_of(done) == [two, one], done.err + done.out
    ended = {"CUDA_VISIBLE_DEVICES": f"{two},99,{one}"}
    why = "shows 1 GPU, not 3: the driver knows no GPU '99'"
    refused = wirespeed(*command, environment=ended)
    assert refused.code == 3 and refused.err.startswith("wirespeed: ipc-write: needs two GPUs; "), refused.err
    assert why in refused.err and refused.err.count("\n") == 1, refused.err
    done = wirespeed(*command, "--ranks-per-gpu", "2", out=tmp_path / "s.jsonl", environment=ended)
    assert done.code == 0 and devices_of(done) == [two, two], done.err + done.out
    assert why in " ".join(done.err.split())
