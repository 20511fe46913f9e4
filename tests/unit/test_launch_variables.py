"""Variables by which a process takes itself for a rank: a job's, one rank's, incomplete, contradictory."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import Golden

from wirespeed import launchers
from wirespeed.errors import WirespeedError
from wirespeed.host.mpi import Mpi
from wirespeed.launchers import Job

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "n1"}
OPENMPI = {
    f"OMPI_COMM_WORLD_{name}": value
    for name, value in (("RANK", "1"), ("SIZE", "2"), ("LOCAL_RANK", "0"), ("LOCAL_SIZE", "1"))
}
HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}
SRUN = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": "0", "SLURM_STEP_ID": "0"}
PALS = {"PALS_RANKID": "1", "PMI_RANK": "1", "PMI_SIZE": "2", "PALS_LOCAL_RANKID": "0"}
SHELL = SRUN | {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_STEP_ID": "4294967290"}
"""What salloc's interactive step has; `srun --pty` has it with another number of its step."""
PMIX = {
    "PMIX_RANK": "0",
    "PMIX_NAMESPACE": "prterun-n1-7@1",
    "PMIX_SERVER_URI41": "x",
    "PMIX_MCA_gds": "hash",
}
ONE_OUTSIDE = OPENMPI | {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}
BATCH_SCRIPT = {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}
ENVIRONMENTS: dict[str, tuple[dict[str, str], ...]] = {
    "a job": (TORCHRUN, OPENMPI, HYDRA, SRUN),
    "all ranks on one host, each with a GPU of its own": (TORCHRUN | {"LOCAL_RANK": "0"},),
    "one rank outside, several inside": (SHELL | HYDRA, ONE_OUTSIDE | HYDRA),
    "steps of a batch system that hold jobs; Cray's mpiexec, too": (
        *(SRUN | HYDRA | {"PMI_SIZE": "4"}, SRUN | TORCHRUN | {"WORLD_SIZE": "8"}),
        *(PALS | TORCHRUN | {"WORLD_SIZE": "8"}, OPENMPI | TORCHRUN),
    ),
    "an incomplete set beside a job's": (SRUN | {"RANK": "7"},),
    "no rank": ({}, {"MASTER_ADDR": "n1", "MASTER_PORT": "1", "LOCAL_RANK": "3"}, BATCH_SCRIPT),
    "no number": tuple({"RANK": rank, "WORLD_SIZE": "2"} for rank in ("x", "-1", "9" * 5000)),
    "an incomplete set": (
        *({"RANK": "0"}, {"RANK": "0", "WORLD_SIZE": "2"}, {"WORLD_SIZE": "2", "MASTER_ADDR": "n1"}),
        *(TORCHRUN | {"WORLD_SIZE": "0"}, {"OMPI_COMM_WORLD_RANK": "0"}),
    ),
    "one rank": (
        {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "n1"},
        *(SHELL, SHELL | PMIX, {"PMI_RANK": "0", "PMI_SIZE": "1", "PMI_FD": "7"}),
    ),
    "contradictions": (
        *(TORCHRUN | {"RANK": "5"}, TORCHRUN | {"WORLD_SIZE": "1"}, OPENMPI | {"OMPI_COMM_WORLD_RANK": "2"}),
        *(SRUN | {"SLURM_PROCID": "2"}, TORCHRUN | {"LOCAL_RANK": "2"}, TORCHRUN | {"LOCAL_WORLD_SIZE": "4"}),
        *(OPENMPI | TORCHRUN | {"WORLD_SIZE": "4"}, OPENMPI | HYDRA | {"PMI_SIZE": "4"}),
        *(OPENMPI | {"WORLD_SIZE": "4"}, HYDRA | {"RANK": "1", "WORLD_SIZE": "3"}),
    ),
}


def told(environment: dict[str, str]) -> str:
    """The rank that these make, or what is said of them, and which of them are left then."""
    given = environment | {"PATH": "/bin"}
    try:
        place = launchers.launched_rank(given)
    except WirespeedError as error:
        return f"refused: {error}"
    ranks = f"global {launchers.global_rank(given)}, local {launchers.local_rank(given)}"
    line = launchers.forget_one_rank(given)
    assert place is None or (line is None and given == environment | {"PATH": "/bin"})
    left = f"; left: {', '.join(given)}" if line else ""
    assert launchers.forget_one_rank(given) is None, "it is said once"
    return f"{place or line or 'nothing said'}; {ranks}{left}"


def test_who_a_process_takes_itself_for(golden: Golden) -> None:
    """Protects ranks of its own, which would take themselves for another job's, from one rank's variables."""
    texts = {}
    for title, environments in ENVIRONMENTS.items():
        rows = ((" ".join(map("=".join, one.items())), told(one)) for one in environments)
        texts[title] = "\n".join(f"{words}\n  {said}" for words, said in rows).replace("9" * 5000, "9...9")
    golden("frontend/launch_variables", texts)


def test_the_manual_names_each_local_rank() -> None:
    """Protects a program that chooses its GPU before MPI_Init, under whichever launcher it is started."""
    page = (Path(__file__).parents[2] / "docs" / "gpu-aware-mpi.md").read_text()
    lacking = [each.name for each in launchers.all_launchers() if f'"{each.variables[2]}"' not in page]
    assert lacking == []


def test_a_second_srun_shares_the_cpus_of_the_step_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a shell of `srun --pty` from a wait for the end of its own step."""
    mpi = Mpi("mpich", "1.0", Path("/opt"), Path("/opt/bin/mpiexec"), Path("/opt/lib/libmpi.so"), "given")
    job = Job(("program",), 2, (), {})
    monkeypatch.delenv("SLURM_STEP_ID", raising=False)
    assert "--overlap" not in launchers.choose("srun", mpi).command(mpi, job)
    monkeypatch.setenv("SLURM_STEP_ID", "0")
    assert "--overlap" in launchers.choose("srun", mpi).command(mpi, job)
