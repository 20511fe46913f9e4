"""How close two GPUs' paths come to what bounds them, as ratios inside one run.

    .venv/bin/python bench/gpu_ratios.py [--repeats 3] [--flags BINARY] [--parts BINARY] [-- OPTIONS]

Each repeat measures both sides of every ratio, one after the other, with new processes. A ratio is of times;
printed are the median of the repeats, the smallest and the largest. OPTIONS are wirespeed's. The binaries
are bench/bare_flags.cu and bench/peer_fence.cu, compiled; the parts of a message are the word, and the stores
with their fence.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence

from common import measured, parser, said

from wirespeed.units import format_size

SHORT = (16, 32, 64, 128, 256, 512)
BULK = (64 << 20, 256 << 20, 1 << 30)
OPERATIONS = (8, 64 << 10, 1 << 20, 64 << 20)
Times = dict[tuple[str, int], float]
"""Seconds by path and bytes."""


def times(folder: str, *words: object) -> Times:
    return {(one.path, one.bytes): one.seconds for one in measured(folder, *words, "--no-evidence")}


def listed(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


def parts_of(binary: str) -> dict[int, float]:
    """Seconds of the parts of a message together, by its bytes."""
    lines = [line.rpartition(" us ") for line in said([binary]).splitlines()]
    seconds = {" ".join(before.split()[:-1]): float(before.split()[-1]) * 1e-6 for before, _, _ in lines}
    word = seconds["a word, one way"]
    stored = {
        64 << 10: "64 KiB stored by 16 blocks, and a fence",
        1 << 20: "1 MiB stored by 64 blocks, and a fence",
    }
    return {size: word + seconds[name] for size, name in stored.items()}


def messages(folder: str, flags: str | None, parts: str | None, options: Sequence[str]) -> dict[str, float]:
    sizes = listed((8, *SHORT, 64 << 10, 1 << 20, *BULK))
    paths = "gpu,ipc-write,staged-pipelined"
    one_way = times(folder, "pingpong", "--paths", paths, "--sizes", sizes, *options)
    found = {f"gpu: {size} B / 8 B": one_way["gpu", size] / one_way["gpu", 8] for size in SHORT}
    if flags:
        flag = float(said([flags]).split()[0])
        found |= {f"{path} at 8 B / a bare flag": one_way[path, 8] / flag for path in ("gpu", "ipc-write")}
    for size, seconds in parts_of(parts).items() if parts else ():
        found[f"gpu at {format_size(size)} / its parts"] = one_way["gpu", size] / seconds
    found["gpu / ipc-write at 1 GiB"] = one_way["gpu", BULK[-1]] / one_way["ipc-write", BULK[-1]]
    copies = times(folder, "copy", "--paths", "?2?-pinned", "--sizes", listed(BULK), *options)
    for size in BULK:
        # The command also measures messages between the same memories.
        slower = max(copies[path, size] for path in ("h2d-pinned", "d2h-pinned"))
        share = one_way["staged-pipelined", size] / slower
        found[f"staged-pipelined / the slower copy at {format_size(size)}"] = share
    words = ("--paths", "gpu,ipc-write", "--sizes", listed(BULK[-1:]), *options)
    both, single = times(folder, "stream", "--both-ways", *words), times(folder, "stream", *words)
    for path in ("gpu", "ipc-write"):
        key = path, BULK[-1]
        found[f"{path}: both ways / one way at 1 GiB"] = both[key] / single[key]
    return found


def operations(folder: str, options: Sequence[str]) -> dict[str, float]:
    sizes = ("--sizes", listed(OPERATIONS), *options)
    both = times(folder, "halo", "--paths", "gpu", *sizes)
    added = times(
        folder, "allreduce", "--paths", "gpu,nccl,nccl-stream", "--algorithm", "library,best", *sizes
    )
    found = {}
    for size in OPERATIONS:
        theirs = min(added[path, size] for path in ("nccl", "nccl-stream"))
        found[f"allreduce on gpu / gpu's exchange at {format_size(size)}"] = (
            added["gpu:best", size] / both["gpu", size]
        )
        found[f"allreduce on gpu / NCCL's at {format_size(size)}"] = added["gpu:best", size] / theirs
    return found


def main() -> None:
    given = parser(__doc__, repeats=3, flags=None, parts=None, options=[]).parse_args()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(given.repeats):
            one = messages(folder, given.flags, given.parts, given.options) | operations(
                folder, given.options
            )
            for name, ratio in one.items():
                found.setdefault(name, []).append(ratio)
    for name, each in found.items():
        print(f"{name:55} {statistics.median(each):7.3f}  ({min(each):.3f} to {max(each):.3f})")


if __name__ == "__main__":
    main()
