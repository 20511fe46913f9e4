"""How well --within holds, by the clock of whoever starts the command: seconds, figures, what was left out.

    .venv/bin/python bench/within.py [--times 5s,10s,30s] [--only pingpong,jacobi] [--devices cpu,emulated]
        [--load 0] [-- OPTIONS of wirespeed]

A bound is held within the larger of 10 % and 1 s on an idle machine. `--load 1` waits before each command
until no more than one process wants a CPU; the load of the last minute is printed in any case.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from common import COMMAND, parser

import wirespeed
from wirespeed.units import format_size, parse_time

COMMANDS = ("pingpong", "survey", "groups", "allreduce", "jacobi", "copy", "blocks")
MAX_WAIT = 600.0


def wait_for(most: int) -> None:
    """Until no more than so many processes want a CPU, this one apart."""
    until = time.monotonic() + MAX_WAIT
    quiet = 0
    while quiet < 3 and time.monotonic() < until:
        running = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]) - 1
        quiet = quiet + 1 if running <= most else 0
        time.sleep(0.3)


def left_out(file: Path) -> tuple[int, str]:
    """Figures, and the paths and sizes without one."""
    results = wirespeed.load(file)
    parts = []
    for end in results.ends:
        for part in end.left_out:
            sizes = "its bytes" if not part.sizes else f"{len(part.sizes)} sizes"
            ends = f" to {format_size(part.sizes[-1])}" if part.sizes else ""
            parts.append(f"{part.path} {sizes}{ends}")
    return len(results.entries), "; ".join(parts)


def main() -> None:
    options = parser(
        __doc__, times="5s,10s,30s", only="", devices="cpu,emulated", load=0, options=[]
    ).parse_args()
    for name in options.only.split(",") if options.only else COMMANDS:
        for device in options.devices.split(","):
            for word in options.times.split(","):
                if options.load:
                    wait_for(options.load)
                words = [COMMAND, name, "--device", device, "--within", word, *options.options]
                with tempfile.TemporaryDirectory() as folder:
                    file = Path(folder, "r.jsonl")
                    began = time.monotonic()
                    done = subprocess.run(
                        [*words, "--out", file], capture_output=True, text=True, check=False
                    )
                    took = time.monotonic() - began
                    count, lacking = left_out(file) if file.exists() else (0, done.stderr.strip())
                held = "held" if took <= max(1.1 * parse_time(word), parse_time(word) + 1) else "MISSED"
                load = Path("/proc/loadavg").read_text().split()[0]
                last = (done.stderr.splitlines() or [""])[-1]
                told = f"; {last}" if "was missed" in last or "left out" in last else ""
                print(
                    f"{name:9} {device:8} {word:>4}: {took:5.1f} s {held}, exit code {done.returncode}, "
                    f"{count:3} figures, load {load}; left out: {lacking or 'nothing'}{told}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
