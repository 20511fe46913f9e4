"""torchrun, and pods of Kubernetes that speak its variables: ranks that no MPI joins."""

from __future__ import annotations

from wirespeed.launchers import Launcher


class Torchrun(Launcher):
    name = "torchrun"
    variables = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    needs = ("MASTER_ADDR",)
    local_size = "LOCAL_WORLD_SIZE"
    order = 45
    joins_mpi = False


LAUNCHER = Torchrun()
