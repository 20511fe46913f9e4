"""Every command line in README and docs is run, on emulated GPUs, with short times; or says what it needs."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support import mpis
from support.command import wirespeed
from support.documented_commands import PAGES, documented
from support.example_commands import MEASURE, README, fine, missing, run_readme, shortened
from support.shim import aware

pytestmark = pytest.mark.slow(after=1)


def lines() -> list[str]:
    """Each command line once; a name alone is part of a sentence."""
    found = (shlex.join(words) for page in PAGES for words in documented(page))
    return [line for line in dict.fromkeys(found) if " " in line or line in MEASURE]


@pytest.mark.parametrize("line", lines())
def test_it_runs(line: str, tmp_path: Path) -> None:
    """Protects readers from examples that are understood, and do not work."""
    if reason := missing(line):
        pytest.skip(reason)
    words = shortened(line, tmp_path)
    fine(wirespeed(*words, cwd=tmp_path, patience=200), words[0])


MACHINES = {"no GPU": ("cpu", 1), "one GPU": ("emulated", 1), "two GPUs": ("emulated", 2)}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("before", "line"), README)
def test_readme_on_any_machine(
    before: tuple[str, ...], line: str, machine: str, builds: Path, tmp_path: Path
) -> None:
    """Protects README's first screen where there is no GPU, one, and two."""
    if reason := missing(line):
        pytest.skip(reason)
    device, gpus = MACHINES[machine]
    mpi, environment = mpis.installed("openmpi"), {"WIRESPEED_EMULATED": f"count={gpus}"}
    if before:
        # One that takes no device pointers ends a launcher's whole job.
        environment["MPI4PY_LIBMPI"] = str(aware(builds, mpi) / "lib" / mpi.library.name)
    run_readme(before, line, tmp_path, device, mpi, environment)
