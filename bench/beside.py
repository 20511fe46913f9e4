"""Our command beside a bare loop over the same library, turn about: what such benches have in common."""

from __future__ import annotations

import statistics
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path

from common import in_turn, measured, ratios, said

from wirespeed.results.model import Entry
from wirespeed.units import format_size, parse_sizes

SIZES = "8,4K,64K,1M,16M,256M"
HERE = Path(__file__).resolve().parent
Times = dict[int, float]


def bare(command: Sequence[object]) -> Times:
    """Seconds one way, by size."""
    lines = [line.split() for line in said(command).splitlines()]
    return {int(size): float(seconds) for size, seconds in lines}


def compare(path: str, how: str, bare_again: Callable[[], Times], given: Namespace, folder: Path) -> None:
    """Prints the ratios of neighbouring turns: their median, smallest and largest."""

    def ours() -> list[Entry]:
        words = ("--paths", path, "--sizes", given.sizes, "--between", given.between, *given.options)
        return measured(folder, "pingpong", "--device", "cuda", *words)

    mine, theirs = in_turn(given.pairs, ours, bare_again)
    values = [value for entries in mine for entry in entries for value in entry.details.values()]
    chosen = sorted({value for value in values if isinstance(value, str)})
    what = f" ({', '.join(chosen)})" if chosen else ""
    print(f"{path}{what} beside {how}: {given.pairs} pairs of runs, one way")
    for size in parse_sizes(given.sizes):
        own = [entry.seconds for entries in mine for entry in entries if entry.bytes == size]
        other = [times[size] for times in theirs]
        found = ratios(own, other)
        print(
            f"{format_size(size):>9}  ours {statistics.median(own) * 1e6:11.3f} us  "
            f"bare {statistics.median(other) * 1e6:11.3f} us  "
            f"ratio {statistics.median(found):.4f} [{min(found):.3f}, {max(found):.3f}]",
            flush=True,
        )
