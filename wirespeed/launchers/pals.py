"""PALS (HPE Cray EX) as seen by a rank; its mpiexec starts them, with Hydra's options."""

from __future__ import annotations

from wirespeed.launchers import Launcher


class Pals(Launcher):
    name = "pals"
    variables = ("PALS_RANKID", "PMI_SIZE", "PALS_LOCAL_RANKID")
    order = 41


LAUNCHER = Pals()
