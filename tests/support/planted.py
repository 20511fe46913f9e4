"""The programs' kernels with a fault planted in their text, run by ranks in one process."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.kernels import LIBRARY, Fault, Workshop
from support.simulated import Ranks

from wirespeed.host.core import core
from wirespeed.patterns import Shape
from wirespeed.programs import ProgramPattern
from wirespeed.rank.work_list import packed

_MAX_BLOCKS, _MAX_THREADS = 3, 32
"""Each block is a thread of this machine, and a warp is what kernels ask for at most."""


class PlantedRanks(Ranks):
    """As Ranks on the host device, but kernels are those of a library that Workshop has built."""

    def __init__(self, library: Path, program: ProgramPattern, shape: Shape) -> None:
        opened = core()
        super().__init__(opened, opened.open_device("host", 0), "pageable", program, shape)
        self._launch = ctypes.CDLL(str(library)).launch
        self._launch.restype = ctypes.c_bool

    def close(self) -> None:
        super().close()
        self.core.lib.ws_device_close(self.device)

    def _run(self, kernel: str, blocks: int, threads: int, arguments: list[int | float]) -> None:
        words = packed(self.core, arguments)
        first = int(self.core.ffi.cast("uintptr_t", words))
        pointers = (ctypes.c_void_p * len(arguments))(*(first + 8 * i for i in range(len(arguments))))
        grid = min(blocks, _MAX_BLOCKS), min(threads, _MAX_THREADS)
        assert self._launch(kernel.encode(), *grid, pointers), f"{kernel} failed"


class Solvers:
    """Opens the library with a fault or without."""

    def __init__(self, workshop: Workshop) -> None:
        self._workshop = workshop

    def library(self, fault: Fault | None = None) -> Path:
        # Hidden, for symbols that are unique in a process would be the first library's.
        return self._workshop.build("solvers", *LIBRARY, fault=fault)

    @contextmanager
    def ranks(
        self, fault: Fault | None, program: ProgramPattern, ranks: int, **options: Any
    ) -> Iterator[PlantedRanks]:
        """Frees them at the end."""
        opened = PlantedRanks(self.library(fault), program, Shape(ranks, options))
        try:
            yield opened
        finally:
            opened.close()
