"""Open MPI's mpiexec (4: OpenRTE, 5: PRRTE)."""

from __future__ import annotations

import os

from wirespeed.host.mpi import Mpi
from wirespeed.host.process import cores
from wirespeed.launchers import Job, Launcher, spread


class OpenMpi(Launcher):
    name = "openmpi"
    variables = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")
    # PRRTE's local ranks of four are 0, 2, 1, 3 where it maps them with :OVERSUBSCRIBE.
    local_size = "OMPI_COMM_WORLD_LOCAL_SIZE"
    starts_mpi = ("openmpi",)
    order = 51

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        command = [str(mpi.mpiexec), "-n", str(job.ranks)]
        if job.hosts:
            each = spread(job.hosts, job.ranks)
            command += ["--host", ",".join(f"{host}:{each}" for host in job.hosts), "--bind-to", "none"]
        elif job.places_itself or job.ranks > (os.cpu_count() or 1):
            command += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        elif job.ranks > cores():
            # Open MPI counts cores, not their threads.
            command += ["--use-hwthread-cpus"]
        elif job.own_threads:
            # Two ranks would be bound to a core each, with all their threads.
            command += ["--bind-to", "none"]
        for name in job.variables:
            command += ["-x", name]
        return [*command, *job.command]


LAUNCHER = OpenMpi()
