"""Published machines as tables: what their wires can carry, and how much of that was reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from wirespeed.report.terminal.size_table import add_columns, fits, new_table
from wirespeed.report.terminal.wrapped_line import say
from wirespeed.results.runs import Run
from wirespeed.systems.limits import (
    Limit,
    between_two,
    of_figure,
    out_of_group,
    out_of_node,
    staged,
    to_host,
)
from wirespeed.systems.model import System
from wirespeed.systems.published import Figure
from wirespeed.units import format_rate, format_size


class Sources:
    """Where facts stand, as numbers with a list below."""

    def __init__(self) -> None:
        self._listed: list[str] = []

    def mark(self, source: str) -> tuple[str, str]:
        """' [1]', dim."""
        if source not in self._listed:
            self._listed.append(source)
        return f" [{self._listed.index(source) + 1}]", "dim"

    def print_list(self, console: Console) -> None:
        console.print()
        _list(console, self._listed)


def _list(console: Console, sources: Sequence[str]) -> None:
    """One a line, whole: an address that a table broke could not be copied."""
    for number, source in enumerate(sources, 1):
        console.print(Text(f"[{number}] {source}", style="dim"), soft_wrap=True)


@dataclass(frozen=True)
class Reached:
    """One figure beside its limit: bytes per second, of one direction, out of one team."""

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

    @property
    def share(self) -> float | None:
        """Measured over limit."""
        return self.rate / self.limit if self.limit else None


def limits_of(system: System, group: int | None = None) -> dict[str, Limit | None]:
    """What a table shows of a system, by the heads of its columns. Without `group`: half of the GPUs."""
    size = group or system.node.gpus // 2
    return {
        "a pair": between_two(system),
        "one GPU": out_of_group(system, 1),
        f"{group} GPUs" if group else "half": out_of_group(system, size),
        "CPU-GPU": to_host(system),
        "staged": staged(system),
        "node": out_of_node(system),
    }


def reached_elsewhere(figures: Sequence[Figure], systems: Mapping[str, System]) -> list[Reached]:
    """Published figures beside the limits of their machines."""
    rows = []
    for one in figures:
        system = systems[one.system]
        limit = of_figure(system, one.pattern, one.path, one.group, one.ranks)
        rate, equation = (limit.rate, limit.equation) if limit and not limit.least else (None, "")
        rows.append(
            Reached(
                system.name, one.pattern, one.path, one.group, one.ranks, one.bytes, one.rate, rate, equation,
                one.source,
            )
        )  # fmt: skip
    return rows


def reached_here(runs: Sequence[Run], file: str) -> list[Reached]:
    """The fastest size of each path of each run in a result file, beside the limit of its wires."""
    rows = []
    for run in runs:
        for path in run.paths:
            best = max((e for e in run.of_path(path) if e.amount), key=lambda e: e.rate, default=None)
            if best is None:
                continue
            limit = run.ceiling(path)
            rows.append(
                Reached(
                    where=_where(run),
                    pattern=run.head.plan.pattern or best.pattern,
                    path=path,
                    group=int(run.options.get("group") or 0),
                    ranks=len(run.step(path).ranks),
                    bytes=best.bytes,
                    rate=best.rate,
                    limit=limit.rate if limit else None,
                    equation=limit.equation if limit else "",
                    source=file,
                )
            )
    return rows


def _where(run: Run) -> str:
    """'2 x NVIDIA H200', or the host's name where there are no GPUs."""
    environment = run.head.environment
    names = [one.name for one in environment.devices]
    if not names:
        return environment.host or "?"
    kinds = dict.fromkeys(names)
    return ", ".join(f"{names.count(name)} x {name}" for name in kinds)


def print_systems(
    console: Console, systems: Mapping[str, System], here: str | None = None, group: int | None = None
) -> None:
    """A line for each machine: its node, and what its wires can carry."""
    for wide in (2, 1, 0):
        table = _limits_table(systems, here, group, wide)
        if fits(console, table):
            break
    console.print(table, crop=False, no_wrap=True)
    console.print()
    many = f"{group} GPUs: out of {group} GPUs" if group else "half: out of half of a node's GPUs"
    say(
        console,
        Text(
            "GB/s = 1e9 bytes per second, one way, at most. a pair: between two GPUs of a node; one GPU: "
            f"out of it to all others of its node; {many} to all others; CPU-GPU: a CPU and a GPU, of PCIe "
            "the payload; staged: GPU to GPU through host memory, one copy after the other; node: into the "
            "network. -: not published, or it depends on which GPUs",
            style="dim",
        ),
    )
    if here:
        say(console, Text(f"* this machine, by its own signs ({systems[here].name})", style="dim"))


HOST_COLUMNS = ("CPU-GPU", "staged")


def _limits_table(systems: Mapping[str, System], here: str | None, group: int | None, wide: int) -> Table:
    """wide: 2 with what a node has; 1 with all limits; 0 without those of host memory."""
    table = new_table()
    heads = limits_of(next(iter(systems.values())), group)
    shown = [head for head in heads if wide or head not in HOST_COLUMNS]
    table.add_column("system", no_wrap=True)
    if wide == 2:
        table.add_column("  a node", no_wrap=True)
    add_columns(table, [f"  {head}" for head in shown])
    for key, system in systems.items():
        cells = [Text(f"{key}{' *' if key == here else ''}", style="bold" if key == here else "")]
        if wide == 2:
            cells.append(Text(f"  {system.node.gpus} x {system.node.gpu.split(',')[0]}"))
        limits = limits_of(system, group)
        table.add_row(*cells, *(_rate(limits[head]) for head in shown))
    return table


def _rate(limit: Limit | None) -> Text:
    if limit is None:
        return Text("-", style="dim")
    least = f"{format_rate(limit.least)}-" if limit.least else ""
    return Text(f"  {least}{format_rate(limit.rate)}")


def print_equations(
    console: Console, systems: Mapping[str, System], group: int | None = None, sources: Sources | None = None
) -> None:
    """How each limit comes about, and where its rates stand; a list of sources that is given goes on."""
    own = sources or Sources()
    for key, system in systems.items():
        console.print()
        console.print(Text(key, style="bold"))
        for head, limit in limits_of(system, group).items():
            if limit is not None:
                say(console, Text.assemble(f"  {head}: {limit.equation}", own.mark(limit.source)), indent=4)
    if sources is None:
        own.print_list(console)


def print_reached(console: Console, title: str, rows: Sequence[Reached], *, equations: bool = False) -> None:
    """Figures beside their limits, with the source of each."""
    if not rows:
        return
    sources = list(dict.fromkeys(row.source for row in rows))
    for wide in (2, 1, 0):
        table = _reached_table(rows, sources, wide)
        if fits(console, table):
            break
    console.print()
    console.print(Text(title, style="bold"))
    console.print()
    console.print(table, crop=False, no_wrap=True)
    console.print()
    say(
        console,
        Text(
            "GB/s of one direction, out of one rank or group: a sum of both, as published, is halved",
            style="dim",
        ),
    )
    _list(console, sources)
    if equations:
        for row in rows:
            if row.limit is not None:
                say(console, Text(f"{row.where}, {row.pattern} {row.path}: limit = {row.equation}", "dim"))


def _reached_table(rows: Sequence[Reached], sources: Sequence[str], wide: int) -> Table:
    """wide: 2 with all columns; 1 without those of ranks and groups; 0 with the most needed ones."""
    table = new_table()
    for head in ("", "  figure"):
        table.add_column(head, no_wrap=True)
    add_columns(table, ["  ranks", "  group"] if wide == 2 else [])
    add_columns(table, ["  size", "  GB/s", *(["  limit"] if wide else []), "  of limit"])
    add_columns(table, ["  source"] if wide else [])
    for row in rows:
        share = row.share
        cells = [Text(row.where), Text(f"  {row.pattern} {row.path}")]
        if wide == 2:
            cells += [Text(str(row.ranks or "-")), Text(str(row.group or "-"))]
        cells += [Text(f"  {format_size(row.bytes)}"), Text(f"  {format_rate(row.rate)}")]
        if wide:
            cells.append(Text("-" if row.limit is None else f"  {format_rate(row.limit)}"))
        style = "bold red" if share and share > 1 else ""
        cells.append(Text("-") if share is None else Text(f"  {100 * share:.0f} %", style))
        if wide:
            cells.append(Text(f"[{sources.index(row.source) + 1}]", style="dim"))
        table.add_row(*cells)
    return table
