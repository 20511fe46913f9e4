"""A comparison as one JSON object, for programs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from wirespeed.judge.model import Change
from wirespeed.report.compare.comparison import Comparison
from wirespeed.report.compare.matching import Key
from wirespeed.report.compare.verdicts import Verdict


def to_json(comparison: Comparison) -> str:
    """Times in seconds, sizes in bytes; `time_ratio` is new time / old time."""
    data = {
        "old": comparison.old,
        "new": comparison.new,
        "harmful": comparison.harmful,
        "order": comparison.order,
        "earlier_files": comparison.earlier,
        "bounds_files": comparison.bounds,
        "differences": [asdict(difference) for difference in comparison.differences],
        "groups": [_group(group) for group in comparison.verdicts.groups],
        "figures": [_verdict(figure) for figure in comparison.verdicts.figures],
        "cannot_tell": [
            {"what": unjudged.what, "why": unjudged.reason.why, "remedy": unjudged.reason.remedy}
            for unjudged in comparison.unjudged
        ],
        "only_old": [_key(key) for key in comparison.only_old],
        "only_new": [_key(key) for key in comparison.only_new],
        **{
            f"impossible_{side}": [{**_key(reason.key), "why": reason.why} for reason in left_out]
            for side, left_out in zip(("old", "new"), comparison.impossible, strict=True)
        },
    }
    return json.dumps(data, indent=1) + "\n"


def _key(key: Key) -> dict[str, Any]:
    return {"pattern": key.pattern, "path": key.path, "bytes": key.bytes, "conditions": json.loads(key.what)}


def _verdict(verdict: Verdict) -> dict[str, Any]:
    data = {**_key(verdict.key), "verdict": verdict.what, "old_s": verdict.old_s, "new_s": verdict.new_s}
    failure = {"failure": verdict.failure.text} if verdict.failure else {}
    return data | _change(verdict.change) | failure


def _group(verdict: Verdict) -> dict[str, Any]:
    """`smallest_found`: the slowdown that would have been found in 90 % of cases, as a share of the time."""
    odd = [
        {"side": ("old", "new")[odd.side], "launch": odd.number, "time_ratio": odd.ratio}
        for odd in verdict.odd
    ]
    return {
        **_key(verdict.key),
        "bytes": [*verdict.sizes],
        "verdict": verdict.what,
        **_change(verdict.change),
        "smallest_found": verdict.smallest,
        "odd_launches": odd,
    }


def _change(change: Change | None) -> dict[str, Any]:
    """`p`: of what launches show; null where the spread is stated."""
    if change is None:
        return {}
    low, high = change.interval()
    return {
        "time_ratio": change.ratio,
        "time_ratio_low": low,
        "time_ratio_high": high,
        "p": change.p if change.seen else None,
        "spread": change.spread,
        "spread_is": change.source,
        "launches_old": change.launches[0],
        "launches_new": change.launches[1],
    }
