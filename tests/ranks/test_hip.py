"""What HIP runtimes do differently from each other costs one line, or another way to signal; never a rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Measure
from support.selection import slow_case
from support.stand_ins import fake_driver, fake_hiprtc

FAST = ("--sizes", "8", "--max-time", "0.005", "--no-evidence")


@pytest.fixture
def environment(builds: Path, tmp_path: Path) -> dict[str, str]:
    return {**fake_driver(builds, "hip"), **fake_hiprtc(builds), "XDG_CACHE_HOME": str(tmp_path)}


@pytest.mark.slow
def test_a_compiler_that_aborts(environment: dict[str, str], measure: Measure) -> None:
    """Protects ranks on AMD GPUs newer than their hipRTC, which ends the process instead of an error."""
    environment["FAKE_HIPRTC_ABORTS"] = "1"
    command = ("pingpong", "--device", "hip", "--paths", "host,ipc-kernel", *FAST)
    done = measure(*command, environment=environment)
    assert {entry["path"] for entry in done.entries} == {"host"}
    (failure,) = done.failures
    assert failure["path"] == "ipc-kernel" and failure["what"] == "unavailable" and not failure["stacks"]
    said = "hipRTC 9.0 ended its process when it compiled for gfx90a (Aborted): a newer ROCm has one"
    assert said in failure["text"]


@pytest.mark.slow
@pytest.mark.parametrize("refused", ["", slow_case("hipStreamWriteValue32=1"), "hipStreamWaitValue32=801"])
def test_streams_that_take_no_host_memory(
    refused: str, environment: dict[str, str], measure: Measure
) -> None:
    """Protects runtimes whose streams take words of HIP's signal memory alone: CPUs signal."""
    environment["FAKE_GPU_FAIL"] = refused
    command = ("pingpong", "--device", "hip", "--paths", "ipc-write,staged-pipelined", *FAST)
    done = measure(*command, environment=environment)
    assert done.code == 0 and not done.failures, done.out
    assert {entry["path"] for entry in done.entries} == {"ipc-write", "staged-pipelined"}
    for entry in done.entries:
        assert "Write" not in refused or "by the stream" not in str(entry["details"]), entry["details"]
