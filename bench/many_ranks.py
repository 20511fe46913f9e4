"""Many more ranks than cores: groups and pairs come to an end, and how long that takes.

.venv/bin/python bench/many_ranks.py --mpi .venv/mpi/mpich --ranks 256
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = (
    ("groups", "--group", "16", "--sizes", "1K"),
    ("pairs", "--sample", "4", "--sizes", "1K"),
    ("ring", "--sizes", "1K", "--steps", "16"),
    ("halo", "--sizes", "1K"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--mpi", required=True)
    parser.add_argument("--ranks", type=int, default=256)
    parser.add_argument("--loops", type=int, default=3)
    arguments = parser.parse_args()
    wirespeed = Path(sys.executable).with_name("wirespeed")
    with tempfile.TemporaryDirectory() as folder:
        for number, command in enumerate(COMMANDS):
            out = Path(folder, f"{number}.jsonl")
            words = [*command, "--ranks", arguments.ranks, "--mpi", arguments.mpi, "--paths", "host"]
            words += ["--loops", arguments.loops, "--warmup", 0, "--timeout", 600, "--out", out]
            began = time.monotonic()
            done = subprocess.run([wirespeed, *map(str, words)], capture_output=True, text=True, check=False)
            took = time.monotonic() - began
            if done.returncode:
                sys.exit(f"{command[0]}: exit code {done.returncode}: {done.stderr.strip()}")
            entries = [json.loads(line) for line in out.read_text().splitlines()]
            (entry,) = [entry for entry in entries if entry["kind"] == "entry"]
            teams = len(entry["teams"]) or 1
            slowest = entry["seconds"]["median"]
            print(
                f"{' '.join(command):40} {arguments.ranks} ranks: {took:6.1f} s, {teams} teams, "
                f"slowest {slowest:.3g} s"
            )


if __name__ == "__main__":
    main()
