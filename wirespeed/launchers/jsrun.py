"""IBM's jsrun, inside an LSF allocation (Summit, Sierra)."""

from __future__ import annotations

from wirespeed.errors import WirespeedError
from wirespeed.host.mpi import Mpi
from wirespeed.launchers import Job, Launcher


class Jsrun(Launcher):
    name = "jsrun"
    variables = ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK")
    starts_mpi = ("openmpi",)
    order = 12
    allocation = "LSB_JOBID"

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        if job.hosts:
            raise WirespeedError(
                "--hosts: jsrun places ranks on the hosts of its allocation; allocate those wanted, "
                "or use --launcher mpiexec"
            )
        # -gpu lets Spectrum MPI take device pointers; without it they fail.
        command = ["jsrun", "--np", str(job.ranks), "--smpiargs=-gpu"]
        for name, value in job.variables.items():
            command += ["-E", f"{name}={value}"]
        return [*command, *job.command]


LAUNCHER = Jsrun()
