"""Faults planted in messages, and how many of them a soak finds: a row for each path and size.

    .venv/bin/python bench/soak_faults.py [--paths host,gpu,...] [--sizes 8,64K,1M] [--every 10000] \
        [--seconds 10] [-- OPTIONS of wirespeed]

Of each sender's messages one in `--every` is damaged, late, stale or lost, in a run for each kind that checks
`--seconds` for each path and size. Prints found / planted of each kind, and the messages of all four runs.
Ends with exit code 1 unless all were found, as what they were, and nothing else.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from common import COMMAND, parser

import wirespeed
from wirespeed.job.soaking import WRONG_KINDS
from wirespeed.results.soak import Soak
from wirespeed.units import format_size

PATHS = "host,gpu,nccl-stream,ipc-write,aware,staged-pipelined"


def soaked(kind: str, every: int, words: list[str], folder: str) -> dict[tuple[str, int], Soak]:
    """The soak of each path and size while this kind is planted."""
    file = Path(folder, f"{kind}.jsonl")
    planted = ("--test", f"fault=soak-{kind}", "--test", f"soak-every={every}")
    command = [COMMAND, "pingpong", *words, *planted, "--no-evidence", "--out", str(file)]
    # A wrong message ends a soak with exit code 1, as does a path that failed.
    said = subprocess.run(command, capture_output=True, text=True)
    if said.returncode != 1 or not file.exists():
        sys.exit(f"{' '.join(command)}: exit code {said.returncode}\n{said.stdout}{said.stderr}")
    found = wirespeed.load(file)
    for failure in found.failures:
        print(f"{kind}: {failure.path}: {failure.what}: {failure.text}", file=sys.stderr)
    return {(soak.path, soak.bytes): soak for soak in found.soaks}


def exact(kind: str, soak: Soak) -> bool:
    """Was all that was planted found as this kind, and nothing else?"""
    return bool(soak.planted) and soak.planted == getattr(soak.wrong, kind) == soak.wrong.total


def main() -> None:
    given = parser(
        __doc__, paths=PATHS, sizes="8,64K,1M", every=10_000, seconds=10.0, options=[]
    ).parse_args()
    words = ["--paths", given.paths, "--sizes", given.sizes, "--soak", str(given.seconds), *given.options]
    with tempfile.TemporaryDirectory() as folder:
        of_kinds = {kind: soaked(kind, given.every, words, folder) for kind in WRONG_KINDS}
    print(f"{'path':18} {'size':>8}" + "".join(f"{kind:>14}" for kind in WRONG_KINDS) + f"{'messages':>16}")
    missed = 0
    for path, size in dict.fromkeys(key for soaks in of_kinds.values() for key in soaks):
        row, messages = f"{path:18} {format_size(size):>8}", 0
        for kind in WRONG_KINDS:
            soak = of_kinds[kind].get((path, size))
            missed += not (soak and exact(kind, soak))
            row += f"{f'{getattr(soak.wrong, kind)} / {soak.planted}' if soak else 'no soak':>14}"
            messages += soak.messages if soak else 0
        print(f"{row}{messages:16,}")
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
