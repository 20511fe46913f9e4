"""How long `wirespeed --help` takes, beside importing the libraries that print it: medians over runs in turn.

.venv/bin/python bench/help_time.py [--runs 20]
"""

from __future__ import annotations

import statistics
import sys
import time

from common import COMMAND, parser, ratios, said

COMMANDS = {
    "import click, rich": [sys.executable, "-c", "import click, rich.console, rich.table"],
    "wirespeed --help": [COMMAND, "--help"],
    "wirespeed pingpong --help": [COMMAND, "pingpong", "--help"],
}


def seconds(command: list[str]) -> float:
    """One run, in a process of its own."""
    start = time.perf_counter()
    said(command)
    return time.perf_counter() - start


def main() -> None:
    """Prints a line for each command; the ratio is that of neighbouring runs."""
    runs = parser(__doc__, runs=20).parse_args().runs
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, command in COMMANDS.items():
            taken[name].append(seconds(command))
    libraries = taken["import click, rich"]
    for name, times in taken.items():
        ratio = statistics.median(ratios(times, libraries))
        times_ms = f"median {statistics.median(times) * 1e3:5.0f} ms   fastest {min(times) * 1e3:5.0f} ms"
        print(f"{name:<26} {times_ms}   ratio {ratio:.2f}   {runs} runs")


if __name__ == "__main__":
    main()
