"""For tests: a program whose path damages a halo, as a faulty transport would, before the program uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wirespeed.errors import WirespeedError
from wirespeed.patterns import Place, Step, Work

FAULTS = ("drop-byte", "drop-iteration", "repeat-iteration")


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
        # The sign of a number in the middle: halos have corners that nobody reads.
        work = Work("ws_fields_damage", (Place(one.offset + one.bytes // 16 * 8 + min(7, one.bytes - 1)),))
    else:
        work = Work("ws_fields_delay", (Place(one.offset), Place(aside), one.bytes), 8, 256)
    return [*before, replace(last, after=(work, *last.after))]
