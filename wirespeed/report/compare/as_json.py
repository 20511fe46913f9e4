"""A comparison as one JSON object, for programs."""

from __future__ import annotations

import json
from typing import Any

from wirespeed.report.compare.matching import Key
from wirespeed.report.compare.terminal import Comparison
from wirespeed.report.compare.verdicts import Verdict


def to_json(comparison: Comparison) -> str:
    """Times in seconds, sizes in bytes; `time_ratio` is new time / old time."""
    data = {
        "old": comparison.old,
        "new": comparison.new,
        "harmful": comparison.harmful,
        "differences": [
            {"topic": one.topic, "name": one.name, "paths": list(one.paths), "old": one.old, "new": one.new}
            for one in comparison.differences
        ],
        "figures": [_verdict(one) for one in comparison.verdicts],
        "only_old": [_key(key) for key in comparison.only_old],
        "only_new": [_key(key) for key in comparison.only_new],
    }
    return json.dumps(data, indent=1) + "\n"


def _key(key: Key) -> dict[str, Any]:
    return {"pattern": key.pattern, "path": key.path, "bytes": key.bytes, "conditions": json.loads(key.what)}


def _verdict(one: Verdict) -> dict[str, Any]:
    data = {**_key(one.key), "verdict": one.what, "old_s": one.old_s, "new_s": one.new_s}
    if one.change:
        low, high = one.change.interval()
        data |= {
            "time_ratio": one.change.ratio,
            "time_ratio_low": low,
            "time_ratio_high": high,
            "p": one.change.p,
            "launches_old": one.change.launches[0],
            "launches_new": one.change.launches[1],
        }
    if one.failure:
        data["failure"] = one.failure.text
    return data
