"""The topology of a text in sentences: islands of GPUs, the wires in and between them, the nearest NICs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_ORDER = ("NV", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC")
"""Nearest first."""
_WAYS = {
    "NV": "NVLink",
    "PIX": "one PCIe switch",
    "PXB": "several PCIe switches",
    "PHB": "the CPU's PCIe host bridge",
    "NODE": "several host bridges of one NUMA node",
    "SYS": "the link between CPUs",
    "SOC": "the link between CPUs",
}

MOST = 8
"""Ports and devices that are named."""


def kind(link: str) -> str:
    """'NV' of 'NV18', else the link itself."""
    return "NV" if link.startswith("NV") else link


def islands(topology: dict[str, Any]) -> list[list[str]]:
    """Groups of GPUs whose links to each other are nearer than those to all others."""
    gpus: Sequence[str] = topology.get("gpus", ())
    links: dict[tuple[str, str], str] = topology.get("links", {})
    kinds = {kind(link) for (a, b), link in links.items() if a in gpus and b in gpus}
    known = [word for word in _ORDER if word in kinds]
    if len(known) < 2:
        return [list(gpus)] if gpus else []
    farthest, left = known[-1], list(gpus)
    found: list[list[str]] = []
    while left:
        group = [left.pop(0)]
        for gpu in list(left):
            if kind(links.get((group[0], gpu), farthest)) != farthest:
                group.append(gpu)
                left.remove(gpu)
        found.append(group)
    island_of = {gpu: at for at, group in enumerate(found) for gpu in group}
    # A mesh in which some of a GPU's links are far has no islands.
    clean = all(
        (kind(link) == farthest) == (island_of[a] != island_of[b])
        for (a, b), link in links.items()
        if a in island_of and b in island_of
    )
    return found if clean else [list(gpus)]


def sentences(topology: dict[str, Any]) -> Iterator[str]:
    """'2 islands of GPUs (GPU0 to GPU3, GPU4 to GPU7): PIX (one PCIe switch) inside, SYS between'."""
    links: dict[tuple[str, str], str] = topology.get("links", {})
    gpus: Sequence[str] = topology.get("gpus", ())
    if len(gpus) > 1:
        groups = islands(topology)
        inside = _links(links, ((a, b) for group in groups for a in group for b in group if a != b))
        between = _links(links, ((a, b) for x in groups for y in groups if x is not y for a in x for b in y))
        names = ", ".join(_span(group) for group in groups)
        if len(groups) > 1:
            yield f"{len(groups)} islands of GPUs ({names}): {inside or 'nothing'} inside, {between} between"
        else:
            yield f"{len(gpus)} GPUs ({names}): {inside}"
        if not any(link.startswith("NV") for link in links.values()):
            yield "no NVLink"
    for nic in topology.get("nics", ()):
        ways = {gpu: kind(links.get((nic, gpu)) or links.get((gpu, nic), "")) for gpu in gpus}
        nearest = min((way for way in ways.values() if way in _ORDER), key=_ORDER.index, default="")
        near = [gpu for gpu, way in ways.items() if way == nearest]
        if nearest and len(near) < len(ways):
            name = topology.get("legend", {}).get(nic)
            yield f"{nic}{f' ({name})' if name else ''} is nearest to {_span(near)} ({nearest})"
    yield from _far(topology)


def wires(topology: dict[str, Any]) -> Iterator[str]:
    """NVLinks, ports of adapters, and what UCX lists, each in a sentence."""
    nvlinks = {gpu: _nvlinks(rates) for gpu, rates in topology.get("nvlink", {}).items()}
    for words in dict.fromkeys(nvlinks.values()):
        gpus = [f"GPU{gpu}" for gpu, own in nvlinks.items() if own == words]
        yield f"NVLink: {_span(gpus)}: {words}"
    if ports := topology.get("ports", ()):
        yield f"ports: {_few([_port(port) for port in ports])}"
    if devices := topology.get("ucx", ()):
        expected = [f"{transport} on {device} {rate / 1e9:.3g}" for transport, device, rate in devices]
        yield f"UCX expects, in GB/s one way: {_few(expected)}"


def _nvlinks(rates: Sequence[float]) -> str:
    up = [rate for rate in rates if rate]
    speeds = " and ".join(f"{rate / 1e9:g}" for rate in dict.fromkeys(up))
    return f"{len(up)} of {len(rates)} links are up" + (f", each {speeds} GB/s one way" if up else "")


def _port(port: dict[str, Any]) -> str:
    rate = f", {port['rate'] * 8 / 1e9:g} Gb/s" if port.get("rate") else ""
    layer = f" {port['layer']}" if port.get("layer") else ""
    return (
        f"{port['name']}/{port['port']} {str(port.get('state', '')).lower() or 'state unknown'}{rate}{layer}"
    )


def _few(words: Sequence[str]) -> str:
    more = f", and {len(words) - MOST} more" if len(words) > MOST else ""
    return ", ".join(words[:MOST]) + more


def _far(topology: dict[str, Any]) -> Iterator[str]:
    """GPUs that no adapter is near, where others have a nearer one."""
    links, nics = topology.get("links", {}), topology.get("nics", ())
    best: dict[str, str] = {}
    for gpu in topology.get("gpus", ()):
        ways = [kind(links.get((gpu, nic)) or links.get((nic, gpu), "")) for nic in nics]
        if known := [way for way in ways if way in _ORDER]:
            best[gpu] = min(known, key=_ORDER.index)
    far = [gpu for gpu, way in best.items() if way in ("SYS", "SOC")]
    if far and len(far) < len(best):
        yield f"no adapter is near {_span(far)} ({_WAYS['SYS']} lies between)"


def _links(links: dict[tuple[str, str], str], pairs: Iterator[tuple[str, str]]) -> str:
    found = {link for pair in pairs if (link := links.get(pair))}
    ordered = sorted(found, key=lambda link: (_ORDER.index(kind(link)) if kind(link) in _ORDER else 99, link))
    return " and ".join(f"{link} ({_WAYS[kind(link)]})" if kind(link) in _WAYS else link for link in ordered)


def _span(names: Sequence[str]) -> str:
    """'GPU0 to GPU3' of neighbours in number, else a list."""
    numbers = [int(name[3:]) if name[3:].isdigit() else -1 for name in names]
    if len(names) > 2 and numbers == list(range(numbers[0], numbers[0] + len(names))):
        return f"{names[0]} to {names[-1]}"
    return ", ".join(names)
