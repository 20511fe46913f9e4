"""A comparison as one JSON object, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from wirespeed.report.compare.comparison import Comparison
from wirespeed.report.compare.matching import Key
from wirespeed.report.compare.verdicts import FigureVerdict


def to_json(comparison: Comparison) -> str:
    """Times in seconds, sizes in bytes; `time_ratio` is new time / old time."""
    data = {
        "old": comparison.old,
        "new": comparison.new,
        "harmful": comparison.harmful,
        "differences": [asdict(one) for one in comparison.differences],
        "figures": [_verdict(one) for one in comparison.verdicts],
        "only_old": [_key(key) for key in comparison.only_old],
        "only_new": [_key(key) for key in comparison.only_new],
    }
    return json.dumps(data, indent=1) + "\n"


def _key(key: Key) -> dict[str, Any]:
    return {"pattern": key.pattern, "path": key.path, "bytes": key.bytes, "conditions": json.loads(key.what)}


def _verdict(one: FigureVerdict) -> dict[str, Any]:
    data = {**_key(one.key), "verdict": one.what, "old_s": one.old_s, "new_s": one.new_s}
    if one.change:
        ends = zip(("time_ratio_low", "time_ratio_high"), one.change.interval(), strict=True)
        launches = zip(("launches_old", "launches_new"), one.change.launches, strict=True)
        data |= {"time_ratio": one.change.ratio, **dict(ends), "p": one.change.p, **dict(launches)}
    return data | ({"failure": one.failure.text} if one.failure else {})
