"""The conduits of GASNet-EX that were built for wirespeed: where they lie. `build.py` builds them."""

from __future__ import annotations

import os
from pathlib import Path

CONDUITS = ("smp", "udp", "ibv", "ofi", "ucx")
"""Conduits that can be built; GASNet's conduit `mpi` moves bytes by MPI, which other paths measure."""
NONE_BUILT = (
    "no conduit of GASNet was built; 'wirespeed paths --build gasnet --with PREFIX' builds those of the "
    "GASNet in PREFIX"
)


def folder() -> Path:
    """Folder of built conduits: in the user's own data, which hosts of a cluster usually share."""
    data = os.environ.get("XDG_DATA_HOME") or Path(os.environ.get("HOME") or "/", ".local", "share")
    return Path(data, "wirespeed", "gasnet")


def file_of(conduit: str) -> Path:
    """The library of a conduit, built or not."""
    return folder() / f"libwirespeed-gasnet-{conduit}.so"


def built() -> dict[str, Path]:
    """Name in the core -> file, for each conduit that was built and can be read."""
    files = {f"gasnet_{conduit}": file_of(conduit) for conduit in CONDUITS}
    return {name: file for name, file in files.items() if os.access(file, os.R_OK)}
