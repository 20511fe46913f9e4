"""How fast one core reads the host's memory, and writes it: the least that a message through it takes."""

from __future__ import annotations

import ctypes
import timeit
from collections.abc import Callable

from wirespeed.host.memory import free_memory

BYTES, TIMES = 128 << 20, 8
"""Beyond the caches; the best of so many."""


def memory_rates() -> dict[str, float] | None:
    """Bytes per second by what the core does; None where there is no room for such a buffer."""
    free = free_memory()
    if free is not None and free < 4 * BYTES:
        return None
    # Pages never written are all one page of zeros.
    buffer = bytearray(b"\x5a") * BYTES
    address = (ctypes.c_char * BYTES).from_buffer(buffer)
    return {
        "reading from memory": _rate(lambda: buffer.find(b"\0")),
        "writing to memory": _rate(lambda: ctypes.memset(address, 0x5A, BYTES)),
    }


def _rate(work: Callable[[], object]) -> float:
    """Of the C library's own loops: memchr and memset."""
    return BYTES / min(timeit.repeat(work, number=1, repeat=TIMES))
