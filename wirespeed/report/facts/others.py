"""A run's best figures beside those of others on such a machine (systems/reference/)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wirespeed.limits.rates import device_links
from wirespeed.limits.wires import GPU_LINKS, PORTS, WIRE_KINDS
from wirespeed.report.facts.markers import SPOILED, sign
from wirespeed.results.parts import Wire
from wirespeed.results.runs import Entry, Run
from wirespeed.systems.reference import Reference, usual

COPIES = {
    ("pinned", "device"): "host-device",
    ("device", "pinned"): "device-host",
    ("device", "device"): "local-copy",
}
"""(memory, into) of a copy inside a rank -> operation."""
INFINIBAND = {100: "EDR", 200: "HDR", 400: "NDR", 800: "XDR"}
"""Gb/s of a port -> generation."""


def references(run: Run) -> list[tuple[str, Reference]]:
    """(path, reference) of the best figures that others' are known for; none of a run slowed on purpose."""
    known = PATTERNS.get(run.head.plan.pattern)
    if known is None or run.slowed or run.options.get("both_ways"):
        return []
    best: dict[str, tuple[str, Reference]] = {}
    for path, reference in known(run):
        before = best.get(reference.operation)
        if before is None or reference.rate > before[1].rate:
            best[reference.operation] = path, reference
    return list(best.values())


def words(run: Run, reference: Reference) -> str:
    """Its line; if it is below the others' with what may be the reason."""
    reasons = []
    if reference.verdict == "below":
        if reference.operation in COPIES.values() and run.head.plan.ranks > 1:
            reasons.append(f"here {run.head.plan.ranks} ranks copied at once, there one GPU")
        sharp = run.head.environment.variables.get("NCCL_NVLS_ENABLE")
        if reference.operation == "allreduce-node" and sharp == "0":
            reasons.append("here NVLink SHARP is switched off (NCCL_NVLS_ENABLE=0)")
    return "; ".join([reference.words, *reasons])


def sources(run: Run) -> list[str]:
    """Address and date of each source of the others' figures, and what was counted there."""
    found = (taken.source for _, reference in references(run) for taken in reference.taken)
    return list(dict.fromkeys(f"{one.counted}: {one.address}, {one.date}" for one in found))


def _largest(run: Run, path: str) -> Entry | None:
    """The figure of the largest size, if nothing spoiled it."""
    entries = [entry for entry in run.of_path(path) if entry.amount]
    largest = entries[-1] if entries else None
    return largest if largest and largest.sure and sign(run, largest) not in SPOILED else None


def _pingpong(run: Run) -> Iterator[tuple[str, Reference]]:
    for path in run.paths:
        entry, step = _largest(run, path), run.step(path)
        hosts = {rank.host for rank in step.ranks}
        if entry is None:
            continue
        if len(hosts) > 1:
            yield from _between_hosts(run, path, entry)
        elif entry.memory_domain == "CPU":
            cpu = run.head.environment.cpu
            yield from _judged(path, entry, cpu.model if cpu else None, None, "pingpong")
        elif step.memory == "device" and (step.into or "device") == "device" and (wire := _wire(run, entry)):
            yield from _judged(path, entry, _gpu(run, path), wire, "device-device")


def _between_hosts(run: Run, path: str, largest: Entry) -> Iterator[tuple[str, Reference]]:
    used = [evidence for (of, _), evidence in run.evidence.items() if of == path]
    busy = {wire.name for evidence in used for wire in evidence.wires if wire.kind in PORTS}
    ports = {_network(wire) for wire in run.wires_of(path) if wire.name in busy}
    if len(ports) != 1 or None in ports:
        return
    (port,) = ports
    yield from _judged(path, largest, None, port, "network-bandwidth")
    for entry in run.of_path(path):
        if entry.bytes == 8 and entry.sure:
            yield from _judged(path, entry, None, port, "network-latency")


def _network(wire: Wire) -> str | None:
    """'HDR', '100GbE'; None where the rate is not known."""
    if not wire.rate:
        return None
    gigabits = round(wire.rate * 8 / 1e9)
    return INFINIBAND.get(gigabits) if wire.kind == "infiniband" else f"{gigabits}GbE"


def _allreduce(run: Run) -> Iterator[tuple[str, Reference]]:
    for path in run.paths:
        entry, step = _largest(run, path), run.step(path)
        if entry and len({rank.host for rank in step.ranks}) == 1 and (wire := _wire(run, entry)):
            yield from _judged(path, entry, _gpu(run, path), wire, "allreduce-node", len(step.ranks))


def _copy(run: Run) -> Iterator[tuple[str, Reference]]:
    for path in run.paths:
        entry, step = _largest(run, path), run.step(path)
        operation = COPIES.get((step.memory, step.into or step.memory))
        devices = [rank.device.id for rank in step.ranks if rank.device]
        if entry and operation and len(set(devices)) == len(step.ranks):
            yield from _judged(path, entry, _gpu(run, path), "PCIe", operation)


PATTERNS: dict[str, Callable[[Run], Iterator[tuple[str, Reference]]]] = {
    "pingpong": _pingpong,
    "allreduce": _allreduce,
    "copy": _copy,
}


def _judged(
    path: str, entry: Entry, machine: str | None, wire: str | None, operation: str, ranks: int | None = None
) -> Iterator[tuple[str, Reference]]:
    found = usual(machine, wire, operation, entry.bytes, entry.rate, ranks=ranks, run=entry.run)
    if found:
        yield path, found


def _gpu(run: Run, path: str) -> str | None:
    """The name of all its GPUs; None where they differ, or are slices."""
    names = {rank.device.name if rank.device else None for rank in run.step(path).ranks}
    return names.pop() if len(names) == 1 else None


def _wire(run: Run, entry: Entry) -> str | None:
    """'NVLink x18': the wire between its GPUs that the bytes went over, and how many links of it.

    Counters saw them there, or nothing else is as fast.
    """
    path = entry.path
    limit, gpu, through_host = run.ceiling(path), _gpu(run, path), run.ceiling_through_host(path)
    sure = any(evidence.verdict == "direct" for (of, _), evidence in run.evidence.items() if of == path)
    sure |= through_host is not None and entry.rate > through_host.rate
    if limit is None or gpu is None or limit.wire not in GPU_LINKS or limit.stated or not sure:
        return None
    known = device_links(gpu)
    links = round(limit.rate / known["rate"]) if known else 0
    return f"{WIRE_KINDS[limit.wire].name} x{links}" if links else None
