"""The machines of a report: each once, in a line, with the runs that were measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wirespeed.report.facts.machine import dates, machine_line
from wirespeed.report.grouping import grouped
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import text
from wirespeed.results.parts import Cpu, Environment
from wirespeed.results.runs import Run


@dataclass(frozen=True)
class MachineRuns:
    """One machine, as far as names tell machines apart."""

    name: str
    """Its host, with a number where several machines call themselves so."""
    line: str
    """GPUs, CPU, memory."""
    sets: tuple[ReportRun, ...]
    """At least one, most figures first."""

    @property
    def dates(self) -> str:
        """When its runs were started: '2026-01-01 12:00', or '2026-01-01 to 2026-01-03'."""
        return dates(measured.run for measured in self.sets)

    @property
    def main(self) -> ReportRun:
        """The run that tells most of how fast messages are: no copies inside a rank, if there is another."""
        between = (
            measured for measured in self.sets if measured.run.entries and measured.run.traits.shown.by_size
        )
        return next(between, self.sets[0])


def machines(sets: Sequence[ReportRun]) -> list[MachineRuns]:
    """In the order of their runs."""
    found = grouped(zip(machine_names([measured.run for measured in sets]), sets, strict=True))
    return [MachineRuns(text(name), _line(runs), tuple(runs)) for name, runs in found.items()]


def _line(runs: Sequence[ReportRun]) -> str:
    """'2 x NVIDIA H200; Intel(R) Xeon(R) Processor, 32 cores, 252 GiB of memory'."""
    # A run may have seen only some of the GPUs.
    environment = max((run.run.head.environment for run in runs), key=lambda seen: len(seen.devices))
    return text(machine_line(environment))


def machine_names(runs: Sequence[Run]) -> list[str]:
    """The name of each run's machine: its host, with a number where several machines call themselves so."""
    found: dict[str, list[_Machine]] = {}
    places = []
    for environment in (run.head.environment for run in runs):
        known = found.setdefault(environment.host or "unknown host", [])
        place = next((at for at, machine in enumerate(known) if machine.takes(environment)), len(known))
        if place == len(known):
            known.append(_Machine())
        known[place].add(environment)
        places.append((environment.host or "unknown host", place))
    return [host if len(found[host]) == 1 else f"{host} ({place + 1})" for host, place in places]


@dataclass
class _Machine:
    """What runs on one machine agree upon; a run may see some of its GPUs, or none."""

    cpus: set[Cpu] = field(default_factory=set)
    gpus: set[str] = field(default_factory=set)

    def takes(self, environment: Environment) -> bool:
        cpu, gpus = environment.cpu, _gpus(environment)
        same_cpu = cpu == Cpu() or self.cpus <= {cpu}
        return same_cpu and (gpus <= self.gpus or self.gpus <= gpus)

    def add(self, environment: Environment) -> None:
        self.cpus |= {environment.cpu} - {Cpu()}
        self.gpus |= _gpus(environment)


def _gpus(environment: Environment) -> set[str]:
    real = (device for device in environment.devices if device.kind not in ("host", "emulated", "openmp"))
    return {device.id or f"{device.index} {device.name}" for device in real}
