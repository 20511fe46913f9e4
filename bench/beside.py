"""Our command beside a bare loop over the same library, turn about: what such benches have in common."""

from __future__ import annotations

import statistics
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wirespeed
from wirespeed.units import format_size, parse_sizes

COMMAND = Path(sys.prefix, "bin", "wirespeed")
HERE = Path(__file__).resolve().parent
Times = dict[int, float]


def said(command: list[str]) -> str:
    """What the command printed; where it fails, the end, with what it said of that."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def bare(command: list[str]) -> Times:
    """Seconds one way, by size."""
    lines = [line.split() for line in said(command).splitlines()]
    return {int(size): float(seconds) for size, seconds in lines}


def ours(path: str, given: Namespace, folder: Path) -> tuple[Times, list[dict[str, Any]]]:
    """Seconds one way, by size; and what was chosen for each."""
    file = folder / "r.jsonl"
    file.unlink(missing_ok=True)
    command = [str(COMMAND), "pingpong", "--device", "cuda", "--paths", path, "--sizes", given.sizes]
    said([*command, "--between", given.between, "--out", str(file), *given.options])
    entries = wirespeed.load(file).entries
    details = [entry.details for entry in entries]
    return {entry.bytes: entry.seconds for entry in entries}, details


def compare(path: str, how: str, theirs_again: Callable[[], Times], given: Namespace, folder: Path) -> None:
    """Prints the ratios of neighbouring turns: their median, smallest and largest."""
    mine: list[Times] = []
    theirs: list[Times] = []
    chosen: set[str] = set()
    for pair in range(given.pairs):
        for turn in (pair % 2, 1 - pair % 2):
            if turn:
                theirs.append(theirs_again())
            else:
                times, details = ours(path, given, folder)
                mine.append(times)
                chosen |= {
                    str(value) for each in details for value in each.values() if isinstance(value, str)
                }
    what = f" ({', '.join(sorted(chosen))})" if chosen else ""
    print(f"{path}{what} beside {how}: {given.pairs} pairs of runs, one way")
    for size in parse_sizes(given.sizes):
        ratios = [own[size] / other[size] for own, other in zip(mine, theirs, strict=True)]
        print(
            f"{format_size(size):>9}  ours {statistics.median(t[size] for t in mine) * 1e6:11.3f} us  "
            f"bare {statistics.median(t[size] for t in theirs) * 1e6:11.3f} us  "
            f"ratio {statistics.median(ratios):.4f} [{min(ratios):.3f}, {max(ratios):.3f}]",
            flush=True,
        )
