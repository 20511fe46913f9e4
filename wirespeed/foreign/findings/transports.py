"""Findings about the ways that a library's log names: sockets, host memory, no GPUDirect, two versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirespeed.foreign.findings.told import told
from wirespeed.foreign.shapes import Finding, Log, Transport
from wirespeed.units import counted

ADAPTERS = ("mlx", "bnxt_re", "irdma", "rocep", "ibp", "efa", "rdmap", "hfi", "cxi")
"""Beginnings of the names of adapters that are faster than sockets."""
EFA = ("AWS Libfabric", "OFI", "Libfabric")
"""Beginnings of the names that aws-ofi-nccl gives its network."""
LIBRARIES = ("NCCL", "RCCL")
"""Libraries of which all ranks need the same version."""


def find(log: Log) -> Iterator[Finding]:
    """Of each kind of way one."""
    network = [made for made in log.transports if made.kind == "NET"]
    if sockets := [made for made in network if made.detail.startswith("Socket")]:
        adapter = faster_network(log)
        why = f"although {adapter} is there" if adapter else "right only without InfiniBand, RoCE or EFA"
        seen = f"NCCL uses IP sockets, {why}: {_some(log, sockets, log.transports)}"
        yield told("sockets", 2 if adapter else 1, seen)
    by_rdma = [made for made in network if not made.detail.startswith("Socket")]
    if staged := [made for made in by_rdma if "GDR" not in made.detail]:
        efa = all(made.detail.startswith(EFA) for made in staged)
        seen = f"no GPUDirect RDMA between hosts: {_some(log, staged, by_rdma)}"
        yield told("no-gpudirect", 1 if efa else 2, seen, "no-gpudirect-efa" if efa else "no-gpudirect")
    if network and log.topology.get("nccl-hosts") == 1:
        seen = f"GPUs of one host talk over the network: {_some(log, network, log.transports)}"
        yield told("network-inside", 2, seen)
    if through_memory := [made for made in log.transports if made.kind == "SHM"]:
        yield _host_memory(log, through_memory)
    for library in LIBRARIES:
        if len(versions := log.versions.get(library, ())) > 1:
            # Of several tables, each may be another run's.
            severity = 1 if len(log.curves) > 1 else 2
            yield told("versions", severity, f"{len(versions)} versions of {library}: {', '.join(versions)}")


def faster_network(log: Log) -> str:
    """An adapter or port that the text names and that is faster than sockets; '': none."""
    for port in active_ports(log):
        return str(port.get("name", ""))
    names = [*log.topology.get("nics", ()), *log.topology.get("legend", {}).values()]
    return next((str(name) for name in names if str(name).startswith(ADAPTERS)), "")


def active_ports(log: Log) -> list[dict[str, object]]:
    """Ports that have a link."""
    ports = log.topology.get("ports", ())
    return [port for port in ports if str(port.get("state", "")).lower().startswith("active")]


def _some(log: Log, some: Sequence[Transport], of: Sequence[Transport]) -> str:
    first = some[0]
    where = f"{log.place(first.line)}: {first.kind}/{first.detail}"
    return f"{len(some)} of {counted(len(of), 'connection')} ({where})"


def _host_memory(log: Log, some: Sequence[Transport]) -> Finding:
    links = ((pair, link) for pair, link in log.topology.get("links", {}).items() if link.startswith("NV"))
    wired = next((f"{' and '.join(pair)} have {link}" for pair, link in links), "")
    switched = log.settings.get("NCCL_P2P_DISABLE") == "1"
    why = f"although {wired}" if wired else "usual where peer access is missing or PCIe is the only wire"
    seen = (
        f"between GPUs of one host NCCL goes through host memory, {why}: {_some(log, some, log.transports)}"
    )
    advice = "host-memory-set" if switched else "host-memory"
    return told("host-memory", 2 if wired or switched else 1, seen, advice)
