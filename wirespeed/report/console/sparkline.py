"""A curve of one line."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], low: float, high: float) -> str:
    """One character a value, on a logarithmic scale from low to high; a blank where there is none."""
    span = math.log(high / low) if high > low > 0 else 0.0
    line = ""
    for value in values:
        if value is None or value <= 0:
            line += " "
            continue
        share = math.log(value / low) / span if span else 1.0
        line += BLOCKS[min(len(BLOCKS) - 1, max(0, int(share * len(BLOCKS))))]
    return line
