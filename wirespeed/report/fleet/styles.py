"""The forms in which `wirespeed fleet` prints: JSON, for Prometheus, for schedulers, as a page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timezone
from typing import Any

from msgspec import to_builtins

from wirespeed.fleet.names import compress, natural
from wirespeed.grouping import grouped
from wirespeed.report.compare.terminal import factor
from wirespeed.report.export.prometheus import Labels, family
from wirespeed.report.fleet.shown import Shown, times, with_partners
from wirespeed.report.fleet.terminal import kind_lines, legend
from wirespeed.report.page.template import page
from wirespeed.units import counted


def print_as(style: str, shown: Shown, *, everything: bool) -> None:
    """On stdout, as a table, json, prometheus, slurm or pbs."""
    if style == "table":
        from wirespeed.report.console.console import make_console
        from wirespeed.report.fleet.terminal import print_fleet

        print_fleet(make_console(), shown, everything=everything)
    else:
        text = {"json": to_json, "prometheus": to_prometheus, "slurm": to_slurm, "pbs": to_pbs}[style](shown)
        print(text, end="")


def to_slurm(shown: Shown) -> str:
    """An option of sbatch and srun; nothing where no node stands out."""
    return f"--exclude={compress(shown.excluded)}\n" if shown.excluded else ""


def to_pbs(shown: Shown) -> str:
    """The command that takes the nodes out of PBS; nothing where no node stands out."""
    return f"pbsnodes -o {' '.join(shown.excluded)}\n" if shown.excluded else ""


def to_json(shown: Shown) -> str:
    """Everything; times in seconds."""
    found: dict[str, Any] = {
        "folder": shown.folder,
        "begin": f"{shown.begin.isoformat()}+00:00",
        "end": f"{shown.end.isoformat()}+00:00",
        "nodes": shown.nodes,
        "least": shown.least,
        "false_discovery_rate": shown.false_alarms,
        "tested": shown.verdict.tested,
        "findings": to_builtins(shown.verdict.findings),
        "silent": to_builtins(list(shown.silent)),
        "not_judged": sorted(shown.unjudged),
        "exclude": shown.excluded,
        "suspects": to_builtins(shown.verdict.suspects),
        "cannot_tell": shown.cannot_tell,
        "smallest_found": {kind: best for kind, (best, _) in shown.verdict.smallest.items()},
        "hardware": to_builtins(shown.verdict.kinds),
        "software": list(shown.software),
    }
    if shown.drift:
        found["drift"] = {
            "since": shown.drift.since,
            "findings": to_builtins(shown.drift.verdict.findings),
            "changed": shown.drift.changed,
            "fleet": to_builtins(shown.drift.fleet),
            "changed_of_fleet": shown.drift.of_fleet,
        }
    return json.dumps(found, indent=1) + "\n"


def to_prometheus(shown: Shown) -> str:
    """One scrape for the fleet: what stands out, and how far each node is from the median."""
    slow: dict[Labels, float | None] = {
        (("kind", finding.kind), ("name", finding.name), ("figure", evidence.figure)): evidence.ratio
        for finding in shown.verdict.findings
        for evidence in finding.evidence
    }
    named = Counter(finding.kind for finding in shown.verdict.findings)
    kinds = shown.verdict.tested
    counts: dict[Labels, float | None] = {(("kind", kind),): float(named[kind]) for kind in kinds}
    tested: dict[Labels, float | None] = {(("kind", kind),): float(kinds[kind]) for kind in kinds}
    labels = {
        node: (("node", node), ("rack", shown.topology.rack(node)))
        for node in sorted({*shown.verdict.distances, *shown.unjudged}, key=natural)
    }
    distances = {node: shown.verdict.distances.get(node, {}).values() for node in labels}
    judged: dict[Labels, float | None] = {labels[node]: float(bool(distances[node])) for node in labels}
    worst: dict[Labels, float | None] = {labels[node]: max(distances[node], default=None) for node in labels}
    newest = shown.end.replace(tzinfo=timezone.utc).timestamp()
    lines = [
        *family("fleet_slow_ratio", "Of what stands out: its time over the usual one.", slow),
        *family("fleet_slow", "How many of a kind stand out.", counts),
        *family("fleet_judged", "How many of a kind were judged.", tested),
        *family("fleet_node_judged", "1: a node was judged; 0: too little was measured to tell.", judged),
        *family("fleet_node_ratio", "A node's time over the usual one, of its slowest figure.", worst),
        *family(
            "fleet_newest_timestamp_seconds", "When the last figure was measured, as Unix time.", {(): newest}
        ),
    ]
    return "".join(f"{line}\n" for line in lines)


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


def to_page(shown: Shown) -> str:
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
