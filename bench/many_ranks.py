"""Many more ranks than cores: a run comes to an end, and how long its start and its measurement take.

    .venv/bin/python bench/many_ranks.py --mpi .venv/mpi/mpich --ranks 256
    .venv/bin/python bench/many_ranks.py --mpi .venv/mpi/mpich --ranks 512 --only halo

Starting: from the command until the size begins: processes, MPI, the path and the buffers. Joined: the part
of it from rank 0's first line until it has a message from every rank. Measuring: all iterations of the size,
timed, untimed and checked. Ending: what is left of the command's time. No wire is counted.
"""

from __future__ import annotations

import tempfile
import time
from datetime import datetime
from pathlib import Path

from common import COMMAND, parser, said

import wirespeed

COMMANDS = (
    ("groups", "--group", "16", "--sizes", "1K"),
    ("pairs", "--sample", "4", "--sizes", "1K"),
    ("ring", "--sizes", "1K", "--steps", "16"),
    ("halo", "--sizes", "1K"),
)


def main() -> None:
    given = parser(__doc__, mpi=None, ranks=256, loops=3, only="").parse_args()
    words = ["--mpi", given.mpi] if given.mpi else []
    words += ["--ranks", given.ranks, "--oversubscribe", "--paths", "host", "--no-evidence"]
    words += ["--loops", given.loops, "--warmup", 0, "--timeout", 600]
    for command in COMMANDS:
        if given.only in ("", command[0]):
            with tempfile.TemporaryDirectory() as folder:
                _measure(command, words, Path(folder, "result.jsonl"))


def _measure(command: tuple[str, ...], words: list[object], file: Path) -> None:
    began = time.time()
    said([COMMAND, *command, *words, "--out", file])
    took = time.time() - began
    results = wirespeed.load(file)
    (entry,), (step,) = results.entries, results.steps
    measured = entry.elapsed_s or 0.0
    started = datetime.fromisoformat(entry.at).timestamp() - measured - began
    print(
        f"{' '.join(command):32} {len(step.ranks)} ranks: {took:.0f} s: starting {started:.0f} s (joined in "
        f"{step.startup_s:.0f} s), measuring {measured:.0f} s, ending {took - started - measured:.0f} s; "
        f"{len(entry.teams) or 1} teams, slowest {entry.seconds:.3g} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
