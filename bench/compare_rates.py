"""How often `wirespeed compare` finds a slowdown that is there, and names one that is not.

    .venv/bin/python bench/compare_rates.py [--pairs 20] [--launches 3] [--slower 0,1,2,5,10] [--keep FOLDER]

Every figure is a real launch of its own: new processes, measured by the stopping rule, nothing made up. A
pair is N launches before and N after, in shuffled order, so that a busy minute hits both. `d2d` copies on an
emulated GPU that keeps its declared bandwidth by sleeping; after, that bandwidth is lowered, so that a copy
takes so many percent longer. `host` is MPI between two ranks, with nothing planted: whatever is named there
is a false alarm. Printed: in how many pairs a path is named as worse, and by how much launches differ.
The same pairs are judged by their first launches, too. FOLDER keeps the result files: launches found there
are not repeated.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from common import COMMAND, parser, said

from wirespeed.cli.common.reading import read_side
from wirespeed.host.mpi import choose
from wirespeed.report.compare.comparison import compare
from wirespeed.results.runs import Run

RATE = 1e9
"""Bytes per second: 1 MiB sleeps for 1 ms."""
COMMANDS = {
    "d2d": (1, "copy --device emulated --ranks 1 --sizes 1M,2M,3M,4M,6M,8M --max-time 0.1"),
    "host": (2, "pingpong --device cpu --sizes 8,64,512,4K,16K,32K --max-time 0.1"),
}
"""Path: ranks, and the command."""


def launch(file: Path, path: str, slower: float) -> None:
    """One launch. Raises SystemExit when it fails."""
    ranks, words = COMMANDS[path]
    mpi = choose(None)
    command = [mpi.mpiexec, "-n", ranks, COMMAND, *words.split()]
    declared = {"WIRESPEED_EMULATED": f"count=1,d2d={RATE / (1 + slower)!r}"}
    said([*command, "--paths", path, "--out", file], env={**os.environ, **mpi.environment(), **declared})


def names(path: str, pair: int, slower: float | None, launches: int) -> list[str]:
    """Files of one side; before, nothing is slower, and all slowdowns share that side."""
    side = "old" if slower is None else f"new{slower:g}"
    return [f"{path}-{pair}-{side}-{number}.jsonl" for number in range(launches)]


def sides(path: str, shares: list[float]) -> list[float | None]:
    """The sides of a pair that are measured."""
    return [None, *(shares if path == "d2d" else [0.0])]


def measure(folder: Path, pairs: int, launches: int, shares: list[float]) -> None:
    """All launches that the folder does not have yet."""
    dice = random.Random(1)
    for pair in range(pairs):
        wanted = [
            (folder / name, path, share or 0.0)
            for path in COMMANDS
            for share in sides(path, shares)
            for name in names(path, pair, share, launches)
        ]
        dice.shuffle(wanted)
        for file, path, slower in wanted:
            if not file.exists():
                launch(file, path, slower)
        now, load = time.strftime("%H:%M"), os.getloadavg()[0]
        print(f"{now} pair {pair + 1} of {pairs}, load {load:.1f}", file=sys.stderr, flush=True)


def side(folder: Path, path: str, pair: int, slower: float | None, launches: int) -> list[Run]:
    """The first launches of a side."""
    return [run for name in names(path, pair, slower, launches) for run in read_side(str(folder / name))]


def report(folder: Path, pairs: int, before: int, after: int, shares: list[float]) -> None:
    """A line for each slowdown: how many pairs were named."""
    print(f"\nlaunches: {before} before, {after} after")
    for path in COMMANDS:
        for share in sides(path, shares)[1:]:
            found = 0
            for pair in range(pairs):
                old = side(folder, path, pair, None, before)
                new = side(folder, path, pair, share, after)
                found += compare(old, new).verdicts.harmful
            what = f"{share:.0%} slower" if share else "nothing planted"
            print(f"  {path:<6}{what:<18}{found:>3} of {pairs} pairs named as worse")


def spread(folder: Path, path: str, pairs: int, launches: int) -> float:
    """By how much launches of the same thing differ: the middle standard deviation of all sizes."""
    logs: dict[int, list[float]] = {}
    for pair in range(pairs):
        for run in side(folder, path, pair, None, launches):
            for entry in run.entries.values():
                logs.setdefault(entry.bytes, []).append(math.log(entry.seconds))
    return statistics.median(statistics.stdev(values) for values in logs.values())


def main() -> None:
    given = parser(__doc__, pairs=20, launches=3, slower="0,1,2,5,10", keep=None).parse_args()
    shares = [float(word) / 100 for word in given.slower.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(given.keep or scratch)
        folder.mkdir(exist_ok=True)
        measure(folder, given.pairs, given.launches, shares)
        for path in COMMANDS:
            share = spread(folder, path, given.pairs, given.launches)
            print(f"{path}: launches differ by {share:.2%} (standard deviation, the middle size's)")
        for before, after in dict.fromkeys([(1, 1), (given.launches, 1), (given.launches, given.launches)]):
            report(folder, given.pairs, before, after, shares)


if __name__ == "__main__":
    main()
