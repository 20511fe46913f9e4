"""What differs between two sides besides their figures: the likely causes, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from wirespeed.report.compare.matching import HOW
from wirespeed.report.facts.machine import cpu_line, device_title, devices_lines, mpi_title
from wirespeed.results.model import StepRecord
from wirespeed.results.parts import Environment, Rank
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
MOST_LETTERS = 120


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same on both sides."""

    topic: str
    name: str
    old: str
    new: str
    paths: tuple[str, ...] = ()
    """Those it was seen in; none: it is true of the whole run."""

    @property
    def text(self) -> str:
        """'MPI of aware, host: Open MPI 5.0.10 -> Open MPI 5.0.11'."""
        where = f" of {', '.join(self.paths)}" if self.paths else ""
        return f"{self.name}{where}: {_short(self.old)} -> {_short(self.new)}"


def differences(old: Sequence[Run], new: Sequence[Run]) -> list[Difference]:
    """In the order of ORDER, for the paths that both sides tried.

    A variable or a package that only one side has is a difference; another thing that only one names is none.
    """
    common = _tried(old) & _tried(new)
    olds, news = _facts(old, common), _facts(new, common)
    paths: dict[tuple[str, str, str, str], list[str]] = {}
    for topic, name, path in dict.fromkeys([*olds, *news]):
        one, other = olds.get((topic, name, path)), news.get((topic, name, path))
        if one != other and ((one and other) or topic in ("variable", "package")):
            seen = paths.setdefault((topic, name, _joined(one), _joined(other)), [])
            seen += [path] if path else []
    found = [Difference(*what, tuple(where)) for what, where in paths.items()]
    return sorted(found, key=lambda one: (ORDER.index(one.topic), one.name, one.paths))


Fact = tuple[str, str, str]
"""Topic, name, and the path that it is true of ('': of all)."""


def _tried(runs: Iterable[Run]) -> set[str]:
    return {step.path for run in runs for step in run.steps}


def _facts(runs: Iterable[Run], paths: Collection[str]) -> dict[Fact, list[str]]:
    """The values seen on this side."""
    found: dict[Fact, list[str]] = {}
    for run in runs:
        if not (run.entries or run.failures):
            continue
        for fact, value in _of_run(run):
            if fact[2] and fact[2] not in paths:
                continue
            values = found.setdefault(fact, [])
            if value not in values:
                values.append(value)
    return {fact: sorted(values) for fact, values in found.items()}


def _of_run(run: Run) -> Iterator[tuple[Fact, str]]:
    environment = run.head.environment
    yield from _of_machine(environment)
    for name, value in environment.variables.items():
        if not OF_ONE_JOB.search(name):
            yield ("variable", name, ""), value
    for name, value in environment.packages.items():
        yield ("package", name, ""), value
    plan = run.head.plan.to_dict()
    for name in HOW:
        yield ("asked", f"asked for: {name.replace('_', ' ')}", ""), _words(plan[name])
    if run.head.wirespeed:
        yield ("wirespeed", "wirespeed", ""), run.head.wirespeed
    for step in run.steps:
        yield from _of_step(step)


def _of_machine(environment: Environment) -> Iterator[tuple[Fact, str]]:
    for name, value in (("host", environment.host), ("kernel", environment.kernel)):
        if value:
            yield (name, name, ""), value
    if environment.cpu.model:
        yield ("CPU", "CPU", ""), cpu_line(environment.cpu)
    yield ("GPU", "GPUs", ""), "; ".join(devices_lines(environment.devices)) or "none"
    for driver in dict.fromkeys(one.driver for one in environment.devices if one.driver):
        yield ("driver", "driver", ""), driver


def _of_step(step: StepRecord) -> Iterator[tuple[Fact, str]]:
    path = step.path
    if step.mpi:
        yield ("MPI", "MPI", path), mpi_title(step.mpi)
    if step.launcher:
        yield ("MPI", "launcher", path), step.launcher
    for name, variable in step.variables.items():
        if not OF_ONE_JOB.search(name):
            yield ("variable", name, path), variable
    for name, value in step.details.items():
        if isinstance(value, (str, int)):
            yield ("asked", f"chosen: {name}", path), str(value)
    for rank in step.ranks:
        yield ("rank", f"rank {rank.rank}", path), _place(rank)


def _place(rank: Rank) -> str:
    """Host, processors and which very GPU."""
    words = [f"on {rank.host}", f"CPUs {rank.cpus}"]
    if rank.device:
        words.append(f"{device_title(rank.device)} ({rank.device.id})")
    return ", ".join(words)


def _words(value: Any) -> str:
    if value in (None, [], ()):
        return "default"
    if isinstance(value, dict):
        return ", ".join(f"{name} {part}" for name, part in value.items() if part is not None)
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _joined(values: Sequence[str] | None) -> str:
    return " | ".join(values) if values else NOTHING


def _short(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 3]}..."
