"""IBM's jsrun, inside an LSF allocation (Summit, Sierra)."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from wirespeed.errors import WirespeedError
from wirespeed.host.mpi import Mpi
from wirespeed.launch import Job


class Jsrun:
    name = "jsrun"
    variables = ("JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_LOCAL_RANK")
    starts_mpi = ("openmpi",)
    order = 12

    def inside(self, environment: Mapping[str, str]) -> bool:
        return True

    def usable(self, environment: Mapping[str, str]) -> bool:
        return "LSB_JOBID" in environment and shutil.which("jsrun") is not None

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        if job.hosts:
            raise WirespeedError(
                "--hosts: jsrun places ranks on the hosts of its allocation; allocate those wanted, "
                "or use --launcher mpiexec"
            )
        # -gpu lets Spectrum MPI take device pointers; without it they fail, silently or loudly.
        command = ["jsrun", "--np", str(job.ranks), "--smpiargs=-gpu"]
        for name, value in job.variables.items():
            command += ["-E", f"{name}={value}"]
        return [*command, *job.command]


LAUNCHER = Jsrun()
