"""What a named range costs a rank: without a listener, kept for --timeline, heard by a profiler's library.

python bench/range_cost.py; the last figure needs NVTX_INJECTION64_PATH=LIBRARY.
"""

from __future__ import annotations

import timeit

from wirespeed.host.core import core
from wirespeed.rank.ranges import Ranges

RANGES, REPEATS = 20_000, 7


def nanoseconds(ranges: Ranges) -> float:
    """Of one range, the least of several repeats."""

    def one() -> None:
        with ranges("batch", samples=3, iterations=4):
            pass

    found = []
    for _ in range(REPEATS):
        ranges.take()
        found.append(timeit.timeit(one, number=RANGES) / RANGES)
    return 1e9 * min(found)


def main() -> None:
    kept, attached = Ranges(keep=True), Ranges(core())
    print(f"not kept: {nanoseconds(Ranges()):.0f} ns")
    print(f"kept: {nanoseconds(kept):.0f} ns")
    if attached.heard:
        print(f"heard by a profiler's library: {nanoseconds(attached):.0f} ns")


if __name__ == "__main__":
    main()
