"""The machines of a report: each once, in a line, with the runs that were measured on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from wirespeed.report.facts.machine import cpu_line
from wirespeed.report.grouping import grouped
from wirespeed.report.page.sources import Measured, host_of
from wirespeed.results.coerce import text
from wirespeed.results.parts import Device


@dataclass(frozen=True)
class Machine:
    """One machine, as far as names tell machines apart."""

    name: str
    """Its host, with its GPUs where several machines have the same host name."""
    line: str
    """GPUs, CPU, memory."""
    sets: tuple[Measured, ...]
    """At least one, most figures first."""

    @property
    def main(self) -> Measured:
        """The run that tells most of how fast messages are: no copies inside a rank, if there is another."""
        between = (one for one in self.sets if one.run.entries and one.run.view == "sizes")
        return next(between, self.sets[0])


def machines(sets: Sequence[Measured]) -> list[Machine]:
    """In the order of their runs. Machines of one host name differ by their parts."""
    found = grouped((identity(one), one) for one in sets)
    hosts = [host for host, *_ in found]
    return [
        Machine(
            text(host if hosts.count(host) == 1 else f"{host} ({gpus or cpu})"),
            text("; ".join(filter(None, (gpus, _cpu(runs[0]), _gpu_sets(runs))))),
            tuple(runs),
        )
        for (host, gpus, cpu), runs in found.items()
    ]


def identity(one: Measured) -> tuple[str, str, str]:
    """Host, GPUs and CPU: the same for each run of one machine."""
    environment = one.run.head.environment
    return host_of(one.run), _gpus(environment.devices), cpu_line(environment.cpu, environment.memory_bytes)


def _cpu(one: Measured) -> str:
    """Without what only the details need."""
    environment = one.run.head.environment
    return cpu_line(replace(environment.cpu, threads=None, numa_nodes=None), environment.memory_bytes)


def _gpus(devices: Sequence[Device]) -> str:
    """'4 x NVIDIA H200': the numbers of the GPUs are with the details of each run."""
    found = grouped((one.name or one.kind, one) for one in devices if one.kind != "host")
    return ", ".join(f"{len(alike)} x {name}" if len(alike) > 1 else name for name, alike in found.items())


def _gpu_sets(runs: Sequence[Measured]) -> str:
    """That runs of one host name used different GPUs, by the GPUs' own numbers (UUIDs)."""
    ids = {frozenset(device.id for device in one.run.head.environment.devices if device.id) for one in runs}
    apart = [one for one in ids if one and not any(one < other for other in ids)]
    return f"{len(apart)} different sets of such GPUs" if len(apart) > 1 else ""
