"""How long `wirespeed --help` takes, beside importing the libraries that print it: medians over runs in turn.

python bench/help_time.py [RUNS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

WIRESPEED = str(Path(sys.executable).with_name("wirespeed"))
COMMANDS = {
    "import click, rich": [sys.executable, "-c", "import click, rich.console, rich.table"],
    "wirespeed --help": [WIRESPEED, "--help"],
    "wirespeed pingpong --help": [WIRESPEED, "pingpong", "--help"],
}


def seconds(command: list[str]) -> float:
    """One run, in a process of its own."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    """Prints a line for each command; the ratio is that of neighbouring runs."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    taken: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, command in COMMANDS.items():
            taken[name].append(seconds(command))
    libraries = taken["import click, rich"]
    for name, times in taken.items():
        ratio = statistics.median(one / other for one, other in zip(times, libraries, strict=True))
        times_ms = f"median {statistics.median(times) * 1e3:5.0f} ms   fastest {min(times) * 1e3:5.0f} ms"
        print(f"{name:<26} {times_ms}   ratio {ratio:.2f}   {runs} runs")


if __name__ == "__main__":
    main()
