"""Can a path's environment variables have had their effect in this process? MPI reads them as it starts."""

from __future__ import annotations

import os

from wirespeed.host.libraries import loaded_file
from wirespeed.paths import TransferPath


def without_effect(path: TransferPath) -> str | None:
    """Why this process would measure another path under this one's name; None if it would not."""
    missing = [f"{key}={value}" for key, value in path.variables.items() if os.environ.get(key) != value]
    if missing:
        return f"start the ranks with {' '.join(missing)} for this path"
    if path.switched and not loaded_file(f"{path.switched}.so"):
        names = " and ".join(path.variables)
        return f"{path.switched} is not loaded, so that {names} switches nothing here"
    return None
