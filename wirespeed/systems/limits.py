"""The equations of a published machine: what a pair of GPUs, a group of them and a node can send, at most."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from wirespeed.limits.rates import Ceiling, device_links, pcie
from wirespeed.systems.model import System

STAGED = "1/b = 1/b_D2H + 1/b_H2D"
STAGED_OUT = "1/b = 1/b_D2H + 1/b_net + 1/b_H2D"


@dataclass(frozen=True)
class Limit:
    """Bytes per second, one way, and how they come about."""

    rate: float
    equation: str
    source: str
    least: float = 0.0
    """Narrowest link's rate where links differ in width; `rate` is the widest one's. 0: they are alike."""

    def times(self, *counts: int) -> Limit:
        """Product of so many such links."""
        total = math.prod(counts) * self.rate
        text = " x ".join([*map(str, counts), self.equation.split(" = ")[0]])
        return Limit(total, f"{text} = {_gb(total)}", self.source)


def _known_links(system: System) -> dict[str, Any] | None:
    """What limits/links.toml has about the system's GPU."""
    found = (device_links(name) for name in system.node.driver_names)
    return next((links for links in found if links is not None), None)


def between_two(system: System) -> Limit | None:
    """Between two GPUs of a node that have a link, or a switch, between them."""
    links = system.gpu_links
    if links is None:
        return None
    if links.joined == "uneven":
        text = f"{_gb(links.least_pair_rate)} to {_gb(links.most_pair_rate)}, by which GPUs they are"
        return Limit(links.most_pair_rate, text, links.source, least=links.least_pair_rate)
    if links.pair_rate:
        return Limit(links.pair_rate, _gb(links.pair_rate), links.source)
    known = _known_links(system)
    if known is None:
        return None
    switched = links.joined == "switch"
    count = known["links"] if switched else links.links_per_pair
    source = known["source"] if switched else f"{links.source}; {known['source']}"
    rate = count * known["rate"]
    return Limit(rate, f"{count} {known['wire']} links x {_gb(known['rate'])} = {_gb(rate)}", source)


def out_of_group(system: System, size: int) -> Limit | None:
    """Out of `size` GPUs to all other ones of their node; None where it depends on which ones they are."""
    links, pair, others = system.gpu_links, between_two(system), system.node.gpus - size
    if links is None or pair is None or pair.least or size < 1 or others < 1:
        return None
    if links.joined == "switch":
        # Wires into the others are as scarce as those out of the group.
        return pair.times(min(size, others))
    if size > 1 and links.peers < system.node.gpus - 1:
        return None
    return pair.times(size, min(others, links.peers))


def to_host(system: System) -> Limit | None:
    """Between a CPU and one GPU; of PCIe the payload, in the direction that has less of it."""
    copies = _copies(system)
    if copies is None:
        return None
    slower = min(copies, key=lambda copy: copy.rate)
    return Limit(slower.rate, slower.equation, slower.source)


def staged(system: System) -> Limit | None:
    """From a GPU to another one of its node through host memory, one copy after the other."""
    copies = _copies(system)
    if copies is None:
        return None
    down, up = copies
    rate = 1 / (1 / down.rate + 1 / up.rate)
    return Limit(rate, f"{STAGED}: {_gb(down.rate)} and {_gb(up.rate)} = {_gb(rate)}", down.source)


def _copies(system: System) -> tuple[Ceiling, Ceiling] | None:
    """From a GPU to its CPU, and back."""
    link = system.host_link
    if link and link.rate:
        both = Ceiling(link.rate, f"{link.text}: {_gb(link.rate)}", link.source)
        return both, both
    known = _known_links(system)
    generation, _, width = (link.pcie if link else str(known["pcie"]) if known else "").partition(" x")
    if not width:
        return None
    down, up = (pcie(int(float(generation)), int(width), to_device=way) for way in (False, True))
    if down is None or up is None:
        return None
    source = f"{link.source}; {down.source}" if link else down.source
    return replace(down, source=source), replace(up, source=source)


def out_of_node(system: System) -> Limit | None:
    """Into the network."""
    network = system.network
    if network is None:
        return None
    if network.node_rate:
        return Limit(
            network.node_rate,
            f"{network.nics} x {network.text}: {_gb(network.node_rate)} as published",
            network.source,
        )
    if not network.nic_rate:
        return None
    total = network.nics * network.nic_rate
    return Limit(total, f"{network.nics} adapters x {_gb(network.nic_rate)} = {_gb(total)}", network.source)


def staged_out_of_node(system: System) -> Limit | None:
    """Out of all GPUs of a node into the network through host memory, one after the other."""
    network, copies = out_of_node(system), _copies(system)
    if network is None or copies is None:
        return None
    gpus = system.node.gpus
    down, up = (gpus * copy.rate for copy in copies)
    rate = 1 / (1 / down + 1 / network.rate + 1 / up)
    parts = f"{gpus} x {_gb(copies[0].rate)}, {_gb(network.rate)} and {gpus} x {_gb(copies[1].rate)}"
    source = "; ".join(dict.fromkeys((copies[0].source, network.source)))
    return Limit(rate, f"{STAGED_OUT}: {parts} = {_gb(rate)}", source)


def of_figure(system: System, pattern: str, path: str, group: int, ranks: int) -> Limit | None:
    """Limit of a figure, out of one team, that was measured with one rank a GPU; None if not known."""
    if pattern == "groups" and ranks > system.node.gpus:
        out = staged_out_of_node if path.startswith("staged") else out_of_node
        return out(system) if group == system.node.gpus else None
    if path.startswith("host"):
        return None
    if pattern == "groups":
        return _out_of_group_of_figure(system, group, ranks // group - 1)
    return staged(system) if path.startswith("staged") else between_two(system)


def _out_of_group_of_figure(system: System, group: int, meets: int) -> Limit | None:
    """Each member of the group exchanges with `meets` GPUs of its node, one in each other group."""
    links, pair = system.gpu_links, between_two(system)
    if links is None or pair is None or pair.least or meets < 1:
        return None
    if links.joined == "switch":
        return pair.times(group)
    # As many ranks as have links to each other lie side by side.
    return pair.times(group, meets) if links.peers >= group * (meets + 1) - 1 else None


def _gb(rate: float) -> str:
    return f"{rate / 1e9:.1f}".removesuffix(".0") + " GB/s"
