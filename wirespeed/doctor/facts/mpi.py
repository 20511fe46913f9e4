"""The MPIs of the machine and their own answers; doctor/trying.py has the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wirespeed.doctor.facts.model import MpiFact
from wirespeed.host.mpi import Mpi


def mpis(found: Sequence[Mpi]) -> tuple[MpiFact, ...]:
    """The MPIs of the machine, the one that is measured with first."""
    return tuple(
        MpiFact(
            mpi.title, mpi.vendor, mpi.version, str(mpi.prefix), str(mpi.mpiexec), mpi.source, number == 0
        )
        for number, mpi in enumerate(found)
    )


def answers(said: Mapping[str, Any]) -> dict[str, Any]:
    """A rank's report on the MPI that it loaded (wirespeed/doctor/ask), as fields of an MpiFact."""
    if not said:
        return {}
    queries: dict[str, bool] = said.get("queries") or {}
    yes = next((name for name, value in queries.items() if value), None)
    says, text = (True, f"{yes}: yes") if yes else (None, "it has no MPIX_Query_cuda_support or the like")
    if queries and not yes:
        more = f" and {len(queries) - 1} more" if len(queries) > 1 else ""
        says, text = False, f"{next(iter(queries))}{more}: no"
    gpus = " and ".join(said.get("ucx_gpu") or [])
    ucx = (
        f"UCX {said['ucx']} with{f' {gpus}' if gpus else 'out any GPU transport'}" if said.get("ucx") else ""
    )
    return {"says": says, "says_text": text, "ucx": ucx, "fabric": said.get("fabric") or ""}
