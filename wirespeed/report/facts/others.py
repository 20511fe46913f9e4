"""A run's best figures beside those of others on such a machine (systems/reference/)."""

from __future__ import annotations

from collections.abc import Iterator

from wirespeed.limits.rates import device_links
from wirespeed.limits.wires import GPU_LINKS, PORTS, WIRE_KINDS
from wirespeed.report.facts import health
from wirespeed.report.facts.copies import slowest_rank
from wirespeed.report.facts.markers import FAR_OFF, SPOILED, sign, sign_alone
from wirespeed.results.by_rank import ALONE
from wirespeed.results.runs import Entry, Run
from wirespeed.systems.reference import Reference, usual

COPIES = {
    ("pinned", "device"): "host-device",
    ("device", "pinned"): "device-host",
    ("device", "device"): "local-copy",
}
"""(memory, into) of a copy inside a rank -> operation."""
PATTERNS = ("pingpong", "allreduce", "copy")
INFINIBAND = {100: "EDR", 200: "HDR", 400: "NDR", 800: "XDR"}
"""Gb/s of a port -> generation."""


def references(run: Run) -> list[tuple[str, Reference]]:
    """(path, reference) of the best figures that others' are known for.

    None of a run slowed on purpose, nor where the best one is spoiled or not within ±10 %: the second best
    would be called slow.
    """
    if run.head.plan.pattern not in PATTERNS or run.slowed or run.options.get("both_ways"):
        return []
    best: dict[str, tuple[str, Reference]] = {}
    for path in run.paths:
        for reference in filter(None, _of_path(run, path)):
            before = best.get(reference.operation)
            if before is None or reference.rate > before[1].rate:
                best[reference.operation] = path, reference
    return [(path, reference) for path, reference in best.values() if _reliable(run, run.of_path(path)[-1])]


def words(run: Run, reference: Reference) -> str:
    """Its line; if it is below the others' with what may be the reason."""
    line = reference.words
    if reference.operation in COPIES.values() and run.head.plan.ranks > 1:
        line = f"slowest GPU alone, {line}"
    sharp = run.head.environment.variables.get("NCCL_NVLS_ENABLE")
    if (reference.verdict, reference.operation, sharp) == ("below", "allreduce-node", "0"):
        line += "; here NVLink SHARP is switched off (NCCL_NVLS_ENABLE=0)"
    return line


def sources(run: Run) -> list[str]:
    """Address and date of each source of the others' figures, and what was counted there."""
    found = (taken.source for _, reference in references(run) for taken in reference.taken)
    return list(dict.fromkeys(f"{one.counted}: {one.address}, {one.date}" for one in found))


def _of_path(run: Run, path: str) -> Iterator[Reference | None]:
    """Of the largest size's figure. Others copied by one GPU: of several, the slowest one alone counts."""
    entries = [entry for entry in run.of_path(path) if entry.amount]
    if not entries or entries[-1].impossible:
        return
    largest, step, pattern = entries[-1], run.step(path), run.head.plan.pattern
    alone = slowest_rank(largest, ALONE)
    rate = largest.amount / alone.seconds if alone else largest.rate
    hosts, gpu = {rank.host for rank in step.ranks}, _gpu(run, path)
    if pattern == "copy":
        operation = COPIES.get((step.memory, step.into or step.memory))
        devices = {rank.device.id for rank in step.ranks if rank.device}
        if operation and len(devices) == len(step.ranks):
            yield _usual(largest, gpu, "PCIe", operation, rate=rate)
    elif pattern == "allreduce":
        if len(hosts) == 1 and (wire := _wire(run, largest)):
            yield _usual(largest, gpu, wire, "allreduce-node", len(step.ranks))
    elif len(hosts) > 1:
        if port := _port(run, path):
            yield _usual(largest, None, port, "network-bandwidth")
            short = (entry for entry in run.of_path(path) if entry.bytes == 8 and entry.sure)
            yield from (_usual(entry, None, port, "network-latency") for entry in short)
    elif largest.memory_domain == "CPU":
        cpu = run.head.environment.cpu
        yield _usual(largest, cpu.model if cpu else None, None, "pingpong")
    elif step.memory == "device" and (step.into or "device") == "device" and (wire := _wire(run, largest)):
        yield _usual(largest, gpu, wire, "device-device")


def _reliable(run: Run, entry: Entry) -> bool:
    alone = slowest_rank(entry, ALONE) is not None
    mark = sign_alone(entry) if alone else sign(run, entry)
    return not health.is_ill(run, entry) and mark not in (*SPOILED, FAR_OFF) and (alone or entry.sure)


def _usual(
    entry: Entry,
    machine: str | None,
    wire: str | None,
    operation: str,
    ranks: int | None = None,
    rate: float | None = None,
) -> Reference | None:
    return usual(machine, wire, operation, entry.bytes, rate or entry.rate, ranks=ranks, run=entry.run)


def _port(run: Run, path: str) -> str | None:
    """'HDR', '100GbE': of the ports that carried the bytes; None where they differ, or no rate is known."""
    used = (wire for evidence in run.evidence_of(path) for wire in evidence.wires)
    busy = {wire.name for wire in used if wire.kind in PORTS}
    ports = {(w.kind, round((w.rate or 0) * 8 / 1e9)) for w in run.wires_of(path) if w.name in busy}
    if len(ports) != 1:
        return None
    ((kind, gigabits),) = ports
    return INFINIBAND.get(gigabits) if kind == "infiniband" else f"{gigabits}GbE" if gigabits else None


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
    sure = any(evidence.verdict == "direct" for evidence in run.evidence_of(path))
    sure |= through_host is not None and entry.rate > through_host.rate
    if limit is None or gpu is None or limit.wire not in GPU_LINKS or limit.stated or not sure:
        return None
    known = device_links(gpu)
    links = round(limit.rate / known["rate"]) if known else 0
    return f"{WIRE_KINDS[limit.wire].name} x{links}" if links else None
