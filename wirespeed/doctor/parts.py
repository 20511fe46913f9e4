"""Parts of a result file's records, whatever a damaged or a newer file has in their place."""

from __future__ import annotations

from typing import Any

from wirespeed.results.runs import Record


def part(record: Any, name: str) -> Record:
    """A member that should be an object; an empty one where it is not."""
    value = record.get(name) if isinstance(record, dict) else None
    return value if isinstance(value, dict) else {}


def listed(record: Any, name: str) -> list[Record]:
    """The objects in a member that should be a list of them."""
    value = record.get(name) if isinstance(record, dict) else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def whole(value: Any) -> int:
    """A whole number; 0 where it is none."""
    return value if isinstance(value, int) else 0
