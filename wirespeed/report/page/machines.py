"""The machines of a report: each once, in a line, with the runs that were measured on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from wirespeed.report.facts.machine import cpu_line
from wirespeed.report.grouping import grouped
from wirespeed.report.page.sources import Measured, host_of
from wirespeed.results.coerce import text
from wirespeed.results.parts import Device

_Parts = tuple[str, str, str]
"""Host, GPUs and CPU."""


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
    found = _merged(grouped((_parts(one), one) for one in sets))
    return [
        Machine(
            text(_name(parts, found)),
            text("; ".join(filter(None, (parts[1], _cpu(runs[0]), _gpu_sets(runs))))),
            tuple(runs),
        )
        for parts, runs in found.items()
    ]


def _name(parts: _Parts, among: Iterable[_Parts]) -> str:
    """The host, and as few parts as tell it from others of its name."""
    host, gpus, cpu = parts
    alike = [other for other in among if other[0] == host]
    if len(alike) == 1:
        return host
    few = gpus or cpu
    unique = [one[1] for one in alike].count(gpus) == 1
    return f"{host} ({few if unique else '; '.join(filter(None, (gpus, cpu)))})"


def _parts(one: Measured) -> _Parts:
    environment = one.run.head.environment
    return host_of(one.run), _gpus(environment.devices), cpu_line(environment.cpu, environment.memory_bytes)


def _merged(found: dict[_Parts, list[Measured]]) -> dict[_Parts, list[Measured]]:
    """A run that saw only some of the GPUs of another one (CUDA_VISIBLE_DEVICES) is of the same machine."""
    merged: dict[_Parts, list[Measured]] = {}
    for parts, runs in sorted(found.items(), key=lambda one: -max(len(_ids(run)) for run in one[1])):
        whole = next((other for other in merged if _within(parts, runs, other, merged[other])), parts)
        merged.setdefault(whole, []).extend(runs)
    for runs in merged.values():
        runs.sort(key=lambda one: one.number)
    return dict(sorted(merged.items(), key=lambda one: one[1][0].number))


def _within(parts: _Parts, runs: Sequence[Measured], other: _Parts, others: Sequence[Measured]) -> bool:
    seen = [_ids(one) for one in others]
    alike = (parts[0], parts[2]) == (other[0], other[2])
    return alike and all(any(_ids(one) <= ids for ids in seen) for one in runs)


def _ids(one: Measured) -> frozenset[str]:
    """The GPUs' own numbers (UUIDs), as far as drivers give them."""
    return frozenset(device.id for device in one.run.head.environment.devices if device.id)


def _cpu(one: Measured) -> str:
    """Without what only the details need."""
    environment = one.run.head.environment
    return cpu_line(replace(environment.cpu, threads=None, numa_nodes=None), environment.memory_bytes)


def _gpus(devices: Sequence[Device]) -> str:
    """'4 x NVIDIA H200': the numbers of the GPUs are with the details of each run."""
    found = grouped((one.name or one.kind, one) for one in devices if one.kind != "host")
    return ", ".join(f"{len(alike)} x {name}" if len(alike) > 1 else name for name, alike in found.items())


def _gpu_sets(runs: Sequence[Measured]) -> str:
    """That runs of one host name used different GPUs."""
    ids = {*map(_ids, runs)}
    apart = [one for one in ids if one and not any(one < other for other in ids)]
    return f"{len(apart)} different sets of such GPUs" if len(apart) > 1 else ""
