"""MVAPICH's own variables; its mpiexec is Hydra's."""

from __future__ import annotations

from collections.abc import Mapping

from wirespeed.host.mpi import Mpi
from wirespeed.launch import Job


class Mvapich:
    name = "mvapich"
    variables = ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK")
    starts_mpi: tuple[str, ...] = ()
    order = 40

    def inside(self, environment: Mapping[str, str]) -> bool:
        return True

    def usable(self, environment: Mapping[str, str]) -> bool:
        return False

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        raise AssertionError("mvapich ranks are started by hydra")


LAUNCHER = Mvapich()
