"""torchrun, and pods of Kubernetes that speak its variables: ranks that no MPI joins."""

from __future__ import annotations

from collections.abc import Mapping

from wirespeed.launchers import Launcher


class Torchrun(Launcher):
    name = "torchrun"
    variables = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    order = 45
    joins_mpi = False

    def inside(self, environment: Mapping[str, str]) -> bool:
        return "MASTER_ADDR" in environment


LAUNCHER = Torchrun()
