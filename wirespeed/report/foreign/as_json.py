"""An explanation of another tool's output as JSON: tables, findings, and what would tell more."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wirespeed.foreign.definitions import definition
from wirespeed.foreign.explain import Explained, Explanation
from wirespeed.judge.given import Finding
from wirespeed.report.foreign.lines import about, title


def to_json(explanation: Explanation) -> dict[str, Any]:
    """Sizes in bytes, times in seconds, rates in bytes per second; `limit`: what the wire carries at most."""
    return {
        "code": int(explanation.code),
        "about": [*about(explanation.log)],
        "tables": [_table(one) for one in explanation.curves],
        "findings": [_finding(finding) for finding in explanation.findings],
        "missing": list(explanation.missing),
    }


def _table(one: Explained) -> dict[str, Any]:
    curve = asdict(one.curve)
    rows = [point._asdict() for point in one.curve.points]
    counted = {"definition": definition(one.curve), "limit": one.limit}
    return {"title": title(one.curve), **curve, **counted, "points": rows}


def _finding(finding: Finding) -> dict[str, Any]:
    return {key: value for key, value in asdict(finding).items() if key != "curve"}
