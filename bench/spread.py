"""How much the 8 B figure differs from run to run: ours beside the mean of a fixed count.

    .venv/bin/python bench/spread.py [--repeats 20] [--size 8] [-- OPTIONS of wirespeed pingpong]

Each repeat starts new processes, once with the stopping rule and once with 50 loops after 5 of warm-up, as
the ping-pong tutorial counts; the two take turns.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import wirespeed

COMMAND = Path(sys.prefix, "bin", "wirespeed")
FIXED = ("--loops", "50", "--warmup", "5")


def one(options: list[str], size: str) -> float:
    """Median one-way seconds of a fresh run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "r.jsonl")
        command = [str(COMMAND), "pingpong", "--paths", "host", "--sizes", size, "--out", str(file), *options]
        subprocess.run(command, check=True, capture_output=True)
        return wirespeed.load(file).entries[0].seconds


def describe(name: str, values: list[float]) -> str:
    middle = statistics.median(values)
    low, _, high = statistics.quantiles(values, n=4)
    return (
        f"{name:<12} median {middle * 1e6:7.3f} us   quartiles {low * 1e6:.3f} to {high * 1e6:.3f} "
        f"(±{(high - low) / 2 / middle:.1%})   range {min(values) * 1e6:.3f} to {max(values) * 1e6:.3f} "
        f"(x {max(values) / min(values):.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--size", default="8")
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    ours, fixed = [], []
    for _ in range(given.repeats):
        ours.append(one(given.options, given.size))
        fixed.append(one([*given.options, *FIXED], given.size))
    print(f"{given.repeats} repeats each, {given.size} B, one way")
    print(describe("ours", ours))
    print(describe("fixed count", fixed))


if __name__ == "__main__":
    main()
