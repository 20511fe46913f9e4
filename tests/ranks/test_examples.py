"""The example programs, compiled for GPUs and run on the CPU: sums checked, copies counted."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache, partial
from pathlib import Path

import pytest
from support import mpis
from support.builds import once
from support.command import PATIENCE, captured

pytestmark = pytest.mark.slow(after=1)

EXAMPLES = Path(__file__).parents[2] / "examples"
FLAGS = {"openmp": "-fopenmp", "openacc": "-fopenacc"}
# Threads that wait for each other would take the CPU from other ranks; a newer ptxas refuses GCC 12's code.
VARIABLES = {"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}


@cache
def why_no_offloading() -> str | None:
    """Why GCC compiles nothing for NVIDIA's GPUs here; None: it does."""
    gcc = shutil.which("gcc-12")
    said = captured([gcc, "-v"], ok=True).stderr if gcc else ""
    folder = Path("/usr/lib/gcc/x86_64-linux-gnu/12/accel/nvptx-none")
    if "nvptx-none" not in said or not (folder / "mkoffload").exists():
        return "no compiler for NVIDIA's GPUs (apt install gcc-12-offload-nvptx)"
    return None


@pytest.fixture(params=FLAGS)
def program(request: pytest.FixtureRequest, builds: Path) -> tuple[mpis.InstalledMpi, Path]:
    """An MPI, and an example compiled against it by the line in examples/README.md."""
    if why := why_no_offloading():
        pytest.skip(why)
    mpi = mpis.installed("openmpi")
    folder = once(builds / f"example-{request.param}", partial(_compile, request.param, mpi))
    return mpi, folder / f"ring_{request.param}"


def _compile(name: str, mpi: mpis.InstalledMpi, folder: Path) -> None:
    folder.mkdir()
    library = mpi.library
    command = [
        "gcc-12",
        *["-std=c11", "-O2", "-Wall", "-Werror", "-foffload=nvptx-none", "-no-pie"],
        FLAGS[name],
    ]
    command += ["-I", str(mpi.prefix / "include"), str(EXAMPLES / f"ring_{name}.c"), str(library)]
    command += [f"-Wl,-rpath,{library.parent}", "-o", str(folder / f"ring_{name}")]
    captured(command, env={**os.environ, **VARIABLES}, ok=True)


def run(program: tuple[mpis.InstalledMpi, Path], ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    mpi, file = program
    environment = {**mpi.environment(), **VARIABLES}
    return captured(mpi.command(ranks, file, *words), env=environment, timeout=PATIENCE)


@pytest.mark.parametrize(("way", "copies"), [("staged", 1002), ("device", 2), ("trap", 2)])
def test_the_ring_by_hand(program: tuple[mpis.InstalledMpi, Path], way: str, copies: int) -> None:
    """Protects plain code that a user holds our ring against: right sums, and 1002 copies against 2."""
    done = run(program, 3, way, "4096")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 ranks, 4096 bytes, 1000 steps" in done.stdout
    counts = f"copies of a rank: {copies} to the GPU, {copies} from it, 2 and 2 of them to set up"
    assert f"{counts}; sums right (no GPU: the CPU's memory)" in done.stdout


def test_words_that_it_does_not_know(program: tuple[mpis.InstalledMpi, Path]) -> None:
    done = run(program, 2, "pinned")
    assert done.returncode == 3 and "usage: " in done.stderr and "[device|staged|trap]" in done.stderr
