"""Software of slow nodes that most others do not run: no part of their kind, as it can be changed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from wirespeed.fleet.judge import Outlier, exclude
from wirespeed.fleet.names import compress, natural
from wirespeed.fleet.window import FACTS, NodeFacts


def unlike_most(findings: Iterable[Outlier], facts: NodeFacts) -> list[str]:
    """'driver 570.1 on n[3,9], which stand out; 580.2 on 95 of 100 nodes'; where most nodes have the same."""
    slow, lines = exclude(findings), []
    for name in FACTS:
        values = {node: ", ".join(sorted(known[name])) for node, known in facts.items() if known.get(name)}
        usual, count = Counter(values.values()).most_common(1)[0] if values else ("", 0)
        if 2 * count <= len(values):
            continue
        others: dict[str, list[str]] = defaultdict(list)
        for node in slow:
            if values.get(node, usual) != usual:
                others[values[node]].append(node)
        for value, nodes in others.items():
            stand = "stand" if len(nodes) > 1 else "stands"
            lines.append(
                f"{name} {value} on {compress(sorted(nodes, key=natural))}, which {stand} out; "
                f"{usual} on {count} of {len(values)} nodes"
            )
    return lines
