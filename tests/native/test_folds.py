"""Elements that a kernel combines as they arrive: every type and reduction, by several blocks."""

from __future__ import annotations

import pytest
from support.kernels import ADDRESS, THREAD, Fault, Workshop

ALONE = Fault("grid_barrier.h", "i < blocks && good;", "i < blocks && good && false;")
OTHERS = Fault(
    "folds.h",
    "for (u64 first = ws_thread(); first < whole;",
    "for (u64 first = (ws_thread() + ws_lanes()) % threads; first < whole;",
)


@pytest.mark.parametrize("sanitizer", [ADDRESS, THREAD], ids=["address", "thread"])
def test_every_type_and_reduction(sanitizer: tuple[str, ...], kernels: Workshop) -> None:
    """Protects what is combined from messages and memory, off 16 bytes too; nothing beside it is written.

    By one to three blocks of 1 to 40 threads, in a random order, which wait for each other where they must.
    """
    done = kernels.run("folds", "combine", "meet", "shares", flags=sanitizer)
    assert done.stdout == "all right\n", done.stdout + done.stderr


@pytest.mark.parametrize(
    ("check", "fault", "said"),
    [
        ("meet", ALONE, "folded too early"),
        ("shares", OTHERS, "sent before it was folded"),
    ],
    ids=["blocks do not wait", "shares of others"],
)
def test_a_block_that_is_early_is_found(check: str, fault: Fault, said: str, kernels: Workshop) -> None:
    """Protects barriers of the grid, and that a thread sends what it has folded itself."""
    done = kernels.run("folds", check, fault=fault)
    assert done.returncode == 1 and done.stdout.startswith(said), done.stdout + done.stderr


@pytest.mark.parametrize("sanitizer", [ADDRESS, THREAD], ids=["address", "thread"])
def test_several_blocks_share_an_exchange(sanitizer: tuple[str, ...], kernels: Workshop) -> None:
    """Protects an all-reduce of two ranks whose packets are those of a whole grid, with few slots and many.

    Messages are numbered across the words' wrap-around; odd ends; some blocks have no packet. No slot is
    used again before the receiver has released it.
    """
    done = kernels.run("fold_pair", "sums", "credit", flags=sanitizer)
    assert done.stdout == "all right\n", done.stdout + done.stderr


def test_an_operation_that_ends_early_is_found(kernels: Workshop) -> None:
    """Protects what an operation of several blocks is: it ends when all of its result is there."""
    done = kernels.run("fold_pair", "sums", fault=ALONE)
    assert done.returncode == 1 and "an operation ended" in done.stdout, done.stdout + done.stderr
