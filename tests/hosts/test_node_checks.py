"""examples/nodes with a real Slurm: its prolog and its health check run `wirespeed check --measure`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import hosts, node_check, slurm
from support.command import PATIENCE, WIRESPEED, read
from support.hosts import Hosts

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hosts, Path]]:
    try:
        with hosts.hosts(["n1", "n2"], tmp_path_factory.mktemp("checks")) as there:
            yield there, Path(slurm.start(there)["SLURM_CONF"])
    except hosts.HostsError as why:
        pytest.skip(str(why))


def says(cluster: tuple[Hosts, Path], *words: str) -> str:
    return cluster[0]["n1"].run("env", f"SLURM_CONF={cluster[1]}", *words, check=False)


def state(cluster: tuple[Hosts, Path]) -> str:
    return says(cluster, "sinfo", "-h", "-n", "n1", "-o", "%T %E")


def until(cluster: tuple[Hosts, Path], wanted: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while not (seen := state(cluster)).startswith(wanted):
        assert time.monotonic() < deadline, seen
        time.sleep(0.2)
    return seen


@contextmanager
def configured(cluster: tuple[Hosts, Path], lines: str) -> Iterator[None]:
    """A Slurm with these lines in its configuration; afterwards the nodes are idle again."""
    before = cluster[1].read_text()
    try:
        cluster[1].write_text(before + lines)
        says(cluster, "scontrol", "reconfigure")
        yield
    finally:
        cluster[1].write_text(before)
        says(cluster, "scontrol", "reconfigure")
        says(cluster, "scontrol", "update", "NodeName=n1,n2", "State=RESUME")
        until(cluster, "idle")


def written(folder: Path, path: str) -> Path:
    """The scripts, for a site that wants this path, too; no machine here has `aware`."""
    site = folder / "site.toml"
    rules = (f'[[require]]\npath = "{one}"\n[require.sizes]\n8 = "at most 1 s"\n' for one in {"host", path})
    site.write_text("".join(rules))
    return node_check.write(WIRESPEED.parent, site, folder)


@pytest.mark.parametrize(("path", "passes"), [("host", True), ("aware", False)])
def test_the_prolog(path: str, passes: bool, cluster: tuple[Hosts, Path], tmp_path: Path) -> None:
    """Protects a job from a node that fails, and a node that passes from being drained."""
    folder = written(tmp_path, path)
    lines = f"Prolog={folder}/check-node\nPrologFlags=Alloc\nPrologEpilogTimeout=300\n"
    with configured(cluster, lines):
        ran = tmp_path / "ran"
        says(cluster, "sbatch", "--nodelist=n1", "--output=/dev/null", f"--wrap=touch {ran}")
        if passes:
            deadline = time.monotonic() + PATIENCE
            while not ran.exists():
                assert time.monotonic() < deadline, state(cluster)
                time.sleep(0.2)
            assert until(cluster, "idle")
        else:
            assert "Prolog error" in until(cluster, "drain")
            assert not ran.exists()
        (file,) = tmp_path.glob("wirespeed/*.jsonl")
        assert read(file)[-1]["kind"] == "end"
        says(cluster, "scancel", "--user=root")


def test_the_health_check(cluster: tuple[Hosts, Path], tmp_path: Path) -> None:
    """Protects from a node that nobody uses and that is slow: Slurm's own health check drains it."""
    folder = written(tmp_path, "aware")
    program = folder / "health"
    program.write_text(f"#!/bin/sh\nSLURM_CONF={cluster[1]} exec {folder}/drain-slow\n")
    program.chmod(0o755)
    lines = f"HealthCheckProgram={program}\nHealthCheckInterval=30\nHealthCheckNodeState=ANY\n"
    with configured(cluster, lines):
        assert "wirespeed: MISSING" in until(cluster, "drain")
