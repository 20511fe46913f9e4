"""For tests: a program whose path damages a halo, as a faulty transport would, before the program uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wirespeed.errors import WirespeedError
from wirespeed.patterns import Place, Step, Work

FAULTS = ("drop-byte", "drop-iteration", "repeat-iteration")
_FROM_END = 72
"""Bytes: more than a corner has."""


def with_fault(steps: Sequence[Step], fault: str, aside: int) -> list[Step]:
    """The steps with a fault in what the last one receives first; `aside`: room for one message.

    A message that is dropped, or repeated, leaves what came an iteration earlier.
    """
    if fault not in FAULTS:
        raise WirespeedError(f"a fault is {', '.join(FAULTS)}, not '{fault}'")
    # A gate's one launch has no place between the transfers and the work.
    *before, last = [replace(step, gated=()) for step in steps]
    if not last.receives:
        return [*before, last]
    one = last.receives[0]
    if fault == "drop-byte":
        # The sign of a number of the last row: nobody reads its corners, or what lies between rows.
        at = max(one.bytes - _FROM_END, 0) // 8 * 8 + min(7, one.bytes - 1)
        work = Work("ws_fields_damage", (Place(one.offset + at),))
    else:
        work = Work("ws_fields_delay", (Place(one.offset), Place(aside), one.bytes), 8, 256)
    return [*before, replace(last, after=(work, *last.after))]
