"""How much the 8 B figure differs from run to run: ours beside the mean of a fixed count.

    .venv/bin/python bench/spread.py [--repeats 20] [--size 8] [-- OPTIONS of wirespeed pingpong]

Each repeat starts new processes, once with the stopping rule and once with 50 loops after 5 of warm-up, as
the ping-pong tutorial counts; the two take turns.
"""

from __future__ import annotations

import statistics
import tempfile
from functools import partial

from common import in_turn, measured, parser

FIXED = ("--loops", "50", "--warmup", "5")


def one(options: list[str], size: str) -> float:
    """Median one-way seconds of a fresh run."""
    with tempfile.TemporaryDirectory() as folder:
        return measured(folder, "pingpong", "--paths", "host", "--sizes", size, *options)[0].seconds


def describe(name: str, values: list[float]) -> str:
    middle = statistics.median(values)
    low, _, high = statistics.quantiles(values, n=4)
    return (
        f"{name:<12} median {middle * 1e6:7.3f} us   quartiles {low * 1e6:.3f} to {high * 1e6:.3f} "
        f"(±{(high - low) / 2 / middle:.1%})   range {min(values) * 1e6:.3f} to {max(values) * 1e6:.3f} "
        f"(x {max(values) / min(values):.2f})"
    )


def main() -> None:
    given = parser(__doc__, repeats=20, size="8", options=[]).parse_args()
    ours, fixed = in_turn(
        given.repeats,
        partial(one, given.options, given.size),
        partial(one, [*given.options, *FIXED], given.size),
    )
    print(f"{given.repeats} repeats each, {given.size} B, one way")
    print(describe("ours", ours))
    print(describe("fixed count", fixed))


if __name__ == "__main__":
    main()
