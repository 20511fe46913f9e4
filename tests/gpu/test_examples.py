"""README's examples, and the commands that are said to be next, on real GPUs."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu.conftest import DEVICE
from support.command import wirespeed
from support.example_commands import README, commands_listed, fine, missing, run_listed, run_readme
from support.mpis import InstalledMpi

pytestmark = [pytest.mark.gpus(1), pytest.mark.slow]


@pytest.mark.parametrize(("before", "line"), README)
def test_readme(before: tuple[str, ...], line: str, mpi: InstalledMpi, tmp_path: Path) -> None:
    """Protects who copies README's lines on a machine with GPUs."""
    if reason := missing(line):
        pytest.skip(reason)
    run_readme(before, line, tmp_path, DEVICE, mpi)


def test_what_is_next(prefix: Path, tmp_path: Path) -> None:
    """Protects from commands that do not run, or that end as an error, where somebody copies them."""
    asked = ("survey", "--device", DEVICE, "--mpi", prefix)
    done = wirespeed(*asked, cwd=tmp_path)
    fine(done, "survey")
    listed = commands_listed(done.out)
    assert 3 <= len(listed) <= 5, done.out
    for command in listed:
        run_listed(command, tmp_path)


@pytest.mark.nvidia
def test_wirespeed_alone(tmp_path: Path) -> None:
    """Protects the first minute on a machine with GPUs."""
    listed = commands_listed(wirespeed(cwd=tmp_path).out)
    assert len(listed) == 3
    for command in listed:
        run_listed(command, tmp_path)
