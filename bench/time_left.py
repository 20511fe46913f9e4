"""How far estimates of the time left are from the truth, and the longest silence of each command in a pipe.

    .venv/bin/python bench/time_left.py [--only pingpong,lbm] [-- OPTIONS of wirespeed]

Each command's lines are read as they come; an estimate holds until the next one, less the time since then,
or until a line that gives none.
After the first quarter of the run, (estimate + 1 s) over (time that was left + 1 s), or the reverse, is to be
at most 3; and no 10 s are to pass without a line.
"""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
import tempfile
import time

from common import COMMAND, parser

COMMANDS = (
    "pingpong",
    "pingpong --device emulated",
    "stream --window 16",
    "groups --ranks 8 --oversubscribe",
    "survey --device emulated",
    "copy",
    "halo --ranks 2",
    "jacobi",
    "jacobi --device emulated",
    "lbm",
    "lbm --device emulated",
)
ESTIMATE = re.compile(r"about (?:(\d+):)?(\d+):(\d\d) left")
STEP = 0.25
MOST, SILENCE = 3.0, 10.0


def lines(words: list[str]) -> list[tuple[float, str]]:
    """Seconds from the start, and what came then; the last one is the end."""
    began = time.monotonic()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    found = [(time.monotonic() - began, line) for line in process.stdout]
    process.wait()
    return [*found, (time.monotonic() - began, "")]


def errors(told: list[tuple[float, str]]) -> list[tuple[float, float, float, float]]:
    """(ratio, when, estimate, truth) at each moment after the first quarter."""
    end, estimate, found = told[-1][0], None, []
    for (at, line), (until, _) in itertools.pairwise(told):
        if match := ESTIMATE.search(line):
            hours, minutes, seconds = (int(part or 0) for part in match.groups())
            estimate = 3600 * hours + 60 * minutes + seconds, at
        elif " so far]" in line:
            estimate = None
        moment = max(at, end / 4)
        while estimate and moment < until:
            # Nobody takes a line of 20 s ago for one of now.
            left = max(0.0, estimate[0] - (moment - estimate[1]))
            ratio = (left + 1) / (end - moment + 1)
            found.append((max(ratio, 1 / ratio), moment, left, end - moment))
            moment += STEP
    return found


def main() -> None:
    given = parser(__doc__, only="", options=[]).parse_args()
    far_off = []
    print(f"{'':36} {'seconds':>8} {'longest silence':>16} {'worst ratio':>12}")
    for command in COMMANDS:
        if given.only and not any(command.startswith(name) for name in given.only.split(",")):
            continue
        with tempfile.TemporaryDirectory() as folder:
            told = lines([COMMAND, *command.split(), *given.options, "--out", f"{folder}/result.jsonl"])
        times = [0.0, *(at for at, _ in told)]
        silence = max(later - earlier for earlier, later in itertools.pairwise(times))
        ratio, at, estimate, truth = max(errors(told), default=(0.0, 0.0, 0.0, 0.0))
        where = f"at {at:.0f} s: {estimate:.0f} s, really {truth:.0f}" if ratio else "no estimate"
        print(f"{command:36} {times[-1]:8.1f} {silence:14.1f} s {ratio:10.1f} x  {where}", flush=True)
        if ratio > MOST or silence > SILENCE:
            far_off.append(command)
    if far_off:
        sys.exit(
            f"wrong by more than {MOST:g} x, or silent for more than {SILENCE:g} s: {', '.join(far_off)}"
        )


if __name__ == "__main__":
    main()
