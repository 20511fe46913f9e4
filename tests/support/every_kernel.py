"""What each rank executes so that every kernel is launched once: every_kernel.py DEVICE PART,... [shared].

Small, since tools that watch each access make it slow. Rank 0 prints what was told, as all_patterns.py does,
with its `part`, and in `planted` the fault that was planted. `shared`: ranks share a GPU, whose kernels the
driver then lets take turns.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.all_patterns import Measuring, begin, chosen, end
from support.command import Record

PROTOCOLS = ("LL", "stores", "TMA", "pull", "TMA-pull")
WARP = ("protocol=LL", "blocks=1", "threads=32")
FEW = ("blocks=2", "threads=64")
"""Of each kernel that waits for another one: as many as have room beside each other anywhere."""
COPIES = "h2d-kernel,d2h-kernel,d2d,h2d-pinned,d2h-managed"
"""By kernels, and by the driver between the kinds of memory that kernels fill and check."""
SOLVERS = tuple(
    {"size": "32x16", "steps": 8, "edges": "fixed", "fp": fp, "depth": depth}
    for fp in ("32", "64")
    for depth in ("1", "2", "4")
)
FAULTS = ("batch-damaged", "batch-stale", "batch-lost")


def alone(rank: Measuring, *shared: str) -> None:
    """One rank: copies, chains of loads in its own memory, and the solvers."""
    rank.run(chosen("copy,offload"), "1,4097", COPIES, only=[{"count": 5}])
    rank.run(chosen("jacobi"), "8", "compute", only=SOLVERS)
    rank.run(chosen("lbm"), "8", "compute", only=[{"size": "20x12", "steps": 4}])


def messages(rank: Measuring, *shared: str) -> None:
    """Two ranks: each protocol of `gpu`, for the commonest program and for others."""
    for protocol in PROTOCOLS:
        words = (f"protocol={protocol}", *FEW, *shared)
        sizes = "8,264,1032,4097" if protocol == "LL" else "4104,40000"
        rank.run(chosen("pingpong,halo"), sizes, "gpu", *words, only=[{}])
    rank.run(chosen("pingpong"), "200", "gpu", *WARP, *shared)


def copies(rank: Measuring, *shared: str) -> None:
    """Two ranks: copy kernels, lists of blocks, loads, and a program's halos with faults."""
    rank.run(chosen("pingpong,ring"), "8,4097", "ipc-kernel", *shared, only=[{}])
    rank.run(chosen("allreduce", collective=True), "4096", "ipc-kernel:ring", *shared, collectives=1)
    rank.run(chosen("blocks"), "4104", "ipc-gather", *shared, only=[{"count": 5}])
    shared = ("protocol=stores", *FEW, *shared)
    rank.run(chosen("blocks"), "4104", "gpu", *shared, only=[{"count": 5}])
    rank.run(chosen("rma"), "8192", "gpu-load,gpu-load-own", *shared, only=[{"operation": "load"}])
    rank.run(chosen("lbm"), "8", "gpu", *shared, only=[{"size": "20x12", "steps": 4, "columns": 2}])
    for fault in FAULTS:
        rank.run(
            chosen("jacobi"), "8", "gpu", f"fault={fault}", *shared, only=[{"size": "32x16", "steps": 8}]
        )


def sums(rank: Measuring, *shared: str) -> None:
    """Two ranks: what kernels combine while messages travel."""
    for protocol in ("LL", "stores", "pull"):
        words = (f"protocol={protocol}", *FEW, *shared)
        rank.run(chosen("ring"), "8,4104,4097", "gpu", *words, only=[{}])
        ours = "gpu:ring,gpu:direct,gpu:one-shot"
        rank.run(chosen("allreduce", collective=True), "8,66,2048,32768", ours, *words, collectives=2)
    rank.run(chosen("allreduce", collective=True), "16", "gpu:one-shot", *WARP, *shared, collectives=1)
    off_words = ("protocol=LL", *FEW, "offset=4", *shared)
    rank.run(chosen("allreduce", collective=True), "2048", "gpu:ring", *off_words, collectives=1)
    halves = ("protocol=LL", *FEW, "offset=2", *shared)
    rank.run(chosen("allreduce", collective=True), "66", "gpu:ring", *halves, only=[{"type": "bf16"}])


def soaks(rank: Measuring, *shared: str) -> None:
    """Two ranks: messages that are checked on their way, with and without planted faults."""
    gpu = ("protocol=LL", *FEW, *shared)
    rank.run(chosen("pingpong,halo", soaked=True), "8,13,264,4097", "gpu", *gpu, only=[{}], soak=0.01)
    rank.run(chosen("pingpong", soaked=True), "200", "gpu", *WARP, *shared, soak=0.01)
    rank.run(chosen("pingpong", soaked=True), "8,4097", "ipc-write", *shared, soak=0.01)
    for fault in ("soak-damaged", "soak-late"):
        words = (f"fault={fault}", "soak-every=3", *gpu)
        # Ranks that share a GPU take turns of milliseconds: a message takes as long, the third one is faulty.
        seconds = 0.5 if shared else 0.01
        rank.run(chosen("pingpong", soaked=True), "264,4097", "gpu", *words, soak=seconds)


def waiting(rank: Measuring, *shared: str) -> None:
    """Two ranks: kernels that wait for the host to say what to copy, and what to check meanwhile."""
    words = ("copy=waiting-kernel", *shared)
    rank.run(chosen("pingpong"), "8,4097", "ipc-write", *words)
    rank.run(chosen("pingpong", soaked=True), "8,264", "ipc-write", *words, soak=0.01)


def streams(rank: Measuring, *shared: str) -> None:
    """Two ranks: NCCL's stream, in which the check of one message goes with the next. NCCL shares no GPU."""
    rank.run(chosen("pingpong"), "8,4097", "nccl,nccl-stream", only=[{}])
    rank.run(chosen("pingpong", soaked=True), "8,4097", "nccl-stream", soak=0.01)


PARTS = {part.__name__: part for part in (alone, messages, copies, sums, soaks, waiting, streams)}
RANKS = {name: 1 if name == "alone" else 2 for name in PARTS}
ONE_GPU = tuple(name for name in PARTS if name != "streams")
PLANTED = {"copies": {*FAULTS}, "soaks": {"soak-damaged", "soak-late"}}


def command(device: str, part: str, shared: bool) -> tuple[str, ...]:
    """`shared`: there is one GPU."""
    return (Path(__file__).name, device, part, *["shared"] * (shared and RANKS[part] > 1))


def judge(part: str, told: list[Record]) -> None:
    """All that was measured is right, and every planted fault, no other, was found."""
    told = [one for one in told if one["part"] == part]
    found = [one for one in told if one["kind"] == "failure" and one["what"] != "unavailable"]
    found += [one for one in told if one["kind"] == "soak" and any(one["wrong"].values())]
    faults = PLANTED.get(part, set())
    assert not [one for one in found if one["planted"] not in faults], found
    assert {one["planted"] for one in found} == faults
    entries = [one for one in told if one["kind"] == "entry"]
    assert entries or any(one["kind"] == "soak" for one in told)
    assert all(one["checked"]["bytes"] for one in entries)


def main() -> None:
    kind, parts, *shared = sys.argv[1:]
    rank = begin(kind)
    for part in parts.split(","):
        before = len(rank.told)
        PARTS[part](rank, *(("share=yes",) if shared else ()))
        for one in rank.told[before:]:
            one["part"] = part
    end(rank)


if __name__ == "__main__":
    main()
