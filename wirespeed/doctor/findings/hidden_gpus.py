"""Ranks that do not see each other's GPUs: a batch system has bound each to its own."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import MachineFacts, RankPlacement
from wirespeed.doctor.finding import Cost, Finding

MAX_LINES = 4


def find(facts: MachineFacts) -> Iterator[Finding]:
    """A driver opens memory of those GPUs alone that a process sees."""
    blind = blind_pairs(facts)
    if not blind:
        return
    ranks = {place.rank: place for pair in blind for place in pair}
    seen = [
        f"rank {place.rank} on {place.host} sees {len(place.visible)} GPU{'s' * (len(place.visible) != 1)}: "
        + ", ".join(place.visible)
        for place in ranks.values()
    ]
    mpi = facts.chosen
    failed = mpi is not None and mpi.tried not in ("", "works")
    yield Finding(
        "gpus-hidden",
        "Ranks do not see each other's GPUs: no CUDA IPC between them, whatever the MPI can do",
        Cost.BREAKS if failed else Cost.HIGH,
        (
            *seen[:MAX_LINES],
            *([f"{mpi.title}, tried {mpi.where}: {mpi.tried_text}"] if failed and mpi else []),
            *(
                f"{name}={facts.variables[name]}"
                for name in ("SLURM_GPUS_PER_TASK", "SLURM_GPU_BIND")
                if name in facts.variables
            ),
        ),
        (
            "srun --gpu-bind=none PROGRAM  # Slurm: each sees all; choose by SLURM_LOCALID",
            "srun --gres-flags=allow-task-sharing PROGRAM  # or keeps --gpus-per-task",
            "unset CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES  # where a script sets one for each rank",
        ),
        source="https://slurm.schedmd.com/srun.html: --gpus-per-task, --gpu-bind, --gres-flags",
    )


def blind_pairs(facts: MachineFacts) -> list[tuple[RankPlacement, RankPlacement]]:
    """Ranks of one host of which the second one's GPU is hidden from the first one."""
    # wirespeed itself lets each rank see its own slice alone.
    known = [
        place for place in facts.places if place.gpu and place.visible and not place.gpu.startswith("MIG-")
    ]
    return [
        (one, other)
        for one in known
        for other in known
        if one.host == other.host and other.gpu not in one.visible
    ]
