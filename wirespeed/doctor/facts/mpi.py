"""What each MPI of the machine says of itself; what it does is tried elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.doctor.facts.model import MpiFact
from wirespeed.host.mpi import Mpi


def mpis(found: Sequence[Mpi]) -> tuple[MpiFact, ...]:
    """The MPIs of the machine, the one that is measured with first."""
    return tuple(
        MpiFact(
            title=mpi.title,
            vendor=mpi.vendor,
            version=mpi.version,
            prefix=str(mpi.prefix),
            mpiexec=str(mpi.mpiexec),
            source=mpi.source,
            chosen=number == 0,
        )
        for number, mpi in enumerate(found)
    )


def answers(said: Mapping[str, Any]) -> dict[str, Any]:
    """What a rank reported of the MPI that it loaded (wirespeed/doctor/ask), as members of an MpiFact."""
    if not said:
        return {}
    queries = said.get("queries") or {}
    yes = [name for name, value in queries.items() if value]
    if yes:
        says, text = True, f"{yes[0]}: yes"
    elif queries:
        more = f" and {len(queries) - 1} more" if len(queries) > 1 else ""
        says, text = False, f"{next(iter(queries))}{more}: no"
    else:
        says, text = None, "it has no function that tells (MPIX_Query_cuda_support)"
    ucx = said.get("ucx") or ""
    if ucx:
        gpus = said.get("ucx_gpu") or []
        ucx = f"UCX {ucx} {'with ' + ' and '.join(gpus) if gpus else 'without any GPU transport'}"
    return {"says": says, "says_text": text, "ucx": ucx, "fabric": said.get("fabric") or ""}
