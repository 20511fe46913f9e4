"""What each of several ranks executes: mpiexec -n 2 python refusing_ranks.py CASES.

CASES: a JSON list of lists, what each rank fails with in turn: null, or [text, does the machine lack it].
Each rank prints what it then knows, as a JSON list.
"""

from __future__ import annotations

import json
import os
import sys
from types import SimpleNamespace
from typing import Any

from wirespeed.host.core import NativeError
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.rank.context import RankContext, Unusable
from wirespeed.rank.join.mpi_world import MpiWorld


def known(world: MpiWorld, fails: tuple[str, bool] | None) -> list[Any]:
    """[what is told of the path, its kind, was it undone here]; empty where nothing failed."""
    undone: list[int] = []

    def call() -> int:
        if fails:
            raise NativeError(*fails)
        return 7

    context: Any = SimpleNamespace(comm=world)
    try:
        assert RankContext.collectively(context, call, undone.append) == 7
    except Unusable as error:
        return [str(error), error.what, undone == [7]]
    return []


def main() -> None:
    world = MpiWorld(ExpectedJob(library=os.environ["MPI4PY_LIBMPI"]))
    said = json.dumps([known(world, case[world.rank]) for case in json.loads(sys.argv[1])])
    for rank, line in enumerate(world.gather(said) or ()):
        print(f"{rank} {line}", flush=True)
    world.leave()


if __name__ == "__main__":
    main()
