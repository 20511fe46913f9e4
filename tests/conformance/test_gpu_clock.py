"""The clock that stamps the path gpu, over a fake HIP driver whose kernels run on the CPU's clock."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import mpis
from support.command import Done, wirespeed
from support.selection import slow_case
from support.stand_ins import fake_driver

from wirespeed.errors import ExitCode

pytestmark = pytest.mark.slow


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
    if done.failures and "rtc not found" in done.failures[0]["text"]:
        pytest.skip(done.failures[0]["text"])
    return done


def test_a_true_rate_gives_figures(builds: Path, tmp_path: Path) -> None:
    done = measured(builds, tmp_path / "r.jsonl", "1000000")
    # The stand-in's kernels run on this CPU: where that is busy, their ends are seen too late to be believed.
    assert done.code in (0, ExitCode.IMPOSSIBLE), done.err + done.out
    assert [entry["bytes"] for entry in done.entries] == [8, 64]


@pytest.mark.parametrize("kilohertz", ["4000000", slow_case("250000")])
def test_a_rate_that_is_not_so_is_refused(kilohertz: str, builds: Path, tmp_path: Path) -> None:
    """Protects figures from a clock that is said to count four times faster, or slower, than it does."""
    done = measured(builds, tmp_path / "r.jsonl", kilohertz)
    assert not done.entries
    [failure] = done.failures
    assert failure["what"] == "error" and "the clock's rate is not the one" in failure["text"]


@pytest.mark.parametrize("kilohertz", ["0", slow_case("unknown")])
def test_a_rate_that_nobody_tells_makes_the_path_unavailable(
    kilohertz: str, builds: Path, tmp_path: Path
) -> None:
    """Protects AMD's devices, whose clocks differ, from a rate that is taken for granted."""
    done = measured(builds, tmp_path / "r.jsonl", kilohertz)
    assert not done.entries
    [failure] = done.failures
    assert failure["what"] == "unavailable" and "how fast the GPU's clock counts" in failure["text"]
