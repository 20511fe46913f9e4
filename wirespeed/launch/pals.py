"""PALS (HPE Cray EX): known from inside; ranks are started by its mpiexec, which Hydra's options fit."""

from __future__ import annotations

from collections.abc import Mapping

from wirespeed.host.mpi import Mpi
from wirespeed.launch import Job


class Pals:
    name = "pals"
    variables = ("PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID")
    starts_mpi: tuple[str, ...] = ()
    order = 41

    def inside(self, environment: Mapping[str, str]) -> bool:
        return True

    def usable(self, environment: Mapping[str, str]) -> bool:
        return False

    def command(self, mpi: Mpi, job: Job) -> list[str]:
        raise AssertionError("PALS ranks are started by mpiexec")


LAUNCHER = Pals()
