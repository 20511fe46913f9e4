"""The machines of a report: each once, in a line, with the runs that were measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from wirespeed.report.facts.machine import cpu_line, machine_names
from wirespeed.report.grouping import grouped
from wirespeed.report.sources import ReportRun
from wirespeed.results.coerce import text


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
    def main(self) -> ReportRun:
        """The run that tells most of how fast messages are: no copies inside a rank, if there is another."""
        between = (measured for measured in self.sets if measured.run.entries and measured.run.traits.by_size)
        return next(between, self.sets[0])


def machines(sets: Sequence[ReportRun]) -> list[MachineRuns]:
    """In the order of their runs."""
    found = grouped(zip(machine_names([measured.run for measured in sets]), sets, strict=True))
    return [MachineRuns(text(name), _line(runs), tuple(runs)) for name, runs in found.items()]


def _line(runs: Sequence[ReportRun]) -> str:
    """'2 x NVIDIA H200; Intel(R) Xeon(R) Processor, 32 cores, 252 GiB of memory'; runs have the details."""
    # A run may have seen only some of the GPUs.
    environment = max((run.run.head.environment for run in runs), key=lambda one: len(one.devices))
    gpus = grouped((gpu.name or gpu.kind, gpu) for gpu in environment.devices if gpu.kind != "host")
    cpu = cpu_line(replace(environment.cpu, threads=None, numa_nodes=None), environment.memory_bytes)
    return text("; ".join([*(f"{len(alike)} x {name}" for name, alike in gpus.items()), cpu]))
