"""The threads of a block take turns on the CPU: barriers hold, and a missing or a divided one is found."""

from __future__ import annotations

import re

import pytest
from support.kernels import ADDRESS, THREAD, Fault, Workshop

pytestmark = pytest.mark.slow

DIVIDED = "a barrier that not all threads of a block come to: "
HERE = r"waits at lanes\.cpp:\d+"


@pytest.mark.parametrize("sanitizer", [ADDRESS, THREAD], ids=["address", "thread"])
def test_threads_wait_for_each_other(sanitizer: tuple[str, ...], kernels: Workshop) -> None:
    """Protects barriers of blocks and warps, spinning on each other, and shared memory of each block alone.

    With up to 64 threads in one to three blocks, in order and in three others; told to end they may leave.
    """
    done = kernels.run("lanes", "barriers", "end", "stacks", flags=sanitizer)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_missing_barrier_is_found(kernels: Workshop) -> None:
    """Protects whoever forgets one: in order nobody notices, but the first other order finds it."""
    assert kernels.run("lanes", "missing barrier").stdout == "seed 1\n"


def test_a_divided_barrier_is_an_error(kernels: Workshop) -> None:
    """Protects from hanging: the error names kernel, block and lines; the next launch is whole."""
    checks = ("returns early", "two barriers", "warp and block", "one block fails")
    done = kernels.run("lanes", *checks)
    assert done.returncode == 0, done.stdout + done.stderr
    expected = (
        rf"kernel returns_early, block \d: {DIVIDED}thread 0 {HERE}, thread 2 has returned",
        rf"kernel two_barriers, block \d: {DIVIDED}thread 0 {HERE}, thread 1 {HERE}",
        rf"kernel warp_and_block, block \d: {DIVIDED}thread 1 {HERE}, thread 0 {HERE}",
        # Block 0 would wait for it for ever.
        rf"kernel one_block_fails, block 1: {DIVIDED}thread 0 {HERE}, thread 1 has returned",
    )
    for text, line in zip(expected, done.stdout.splitlines(), strict=True):
        assert re.fullmatch(text, line), line


def test_every_size_of_blocks_and_grids(kernels: Workshop) -> None:
    """Protects payload, sums and copies by up to 32 threads and 5 blocks; nothing beside is written."""
    done = kernels.run("launches", "every", flags=ADDRESS)
    assert (done.returncode, done.stdout) == (0, "27 launches\n"), done.stdout + done.stderr


SYNC = Fault("copy.h", "ws_sync();\n    if (ws_lane() != 0) return;", "if (ws_lane() != 0) return;")
COUNT = Fault(
    "copy.h", "if (ws_atomic_add(count, 1) != (u32)ws_blocks() - 1) return;", "if (ws_block()) return;"
)


@pytest.mark.parametrize(
    ("fault", "said"),
    [(None, "always whole"), (SYNC, "told too early"), (COUNT, "told too early")],
    ids=["as it is", "no barrier", "blocks not counted"],
)
def test_who_sees_the_word_sees_the_copy(fault: Fault | None, said: str, kernels: Workshop) -> None:
    """Protects the word of ws_copy_and_signal, and that threads' order finds what would tell too early."""
    done = kernels.run("launches", "watched", fault=fault)
    assert done.stdout == f"{said}\n", done.stdout + done.stderr


TOLD = Fault(
    "waiting_copy.h",
    "ws_sync();\n            if (ws_lane() == 0)\n                good",
    "if (ws_lane() == 0)\n                good",
)
COUNTED = Fault("waiting_copy.h", "if (ws_atomic_add(count, 1) != (u32)blocks - 1) return true;")


@pytest.mark.parametrize("fault", [None, TOLD, COUNTED], ids=["as it is", "no barrier", "blocks not counted"])
def test_a_kernel_that_waits_for_the_hosts_word(fault: Fault | None, kernels: Workshop) -> None:
    """Protects every message of ws_wait_and_copy, alone and in windows, and its end when told or left."""
    done = kernels.run("launches", "waiting", fault=fault)
    assert (done.stdout == "always whole\n") == (fault is None), done.stdout + done.stderr
