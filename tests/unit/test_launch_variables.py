"""Variables by which a process takes itself for a rank: a job's, one rank's, incomplete, contradictory."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.fake_run import FakeRun, one_line

from wirespeed import launchers
from wirespeed.cli.main import main
from wirespeed.errors import ExitCode, WirespeedError
from wirespeed.launchers import LaunchedRank

TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "n1"}
OPENMPI = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
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


def test_the_manual_names_each_local_rank() -> None:
    """Protects a program that chooses its GPU before MPI_Init, under whichever launcher it is started."""
    page = (Path(__file__).parents[2] / "docs" / "gpu-aware-mpi.md").read_text()
    lacking = [each.name for each in launchers.all_launchers() if f'"{each.variables[2]}"' not in page]
    assert lacking == []


class TestAJob:
    @pytest.mark.parametrize(
        ("environment", "place"),
        [
            (TORCHRUN, LaunchedRank("torchrun", 1, 2, 1)),
            (OPENMPI, LaunchedRank("openmpi", 1, 2, 0)),
            (HYDRA, LaunchedRank("hydra", 1, 2, 0)),
            (SRUN, LaunchedRank("srun", 1, 2, 0)),
            # One rank outside, several inside.
            (SHELL | HYDRA, LaunchedRank("hydra", 1, 2, 0)),
            (
                OPENMPI | {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"} | HYDRA,
                LaunchedRank("hydra", 1, 2, 0),
            ),
            # Steps of a batch system that hold jobs; Cray's mpiexec, too.
            (SRUN | HYDRA | {"PMI_SIZE": "4"}, LaunchedRank("hydra", 1, 4, 0)),
            (SRUN | TORCHRUN | {"WORLD_SIZE": "8"}, LaunchedRank("torchrun", 1, 8, 1)),
            (PALS | TORCHRUN | {"WORLD_SIZE": "8"}, LaunchedRank("torchrun", 1, 8, 1)),
            (OPENMPI | TORCHRUN, LaunchedRank("openmpi", 1, 2, 0)),
            # An incomplete set beside a job's.
            (SRUN | {"RANK": "7"}, LaunchedRank("srun", 1, 2, 0)),
        ],
    )
    def test_is_told_from_complete_variables(self, environment: dict[str, str], place: LaunchedRank) -> None:
        assert launchers.launched_rank(environment) == place
        assert launchers.global_rank(environment) == place.rank
        assert launchers.local_rank(environment) == place.local_rank
        before = dict(environment)
        assert launchers.forget_one_rank(environment) is None and environment == before


class TestNoJob:
    @pytest.mark.parametrize(
        ("environment", "says"),
        [
            ({}, None),
            ({"MASTER_ADDR": "n1", "MASTER_PORT": "1", "LOCAL_RANK": "3"}, None),
            # A batch script has these, and belongs to no step.
            ({"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}, None),
            ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK=x is no number (torchrun)"),
            ({"RANK": "-1", "WORLD_SIZE": "2"}, "RANK=-1 is no number (torchrun)"),
            ({"RANK": "9" * 5000, "WORLD_SIZE": "2"}, f"RANK={'9' * 5000} is no number (torchrun)"),
            ({"RANK": "0"}, "RANK without WORLD_SIZE and MASTER_ADDR (torchrun)"),
            ({"RANK": "0", "WORLD_SIZE": "2"}, "RANK and WORLD_SIZE without MASTER_ADDR (torchrun)"),
            ({"WORLD_SIZE": "2", "MASTER_ADDR": "n1"}, "WORLD_SIZE and MASTER_ADDR without RANK (torchrun)"),
            (TORCHRUN | {"WORLD_SIZE": "0"}, "WORLD_SIZE=0 is no number of ranks (torchrun)"),
            (
                {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "n1"},
                "WORLD_SIZE=1 says one rank (torchrun)",
            ),
            (SHELL, "SLURM_STEP_NUM_TASKS=1 says one rank (srun)"),
            (SHELL | PMIX, "SLURM_STEP_NUM_TASKS=1 says one rank (srun)"),
            ({"PMI_RANK": "0", "PMI_SIZE": "1", "PMI_FD": "7"}, "PMI_SIZE=1 says one rank (hydra)"),
            ({"OMPI_COMM_WORLD_RANK": "0"}, "OMPI_COMM_WORLD_RANK without OMPI_COMM_WORLD_SIZE (openmpi)"),
        ],
    )
    def test_is_named_and_forgotten(self, environment: dict[str, str], says: str | None) -> None:
        """Protects ranks of its own: they would take themselves for another job's."""
        given = environment | {"PATH": "/bin"}
        assert launchers.launched_rank(given) is None
        assert launchers.global_rank(given | HYDRA) == 1
        line = launchers.forget_one_rank(given)
        assert line == (says and f"{says}: wirespeed starts ranks of its own")
        if says:
            assert launchers.forget_one_rank(given) is None and launchers.global_rank(given) == 0
            left = {
                name for name in given if name not in environment or name in ("MASTER_ADDR", "PMIX_MCA_gds")
            }
            assert left <= given.keys() and not given.keys() & {"PMIX_RANK", "PMI_FD", "RANK", "SLURM_PROCID"}

    @pytest.mark.parametrize(
        "variables", [{"RANK": "x"}, {"RANK": "0"}, SHELL, {"PMI_RANK": "0", "PMI_SIZE": "1"}]
    )
    def test_measures_and_says_so_in_one_line(
        self,
        variables: dict[str, str],
        fake: FakeRun,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert main(["pingpong", "--sizes", "8", "--out", "r.jsonl"]) == ExitCode.OK
        lines = [line for line in capsys.readouterr().err.splitlines() if "ranks of its own" in line]
        assert len(lines) == 1 and any(name in lines[0] for name in variables)

    def test_a_second_srun_shares_the_cpus_of_the_step_around_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Protects a shell of `srun --pty` from a wait for the end of its own step."""
        from pathlib import Path

        from wirespeed.host.mpi import Mpi
        from wirespeed.launchers import Job

        mpi = Mpi("mpich", "1.0", Path("/opt"), Path("/opt/bin/mpiexec"), Path("/opt/lib/libmpi.so"), "given")
        job = Job(("program",), 2, (), {})
        monkeypatch.delenv("SLURM_STEP_ID", raising=False)
        assert "--overlap" not in launchers.choose("srun", mpi).command(mpi, job)
        monkeypatch.setenv("SLURM_STEP_ID", "0")
        assert "--overlap" in launchers.choose("srun", mpi).command(mpi, job)


class TestContradictions:
    @pytest.mark.parametrize(
        ("environment", "one", "other"),
        [
            (TORCHRUN | {"RANK": "5"}, "RANK=5", "WORLD_SIZE=2"),
            (TORCHRUN | {"WORLD_SIZE": "1"}, "RANK=1", "WORLD_SIZE=1"),
            (OPENMPI | {"OMPI_COMM_WORLD_RANK": "2"}, "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=2"),
            (SRUN | {"SLURM_PROCID": "2"}, "SLURM_PROCID=2", "SLURM_STEP_NUM_TASKS=2"),
            (TORCHRUN | {"LOCAL_RANK": "2"}, "LOCAL_RANK=2", "LOCAL_WORLD_SIZE=2"),
            (TORCHRUN | {"LOCAL_WORLD_SIZE": "4"}, "LOCAL_WORLD_SIZE=4", "WORLD_SIZE=2"),
            (OPENMPI | TORCHRUN | {"WORLD_SIZE": "4"}, "OMPI_COMM_WORLD_SIZE=2", "WORLD_SIZE=4"),
            (OPENMPI | HYDRA | {"PMI_SIZE": "4"}, "OMPI_COMM_WORLD_SIZE=2", "PMI_SIZE=4"),
            (OPENMPI | {"WORLD_SIZE": "4"}, "OMPI_COMM_WORLD_SIZE=2", "WORLD_SIZE=4"),
            (HYDRA | {"RANK": "1", "WORLD_SIZE": "3"}, "PMI_SIZE=2", "WORLD_SIZE=3"),
        ],
    )
    def test_are_refused_and_both_are_named(
        self,
        environment: dict[str, str],
        one: str,
        other: str,
        fake: FakeRun,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        with pytest.raises(WirespeedError, match=f"{one} contradicts {other}: "):
            launchers.launched_rank(environment)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr("wirespeed.cli.main.FIRST_SPEAKS", 0.0)
        for words in (["pingpong"], ["survey"], ["doctor"], ["watch"], ["fleet", "run"]):
            assert main(words) == ExitCode.USAGE
            assert f"{one} contradicts {other}: " in one_line(capsys.readouterr().err), words
