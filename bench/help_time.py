"""How long `wirespeed --help` takes, and a bare Python beside it: medians over runs in turn.

python bench/help_time.py [RUNS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "wirespeed --help": [sys.executable, "-m", "wirespeed.cli", "--help"],
    "wirespeed pingpong --help": [sys.executable, "-m", "wirespeed.cli", "pingpong", "--help"],
}


def seconds(command: list[str]) -> float:
    """One run, in a process of its own."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Prints a line for each command."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, command in COMMANDS.items():
            taken[name].append(seconds(command))
    for name, times in taken.items():
        times.sort()
        median = statistics.median(times)
        print(f"{name:<26} median {median * 1e3:5.0f} ms   fastest {times[0] * 1e3:5.0f} ms   {runs} runs")


if __name__ == "__main__":
    main()
