"""Values of result files that anyone may have written, made fit to show: short texts, finite numbers."""

from __future__ import annotations

import math
from typing import Any

from wirespeed.results.decoding import printable

LONGEST = 400
MAX_EXACT = 1 << 53
"""Integers above this are not the same in a browser."""
DIGITS = 6


def text(value: Any, longest: int = LONGEST) -> str:
    """One line of printable letters."""
    line = " ".join(printable(str(value)[: 4 * longest]).split())
    return line if len(line) <= longest else f"{line[: longest - 3]}..."


def number(value: float | None) -> float | None:
    """A finite number in six significant figures, or None."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.{DIGITS}g}")


def count(value: int) -> int:
    """A whole number that a browser holds exactly; 0 for a larger one."""
    return value if value <= MAX_EXACT else 0
