"""Differences between two sides besides their figures: the likely causes, the most likely first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wirespeed.grouping import grouped
from wirespeed.report.compare.matching import HOW
from wirespeed.report.facts.machine import cpu_line, device_title, devices_lines, memory_of, mpi_title
from wirespeed.results.model import StepRecord
from wirespeed.results.runs import Run

OF_ONE_JOB = re.compile(
    r"^(PMIX|PRTE)_|^(SLURM|FLUX|PALS)_.*(ID|NAME|PID|PORT|HOST|ADDR|TIME|URI|DIR|LIST)$"
    r"|^SLURM_(CONF|CPUS_ON_NODE|LAUNCH_.*|SRUN_COMM_.*|STEP_.*|JOB_.*|TASKS?_.*|TOPOLOGY_.*)$"
    r"|^OMPI_MCA_(ess_base|orte|prte|initial|pmix|prrte)_.*"
    r"|^OMPI_(COMM_WORLD_.*|FILE_LOCATION|APP_CTX_.*|ARGV|COMMAND|FIRST_RANKS|NUM_APP_CTX|UNIVERSE_SIZE)$"
)
"""Variables that differ from job to job and change no figure."""
NOTHING = "not there"
ORDER = ("MPI", "GPU", "driver", "variable", "package", "host", "CPU", "kernel", "asked", "rank", "wirespeed")
MAX_LETTERS = 120


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on both sides."""

    topic: str
    name: str
    old: str
    new: str
    paths: tuple[str, ...] = ()
    """Paths that differ; none: the whole run does."""

    @property
    def text(self) -> str:
        """'MPI of aware, host: Open MPI 5.0.10 -> Open MPI 5.0.11'."""
        where = f" of {', '.join(self.paths)}" if self.paths else ""
        return f"{self.name}{where}: {_short(self.old)} -> {_short(self.new)}"


def differences(old: Sequence[Run], new: Sequence[Run]) -> list[Difference]:
    """In the order of ORDER, for the paths that both sides tried.

    A variable or a package that only one side has is a difference, but not one that only ours has: other
    tools do not list them. Anything else has to be on both sides.
    """
    ours = [not any(run.foreign for run in side) for side in (old, new)]
    common = {step.path for run in old for step in run.steps}
    common &= {step.path for run in new for step in run.steps}
    olds, news = _facts(old, common), _facts(new, common)
    if not all(ours):
        # Other tools do not number GPUs.
        olds, news = _models(old, olds), _models(new, news)
    changed = []
    for fact in dict.fromkeys([*olds, *news]):
        name, other = olds.get(fact, NOTHING), news.get(fact, NOTHING)
        unlisted = ours == [name != NOTHING, other != NOTHING]
        optional = fact[0] in ("variable", "package") and (all(ours) or not unlisted)
        if name != other and (optional or NOTHING not in (name, other)):
            changed.append(((*fact[:2], name, other), fact[2]))
    found = [Difference(*what, tuple(filter(None, paths))) for what, paths in grouped(changed).items()]
    return sorted(
        found, key=lambda difference: (ORDER.index(difference.topic), difference.name, difference.paths)
    )


Fact = tuple[str, str, str]
"""Topic, name, and the path that it belongs to ('': all paths)."""


GPUS: Fact = ("GPU", "GPUs", "")


def _facts(runs: Iterable[Run], paths: Collection[str]) -> dict[Fact, str]:
    """Values seen on this side, by the runs that measured something, if any did."""
    measured = [run for run in runs if run.entries or run.failures] or [*runs]
    found = grouped((fact, value) for run in measured for fact, value in _of_run(run))
    return {
        fact: " | ".join(sorted(set(values))) for fact, values in found.items() if fact[2] in ("", *paths)
    }


def _models(runs: Sequence[Run], facts: dict[Fact, str]) -> dict[Fact, str]:
    """With the names of GPUs alone."""
    names = sorted({device.name for run in runs for device in run.head.environment.devices})
    return {fact: ", ".join(names) or value if fact == GPUS else value for fact, value in facts.items()}


def _of_run(run: Run) -> Iterator[tuple[Fact, str]]:
    environment, plan = run.head.environment, run.head.plan.to_dict()
    cpu, devices = environment.cpu, environment.devices
    known = [
        ("host", "host", environment.host),
        ("kernel", "kernel", environment.kernel),
        ("CPU", "CPU", cpu_line(cpu) if cpu.model else ""),
        (*GPUS[:2], "; ".join(devices_lines(devices)) or "none" * (not run.foreign)),
        *(("driver", "driver", driver) for driver in dict.fromkeys(device.driver for device in devices)),
        ("wirespeed", "wirespeed", run.head.wirespeed),
    ]
    yield from (((topic, name, ""), value) for topic, name, value in known if value)
    yield from _variables(environment.variables, "")
    for name, value in environment.packages.items():
        yield ("package", name, ""), value
    for name in HOW if not run.foreign else ():
        yield ("asked", f"asked for: {name.replace('_', ' ')}", ""), _words(plan[name])
    for step in run.steps:
        yield from _memory_of(step, step.path)


def _variables(variables: Mapping[str, str], path: str) -> Iterator[tuple[Fact, str]]:
    for name, value in variables.items():
        if not OF_ONE_JOB.search(name):
            yield ("variable", name, path), value


def _memory_of(step: StepRecord, path: str) -> Iterator[tuple[Fact, str]]:
    if step.mpi:
        yield ("MPI", "MPI", path), mpi_title(step.mpi)
    if memory := memory_of(step):
        yield ("GPU", "GPU memory", path), memory
    if step.launcher:
        yield ("MPI", "launcher", path), step.launcher
    yield from _variables(step.variables, path)
    for name, value in step.details.items():
        if isinstance(value, (str, int)):
            yield ("asked", f"chosen: {name}", path), str(value)
    for rank in step.ranks:
        device = f", {device_title(rank.device)} ({rank.device.id})" if rank.device else ""
        yield ("rank", f"rank {rank.rank}", path), f"on {rank.host}, CPUs {rank.cpus}{device}"


def _words(value: Any) -> str:
    if value in (None, [], ()):
        return "default"
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items() if part is not None)
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _short(text: str) -> str:
    return text if len(text) <= MAX_LETTERS else f"{text[: MAX_LETTERS - 3]}..."
