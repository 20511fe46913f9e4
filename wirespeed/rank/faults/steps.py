"""For tests: a program whose path damages a halo, as a faulty transport would, before the program uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wirespeed.errors import WirespeedError
from wirespeed.patterns import Place, Step, Work
from wirespeed.patterns.block_list import Blocks
from wirespeed.programs.base import LINE

FAULTS = (
    *("drop-byte", "drop-iteration", "repeat-iteration"),
    *("batch-damaged", "batch-stale", "batch-lost"),
)
"""Faults named batch-... show in timed batches alone, and never while iterations are checked."""
NATIVE_FAULTS = ("fast-clock", "slow-clock", "early-stamp", "lost-work", "batch-short")
"""The core injects them."""
WORD = 8
"""Bytes in which the core says whether a batch runs; behind them lies room for a message."""
MISPLACED, STRAY = "misplaced-block", "stray-byte"
"""Faults of lists: two blocks at each other's place; a byte outside of all blocks, in timed batches alone."""
BEYOND = "beyond"
"""Before a number: a byte as far behind what a rank uses of its buffer, or, negative, before it, in timed
batches alone."""
_GATE = 0
"""A launch's first argument, in whose place the transport puts its gate, if it has one."""
_FROM_END = 72
"""Bytes: more than a corner has."""


def of_batches(fault: str) -> bool:
    """Does it show in timed batches alone?"""
    return fault.startswith("batch-")


def with_fault(steps: Sequence[Step], fault: str, aside: int, computed: Place) -> list[Step]:
    """The steps with a fault in the last one.

    In what it receives first: a message that is dropped, or repeated, leaves what came an iteration earlier.
    "batch-lost": in what it computes, of which a part stays as it was two steps earlier.

    `aside`: the core's word, and room for one message. `computed`: what the last step computes.
    """
    if fault not in FAULTS:
        raise WirespeedError(f"a fault is {', '.join(FAULTS + NATIVE_FAULTS)}, not '{fault}'")
    *before, last = steps
    if not last.receives:
        return [*before, last]
    transfer, room = last.receives[0], Place(aside + LINE)
    when = Place(aside) if of_batches(fault) else 0
    if fault == "batch-lost":
        size = min(transfer.bytes, LINE)
        keep = Work("ws_fields_keep", (_GATE, computed, room, size, 0))
        lose = Work("ws_fields_keep", (_GATE, room, computed, size, when))
        gated = (keep, *last.gated, lose) if last.gated else ()
        return [*before, replace(last, after=(keep, *last.after, lose), gated=gated)]
    if fault in ("drop-byte", "batch-damaged"):
        # The sign of a number of the last row: nobody reads its corners, or what lies between rows.
        at = max(transfer.bytes - _FROM_END, 0) // 8 * 8 + min(7, transfer.bytes - 1)
        work = Work("ws_fields_damage", (_GATE, Place(transfer.offset + at), when))
    else:
        work = Work("ws_fields_delay", (_GATE, Place(transfer.offset), room, transfer.bytes, when), 8, 256)
    gated = (work, *last.gated) if last.gated else ()
    return [*before, replace(last, after=(work, *last.after), gated=gated)]


def misplaced(step: Step) -> Step:
    """The step with the first and the last block of each list at each other's destination."""
    sends = tuple(
        replace(send, blocks=send.blocks and _ends_swapped(send.blocks.reversed()).reversed())
        for send in step.sends
    )
    receives = tuple(
        replace(receive, blocks=receive.blocks and _ends_swapped(receive.blocks)) for receive in step.receives
    )
    return replace(step, sends=sends, receives=receives)


def _ends_swapped(blocks: Blocks) -> Blocks:
    """The first and the last block at each other's place."""
    places = list(blocks.places)
    places[0], places[-1] = places[-1], places[0]
    return replace(blocks, places=places)


def stray_place(steps: Sequence[Step]) -> int | None:
    """A place of the receive buffer that is of no block; None where nothing is received in lists."""
    for step in steps:
        for receive in step.receives:
            if receive.blocks:
                return receive.offset + receive.blocks.gaps[0]
    return None
