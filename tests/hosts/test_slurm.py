"""In a Slurm allocation of two nodes: the front end starts srun as each MPI wants it, srun starts ranks."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import hosts, mpis, slurm
from support.command import (
    PATIENCE,
    WIRESPEED,
    Done,
    Measure,
    captured,
    disturbed,
    ranks_of,
    read,
    whole_lines,
    wirespeed,
)
from support.hosts import Hosts
from support.mpis import InstalledMpi
from support.node_check import script
from support.selection import slow_case

pytestmark = pytest.mark.slow

FAST = ("--sizes", "8,64K", "--max-time", "0.02")
BIN = WIRESPEED.parent
ALLOCATION = ("salloc", "--quiet", "--nodes=2", "--ntasks=2")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Hosts, dict[str, str]]]:
    try:
        with hosts.hosts(["n1", "n2"], tmp_path_factory.mktemp("slurm")) as there:
            yield there, slurm.start(there)
    except hosts.HostsError as why:
        pytest.skip(str(why))


@pytest.fixture
def nodes(cluster: tuple[Hosts, dict[str, str]]) -> Iterator[Hosts]:
    """The nodes, without a rank after each test."""
    there, _ = cluster
    yield there
    assert not [line for host in there for line in host.emptied()]


@pytest.fixture
def configuration(cluster: tuple[Hosts, dict[str, str]]) -> dict[str, str]:
    return cluster[1]


def installed(name: str, nodes: Hosts, configuration: dict[str, str]) -> InstalledMpi:
    """An MPI that this Slurm can start."""
    found = mpis.installed(name)
    if found.abi == "openmpi" and not slurm.speaks_pmix(nodes, configuration):
        pytest.skip("Slurm's pmix plugin finds no libpmix.so (apt install libpmix-dev)")
    return found


def is_sane(done: Done, launcher: str = "srun") -> None:
    assert done.code == 0, done.err + done.out
    (step,) = done.of("step")
    assert step["launcher"] == launcher
    assert [rank["host"] for rank in step["ranks"]] == ["n1", "n2"]
    assert [entry["bytes"] for entry in done.entries] == [8, 65536]


@pytest.mark.parametrize("name", mpis.NAMES)
def test_the_front_end_starts_srun(
    name: str, nodes: Hosts, configuration: dict[str, str], measure: Measure
) -> None:
    """Protects `wirespeed pingpong` in an allocation: srun, with the start-up that this MPI understands."""
    mpi = installed(name, nodes, configuration)
    done = measure(
        "pingpong", *FAST, mpi=mpi, before=nodes["n1"].enter(*ALLOCATION), environment=configuration
    )
    is_sane(done)


@pytest.mark.parametrize(("name", "kind"), [("openmpi", "pmix"), ("mpich", "pmi2")])
def test_srun_starts_the_ranks(
    name: str, kind: str, nodes: Hosts, configuration: dict[str, str], measure: Measure
) -> None:
    """Protects `srun -n 2 wirespeed pingpong`: the library follows the kind of start-up."""
    mpi = installed(name, nodes, configuration)
    done = measure(
        "pingpong",
        *FAST,
        before=nodes["n1"].enter(*ALLOCATION, "srun", f"--mpi={kind}"),
        environment=configuration,
    )
    is_sane(done)
    assert (done.of("step")[0]["mpi"]["vendor"] == "openmpi") == (mpi.abi == "openmpi")


def test_a_step_of_one_task_is_a_shell(nodes: Hosts, configuration: dict[str, str], measure: Measure) -> None:
    """Protects a shell of `srun --pty`: it is no rank, and its own srun does not wait for its end."""
    mpi = installed("mpich", nodes, configuration)
    done = measure(
        "pingpong",
        *FAST,
        mpi=mpi,
        before=nodes["n1"].enter(*ALLOCATION, "srun", "--nodes=1", "--ntasks=1"),
        environment=configuration,
    )
    assert (
        done.err.count("SLURM_STEP_NUM_TASKS=1 says one rank (srun): wirespeed starts ranks of its own") == 1
    )
    is_sane(done)


def test_mpiexec_inside_an_allocation(nodes: Hosts, configuration: dict[str, str], measure: Measure) -> None:
    """Protects ranks of an mpiexec that srun has helped to start: they are the mpiexec's."""
    mpi = installed("mpich", nodes, configuration)
    done = measure(
        "pingpong",
        *FAST,
        before=nodes["n1"].enter(*ALLOCATION, mpi.mpiexec, "-n", "2"),
        environment=configuration,
    )
    is_sane(done, "hydra")


@pytest.mark.parametrize(
    ("name", "kind", "right"),
    [("openmpi", "pmi2", "pmix"), ("mpich", "none", "pmi2"), ("mpich", "pmix", "pmi2")],
)
def test_the_wrong_kind_of_srun(
    name: str, kind: str, right: str, nodes: Hosts, configuration: dict[str, str], measure: Measure
) -> None:
    """Protects from two worlds of one rank each: one line says which srun would have been right."""
    mpi = installed(name, nodes, configuration)
    if kind == "pmix" and not slurm.speaks_pmix(nodes, configuration):
        pytest.skip("Slurm's pmix plugin finds no libpmix.so (apt install libpmix-dev)")
    done = measure(
        "pingpong",
        *FAST,
        mpi=mpi,
        before=nodes["n1"].enter(*ALLOCATION, "srun", f"--mpi={kind}"),
        environment=configuration,
    )
    assert done.code != 0
    assert not done.entries
    (line,) = (line for line in done.err.splitlines() if line.startswith("wirespeed: "))
    assert f"srun --mpi={kind}" in line and f"use srun --mpi={right}" in line


@pytest.mark.parametrize(("paths", "code"), [("host,staged", 0), slow_case("staged,host", 0), ("staged", 3)])
def test_a_generated_job_ends_as_what_it_measured(
    paths: str, code: int, nodes: Hosts, configuration: dict[str, str], tmp_path: Path
) -> None:
    """Protects complete jobs from the state FAILED: a path that these nodes lack is skipped with a line."""
    mpi, out, job = installed("mpich", nodes, configuration), tmp_path / "r.jsonl", tmp_path / "job.sh"
    where = ("--batch", "slurm", "--gpus-per-node", "0", "--nodes", "2", "-o", str(job))
    words = ("--paths", paths, "--mpi", str(mpi.mpiexec), "--out", str(out), *FAST)
    assert wirespeed("script", "pingpong", *where, *words).code == 0
    done = captured(
        [*nodes["n1"].enter(*ALLOCATION), "bash", str(job)],
        env={**os.environ, **configuration, "SLURM_MPI_TYPE": "pmi2", "PATH": f"{BIN}:{os.environ['PATH']}"},
        timeout=PATIENCE,
    )
    assert done.returncode == code, done.stderr + done.stdout
    assert "staged is not available here, and was skipped" in done.stderr or code == 0
    entries = [record["bytes"] for record in whole_lines(out) if record["kind"] == "entry"]
    assert sorted(entries) == ([8, 65536] if "host" in paths else [])


@pytest.mark.parametrize(("number", "what"), [(signal.SIGKILL, "death"), (signal.SIGSTOP, "hang")])
def test_a_rank_is_struck(
    number: int, what: str, nodes: Hosts, configuration: dict[str, str], tmp_path: Path
) -> None:
    """Protects the name of the rank, its node, and every entry before."""
    mpi, out = installed("mpich", nodes, configuration), tmp_path / "r.jsonl"

    def strike(process: subprocess.Popen[str]) -> None:
        time.sleep(0.1)
        nodes["n2"].signal(ranks_of(whole_lines(out))[1], number)

    slow = ("--sizes", "8,2M,4M", "--loops", "300", "--timeout", "2")
    done = disturbed(
        *("pingpong", "--mpi", mpi.mpiexec, *slow),
        out=out,
        when=lambda records: any(record["kind"] == "entry" for record in records),
        act=strike,
        before=nodes["n1"].enter(*ALLOCATION),
        environment=configuration,
    )
    assert done.code == 1
    assert done.entries[0]["bytes"] == 8
    (failure,) = done.failures
    # MPICH may crash rank 0 when it has lost its peer; nothing on its host tells that the peer died before.
    known = {(what, 1, "n2")} | ({("crash", 0, "n1")} if what == "death" else set())
    assert (failure["what"], failure["rank"], failure["host"]) in known, failure
    assert done.records[-1]["kind"] == "end"


# A node whose ranks wait for CPUs breaks no bound surely; a path that it lacks is missing on any.
@pytest.mark.parametrize(("path", "state"), [("host", "idle"), ("aware", "drained")])
def test_the_epilog_of_the_documentation(
    path: str, state: str, nodes: Hosts, configuration: dict[str, str], tmp_path: Path
) -> None:
    """Protects whole clusters from an epilog that passes or drains every node: Slurm itself runs it."""
    site = tmp_path / "site.toml"
    rules = (f'[[require]]\npath = "{one}"\n[require.sizes]\n8 = "at most 1 s"\n' for one in {"host", path})
    site.write_text("".join(rules))
    program = tmp_path / "epilog"
    program.write_text(script("epilog", WIRESPEED.parent, site, tmp_path, tmp_path))
    program.chmod(0o755)
    file = Path(configuration["SLURM_CONF"])
    before = file.read_text()

    def slurm_says(*words: str) -> str:
        return nodes["n1"].run("env", f"SLURM_CONF={file}", *words)

    try:
        file.write_text(f"{before}Epilog={program}\n")
        slurm_says("scontrol", "reconfigure")
        deadline = time.monotonic() + PATIENCE
        # slurmd takes no connection while it reads its configuration again.
        while not list(tmp_path.glob("wirespeed/*.jsonl")):
            try:
                slurm_says("srun", "--nodes=1", "--nodelist=n1", "true")
                break
            except AssertionError as error:
                assert "connection failure" in str(error) and time.monotonic() < deadline
                time.sleep(0.5)
        while not (found := list(tmp_path.glob("wirespeed/*.jsonl"))) or re.match(
            "completing|draining", seen := slurm_says("sinfo", "-h", "-n", "n1", "-o", "%T %E")
        ):
            assert time.monotonic() < deadline, slurm_says("sinfo", "-R")
            time.sleep(0.2)
        assert seen.split()[0].rstrip("*") == state, seen
        assert ("wirespeed: job" in seen) == (state == "drained")
        kinds = [record["kind"] for record in read(found[0])]
        assert "entry" in kinds and kinds[-1] == "end"
    finally:
        file.write_text(before)
        slurm_says("scontrol", "reconfigure")
        if state == "drained":
            slurm_says("scontrol", "update", "NodeName=n1", "State=RESUME")
