"""The machine drawn: a box for each NUMA node with what hangs below it, and the links between GPUs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from rich.columns import Columns
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from wirespeed.doctor.facts.model import Gpu, MachineFacts, Net, Nic, NumaNode
from wirespeed.doctor.facts.pci import named
from wirespeed.doctor.shell import visible
from wirespeed.host.process import span
from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say

Line = tuple[str, str, Sequence[str]]
"""A device's name, its colour, and what there is to say of it; empty where it is not known."""
MAX_IN_MATRIX = 8
BOX = 44
"""Letters inside a box that reads well; two boxes share a line where they fit."""


def draw(console: Console, facts: MachineFacts) -> None:
    """Sockets and nodes, what hangs below them, and how GPUs are linked."""
    found = list(_titled(facts))
    pairs = console.width >= 2 * (BOX + 4) and len(found) > 1
    width = (console.width - 1) // 2 if pairs else min(console.width, 2 * BOX)
    boxes = [_box(title, lines, width) for title, lines in found]
    console.print(Columns(boxes, padding=(0, 1)) if pairs else Group(*boxes))
    _links(console, facts)


def _box(title: str, lines: list[Line], width: int) -> Panel:
    body = Table.grid(padding=(0, 2))
    body.add_column(no_wrap=True)
    body.add_column(overflow="fold")
    for name, style, parts in lines:
        body.add_row(
            Text(visible(name), style=f"bold {style}"), Text(visible(", ".join(filter(None, parts))))
        )
    if not lines:
        body.add_row(Text("no GPU and no network adapter", style="dim"))
    return Panel(body, title=Text(title, style="bold"), title_align="left", padding=(0, 1), width=width)


def _titled(facts: MachineFacts) -> Iterable[tuple[str, list[Line]]]:
    """(title, lines) of each box; what has no known node comes last, or into the only one there is."""
    only = len(facts.nodes) == 1
    for node in facts.nodes:
        yield _node_title(node), _lines(facts, node.number, strays=only)
    strays = [] if only else _lines(facts, None, strays=True)
    if strays:
        yield "NUMA node not known", strays


def _node_title(node: NumaNode) -> str:
    parts = (
        f"NUMA node {node.number}",
        "" if node.socket is None else f"socket {node.socket}",
        f"CPUs {span(node.cpus)}" if node.cpus else "no CPUs",
        f"{node.bytes / 2**30:.0f} GiB" if node.bytes else "",
    )
    return ", ".join(filter(None, parts))


def _lines(facts: MachineFacts, node: int | None, *, strays: bool) -> list[Line]:
    def here(gpu: Gpu | Nic | Net) -> bool:
        return (gpu.node is None and strays) or (node is not None and gpu.node == node)

    lines = [_gpu(facts, gpu) for gpu in facts.gpus if (here(gpu) if gpu.kind != "emulated" else strays)]
    lines += [_nic(nic) for nic in facts.nics if here(nic)]
    rdma = {nic.pci for nic in facts.nics if nic.pci}
    for net in facts.nets:
        if here(net) and net.pci not in rdma:
            rate = f"{net.rate:g} Gb/s" if net.rate else "Ethernet"
            lines.append((net.name, "blue", (rate, net.state, net.driver, net.pci)))
    return lines


def _gpu(facts: MachineFacts, gpu: Gpu) -> Line:
    if gpu.lost:
        return gpu.title, "red", (gpu.name.removeprefix("NVIDIA "), "not reachable", gpu.pci)
    active = sum(link.active for link in gpu.nvlinks)
    down = f" ({len(gpu.nvlinks) - active} inactive)" if active < len(gpu.nvlinks) else ""
    hidden = gpu.number is None and gpu.kind != "emulated" and facts.kind != "host"
    parts = (
        gpu.name.removeprefix("NVIDIA "),
        named(gpu.link.most_speed, gpu.link.width) if gpu.link else "",
        f"{active} NVLinks{down}" if gpu.nvlinks else "",
        "MIG" if gpu.mig else "",
        "hidden from programs" if hidden else "",
        gpu.pci,
        f"nearest adapter {' and '.join(gpu.nearest)} ({gpu.distance})" if gpu.nearest else "",
    )
    return gpu.title, "green", parts


def _nic(nic: Nic) -> Line:
    parts = []
    for port in nic.ports:
        layer = "RoCE" if port.layer == "Ethernet" else port.layer
        rate = f"{port.rate:g} Gb/s" if port.rate and port.state == "ACTIVE" else ""
        parts.append(" ".join(filter(None, (layer, rate, port.state.lower()))))
    slot = named(nic.link.speed, nic.link.width) if nic.link else ""
    return nic.name, "magenta", (*parts, slot, nic.model, nic.pci)


def _links(console: Console, facts: MachineFacts) -> None:
    """A line where all pairs are alike, a matrix where they are not and it fits."""
    if not facts.pairs:
        return
    words = {}
    for pair in facts.pairs:
        way = f"NV{pair.nvlinks}" if pair.nvlinks else pair.level or "?"
        words[pair.first, pair.second] = way if pair.peer in ("", "ok") else f"{way}!"
    kinds = set(words.values())
    if len(kinds) == 1:
        pair = facts.pairs[0]
        what = f"{pair.nvlinks} NVLinks" if pair.nvlinks else f"{pair.level or 'unknown'} (PCIe)"
        refused = "" if pair.peer in ("", "ok") else f"; no peer access: {pair.peer}"
        many = "Between the two GPUs" if len(facts.pairs) == 1 else "Between each two GPUs"
        say(console, f"{many}: {what}{refused}")
        return
    gpus = [gpu for gpu in facts.real_gpus if gpu.kind == "cuda"][:MAX_IN_MATRIX]

    def cell(column: Gpu, row: Gpu) -> Text:
        word = words.get((min(row.index, column.index), max(row.index, column.index)), "")
        return Text(word, "red" if "!" in word else "green" if "NV" in word else "")

    columns: list[Column[Gpu]] = [Column("", lambda gpu: gpu.title, style="bold")]
    columns += [Column(str(gpu.index), partial(cell, gpu), gap=2) for gpu in gpus]
    console.print("Between GPUs (NV: NVLinks; else the way over PCIe; ! no peer access):")
    console.print(table(columns, gpus, ruled=False))
