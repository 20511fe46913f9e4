"""A check as JSON: every bound at every size."""

from __future__ import annotations

import json
from collections.abc import Sequence

from wirespeed.report.check.evaluate import Finding


def to_json(findings: Sequence[Finding]) -> str:
    """A list with an object a line; `what` is failed, missing, unknown, doubtful, not judged or kept."""
    lines = [
        json.dumps(
            {
                "line": one.requirement.line,
                "rule": one.requirement.rule,
                "pattern": one.requirement.pattern,
                "path": one.requirement.path,
                "bytes": one.requirement.bytes,
                "bound": one.requirement.bound.text,
                "what": one.what,
                "text": one.text,
            }
        )
        for one in findings
    ]
    return "[\n{}\n]".format(",\n".join(lines))
