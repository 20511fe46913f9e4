"""Findings with the texts of advice.toml."""

from __future__ import annotations

from typing import Any

from wirespeed.foreign.shapes import Curve, Finding
from wirespeed.toml import beside


def table() -> dict[str, Any]:
    """Content of advice.toml."""
    return beside(__file__, "advice.toml")


def told(
    kind: str, severity: int, seen: str, advice: str = "", /, *, curve: Curve | None = None, **words: str
) -> Finding:
    """With the cause and the remedy of `advice`, else of the kind; `words` fill them in."""
    row = table()["advice"][advice or kind]
    cause, do = (row[name].format(**words) for name in ("cause", "do"))
    return Finding(kind, severity, seen, cause, do, curve)
