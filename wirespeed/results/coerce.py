"""Values of result files that anyone may have written, made fit to show: short texts, finite numbers."""

from __future__ import annotations

import math
from typing import Any

LONGEST = 400
MOST_EXACT = 1 << 53
"""Integers above this are not the same in a browser."""
DIGITS = 6


def text(value: Any, longest: int = LONGEST) -> str:
    """One line of printable letters."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(value)[: 4 * longest])
    line = " ".join(line.split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def number(value: Any) -> float | None:
    """A finite number in six significant figures, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return float(value) if abs(value) <= MOST_EXACT else None
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None


def count(value: Any) -> int:
    """A whole number from 0 on that a browser holds exactly; 0 for anything else."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MOST_EXACT else 0
