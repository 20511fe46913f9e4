"""How long more iterations take by the wall clock, beside the time that is reported for them.

    .venv/bin/python bench/wall_time.py [--repeats 5] [--seconds 1] [--device auto] [--paths gpu,...] \
        [--only jacobi,lbm] [-- OPTIONS of wirespeed]

Each figure is measured with two counts of iterations (--loops). What the second's timed batch took longer,
by Python's clock around it (`--timeline`), is held against the reported times of all iterations: the ratio is
1 where the timed loop leaves nothing out and adds nothing. `--paths compute` is a program on one rank. Prints
the median ratio of some pairs, with the smallest and the largest one.

Of loads the time between launches of 131,072 is in no figure: 3 % on the emulated device, which is fast.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common import measured, parser

from wirespeed.results.model import Entry
from wirespeed.results.parts import ProgramTimes

COMMANDS: dict[str, tuple[object, ...]] = {
    "pingpong 8 B": ("pingpong", "--sizes", 8),
    "pingpong 64 MiB": ("pingpong", "--sizes", "64M"),
    "ring 1 MiB": ("ring", "--ranks", 2, "--sizes", "1M"),
    "halo 64 KiB": ("halo", "--ranks", 2, "--sizes", "64K"),
    "stream 1 MiB": ("stream", "--sizes", "1M"),
    "allreduce 1 MiB": ("allreduce", "--ranks", 2, "--sizes", "1M"),
    "copy 64 MiB": ("copy", "--sizes", "64M"),
    "load 1 MiB": ("rma", "--operation", "load", "--sizes", "1M"),
    "jacobi": ("jacobi", "--ranks", 2),
    "lbm": ("lbm", "--ranks", 2),
}
PATHS = {
    "allreduce": "gpu:best",
    "copy": "h2d-pinned,d2h-pinned",
    "load": "gpu-load,gpu-load-own",
    "": "host,staged,staged-pipelined,aware,nccl,nccl-stream,ipc-write,gpu",
}
FEW = 2
WITHIN = 0.02


def divisor(entry: Entry) -> float:
    """An iteration's time over the reported one."""
    if entry.program:
        return float(entry.program.steps_per_iteration)
    return 2.0 if "round trip" in entry.definition else 1.0


@dataclass(frozen=True)
class Timed:
    """A path's figure, and the seconds of its timed batch by Python's clock, on the slowest rank."""

    entry: Entry
    seconds: float


def timed(folder: str, words: tuple[object, ...], paths: str, loops: int) -> dict[str, Timed]:
    # What a program is compared with takes --max-time at most, for whatever count.
    common = ("--loops", loops, "--warmup", 1, "--max-time", 0.01, "--no-evidence")
    # One rank alone has no path.
    which = ("--ranks", 1) if paths == "compute" else ("--paths", paths)
    timeline = Path(folder, "timeline.json")
    entries = measured(folder, *words, *which, *common, "--timeline", timeline)
    seconds = batches(json.loads(timeline.read_text())["traceEvents"])
    # Copies have a ping-pong after them.
    return {entry.path: Timed(entry, seconds[entry.path]) for entry in entries if entry.pattern == words[0]}


def batches(events: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds of each path's last timed batch: of all ranks together, where each was timed alone before."""
    found: dict[str, float] = {}
    for path in (event for event in events if event.get("cat") == "path"):
        end = path["ts"] + path["dur"]
        mine = (event for event in events if event.get("cat") == "batch" and event["tid"] == path["tid"])
        last = [event["dur"] / 1e6 for event in mine if path["ts"] <= event["ts"] < end][-1:]
        found[path["name"]] = max([found.get(path["name"], 0.0), *last])
    return found


def slope(few: Timed, many: Timed) -> float:
    """What more iterations took longer by the wall clock, over what they took longer as reported."""
    return (many.seconds - few.seconds) / (reported(many.entry) - reported(few.entry))


def reported(entry: Entry) -> float:
    """Seconds of all iterations."""
    return entry.iterations * entry.times.median * divisor(entry)


def _said(name: str, entry: Entry, found: list[float]) -> list[str]:
    """Prints a path's line. Returns its name if the ratio is off."""
    ratio = statistics.median(found)
    off = abs(ratio - 1) > WITHIN
    note = f"  more than {WITHIN:.0%} off" * off
    spread = f"{ratio:.4f}  ({min(found):.4f} to {max(found):.4f})"
    step = computation = ""
    if isinstance(entry.program, ProgramTimes):
        step = f"{entry.times.median * 1e6:.2f} us"
        computation = f"{entry.program.compute.median * 1e6:.2f} us" if entry.program.compute else "its own"
    iteration = f"{entry.times.median * divisor(entry) * 1e6:.2f} us"
    print(
        f"{name:18} {entry.path:18} {step:>12} {computation:>12} {iteration:>14} {spread:>30}{note}",
        flush=True,
    )
    return [f"{name} {entry.path}"] * off


def main() -> None:
    given = parser(__doc__, repeats=5, seconds=1.0, paths="", device="auto", only="", options=[]).parse_args()
    far_off = []
    columns = f"{'step':>12} {'computation':>12} {'iteration':>14} {'wall clock / reported':>30}"
    print(f"{'':18} {'path':18} {columns}")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in COMMANDS.items():
            if given.only and not any(name.startswith(one) for one in given.only.split(",")):
                continue
            words = (*words, "--device", given.device, *given.options)
            paths = given.paths or next(text for key, text in PATHS.items() if name.startswith(key))
            firsts = timed(folder, words, paths, FEW)
            entries = {path: first.entry for path, first in firsts.items()}
            # A program's paths take about as long: they are measured in the same runs.
            together = all(isinstance(entry.program, ProgramTimes) for entry in entries.values())
            for group in [list(firsts)] if together else [[path] for path in firsts]:
                iteration = max(entries[path].times.median * divisor(entries[path]) for path in group)
                loops = FEW + max(2, min(int(given.seconds / iteration), 10_000_000))
                found: dict[str, list[float]] = {path: [] for path in group}
                for repeat in range(given.repeats):
                    pair = {FEW: firsts} if repeat == 0 else {}
                    for count in (FEW, loops) if repeat % 2 == 0 else (loops, FEW):
                        pair[count] = pair.get(count) or timed(folder, words, ",".join(group), count)
                    for path in group:
                        found[path].append(slope(pair[FEW][path], pair[loops][path]))
                        entries[path] = pair[loops][path].entry
                for path, ratios in found.items():
                    far_off += _said(name, entries[path], ratios)
    if far_off:
        sys.exit(f"not within {WITHIN:.0%}: {', '.join(far_off)}")


if __name__ == "__main__":
    main()
