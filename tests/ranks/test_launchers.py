"""Command lines and variables of every launcher; those that cannot be installed here are stood in for."""

from __future__ import annotations

import os
import random
import sys
import zlib
from pathlib import Path

import pytest
from support import mpis
from support.command import Measure, captured

from wirespeed import launchers
from wirespeed.errors import WirespeedError
from wirespeed.host.mpi import Mpi, choose
from wirespeed.job.plan import Plan, encode
from wirespeed.launchers import Job

pytestmark = pytest.mark.slow(after=1)

FAST = ("--sizes", "8,64K", "--max-time", "0.02")

# Takes the options of whom it stands in for, notes all words, and lets a real mpiexec start the ranks.
STAND_IN = """#!/bin/sh
printf '%s\\n' "$@" >>{log}
while test $# -gt 0; do
    case $1 in
    run) shift ;;
    -n | --np) ranks=$2; shift 2 ;;
    -o) shift 2 ;;
    -E) export "$2"; shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
exec {mpiexec} {options} -n "$ranks" "$@"
"""


def test_a_long_order_arrives_whole(mpi: mpis.InstalledMpi) -> None:
    """Protects a list of 1,000 pairs, on its way through the launcher that starts the ranks."""
    dice = random.Random(1)
    pairs = ",".join(f"{dice.randrange(10**6)}-{dice.randrange(10**6)}" for _ in range(1000))
    word = encode(Plan("pairing", options=(("rank_pairs", pairs),)))
    script = "import sys, zlib; print(zlib.crc32(sys.argv[1].encode()))"
    library = choose(str(mpi.mpiexec))
    job = Job((sys.executable, "-c", script, word), 2, (), library.environment())
    line = launchers.choose("mpiexec", library).command(library, job)
    said = captured(line, env=mpi.environment() | library.environment(), ok=True).stdout
    # The launcher may mix the ends of two lines.
    assert said.replace("\n", "") == 2 * str(zlib.crc32(word.encode()))


AB = ("a", "b")


def an_mpi(vendor: str) -> Mpi:
    prefix = Path("/opt", vendor)
    return Mpi(vendor, "1.0", prefix, prefix / "bin/mpiexec", prefix / "lib/libmpi.so", "given")


def command(launcher: str, vendor: str, hosts: tuple[str, ...] = (), ranks: int = 2) -> str:
    mpi = an_mpi(vendor)
    job = Job(("python", "entry", "orders"), ranks, hosts, {"A": "1", "B": "2"})
    return " ".join(launchers.choose(launcher, mpi).command(mpi, job))


@pytest.mark.parametrize(
    ("launcher", "vendor", "hosts", "words"),
    [
        ("srun", "openmpi", (), "srun -n 2 --mpi=pmix --kill-on-bad-exit=1"),
        ("srun", "mpich", (), "srun -n 2 --mpi=pmi2 --kill-on-bad-exit=1"),
        ("srun", "intel", (), "srun -n 2 --mpi=pmi2 --kill-on-bad-exit=1"),
        ("srun", "cray", (), "srun -n 2 --mpi=cray_shasta --kill-on-bad-exit=1"),
        ("flux", "openmpi", (), "flux run -n 2 -o pmi=pmix python"),
        ("flux", "mpich", (), "flux run -n 2 python"),
        ("jsrun", "openmpi", (), "jsrun --np 2 --smpiargs=-gpu -E A=1 -E B=2 python"),
        ("mpiexec", "mpich", (), "/opt/mpich/bin/mpiexec -n 2 python entry orders"),
        ("mpiexec", "openmpi", (), "-x A -x B python"),
        # One rank on each host.
        ("srun", "openmpi", AB, "--nodelist=a,b --nodes=2 --ntasks-per-node=1 --distribution=block"),
        ("flux", "mpich", AB, "--requires=hosts:a,b --nodes=2 --tasks-per-node=1"),
        ("mpiexec", "openmpi", AB, "--host a:1,b:1 --bind-to none"),
        ("mpiexec", "mpich", AB, "-hosts a,b -ppn 1"),
    ],
)
def test_the_command_line(launcher: str, vendor: str, hosts: tuple[str, ...], words: str) -> None:
    """Protects the kind of start-up that each MPI understands: the wrong one gives worlds of one rank."""
    assert words in command(launcher, vendor, hosts)


def test_ranks_with_threads_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a library's thread from waiting for the one core that Open MPI binds each of two ranks to."""
    monkeypatch.setattr("wirespeed.launchers.openmpi.cores", lambda: 16)
    mpi = an_mpi("openmpi")
    for own_threads in (False, True):
        words = launchers.choose("mpiexec", mpi).command(mpi, Job(("program",), 2, (), {}, own_threads))
        assert ("--bind-to none" in " ".join(words)) == own_threads


@pytest.mark.slow
@pytest.mark.slow(after=len(mpis.NAMES))
@pytest.mark.parametrize("mpi", mpis.NAMES, indirect=True)
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
def test_taskset_holds(mpi: mpis.InstalledMpi, measure: Measure) -> None:
    """Protects CPUs that the caller took away: Open MPI binds ranks to any core of the machine."""
    cpu = max(os.sched_getaffinity(0))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        done = measure("pingpong --device cpu --paths host --sizes 8 --loops 20", mpi=mpi)
    finally:
        os.sched_setaffinity(0, before)
    assert done.code == 0, done.err
    ranks = done.of("step")[0]["ranks"]
    assert [rank["cpus"] for rank in ranks] == [str(cpu)] * 2
    assert all(f"share CPU {cpu}" in entry["cores"]["shared"] for entry in done.entries)


def test_jsrun_takes_no_hosts() -> None:
    """Protects from measuring between other hosts than those named: LSF alone places ranks."""
    with pytest.raises(WirespeedError, match="--hosts"):
        command("jsrun", "openmpi", ("a", "b"))


SLURM = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "0", "SLURM_STEP_ID": "3"}
OPEN_MPI = dict(zip((f"OMPI_COMM_WORLD_{one}" for one in ("RANK", "SIZE", "LOCAL_RANK")), "341", strict=True))
HYDRA = {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1"}


@pytest.mark.parametrize(
    ("environment", "place"),
    [
        # Inside an allocation the ranks of an mpiexec inherit the batch system's variables.
        (SLURM | OPEN_MPI, ("openmpi", 3, 4, 1)),
        (SLURM | HYDRA, ("hydra", 3, 4, 1)),
        # srun --mpi=pmi2 speaks PMI itself.
        (SLURM | {"PMI_RANK": "1", "PMI_SIZE": "2", "PMI_FD": "7"}, ("srun", 1, 2, 0)),
        # A batch script plans, and starts ranks with srun.
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_JOB_ID": "9"}, None),
    ],
)
def test_whose_rank_a_process_is(
    environment: dict[str, str], place: tuple[str, int, int, int] | None
) -> None:
    """Protects worlds from a launcher that only stands around the one that started their ranks."""
    assert launchers.launched_rank(environment) == (launchers.LaunchedRank(*place) if place else None)
    if place:
        found = launchers.global_rank(environment), launchers.local_rank(environment)
        assert found == (place[1], place[3])


@pytest.mark.parametrize(
    ("launcher", "name", "variables"),
    [
        ("flux", "mpich", {"FLUX_URI": "local:///nowhere"}),
        ("flux", "openmpi", {"FLUX_URI": "local:///nowhere"}),
        ("jsrun", "openmpi", {"LSB_JOBID": "7"}),
    ],
)
def test_a_batch_system_is_preferred(
    launcher: str, name: str, variables: dict[str, str], measure: Measure, tmp_path: Path
) -> None:
    """Protects runs inside an allocation: its own launcher starts the ranks, with these words."""
    mpi = mpis.installed(name)
    log, tool = tmp_path / "words", tmp_path / launcher
    options = "--map-by :OVERSUBSCRIBE" if name == "openmpi" else ""
    tool.write_text(STAND_IN.format(log=log, mpiexec=mpi.mpiexec, options=options))
    tool.chmod(0o755)
    done = measure(
        "pingpong",
        *FAST,
        mpi=mpi,
        environment={**mpi.variables, **variables, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    ).ok()
    assert done.of("step")[0]["launcher"] == launcher
    assert [entry["bytes"] for entry in done.entries] == [8, 65536]
    words = log.read_text().split("\n")
    assert words[:3] == ["run", "-n", "2"] if launcher == "flux" else words[:2] == ["--np", "2"]
