"""What HIP runtimes do differently from each other costs one line, or another way to signal; never a rank."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import mpis
from support.command import Done, Measure, wirespeed
from support.selection import slow_case
from support.stand_ins import fake_driver, fake_hiprtc
from support.tools import need_compiler

from wirespeed.errors import ExitCode

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


def measured(builds: Path, out: Path, kilohertz: str) -> Done:
    """A ping-pong over a driver that says so of its devices' clock, which counts nanoseconds."""
    mpi = mpis.installed("mpich")
    done = wirespeed(
        *("pingpong", "--device", "hip", "--paths", "gpu", "--sizes", "8,64", "--loops", "5"),
        # The first rank compiles its kernels, for long where other tests compile theirs.
        *("--timeout", "60"),
        *("--mpi", mpi.mpiexec, "--test", "protocol=LL"),
        out=out,
        environment={**fake_driver(builds, "hip"), "FAKE_HIP_CLOCK": kilohertz},
    )
    need_compiler(done.failures)
    return done


@pytest.mark.slow
def test_a_true_rate_gives_figures(builds: Path, tmp_path: Path) -> None:
    done = measured(builds, tmp_path / "r.jsonl", "1000000")
    # The stand-in's kernels run on this CPU: where that is busy, their ends are seen too late to be believed.
    assert done.code in (0, ExitCode.IMPOSSIBLE), done.err + done.out
    assert [entry["bytes"] for entry in done.entries] == [8, 64]


@pytest.mark.slow
@pytest.mark.parametrize("kilohertz", ["4000000", slow_case("250000")])
def test_a_rate_that_is_not_so_is_refused(kilohertz: str, builds: Path, tmp_path: Path) -> None:
    """Protects figures from a clock that is said to count four times faster, or slower, than it does."""
    done = measured(builds, tmp_path / "r.jsonl", kilohertz)
    assert not done.entries
    [failure] = done.failures
    assert failure["what"] == "error" and "the clock's rate is not the one" in failure["text"]


@pytest.mark.slow
@pytest.mark.parametrize("kilohertz", ["0", slow_case("unknown")])
def test_a_rate_that_nobody_tells_makes_the_path_unavailable(
    kilohertz: str, builds: Path, tmp_path: Path
) -> None:
    """Protects AMD's devices, whose clocks differ, from a rate that is taken for granted."""
    done = measured(builds, tmp_path / "r.jsonl", kilohertz)
    assert not done.entries
    [failure] = done.failures
    assert failure["what"] == "unavailable" and "how fast the GPU's clock counts" in failure["text"]
