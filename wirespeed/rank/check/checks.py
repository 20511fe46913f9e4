"""The checks of what arrives, by the names that patterns give them."""

from __future__ import annotations

from wirespeed.host.handles import BuffersHandle
from wirespeed.paths import TransferPath
from wirespeed.rank.check.payload_check import Alive, Check, PayloadCheck
from wirespeed.rank.context import RankContext


def check_of(
    context: RankContext, path: TransferPath, buffers: BuffersHandle, size: int, alive: Alive
) -> Check:
    """The check that the pattern names (Checking.of). `alive`: tells the watchdog."""
    pattern = context.pattern
    match pattern.checking.of:
        case "elements":
            from wirespeed.rank.check.collective_check import CollectiveCheck

            return CollectiveCheck(context, path.memory, buffers)
        case "loads":
            from wirespeed.rank.check.load_check import LoadCheck

            return LoadCheck(context.comm, pattern.checking.links(size) if pattern.checking.links else 0)
        case "field":
            from wirespeed.programs import as_program
            from wirespeed.rank.check.field_check import FieldCheck
            from wirespeed.rank.check.field_memory import FieldMemory

            memory = FieldMemory(context, path.memory, buffers)
            return FieldCheck(context, as_program(pattern), memory, alive)
    return PayloadCheck(context.core, context.comm, context.device, path.memory, path.into)
