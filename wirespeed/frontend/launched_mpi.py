"""The MPI that a user's own launcher belongs to."""

from __future__ import annotations

import os

from wirespeed import launchers
from wirespeed.errors import WirespeedError
from wirespeed.host import mpi
from wirespeed.host.process import ancestors
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.launchers import LaunchedRank

_DAEMONS = dict.fromkeys(("prterun", "prted", "orterun", "orted", "mpirun"), "openmpi")
_DAEMONS["hydra_pmi_proxy"] = "hydra"
_LAUNCHERS = ("mpiexec", "mpiexec.hydra", "mpiexec.mpich", "mpiexec.openmpi", "orterun", "prterun")


def expected_job(plan: Plan, place: LaunchedRank) -> tuple[ExpectedJob, dict[str, str]]:
    """The MPI that the launcher belongs to, and the environment its library needs."""
    if not launchers.joins_mpi(place):
        if plan.mpi:
            raise WirespeedError(f"--mpi {plan.mpi}: {place.launcher} joins ranks without MPI; leave it out")
        return ExpectedJob(size=place.size), {}
    if plan.mpi:
        found: mpi.Mpi | None = mpi.choose(plan.mpi)
    elif given := os.environ.get("MPI4PY_LIBMPI"):
        starter = _of_ancestors()
        vendor = starter.vendor if starter else "openmpi" if place.launcher == "openmpi" else None
        return ExpectedJob(vendor, starter.version if starter else None, place.size, given), {}
    else:
        found = _of_ancestors() or _of_environment()
    if found is None:
        return ExpectedJob(size=place.size), {}
    return ExpectedJob(found.vendor, found.version, place.size, str(found.library)), found.environment()


def _of_ancestors() -> mpi.Mpi | None:
    """The MPI whose daemon started this process: its library lies beside the daemon."""
    for executable in ancestors():
        if executable.name in _DAEMONS:
            # Two MPIs may share a folder, and only one of them is its `mpiexec`.
            for name in _LAUNCHERS:
                found = mpi.identify(executable.parent / name, "machine")
                if isinstance(found, str):
                    continue
                if (found.vendor == "openmpi") == (_DAEMONS[executable.name] == "openmpi"):
                    return found
    return None


def _of_environment() -> mpi.Mpi | None:
    """Under a batch system: an MPI of the kind whose start-up protocol it speaks."""
    openmpi = "PMIX_RANK" in os.environ
    return next(
        (installed for installed in mpi.all_mpis() if (installed.vendor == "openmpi") == openmpi), None
    )
