"""Rules on health: no new errors on the hosts, and no clock held back, while a path was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wirespeed.errors import WirespeedError
from wirespeed.report.facts import health
from wirespeed.results.model import Entry
from wirespeed.results.runs import Run

NEW_ERRORS, THROTTLED = "new_errors", "throttled"
KEYS = (NEW_ERRORS, THROTTLED)


def limit(key: str, value: Any) -> int:
    """The most that the rule allows. Raises WirespeedError."""
    if key == THROTTLED and value is False:
        return 0
    if key == NEW_ERRORS and type(value) is int and value >= 0:
        return value
    allowed = "false" if key == THROTTLED else "the most that may come, as in new_errors = 0"
    raise WirespeedError(
        f"{key} = {str(value).lower()}: write {allowed}; without the line nothing is asked for"
    )


def judge(key: str, most: int, run: Run, path: str) -> tuple[bool | None, str]:
    """(True where the rule holds for the path's figures, in words why); None: it cannot be told."""
    record = health.of(run, *run.of_path(path))
    if not record:
        return None, "the file does not say: measured with --no-evidence, or by an older wirespeed"
    if key == THROTTLED:
        said = [*health.held(record)]
        if not said and not record.watched:
            return None, "nothing here tells whether clocks are held back"
        return not said, "; ".join(said) or "no clock was held back"
    said = [*health.errors(record)]
    many = sum(error.count for error in record.errors)
    if many <= most and not record.counted:
        return None, "nothing here counts errors"
    none = f"no new errors ({', '.join(record.counted)})"
    return many <= most, f"{'; '.join(said) or none}{f', at most {most} wanted' if most else ''}"


def learnt(found: Sequence[tuple[Run, Entry]]) -> dict[str, str]:
    """The rules that these figures keep, as TOML; none that they break, and none on what nobody counted."""
    records = [health.of(run, entry) for run, entry in found]
    known = [record for record in records if record]
    if len(known) < len(records):
        return {}
    rules = {}
    if all(health.counted and not health.errors for health in known):
        rules[NEW_ERRORS] = "0"
    if all(health.watched and not health.throttled for health in known):
        rules[THROTTLED] = "false"
    return rules
