"""What each rank executes: every pattern that it can run, over the paths named, every byte checked.

mpiexec -n 4 python all_patterns.py DEVICE SIZES PATH,... [LIE]. Rank 0 prints what was told, as JSON. With
COLLECTIVES=N in the environment: every collective operation in N variants, and no other pattern; with
SOAK=SECONDS: soaks of the patterns between ranks that have one. ONLY=NAME,...: of these only those named.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from wirespeed import launchers
from wirespeed.host.core import Core, core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.job.message_lines import members
from wirespeed.job.messages import Message
from wirespeed.job.path_selection import unsuited
from wirespeed.job.plan import Plan
from wirespeed.job.soaking import lacks_soak
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.paths import find_path
from wirespeed.patterns import Pattern, Shape, all_patterns
from wirespeed.patterns.collectives.operation import CollectivePattern
from wirespeed.rank.join.mpi_world import MpiWorld
from wirespeed.rank.join.startup import open_device
from wirespeed.rank.observe.watchdog import Watchdog
from wirespeed.rank.path.path_run import PathRunner
from wirespeed.rank.world import World
from wirespeed.statistics.stopping import Stopping

if TYPE_CHECKING:
    from wirespeed.host.interface import DeviceHandle

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


def chosen(only: str = "", *, collective: bool = False, soaked: bool = False) -> list[Pattern]:
    """The patterns to run; `only`: those of these names."""
    patterns = all_patterns()
    if only:
        patterns = {name: patterns[name] for name in only.split(",")}
    if soaked:
        return [
            pattern
            for pattern in patterns.values()
            if not pattern.kind.of_all_ranks and not lacks_soak(pattern)
        ]
    return [pattern for pattern in patterns.values() if isinstance(pattern, CollectivePattern) == collective]


def variants(
    pattern: Pattern, ranks: int, collectives: int = 0, only: Sequence[dict[str, Any]] | None = None
) -> list[dict[str, Any]]:
    """Options that this world can run; the file of patterns that need one comes from the environment."""
    given = os.environ.get("CUSTOM_FILE")
    found: Sequence[dict[str, Any]] = VARIANTS.get(pattern.name, ({},)) if only is None else only
    if isinstance(pattern, CollectivePattern) and only is None:
        found = COLLECTIVE_VARIANTS[:collectives] if pattern.name != "barrier" else ({},)
    if any(option.key == "file" for option in pattern.options):
        found = ({"file": given},) if given else ()
    defaults = {option.key: option.default for option in pattern.options}
    return [defaults | one for one in found if not pattern.at(Shape(ranks, defaults | one)).refuse()]


@dataclass
class Measuring:
    """One rank and what it is told; every rank calls run() with the same arguments."""

    opened: Core
    world: World
    device: DeviceHandle
    watched: Watchdog
    told: list[dict[str, Any]] = field(default_factory=list)

    def run(
        self,
        patterns: Iterable[Pattern],
        sizes: str,
        paths: str,
        *test: str,
        collectives: int = 0,
        soak: float | None = None,
        only: Sequence[dict[str, Any]] | None = None,
    ) -> None:
        """Collective. The patterns over each of the paths that suits it; `only`: with these options each."""
        for pattern in patterns:
            for options in variants(pattern, self.world.size, collectives, only):
                plan = Plan(
                    pattern=pattern.name,
                    stopping=Stopping(loops=2, warmup=0, max_time=0.005),
                    ranks=self.world.size,
                    options=tuple(options.items()),
                    timeout=float(os.environ.get("PATIENCE", "60")),
                    evidence=False,
                    soak=soak,
                    test=tuple(tuple(word.split("=")) for word in test),  # type: ignore[misc]
                )
                placed = pattern.at(Shape(self.world.size, options))
                fixed = placed.size_rule.fixed
                for name in paths.split(","):
                    path = find_path(name)
                    if path.intra_rank == pattern.kind.intra_rank and not unsuited(path, placed, plan):
                        self._path(plan, name, fixed or tuple(map(int, sizes.split(","))))

    def _path(self, plan: Plan, name: str, sizes: tuple[int, ...]) -> None:
        options, planted = dict(plan.options), dict(plan.test).get("fault")
        plan = replace(plan, sizes=sizes)

        def tell(message: Message) -> None:
            self.told.append({**members(message), "options": options, "planted": planted})

        runner = PathRunner(self.opened, self.world, self.device, self.watched, plan, tell)
        self.told.append({"kind": "begin", "pattern": plan.pattern, "path": name, "options": options})
        runner.run(name, sizes)
        runner.close(orderly=True)


def begin(kind: str) -> Measuring:
    """Collective. This process as a rank of its launcher's job, on a device of that kind."""
    die_with_parent()
    opened = core()
    rank, local = launchers.global_rank(), launchers.local_rank()
    watched = Watchdog(opened, f"test-{os.getppid()}", rank, reports=-1, give_up=True)
    device = open_device(opened, kind, Plan(), rank, local)
    world = MpiWorld(ExpectedJob(library=os.environ["MPI4PY_LIBMPI"]))
    world.open_mpi(opened)
    return Measuring(opened, world, device, watched)


def end(rank: Measuring) -> None:
    """Collective. Rank 0 prints what was told."""
    rank.watched.close()
    if rank.world.rank == 0:
        print(json.dumps(rank.told))
    rank.world.leave()


def main() -> None:
    kind, sizes, paths, *test = sys.argv[1:]
    rank = begin(kind)
    collectives, soak = int(os.environ.get("COLLECTIVES", "0")), os.environ.get("SOAK")
    only = os.environ.get("ONLY", "")
    patterns = chosen(only, collective="COLLECTIVES" in os.environ, soaked=soak is not None)
    rank.run(
        patterns, sizes, paths, *test, collectives=collectives, soak=None if soak is None else float(soak)
    )
    end(rank)


if __name__ == "__main__":
    main()
