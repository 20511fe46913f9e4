"""Many more ranks than cores: groups and pairs come to an end, and how long that takes.

.venv/bin/python bench/many_ranks.py --mpi .venv/mpi/mpich --ranks 256
"""

from __future__ import annotations

import tempfile
import time

from common import measured, parser

COMMANDS = (
    ("groups", "--group", "16", "--sizes", "1K"),
    ("pairs", "--sample", "4", "--sizes", "1K"),
    ("ring", "--sizes", "1K", "--steps", "16"),
    ("halo", "--sizes", "1K"),
)


def main() -> None:
    given = parser(__doc__, mpi=None, ranks=256, loops=3).parse_args()
    words = ["--mpi", given.mpi] if given.mpi else []
    words += ["--ranks", given.ranks, "--oversubscribe", "--paths", "host"]
    words += ["--loops", given.loops, "--warmup", 0, "--timeout", 600]
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            began = time.monotonic()
            (entry,) = measured(folder, *command, *words)
            took = time.monotonic() - began
            print(
                f"{' '.join(command):40} {given.ranks} ranks: {took:6.1f} s, {len(entry.teams) or 1} teams, "
                f"slowest {entry.seconds:.3g} s"
            )


if __name__ == "__main__":
    main()
