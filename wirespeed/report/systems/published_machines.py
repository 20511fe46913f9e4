"""Published machines: what their wires can carry, how much of that was reached, all that is known of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console
from rich.text import Text

from wirespeed.report.console.columns import Column, table
from wirespeed.report.console.console import say
from wirespeed.report.facts.labels import host, pattern
from wirespeed.report.facts.markers import MEANINGS, sign
from wirespeed.results.runs import Run
from wirespeed.systems.limits import (
    Limit,
    between_two,
    of_figure,
    out_of_group,
    out_of_node,
    staged,
    staged_out_of_node,
    to_host,
)
from wirespeed.systems.model import System
from wirespeed.systems.reference import curves_of, load_curves, of_machines, peaks
from wirespeed.units import format_rate, format_size


class SourceList:
    """Sources of facts, as numbers that refer to a list below."""

    def __init__(self) -> None:
        self._listed: list[str] = []

    def mark(self, source: str) -> tuple[str, str]:
        """' [1]', dim."""
        if source not in self._listed:
            self._listed.append(source)
        return f" [{self._listed.index(source) + 1}]", "dim"

    def print_list(self, console: Console) -> None:
        """One per line, whole: an address that a table broke could not be copied."""
        for number, source in enumerate(self._listed, 1):
            console.print(Text(f"[{number}] {source}", style="dim"), soft_wrap=True)


@dataclass(frozen=True)
class Reached:
    """One figure and its limit: bytes per second, of one direction, out of one group."""

    where: str
    pattern: str
    path: str
    group: int
    ranks: int
    bytes: int
    rate: float
    limit: float | None
    equation: str
    source: str
    mark: str = ""
    """Sign of what makes the figure unsure or slow; '': nothing."""
    within: bool = False
    """Was it published of ranks inside one node?"""

    @property
    def share(self) -> float | None:
        """Measured over limit."""
        return self.rate / self.limit if self.limit else None


def limits_of(system: System, group: int | None = None) -> dict[str, Limit | None]:
    """Limits of a system for a table, by the heads of its columns. Without `group`: half of the GPUs."""
    size = group or system.node.gpus // 2
    return {
        "a pair": between_two(system),
        "one GPU": out_of_group(system, 1),
        f"{group} GPUs" if group else "half": out_of_group(system, size),
        "CPU-GPU": to_host(system),
        "staged": staged(system),
        "node": out_of_node(system),
        "staged out": staged_out_of_node(system),
    }


OFF_A_CHART = "c"


def reached_elsewhere(systems: Mapping[str, System]) -> list[Reached]:
    """Published figures of these machines, and their limits; of a range the middle."""
    rows = []
    for key, system in systems.items():
        if curves := curves_of(key):
            for path, size, point in peaks(curves):
                limit = _limit(system, "pingpong", path, 0, 2)
                what = ("pingpong", path, 0, 2, size, point.rate)
                rows.append(Reached(system.name, *what, *limit, curves.source))
    for key, one in of_machines():
        if key in systems:
            system, figure, source = systems[key], one.figure, one.source
            series = (figure.operation, figure.path, figure.group, figure.ranks)
            limit = _limit(system, *series)
            if limit[0] is None and source.limit:
                limit = source.limit * 1e9, f"{source.limit:g} GB/s by the same source"
            what = (*series, figure.bytes, sum(figure.rates) / 2)
            mark, within = OFF_A_CHART * source.chart, figure.ranks <= system.node.gpus
            rows.append(Reached(system.name, *what, *limit, source.address, mark, within))
    return rows


def _limit(system: System, operation: str, path: str, group: int, ranks: int) -> tuple[float | None, str]:
    """Bytes per second and equation, where one is known."""
    limit = of_figure(system, operation, path, group, ranks)
    return (limit.rate, limit.equation) if limit and not limit.least else (None, "")


def reached_here(runs: Sequence[Run], file: str) -> list[Reached]:
    """The fastest size of each path of each run in a result file, and the limit of its wires."""
    rows = []
    for run, path in [(measured, path) for measured in runs for path in measured.paths]:
        best = max((e for e in run.of_path(path) if e.amount), key=lambda e: e.rate, default=None)
        if best is None:
            continue
        limit, count = run.ceiling(path), len(run.step(path).ranks)
        hosts = len({rank.host for rank in run.step(path).ranks})
        words = [word for word in run.given_options if not word.startswith("group ")]
        name = " ".join([pattern(run) or best.pattern, *words, *filter(None, [run.slowed])])
        name += f" on {hosts} hosts" if hosts > 1 else ""
        what = (name, path, int(run.options.get("group") or 0), count, best.bytes, best.rate)
        rate, equation = (limit.rate, limit.equation) if limit and limit.applies(best.bytes) else (None, "")
        gpus = Counter(device.name for device in run.head.environment.devices)
        where = ", ".join(f"{number} x {gpu}" for gpu, number in gpus.items()) or host(run) or "?"
        rows.append(Reached(where, *what, rate, equation, file, sign(run, best)))
    return rows


def print_systems(
    console: Console, systems: Mapping[str, System], here: str | None = None, group: int | None = None
) -> None:
    """A line for each machine: its node, and what its wires can carry."""
    limits = {key: limits_of(system, group) for key, system in systems.items()}

    def rate(head: str, key: str) -> str | None:
        limit = limits[key][head]
        least = f"{format_rate(limit.least)}-" if limit and limit.least else ""
        return f"{least}{format_rate(limit.rate)}" if limit else None

    def name(key: str) -> Text:
        return Text(f"{key} *", "bold") if key == here else Text(key)

    def node(key: str) -> str:
        return f"{systems[key].node.gpus} x {systems[key].node.gpu.split(',')[0]}"

    columns = [Column("system", name, left=True), Column("a node", node, gap=3, left=True, drop=2)]
    for head in next(iter(limits.values())):
        columns.append(Column(head, partial(rate, head), gap=3, drop=HOST_COLUMNS.get(head, 0)))
    console.print(table(columns, list(systems)).fit(console.width), crop=False)
    console.print()
    many = f"{group} GPUs: out of {group} GPUs" if group else "half: out of half of a node's GPUs"
    say(
        console,
        "GB/s = 1e9 bytes per second, one way, at most. a pair: between two GPUs of a node; one GPU: "
        f"out of it to all others of its node; {many} to all others; CPU-GPU: a CPU and a GPU, of PCIe "
        "the payload; staged: GPU to GPU through host memory, one copy after the other; node: into the "
        "network; staged out: the same through host memory. -: not published, or it depends on which GPUs",
        "dim",
    )
    if here:
        say(console, f"* this machine, by its own signs ({systems[here].name})", "dim")


HOST_COLUMNS = {"CPU-GPU": 1, "staged": 1, "staged out": 3}
"""What goes on a narrow terminal: the highest number first."""


def print_equations(
    console: Console,
    systems: Mapping[str, System],
    group: int | None = None,
    sources: SourceList | None = None,
) -> None:
    """The equation behind each limit, and the sources of its rates; `sources`, if given, is continued."""
    own = sources or SourceList()
    for key, system in systems.items():
        console.print()
        console.print(Text(key, style="bold"))
        for head, limit in limits_of(system, group).items():
            if limit is not None:
                say(console, Text.assemble(f"  {head}: {limit.equation}", own.mark(limit.source)), indent=4)
    if sources is None:
        console.print()
        own.print_list(console)


def print_reached(console: Console, title: str, rows: Sequence[Reached], *, equations: bool = False) -> None:
    """Figures and their limits, with the source of each."""
    if not rows:
        return
    sources = SourceList()
    for row in rows:
        sources.mark(row.source)

    def share(row: Reached) -> Text | None:
        style = "bold red" if row.share and row.share > 1 else ""
        return None if row.share is None else Text(f"{100 * row.share:.0f} %", style)

    columns: list[Column[Reached]] = [
        Column("", lambda row: row.where, left=True),
        Column("figure", lambda row: f"{row.pattern} {row.path}", gap=3, left=True),
        Column("ranks", lambda row: str(row.ranks or "-"), gap=3),
        Column("group", lambda row: str(row.group or "-"), gap=3),
        Column("size", lambda row: format_size(row.bytes) if row.bytes else "best", gap=3),
        Column("GB/s", lambda row: f"{format_rate(row.rate)} {row.mark or ' '}", gap=3),
        Column("limit", lambda row: format_rate(row.limit) if row.limit else None, gap=3, drop=1),
        Column("of limit", share, gap=3),
        Column("source", lambda row: Text(*sources.mark(row.source)), gap=3, drop=2),
    ]
    console.print()
    console.print(Text(title, style="bold"))
    console.print()
    console.print(table(columns, rows).fit(console.width), crop=False)
    console.print()
    say(
        console,
        "GB/s of one direction, out of one rank or group: a sum of both, as published, is halved; best: the "
        "highest of all sizes",
        "dim",
    )
    for mark, words in {OFF_A_CHART: "read off the bars of a chart, ±2 %", **MEANINGS}.items():
        if mark in {row.mark for row in rows}:
            say(console, f"{mark} {words}", "dim")
    sources.print_list(console)
    for row in rows if equations else ():
        if row.limit is not None:
            say(console, f"{row.where}, {row.pattern} {row.path}: limit = {row.equation}", "dim")


def print_system(console: Console, key: str, system: System) -> None:
    """Node, wires, limits, batch system, switches and known defects, a line each."""
    sources = SourceList()

    def fact(label: str, text: str, source: str) -> None:
        say(console, Text.assemble((f"{label:<11}", "bold"), text, sources.mark(source)), indent=11)

    console.print(Text(f"{system.name}, {system.site}", style="bold"))
    node = system.node
    fact("node", f"{node.gpus} x {node.gpu}; {node.cpus}", node.source)
    if system.gpu_links:
        fact("GPU to GPU", system.gpu_links.text, system.gpu_links.source)
    if system.host_link:
        fact("CPU to GPU", system.host_link.text, system.host_link.source)
    if system.network:
        nics = f"{system.network.nics} x " if system.network.nics > 1 else ""
        fact("network", f"{nics}{system.network.text}", system.network.source)
    batch = system.batch
    name = "no batch system" if batch.system == "none" else batch.system
    fact("jobs", f"{name}, {batch.launcher}", batch.source)
    if system.affinity:
        fact("near", system.affinity.text, system.affinity.source)
    for switch in system.switches:
        when = "set" if switch.active else "may set"
        variable = switch.option or f"{switch.variable}={switch.value}"
        setting = f"module load {switch.module}" if switch.module else variable
        fact(when, f"{setting}: {switch.why}", switch.source)
    for breakage in system.breakages:
        remedy = f"; remedy: {breakage.remedy}" if breakage.remedy else ""
        fact("breaks", f"{breakage.what}{remedy}", breakage.source)
    if curves := curves_of(key):
        fact("curves", f"{', '.join(load_curves(curves))}: --against {key}", curves.source)
    print_equations(console, {"limits": system}, sources=sources)
    console.print()
    sources.print_list(console)
