"""Records as reports expect them: members of another shape are dropped before anybody asks for them.

Anyone may have written a result file, or a part of one.
"""

from __future__ import annotations

import math
from typing import Any

from wirespeed.results.coerce import record, records

Record = dict[str, Any]
LARGEST = 1 << 63
"""No count and no time is larger."""
SAID = ("rate", "links", "generation", "width")
"""Numbers of what drivers say of a wire."""
COUNTED = ("sent", "received", "expected_sent")
"""Numbers without which a counted wire says nothing."""


def fit(found: Record) -> Record | None:
    """The record without what cannot be used; None where nothing is left of it."""
    found = _printable(found)
    kind = found.get("kind")
    if kind == "run":
        return _run(found)
    if kind == "step":
        return _step(found)
    if kind == "wires":
        return _wires(found, SAID)
    if kind == "evidence":
        said = found.get("suspicious")
        return _wires({**found, "suspicious": said if isinstance(said, str) else None}, COUNTED)
    return found if kind != "entry" or _sound(found) else None


def _printable(value: Any) -> Any:
    """Texts without what a terminal would obey."""
    if isinstance(value, str):
        return value if value.isprintable() else "".join(c if c.isprintable() else " " for c in value)
    if isinstance(value, dict):
        return {name: _printable(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)) and not all(isinstance(one, (int, float)) for one in value):
        return type(value)(_printable(one) for one in value)
    return value


def _run(head: Record) -> Record:
    plan = record(head.get("plan"))
    given = plan.get("options")
    # Of a run that has just ended they are still tuples.
    options = [list(pair) for pair in given if _is_option(pair)] if isinstance(given, (list, tuple)) else []
    rule = {name: value for name, value in record(plan.get("stopping")).items() if _is_sound(value)}
    kept = {**plan, "options": options, "stopping": rule}
    return {**head, "plan": kept, "environment": record(head.get("environment"))}


def _is_option(pair: Any) -> bool:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not isinstance(pair[0], str):
        return False
    value = pair[1]
    return value is None or isinstance(value, str) or (isinstance(value, int) and 0 <= value < LARGEST)


def _step(step: Record) -> Record:
    """Places of ranks are used by all or not at all: a limit of half the ranks would be a wrong one."""
    ranks = step.get("ranks")
    whole = isinstance(ranks, list) and all(map(_is_rank, ranks))
    return {**step, "ranks": ranks if whole else []}


def _wires(found: Record, numbers: tuple[str, ...]) -> Record:
    return {**found, "wires": [wire for wire in records(found.get("wires")) if _is_wire(wire, numbers)]}


def _is_wire(wire: Record, numbers: tuple[str, ...]) -> bool:
    texts = all(isinstance(wire.get(name), str) for name in ("kind", "host", "name"))
    given = [wire[name] for name in numbers if wire.get(name) is not None]
    if not all(value > 0 for value in given if numbers is SAID and _is_sound(value)):
        return False
    return texts and (numbers is not COUNTED or len(given) == len(COUNTED)) and all(map(_is_sound, given))


def _is_rank(rank: Any) -> bool:
    if not isinstance(rank, dict) or not isinstance(rank.get("host", ""), str):
        return False
    device = rank.get("device")
    return device is None or (isinstance(device, dict) and {"name", "id"} <= device.keys())


def _sound(entry: Record) -> bool:
    """Is every number of it one that can be reckoned with?"""
    numbers = [entry.get(name) for name in ("bytes", "moved", "samples", "precision")]
    times = [entry, *records(entry.get("members"))]
    for one in times:
        seconds = one.get("seconds")
        numbers += seconds.values() if isinstance(seconds, dict) else [math.nan]
    return all(number is None or _is_sound(number) for number in numbers)


def _is_sound(number: Any) -> bool:
    # A float first: an integer may be too large to become one.
    return isinstance(number, (int, float)) and -LARGEST < number < LARGEST
