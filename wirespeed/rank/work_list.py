"""Work in the core's own form: kernels' launches with arguments of 8 bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from wirespeed.host.core import Core
from wirespeed.patterns import Place, Work
from wirespeed.patterns.steps import Collective

OPERATIONS = ("allreduce", "allgather", "reducescatter", "alltoall", "broadcast", "reduce", "barrier")
"""In the order of the core's numbers."""


def packed(core: Core, arguments: Iterable[int | float | Place]) -> Any:
    """The arguments as the core takes them; places as their offsets."""
    words = []
    for argument in arguments:
        if isinstance(argument, float):
            words.append(struct.unpack("<Q", struct.pack("<d", argument))[0])
        else:
            words.append(argument.offset if isinstance(argument, Place) else argument)
    return core.ffi.new("uint64_t[]", words)


def packed_collective(collective: Collective) -> tuple[int, ...]:
    """The members of ws_collective."""
    from wirespeed.patterns.collectives.rank_view import REDUCTIONS, TYPES

    return (
        OPERATIONS.index(collective.operation),
        list(TYPES).index(collective.type),
        REDUCTIONS.index(collective.reduction),
        collective.root,
        int(collective.gets),
        int(collective.in_place),
        collective.count,
        collective.given,
        collective.got,
        collective.given_bytes,
        collective.got_bytes if collective.gets else 0,
    )


class WorkList:
    """All work of a program, as ws_program_open takes it; what it points to lives as long."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._kept: list[Any] = []
        self._rows: list[tuple[Any, ...]] = []

    def add(self, step: int, when: int, work: Work) -> None:
        """`when`: 0 after the step's transfers, 1 meanwhile, 2 gated."""
        name = self._core.ffi.new("char[]", work.kernel.encode())
        arguments = packed(self._core, work.arguments)
        self._kept += [name, arguments]
        places = sum(1 << i for i, argument in enumerate(work.arguments) if isinstance(argument, Place))
        self._rows.append(
            (step, when, name, work.blocks, work.threads, len(work.arguments), places, arguments)
        )

    def structs(self) -> Any:
        """An array of ws_work."""
        return self._core.ffi.new("ws_work[]", self._rows)

    def __len__(self) -> int:
        return len(self._rows)
