"""A check as JSON: every bound at every size."""

from __future__ import annotations

import json
from collections.abc import Sequence

from wirespeed.report.check.evaluate import BoundOutcome


def to_json(findings: Sequence[BoundOutcome]) -> str:
    """A list with an object a line; `what` is one of evaluate.WHATS."""
    lines = [
        json.dumps(
            {
                "line": finding.requirement.line,
                "rule": finding.requirement.rule,
                "pattern": finding.requirement.pattern,
                "path": finding.requirement.path,
                "bytes": finding.requirement.bytes,
                "bound": finding.requirement.bound.text,
                "what": finding.what,
                "once": finding.once,
                "text": finding.text,
            }
        )
        for finding in findings
    ]
    return "[\n{}\n]".format(",\n".join(lines))
