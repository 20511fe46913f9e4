#!/usr/bin/env python3
"""Writes the tables of docs/reference.md from wirespeed/systems/reference/."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from wirespeed.systems.reference import kinds
from wirespeed.systems.reference.model import OPERATIONS, Kind, Publication, PublishedFigure
from wirespeed.units import format_size

FILE = Path(__file__).parents[1] / "docs/reference.md"
BEGIN = "<!-- from here on: scripts/reference_page.py -->\n"
SOUGHT = (
    *("V100", "A100 SXM", "A100 PCIe", "A10", "A30", "L40S", "H100 SXM", "H100 PCIe", "H100 NVL", "H200"),
    *("GH200", "B200", "RTX 3090", "RTX 4090", "RTX 5090", "RTX PRO 6000 Blackwell", "MI210", "MI250X"),
    *("MI300X", "InfiniBand EDR or HDR100, 100 Gb/s", "InfiniBand HDR or NDR200, 200 Gb/s"),
    "InfiniBand NDR",
    *("100 Gb/s Ethernet, RoCE", "200 Gb/s Ethernet, RoCE", "400 Gb/s Ethernet, RoCE"),
    *("Slingshot 10", "Slingshot 11", "EFA, 100 Gb/s", "POWER9"),
)
"""Kinds that figures were looked for of."""


def page(before: str) -> str:
    """The page: its text as it is up to the tables, and the tables."""
    own = [kind for kind in kinds().values() if not kind.system]
    machines = [kind for kind in kinds().values() if kind.system]
    lines = [
        *_summary(own),
        *(line for kind in own for line in _kind(kind)),
        "## Machines",
        "",
        "`wirespeed systems --system NAME` shows these figures beside the limits of the machine's links.",
        "",
        "| machine | figures | source | counted |",
        "|---|---|---|---|",
        *(line for kind in machines for line in _machine(kind)),
        *_left_out([*own, *machines]),
    ]
    return before.partition(BEGIN)[0] + BEGIN + "\n" + "\n".join(lines) + "\n"


def operations(kind: Kind) -> list[str]:
    """Operations that it has figures of, in the order of OPERATIONS."""
    has = {figure.operation for source in kind.sources for figure in source.figures}
    return [name for name in OPERATIONS if name in has]


def _summary(own: list[Kind]) -> Iterator[str]:
    known = {kind.name: kind for kind in own}
    single = [name for name in SOUGHT if name in known and len(operations(known[name])) == 1]
    yield from ("## Kinds", "", "| kind | operations | sources |", "|---|---|---|")
    for kind in own:
        names = "; ".join(OPERATIONS[name] for name in operations(kind))
        yield f"| {kind.name} | {names} | {len({source.address for source in kind.sources})} |"
    yield from ("", f"Of one operation only: {', '.join(single)}.")
    yield from (
        "",
        f"Looked for, and not found: {', '.join(name for name in SOUGHT if name not in known)}.",
        "",
    )


def _kind(kind: Kind) -> Iterator[str]:
    yield from (f"## {kind.name}", "")
    for number, source in enumerate(kind.sources, 1):
        yield f"{number}. {_address(source)}: {source.counted}"
    yield from ("", "| operation | at | figures and their sources |", "|---|---|---|")
    cells: dict[tuple[str, str], list[str]] = {}
    for number, source in enumerate(kind.sources, 1):
        for figure in source.figures:
            cells.setdefault((_operation(figure), _size(figure)), []).append(f"{_figure(figure)} [{number}]")
    for (operation, size), figures in sorted(cells.items(), key=lambda item: item[0][0]):
        yield f"| {operation} | {size} | {'; '.join(figures)} |"
    yield ""


def _operation(figure: PublishedFigure) -> str:
    links = f" x{figure.links}" if figure.links else ""
    parts = (OPERATIONS[figure.operation], figure.wire + links, f"{figure.ranks} GPUs" * bool(figure.ranks))
    return ", ".join(filter(None, parts))


def _machine(kind: Kind) -> Iterator[str]:
    if kind.curves:
        curves = kind.curves
        address = curves.source.split(", ")[-1]
        yield f"| {kind.name} | {curves.file} | <{address}>, {curves.date} | {curves.definition} |"
    for source in kind.sources:
        chart = ", read off the bars of a chart" * source.chart
        yield f"| {kind.name} | {len(source.figures)}{chart} | {_address(source)} | {source.counted} |"


def _left_out(all_kinds: list[Kind]) -> Iterator[str]:
    yield from ("", "## Left out", "", "| kind | figure | why | source |", "|---|---|---|---|")
    for kind in all_kinds:
        for one in kind.left_out:
            yield f"| {kind.name} | {one.figure} | {one.why} | <{one.source}> |"


def _size(figure: PublishedFigure) -> str:
    if not figure.bytes:
        return "not said"
    return format_size(figure.bytes) if figure.bytes % 1_000_000 else f"{figure.bytes // 1_000_000} MB"


def _figure(figure: PublishedFigure) -> str:
    low, high = figure.gb_per_s or figure.microseconds or (0.0, 0.0)
    text = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    text += " GB/s" if figure.gb_per_s else " us"
    return f"{text} (there: {figure.published})" if figure.published else text


def _address(source: Publication) -> str:
    if source.runs:
        return f"this project, [{source.address}](../{source.address}), {source.date}"
    return f"<{source.address}>, {source.date}"


if __name__ == "__main__":
    FILE.write_text(page(FILE.read_text()))
