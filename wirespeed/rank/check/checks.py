"""The checks of what arrives, by the names that patterns give them."""

from __future__ import annotations

from collections.abc import Callable

from wirespeed.host.handles import BuffersHandle
from wirespeed.paths import TransferPath
from wirespeed.programs import as_program
from wirespeed.rank.check.collective_check import CollectiveCheck
from wirespeed.rank.check.field_check import Alive, FieldCheck
from wirespeed.rank.check.field_memory import FieldMemory
from wirespeed.rank.check.load_check import LoadCheck
from wirespeed.rank.check.payload_check import Check, PayloadCheck
from wirespeed.rank.context import RankContext

_CHECKS: dict[str, Callable[..., Check]] = {
    "bytes": lambda context, path, *_: PayloadCheck(
        context.core, context.comm, context.device, path.memory, path.into
    ),
    "elements": lambda context, path, buffers, *_: CollectiveCheck(context, path.memory, buffers),
    "loads": lambda context, path, buffers, size, alive: LoadCheck(context.comm, context.pattern.links(size)),
    "field": lambda context, path, buffers, size, alive: FieldCheck(
        context, as_program(context.pattern), FieldMemory(context, path.memory, buffers), alive
    ),
}


def check_of(
    context: RankContext, path: TransferPath, buffers: BuffersHandle, size: int, alive: Alive
) -> Check:
    """The check that the pattern names (Checking.of). `alive`: tells the watchdog."""
    return _CHECKS[context.pattern.checking.of](context, path, buffers, size, alive)
