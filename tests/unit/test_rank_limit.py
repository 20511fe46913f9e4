"""How many ranks are started without being asked twice."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_run import FakeRun

from wirespeed import launchers
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.frontend.rank_limit import refuse_too_many
from wirespeed.job.plan import Plan

RING = Plan(pattern="ring", ranks=17)


@pytest.fixture(autouse=True)
def two_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1})
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def refused(plan: Plan) -> bool:
    try:
        refuse_too_many([plan])
    except WirespeedError as error:
        assert error.code == ExitCode.USAGE
        return True
    return False


def test_eight_for_each_cpu() -> None:
    """Protects from a typing error, and leaves room for rings that are larger than a laptop."""
    assert refused(RING) and not refused(replace(RING, ranks=16))
    assert refused(replace(RING, ranks=1_000_000))
    assert not refused(replace(RING, oversubscribe=True))
    # The number of processors, which nobody has typed.
    assert not refused(replace(RING, ranks=0))


def test_ranks_on_several_hosts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Protects large jobs: each host has room for as many, whether --hosts or an allocation names them."""
    assert not refused(replace(RING, ranks=64, hosts=("a", "b")))
    assert refused(replace(RING, ranks=65, hosts=("a", "b")))
    nodes = tmp_path / "nodes"
    nodes.write_text("a\na\nb\nb\n\n")
    for name, text in (("SLURM_JOB_NUM_NODES", "2"), ("PBS_NODEFILE", str(nodes))):
        with monkeypatch.context() as allocation:
            allocation.setenv(name, text)
            assert not refused(replace(RING, ranks=64)) and refused(replace(RING, ranks=65)), name
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "missing"))
    assert refused(RING)


def test_who_has_asked_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects jobs of a user's own launcher, and of batch systems, which have limits."""
    for name in ("srun", "flux", "jsrun"):
        assert not refused(replace(RING, launcher=name))
    for name in ("mpiexec", "hydra", "openmpi"):
        assert refused(replace(RING, launcher=name))
    monkeypatch.setattr(launchers.shutil, "which", lambda name: f"/usr/bin/{name}")  # type: ignore[attr-defined]
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert not refused(RING) and refused(replace(RING, launcher="mpiexec"))
    monkeypatch.delenv("SLURM_JOB_ID")
    assert refused(RING)
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "17")
    assert not refused(RING)


CSV = "step,from,to,bytes\n0,0,150,8\n"
SITE = """[[require]]
pattern = "ring"
path = "host"
ranks = 1000000
{more}
[require.sizes]
8 = "at most 1 s"
"""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("ring --ranks 2,1000000", "1000000 ranks are more than 16"),
        ("custom --file many.csv", "151 ranks are more than 16, 8 for each of 2 CPUs"),
        ("check --require site.toml --measure", "oversubscribe = true beside ranks in site.toml"),
    ],
)
def test_nothing_is_started_or_written(
    words: str, says: str, fake: FakeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    """Protects a machine from a typing error in an option, in site.toml and in the file of `custom`."""
    Path("many.csv").write_text(CSV)
    Path("site.toml").write_text(SITE.format(more=""))
    there = sorted(Path().iterdir())
    command = [*words.split(), "--device", "cpu"]
    assert main(command) == ExitCode.USAGE
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1
    assert not fake.plans and sorted(Path().iterdir()) == there
    Path("site.toml").write_text(SITE.format(more="oversubscribe = true"))
    main(command if command[0] == "check" else [*command, "--oversubscribe"])
    assert fake.plans and all(plan.oversubscribe for plan in fake.plans)
