"""A page with the map of a fleet: nodes by rack, coloured by distance from the median."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from wirespeed.fleet.names import compress, natural
from wirespeed.report.compare.terminal import factor
from wirespeed.report.fleet.shown import Shown, counted, times, with_partners
from wirespeed.report.fleet.terminal import kind_lines, legend
from wirespeed.report.page.template import page

STEPS = (-0.05, -0.02, 0.02, 0.05, 0.10, 0.25)
"""Boundaries between colours: how much longer than the median node."""
COLOURS = (
    "more than 5 % faster",
    "2 to 5 % faster",
    "within 2 %",
    "2 to 5 % slower",
    "5 to 10 % slower",
    "10 to 25 % slower",
    "more than 25 % slower",
)
MAX_OF_PAGE = 200
"""Findings in the table; the JSON has all."""
MAX_LABELLED = 128
"""Nodes whose names stand on the map; in larger fleets the pointer shows them."""
NOT_JUDGED = "none"
"""The colour of a node without a figure that counts."""


@dataclass(frozen=True)
class Cell:
    """A node on the map."""

    name: str
    colour: int | str
    """Its place in COLOURS, or NOT_JUDGED."""
    text: str
    named: bool
    """Does it stand out?"""
    place: int
    """Its place in the page's data."""


def colour(ratio: float) -> int:
    """The place in COLOURS of a time over the median node's."""
    return sum(ratio - 1 >= step for step in STEPS)


def render(shown: Shown) -> str:
    """The whole page."""
    racks, data = _map(shown)
    return page(
        "fleet",
        ["map.js"],
        {"factor": factor},
        shown=shown,
        findings=shown.verdict.findings[:MAX_OF_PAGE],
        hidden=max(0, len(shown.verdict.findings) - MAX_OF_PAGE),
        racks=racks,
        data=data,
        colours=COLOURS,
        labelled=len(data["ratios"]) <= MAX_LABELLED,
        figures=data["figures"],
        excluded=compress(shown.excluded),
        legend=legend(shown),
        kinds=[*kind_lines(shown), *shown.software],
        counted=counted,
        times=times,
        how=with_partners,
    )


def _map(shown: Shown) -> tuple[list[tuple[str, list[Cell]]], dict[str, list[object]]]:
    """Racks with their nodes, and the ratios of all figures for the page's script."""
    distances = shown.verdict.distances
    figures = sorted({figure for found in distances.values() for figure in found})
    slow = [finding for finding in shown.verdict.findings if finding.kind in ("node", "GPU")]
    standing = {node for finding in slow for node in finding.nodes}
    silent = {silence.node: f"fell silent in {silence.part}" for silence in shown.silent}
    racks: dict[str, list[Cell]] = defaultdict(list)
    ratios: list[object] = []
    for node in sorted({*distances, *silent, *shown.unjudged}, key=natural):
        found = distances.get(node, {})
        ratios.append([round(found[figure], 3) if figure in found else None for figure in figures])
        worst = max(found, key=lambda figure: found[figure], default="")
        text = f"time x {factor(found[worst])}, {worst}" if found else "not judged"
        text = f"{node}: {'; '.join(filter(None, [silent.get(node), text]))}"
        cell = colour(found[worst]) if found else NOT_JUDGED
        stands = node in standing or node in silent
        racks[shown.topology.rack(node)].append(Cell(node, cell, text, stands, len(ratios) - 1))
    ordered = sorted(racks.items(), key=lambda item: natural(item[0]))
    return ordered, {"figures": list(figures), "ratios": ratios, "steps": list(STEPS)}
