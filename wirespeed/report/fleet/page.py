"""A fleet on the report's page: what stands out, and all nodes by switch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirespeed.fleet.names import compress, natural
from wirespeed.report.compare.terminal import factor
from wirespeed.report.fleet.shown import Shown, counted, times, with_partners
from wirespeed.report.fleet.terminal import kind_lines, legend
from wirespeed.report.grouping import grouped
from wirespeed.report.page.template import page

MAX_OF_PAGE = 200
"""Findings in the table; the JSON has all."""


@dataclass(frozen=True)
class Node:
    """A node on the page."""

    name: str
    ratio: str
    """Time of its slowest figure over the usual one; or that it is silent, or not judged."""
    text: str
    """The same with the figure."""
    stands_out: bool


@dataclass(frozen=True)
class SwitchNodes:
    """The nodes behind a switch."""

    title: str
    nodes: list[Node]
    slow: bool
    """Does the switch or one of its nodes stand out?"""


def render(shown: Shown) -> str:
    """The whole page."""
    findings = shown.verdict.findings
    return page(
        "fleet.html.j2",
        {"factor": factor},
        title=shown.answer,
        data={},
        shown=shown,
        findings=findings[:MAX_OF_PAGE],
        hidden=max(0, len(findings) - MAX_OF_PAGE),
        groups=list(_groups(shown)),
        excluded=compress(shown.excluded),
        legend=legend(shown),
        kinds=[*kind_lines(shown), *shown.software],
        counted=counted,
        times=times,
        how=with_partners,
    )


def _groups(shown: Shown) -> Iterator[SwitchNodes]:
    rack = shown.topology.rack
    slow = {finding.name for finding in shown.verdict.findings if finding.kind == "switch"}
    found = grouped((rack(node.name), node) for node in _nodes(shown))
    for name, nodes in sorted(found.items(), key=lambda item: natural(item[0])):
        title = name or ("no switch known" if shown.topology.switches else "")
        outside = sum(node.stands_out for node in nodes)
        words = [title, counted(len(nodes), "node"), "slow switch" * (name in slow)]
        words.append(f"{outside} of them {'stands' if outside == 1 else 'stand'} out" * (outside > 0))
        yield SwitchNodes(", ".join(filter(None, words)), nodes, bool(outside) or name in slow)


def _nodes(shown: Shown) -> Iterator[Node]:
    distances = shown.verdict.distances
    slow = {node for one in shown.verdict.findings if one.kind in ("node", "GPU") for node in one.nodes}
    silent = {silence.node: f"fell silent in {silence.part}" for silence in shown.silent}
    for name in sorted({*distances, *silent, *shown.unjudged}, key=natural):
        found = distances.get(name, {})
        worst = max(found, key=lambda figure: found[figure], default="")
        ratio = factor(found[worst]) if found else "not judged"
        text = f"time x {ratio}, {worst}" if found else ratio
        text = "; ".join(filter(None, [silent.get(name), text]))
        yield Node(name, "silent" if name in silent else ratio, text, name in slow or name in silent)
