"""Sums over a block's threads, and norms that all blocks of a grid have their part of."""

from __future__ import annotations

import pytest
from support.kernels import ADDRESS, THREAD, Fault, Workshop

pytestmark = pytest.mark.slow

REREAD = Fault("fields.h", "    return mine;\n}", "    return parts[0];\n}")
ONCE = Fault("fields.h", "    ws_sync();  // the room may be used again\n")


@pytest.mark.parametrize(
    "warps", [pytest.param((), id="no warps", marks=pytest.mark.slow), pytest.param(("-DWARPS",), id="warps")]
)
def test_threads_of_a_block_do_not_race(warps: tuple[str, ...], kernels: Workshop) -> None:
    """Protects sums of 1 to 512 threads, two in a row, and shared memory of all of jacobi's kernels."""
    done = kernels.run("fields", "sums", "steps", flags=(*THREAD, *warps))
    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stdout + done.stderr


@pytest.mark.parametrize("fault", [REREAD, ONCE], ids=["read without a barrier", "room used too early"])
def test_a_race_is_found(fault: Fault, kernels: Workshop) -> None:
    """Protects who forgets a barrier whose lack changes no result on the CPU, where threads take turns."""
    done = kernels.run("fields", "sums", flags=THREAD, fault=fault)
    assert "ThreadSanitizer: data race" in done.stderr, done.stdout + done.stderr


def test_no_part_of_a_norm_is_lost(kernels: Workshop) -> None:
    """Protects the norm where a launch has more blocks than it has room for parts: 8,192."""
    done = kernels.run("fields", "grids", flags=ADDRESS)
    assert done.stdout == "all right\n", done.stdout + done.stderr
