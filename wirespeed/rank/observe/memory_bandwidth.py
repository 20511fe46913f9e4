"""Rates at which one core reads and writes the host's memory, which a message through it cannot beat."""

from __future__ import annotations

import ctypes
import time
import timeit
from collections.abc import Callable
from functools import partial
from itertools import count

from wirespeed.host.caches import cache_bytes
from wirespeed.host.memory import free_memory
from wirespeed.statistics.samples import median

SWEEP, MIN_BUFFER = 32 << 20, 128 << 20
CACHES = 1.25
"""Times the caches' bytes: what a sweep touched is out of them when its turn comes again. To allocate memory
takes longer than to read it."""
REPEATS, SWEEPS = 6, 2
"""The fastest and the slowest of six are the ends of a 96.9 % interval of their median (1 - 2 / 2^6)."""
MOMENTS, APART_S = 3, 0.2
MOVED = 2 * MOMENTS * REPEATS * SWEEPS * SWEEP
"""Bytes that memory_rates() reads and writes, at most."""

_Rates = tuple[float, float, float]


def memory_rates(carried: float = 0.0) -> dict[str, tuple[float, float, float]] | None:
    """Bytes per second by what the core does: (median, lowest, highest); None without room for the buffer.

    `carried`: what messages beyond the caches have just come to. A rate below it is no limit but that of a
    slow moment: it is measured again a little later, and the faster of the two counts.
    """
    sweeps = max(MIN_BUFFER, int(CACHES * (cache_bytes() or 0))) // SWEEP + 1
    size = sweeps * SWEEP
    free = free_memory()
    if free is not None and free < 2 * size:
        return None
    # Pages never written are all one page of zeros.
    buffer = bytearray(b"\x5a") * size
    address = ctypes.addressof((ctypes.c_char * size).from_buffer(buffer))
    # Each sweep takes the part that was touched longest ago.
    places = (number % sweeps * SWEEP for number in count())

    def read() -> None:
        start = next(places)
        buffer.find(b"\0", start, start + SWEEP)

    def write() -> None:
        ctypes.memset(address + next(places), 0x5A, SWEEP)

    return {
        "reading from memory": _at_best(partial(_rates, read), carried),
        "writing to memory": _at_best(partial(_rates, write), carried),
    }


def _at_best(measure: Callable[[], _Rates], carried: float) -> _Rates:
    best = measure()
    for _ in range(MOMENTS - 1):
        if best[0] >= carried:
            break
        time.sleep(APART_S)
        best = max(best, measure())
    return best


def _rates(work: Callable[[], object]) -> _Rates:
    """Of the C library's own loops: memchr and memset; the better of each two, against interruptions."""
    rates = sorted(SWEEP / min(timeit.repeat(work, number=1, repeat=SWEEPS)) for _ in range(REPEATS))
    return median(rates), rates[0], rates[-1]
