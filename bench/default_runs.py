"""Do the intervals of single launches hold over many? From result files of the same command, one launch each.

    .venv/bin/python bench/default_runs.py FILE.jsonl ...

For each path: how many of its figures are within ±5 %, have two speeds instead, are within ±10 %, and marked
`&`; how far medians of launches lie from their common median (standard deviation, the median over the sizes);
and in how many intervals that common median lies: in a launch's own, and in the one over many launches.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from pathlib import Path

from common import parser

import wirespeed
from wirespeed.judge.model import over_launches
from wirespeed.results.launches import launch
from wirespeed.results.model import Entry


def by_size(files: Sequence[str | Path]) -> dict[str, dict[int, list[Entry]]]:
    """Each path's figures at each size, one of each file."""
    found: dict[str, dict[int, list[Entry]]] = {}
    for file in files:
        for entry in wirespeed.load(file).entries:
            found.setdefault(entry.path, {}).setdefault(entry.bytes, []).append(entry)
    return found


def held(entries: Sequence[Entry]) -> tuple[int, int, int]:
    """(in own intervals, in intervals over launches, of so many): where the common median lies."""
    common = statistics.median(entry.seconds for entry in entries)
    own = over = known = 0
    for entry in entries:
        if (wide := over_launches(launch(entry))) and not entry.uncertain:
            known += 1
            own += entry.low <= common <= entry.high
            over += wide[0] <= common <= wide[1]
    return own, over, known


def main() -> None:
    made = parser(__doc__)
    made.add_argument("files", nargs="+")
    files = made.parse_args().files
    print(f"{len(files)} files")
    print("path                ±5 %  two ±10 %   &   of   launches differ by   own holds   many hold")
    for path, sizes in by_size(files).items():
        entries = [entry for each in sizes.values() for entry in each]
        within = [sum((entry.precision or 1) <= width for entry in entries) for width in (0.05, 0.1)]
        differ = [statistics.stdev(math.log(entry.seconds) for entry in each) for each in sizes.values()]
        own, over, known = (sum(column) for column in zip(*map(held, sizes.values()), strict=True))
        marked = sum(entry.contended for entry in entries)
        two = sum(bool(entry.times.speeds) and (entry.precision or 1) > 0.05 for entry in entries)
        print(
            f"{path:<18} {within[0]:>5} {two:>4} {within[1]:>5} {marked:>3} {len(entries):>4}   "
            f"{statistics.median(differ):>18.1%}   {own / known:>9.1%}   {over / known:>9.1%}"
        )


if __name__ == "__main__":
    main()
