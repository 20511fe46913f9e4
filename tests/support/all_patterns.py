"""What each rank executes: every pattern that it can run, over the paths named, every byte checked.

mpiexec -n 4 python all_patterns.py DEVICE SIZES PATH,... [LIE]. Rank 0 prints what was told, as JSON. With
COLLECTIVES=N in the environment: every collective operation in N variants, and no other pattern; with
SOAK=SECONDS: soaks of the patterns between ranks that have one. ONLY=NAME,...: of these only those named.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from wirespeed import launchers
from wirespeed.host.core import core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.job.message_lines import members
from wirespeed.job.messages import Message, Recorded
from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.paths import find_path
from wirespeed.patterns import Pattern, Shape, all_patterns
from wirespeed.patterns.collectives.operation import CollectivePattern
from wirespeed.rank.join.mpi_world import MpiWorld
from wirespeed.rank.join.startup import open_device
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.rank.path.path_run import PathRunner
from wirespeed.statistics.stopping import Stopping

VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "rma": tuple({"operation": one} for one in ("put", "get", "fetch-add")),
    "blocks": ({"count": 5}, {"count": 3, "layout": "strided"}),
    "copy": ({}, {"both_ways": True}),
    "offload": ({"count": 5},),
    "groups": ({"group": 1}, {"group": 2}),
    "stream": (
        {"window": 5},
        {"window": 5, "both_ways": True},
        {"window": 5, "pairs": 2},
        {"window": 5, "pairs": 2, "both_ways": True},
    ),
    "jacobi": (
        {"size": "40x24", "steps": 8, "overlap": "yes"},
        {"size": "40x24", "steps": 8, "overlap": "no", "columns": 2, "edges": "fixed", "fp": "64"},
        {"size": "37x9", "steps": 8, "overlap": "yes", "columns": 2, "norm_every": 3},
    ),
    "lbm": (
        {"size": "20x12", "steps": 4},
        {"size": "20x12", "steps": 4, "overlap": "no"},
        {"size": "20x12", "steps": 4, "columns": 2, "case": "rayleigh-taylor", "overlap": "no"},
    ),
    "halo": ({}, {"columns": 2, "periodic": True}),
    "pairs": ({}, {"alone": True, "sample": 2}, {"fan": "both"}),
}
"""Options that change who sends what."""
COLLECTIVE_VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"type": "bf16", "in_place": "yes", "root": 1},
    {"type": "fp16", "op": "max"},
    {"type": "fp64", "op": "min", "in_place": "yes"},
    {"type": "int32", "root": 1},
)


def chosen() -> list[Pattern]:
    """The patterns to run."""
    wanted = "COLLECTIVES" in os.environ
    patterns = all_patterns()
    if only := os.environ.get("ONLY"):
        patterns = {name: patterns[name] for name in only.split(",")}
    if "SOAK" in os.environ:
        return [
            pattern
            for pattern in patterns.values()
            if not pattern.of_all_ranks and not pattern.lacks_soak(Shape(2))
        ]
    return [pattern for pattern in patterns.values() if isinstance(pattern, CollectivePattern) == wanted]


def variants(pattern: Pattern, ranks: int) -> list[dict[str, Any]]:
    """Options that this world can run; the file of patterns that need one comes from the environment."""
    given = os.environ.get("CUSTOM_FILE")
    found: tuple[dict[str, Any], ...] = VARIANTS.get(pattern.name, ({},))
    if isinstance(pattern, CollectivePattern):
        count = int(os.environ["COLLECTIVES"])
        found = COLLECTIVE_VARIANTS[:count] if pattern.name != "barrier" else ({},)
    if any(option.key == "file" for option in pattern.options):
        found = ({"file": given},) if given else ()
    defaults = {option.key: option.default for option in pattern.options}
    return [defaults | one for one in found if not pattern.refuse(Shape(ranks, defaults | one))]


def main() -> None:
    kind, sizes, paths, *fault = sys.argv[1:]
    die_with_parent()
    opened = core()
    watched = Watchdog(opened, f"test-{os.getppid()}", launchers.global_rank(), reports=-1, give_up=True)
    device = open_device(opened, kind, Plan(), launchers.global_rank(), launchers.local_rank())
    world = MpiWorld(ExpectedJob(library=os.environ["MPI4PY_LIBMPI"]))
    world.open_mpi(opened)
    told: list[dict[str, Any]] = []
    for pattern in chosen():
        for options in variants(pattern, world.size):
            fixed = pattern.fixed_sizes(Shape(world.size, options))
            plan = Plan(
                pattern=pattern.name,
                stopping=Stopping(loops=2, warmup=0, max_time=0.005),
                ranks=world.size,
                options=tuple(options.items()),
                timeout=60.0,
                evidence=False,
                soak=float(os.environ["SOAK"]) if "SOAK" in os.environ else None,
                test=tuple(tuple(word.split("=")) for word in fault),  # type: ignore[misc]
            )
            for name in paths.split(","):
                path = find_path(name)
                if path.intra_rank != pattern.intra_rank or unsuited(path, pattern, options=options):
                    continue

                def tell(message: Message, options: dict[str, Any] = options) -> None:
                    found = message.record if isinstance(message, Recorded) else members(message)
                    told.append({**found, "options": options})

                measurement = PathRunner(opened, world, device, watched, plan, tell)
                told.append({"kind": "begin", "pattern": pattern.name, "path": name, "options": options})
                measurement.run(name, fixed or [int(size) for size in sizes.split(",")])
                measurement.close(orderly=True)
    watched.close()
    if world.rank == 0:
        print(json.dumps(told))
    world.leave()


if __name__ == "__main__":
    main()
