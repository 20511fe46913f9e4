"""A newcomer's first minutes on machines of different sizes: a survey, and what it prints under Next."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from support.command import WIRESPEED, wirespeed
from support.example_commands import commands_listed, fine, run_listed

pytestmark = pytest.mark.slow(after=1)

MACHINES = {
    "two CPUs": ("cpu", "1", {"copy", "pingpong"}),
    "one GPU": ("emulated", "1", {"copy", "pingpong"}),
    "two GPUs": ("emulated", "2", {"copy", "pingpong"}),
    "three GPUs": ("emulated", "3", {"copy", "pingpong", "pairs"}),
}
"""--device, emulated GPUs, patterns of a survey."""


@pytest.mark.parametrize("machine", MACHINES)
def test_a_survey_and_what_it_says_is_next(
    machine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects a screen without gaps, and from commands that do not run."""
    device, gpus, patterns = MACHINES[machine]
    environment = {"WIRESPEED_EMULATED": f"count={gpus},threads=64"}
    # For root, the launcher's line has what Open MPI asks for.
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"):
        monkeypatch.delenv(name, raising=False)
    out = tmp_path / "r.jsonl"
    asked = ("survey", "--within", "0", "--device", device)
    done = wirespeed(*asked, cwd=tmp_path, out=out, environment=environment)
    fine(done, "survey")
    assert {run["plan"]["pattern"] for run in done.of("run")} == patterns
    rows = [line.partition("  ")[0] for line in done.out.splitlines()]
    wanted = {"CPU memory, 2 CPUs", "MPI, CPU to CPU, 8 B"}
    wanted |= {"host to GPU", "GPU to host", "GPU memory"} if device == "emulated" else set()
    wanted |= {"GPU to GPU, 8 B", "GPU to GPU, 16 MiB"} if gpus > "1" else set()
    assert wanted <= {*rows}, done.out
    assert ("between GPUs: needs two GPUs" in done.out) == (machine == "one GPU")
    assert ("GPU-aware MPI: " in done.out) == (device == "emulated")
    assert len(done.out.splitlines()) <= 45
    listed = commands_listed(done.out)
    assert 4 <= len(listed) <= 5
    for command in listed:
        run_listed(command, tmp_path, environment)


def test_wirespeed_alone_lists_commands_that_run(tmp_path: Path) -> None:
    """Protects the first minute after the installation, where PATH leads to no wirespeed."""
    listed = commands_listed(wirespeed(cwd=tmp_path).out)
    assert len(listed) == 3 and all(command.startswith(shlex.quote(str(WIRESPEED))) for command in listed)
    for command in listed:
        run_listed(command, tmp_path)


def test_a_survey_is_gone_on_with(tmp_path: Path) -> None:
    """Protects what Ctrl-C left: a second survey measures what the first one has not."""
    out = tmp_path / "r.jsonl"
    fine(wirespeed("survey", "--within", "0", "--device", "cpu", out=out), "survey")
    lines = out.read_text().splitlines(keepends=True)
    second = next(number for number, line in enumerate(lines[1:], 1) if '"kind":"run"' in line)
    out.write_text("".join(lines[:second]))
    done = wirespeed("survey", "--within", "0", "--device", "cpu", "--resume", out=out)
    fine(done, "survey")
    assert [entry["pattern"] for entry in done.entries] == ["pingpong", "pingpong", "copy"]
    assert "MPI, CPU to CPU, 8 B" in done.out and "CPU memory" in done.out


def test_inside_a_launcher_it_is_refused() -> None:
    """Protects from jobs that a launcher's rank cannot start."""
    place = dict(zip(("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"), "0202", strict=True))
    inside = {f"OMPI_COMM_WORLD_{name}": word for name, word in place.items()}
    done = wirespeed("survey", environment=inside)
    assert done.code == 2 and done.err.startswith("wirespeed: survey starts jobs of its own"), done.err
