"""The checks of what arrives, by the names that patterns give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from wirespeed.paths import TransferPath
from wirespeed.programs import as_program
from wirespeed.rank.check.collective_check import CollectiveCheck
from wirespeed.rank.check.field_check import FieldCheck
from wirespeed.rank.check.field_memory import FieldMemory
from wirespeed.rank.check.field_rerun import Alive
from wirespeed.rank.check.load_check import LoadCheck
from wirespeed.rank.check.payload_check import Check, PayloadCheck
from wirespeed.rank.context import RankContext


@dataclass(frozen=True)
class Subject:
    """One size of a path, which a check is of."""

    context: RankContext
    path: TransferPath
    buffers: Any
    size: int
    alive: Alive
    """Tells the watchdog."""


_CHECKS: dict[str, Callable[[Subject], Check]] = {
    "bytes": lambda of: PayloadCheck(
        of.context.core, of.context.comm, of.context.device, of.path.memory, of.path.into
    ),
    "elements": lambda of: CollectiveCheck(of.context, of.path.memory, of.buffers),
    "loads": lambda of: LoadCheck(of.context.comm, of.context.pattern.links(of.context.shape, of.size) or 0),
    "field": lambda of: FieldCheck(
        of.context,
        as_program(of.context.pattern),
        FieldMemory(of.context, of.path.memory, of.buffers),
        of.alive,
    ),
}


def check_of(subject: Subject) -> Check:
    """The check that the pattern names (Pattern.check)."""
    return _CHECKS[subject.context.pattern.check(subject.context.shape)](subject)
