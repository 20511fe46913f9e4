"""Hydra's mpiexec: MPICH, Intel MPI, MVAPICH."""

from __future__ import annotations

from collections.abc import Mapping

from wirespeed.host.mpi import Mpi
from wirespeed.launchers import Job, Launcher, spread

_BATCH_RANKS = ("SLURM_STEP_ID", "FLUX_TASK_RANK", "JSM_NAMESPACE_RANK", "PALS_RANKID")


class Hydra(Launcher):
    name = "hydra"
    variables = ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID")
    starts_mpi = ("mpich", "intel", "mvapich")
    order = 50

    def inside(self, environment: Mapping[str, str]) -> bool:
        # Batch systems that speak PMI set its rank and size too, but no local rank.
        return self.variables[2] in environment or not any(name in environment for name in _BATCH_RANKS)

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        command = [str(mpi.mpiexec), "-n", str(job.ranks)]
        if job.hosts:
            command += ["-hosts", ",".join(job.hosts), "-ppn", str(spread(job.hosts, job.ranks))]
        # It passes its environment on to all hosts; -genvlist would pass nothing else on.
        return [*command, *job.command]


LAUNCHER = Hydra()
