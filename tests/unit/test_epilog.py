"""examples/nodes/epilog, executed: which exit code of `wirespeed check` does what to a node."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.command import captured
from support.node_check import script

from wirespeed.errors import ExitCode

OTHERS = [int(code) for code in ExitCode if code not in (ExitCode.OK, ExitCode.WORSE)]


def epilog(folder: Path, code: int | None) -> subprocess.CompletedProcess[str]:
    """Runs it with programs that note their words; `wirespeed` ends with this code."""
    programs = folder / "bin"
    programs.mkdir()
    for name, ends in {"wirespeed": code, "scontrol": 0, "logger": 0}.items():
        if ends is None:
            continue
        program = programs / name
        note = f'echo {name} "$@" "job=$SLURM_JOB_ID" >>{folder}/called'
        program.write_text(f"#!/bin/sh\n{note}\nexit {ends}\n")
        program.chmod(0o755)
    text = script("epilog", programs, folder / "site.toml", folder, folder / "log")
    variables = {"SLURM_JOB_ID": "42", "SLURM_JOBID": "42", "SLURMD_NODENAME": "n7"}
    return captured(["/bin/sh", "-c", text], env=variables)


def called(folder: Path) -> dict[str, str]:
    file = folder / "called"
    lines = file.read_text().splitlines() if file.exists() else []
    return {line.split()[0]: line for line in lines}


def test_a_node_that_holds_its_bounds(tmp_path: Path) -> None:
    """The check does not take itself for a job's step: srun can start nothing in a job that is over."""
    assert epilog(tmp_path, 0).returncode == 0
    assert set(called(tmp_path)) == {"wirespeed"}
    assert called(tmp_path)["wirespeed"].endswith(f"--out {tmp_path}/log/wirespeed/42.jsonl job=")
    assert (tmp_path / "log/wirespeed").is_dir()


def test_a_node_that_is_too_slow_is_drained(tmp_path: Path) -> None:
    assert epilog(tmp_path, int(ExitCode.WORSE)).returncode == 0
    assert set(called(tmp_path)) == {"wirespeed", "scontrol"}
    assert "NodeName=n7 State=DRAIN Reason=wirespeed: job 42" in called(tmp_path)["scontrol"]


@pytest.mark.parametrize("code", [*OTHERS, 126, 137, None])
def test_a_node_that_could_not_be_checked_is_logged_and_neither_passed_nor_drained(
    code: int | None, tmp_path: Path
) -> None:
    """Protects healthy nodes from a missing MPI, and sites from an epilog that passes nodes unseen."""
    if code is None and os.access("/usr/bin/wirespeed", os.X_OK):
        pytest.skip("a wirespeed in /usr/bin would be found instead of none")
    assert epilog(tmp_path, code).returncode == 0, "an epilog that fails drains the node"
    assert "scontrol" not in called(tmp_path)
    expected = f"node n7 not checked after job 42: exit code {127 if code is None else code}"
    assert expected in called(tmp_path)["logger"]
