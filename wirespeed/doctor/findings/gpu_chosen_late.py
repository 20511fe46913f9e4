"""Programs of others whose processes all hold memory on one GPU, and each on one of its own besides."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.doctor.facts.model import Gpu, MachineFacts, Process
from wirespeed.doctor.finding import Cost, Finding

SHOWN = 4
"""Processes in the evidence."""
Held = dict[int, list[tuple[Gpu, Process]]]
"""By process id: its memory on each GPU."""


def find(facts: MachineFacts) -> Iterator[Finding]:
    """One for each program: MPI_Init, or a first call of CUDA, has made a context on the default GPU."""
    programs: dict[str, Held] = {}
    for gpu in facts.real_gpus:
        for process in gpu.processes:
            programs.setdefault(process.name, {}).setdefault(process.pid, []).append((gpu, process))
    for name, held in programs.items():
        if (default := _default(held)) is not None:
            yield Finding(
                "gpu-chosen-late" if len(programs) == 1 else f"gpu-chosen-late-{name}",
                f"{len(held)} processes of {name} hold memory on {default.title}, and GPUs of their own: "
                "they choose these after MPI_Init",
                Cost.SOME,
                tuple(_evidence(pid, found) for pid, found in list(held.items())[:SHOWN]),
                ("cudaSetDevice(local_rank); MPI_Init(&argc, &argv);  # in this order",),
                source="docs/gpu-aware-mpi.md, Choose the GPU before MPI_Init",
            )


def _default(held: Held) -> Gpu | None:
    """The one GPU that all use, if each process but one has another one, which no other has."""
    of_each = [frozenset(gpu for gpu, _ in found) for found in held.values()]
    common = frozenset.intersection(*of_each)
    own = [gpus - common for gpus in of_each if gpus != common]
    if len(common) != 1 or not own or len(set(own)) < len(own) or len(own) < len(of_each) - 1:
        return None
    return next(iter(common)) if len(of_each) > 1 else None


def _evidence(pid: int, found: list[tuple[Gpu, Process]]) -> str:
    sizes = (f" {process.bytes / 2**30:.1f} GiB" if process.bytes else "" for _, process in found)
    return f"pid {pid}: {', '.join(gpu.title + size for (gpu, _), size in zip(found, sizes, strict=True))}"
