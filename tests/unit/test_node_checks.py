"""The script examples/nodes/check-node: which exit code of `wirespeed check` says what of a node."""

from __future__ import annotations

import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from support import node_check
from support.command import captured

from wirespeed.errors import ExitCode

SAID = "FAILED   site.toml:3: pingpong host: too slow"


def checked(folder: Path, code: int) -> subprocess.CompletedProcess[str]:
    """Runs it with a `wirespeed` that ends with this code, and with programs that note their words."""
    programs = folder / "bin"
    programs.mkdir()
    ends = {"wirespeed": f"echo '{SAID}'; exit {code}", "logger": "", "scontrol": ""}
    for name, last in ends.items():
        note = f'echo {name} "$@" "job=$SLURM_JOB_ID" >>{folder}/called'
        (programs / name).write_text(f"#!/bin/sh\n{note}\n{last}\n")
        (programs / name).chmod(0o755)
    node_check.write(programs, folder / "site.toml", folder)
    variables = {"SLURM_JOB_ID": "42"}
    return captured([folder / "check-node"], env=variables)


@pytest.mark.parametrize("code", sorted(int(code) for code in ExitCode))
def test_only_a_broken_bound_speaks_against_a_node(code: int, tmp_path: Path) -> None:
    """Protects a cluster from being drained by a mistake in the check, and a job from a slow node."""
    done = checked(tmp_path, code)
    failed = code == ExitCode.WORSE
    assert done.returncode == int(failed), done.stderr
    assert done.stdout.startswith(f"wirespeed: {SAID} ({tmp_path}/wirespeed/") == failed
    called = (tmp_path / "called").read_text()
    assert "-42.jsonl job=\n" in called
    assert (f"logger -t wirespeed node not checked: exit code {code}," in called) == (
        code not in (ExitCode.OK, ExitCode.WORSE)
    )


@pytest.mark.parametrize("code", [0, 6])
def test_the_health_check_drains_by_itself(code: int, tmp_path: Path) -> None:
    """Protects from a slow node that stays: Slurm does not look at this program's exit code."""
    checked(tmp_path, code)
    environment = {"PATH": f"{tmp_path}/bin:/usr/bin:/bin"}
    subprocess.run([tmp_path / "drain-slow"], env=environment, check=False)
    drained = f"State=DRAIN Reason=wirespeed: {SAID}" in (tmp_path / "called").read_text()
    assert drained == (code == 6)


def test_kubernetes_takes_the_pod() -> None:
    """Protects from a field that Kubernetes refuses, or ignores because of a typing error."""
    text = (node_check.EXAMPLES / "daemonset.yaml").read_text()
    kubernetes_validate.validate(yaml.safe_load(text), "1.31", strict=True)
