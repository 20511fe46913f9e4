"""The program that a launcher starts in every rank: `python .../wirespeed/rank SPEC`.

The rank imports the package that this file lies in: the one that its front end belongs to. A rank that starts
ahead of its turn leaves its own CPUs first, for others measure there (free_cpus.py).
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

if others := os.environ.get("WIRESPEED_AHEAD"):
    os.environ.setdefault("WIRESPEED_OWN_CPUS", ",".join(map(str, os.sched_getaffinity(0))))
    with suppress(OSError):
        os.sched_setaffinity(0, map(int, others.split(",")))

sys.path[0] = str(Path(__file__).resolve().parents[2])

from wirespeed.rank.main import main  # noqa: E402

main(sys.argv[1])
