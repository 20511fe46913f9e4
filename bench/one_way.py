"""What a rank that only sends is timed at, beside the one-way time of the same ranks' ping-pong.

    .venv/bin/python bench/one_way.py [--repeats 10] [--path host] [-- OPTIONS of wirespeed]

Each repeat starts both, new processes each, one after the other. A transfer cannot arrive sooner than half a
round trip: a ratio well below 1 would be the gap between messages of a sender that runs ahead.
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


def median_of(folder: str, *words: str) -> float:
    """Median seconds of the only entry."""
    file = Path(folder, f"{words[0]}.jsonl")
    file.unlink(missing_ok=True)
    command = [str(COMMAND), *words, "--no-evidence", "--out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return wirespeed.load(file).entries[0].seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--path", default="host")
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        one_way = Path(folder, "one_way.csv")
        one_way.write_text("step,from,to,bytes\n0,0,1,8\n")
        common = ("--paths", given.path, *given.options)
        for _ in range(given.repeats):
            half = median_of(folder, "pingpong", "--sizes", "8", *common)
            ratios.append(median_of(folder, "custom", "--file", str(one_way), *common) / half)
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(
        f"{given.path}, 8 B: a transfer of one way takes {middle:.2f} x the ping-pong's one way "
        f"(quartiles {low:.2f} to {high:.2f}, least {min(ratios):.2f}, {given.repeats} launches of each)"
    )


if __name__ == "__main__":
    main()
