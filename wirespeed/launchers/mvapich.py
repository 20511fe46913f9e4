"""MVAPICH's own variables; its ranks are started by Hydra."""

from __future__ import annotations

from wirespeed.launchers import Launcher


class Mvapich(Launcher):
    name = "mvapich"
    variables = ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK")
    order = 40


LAUNCHER = Mvapich()
