"""Elements that a kernel combines as they arrive: every type and reduction, by several blocks."""

from __future__ import annotations

import pytest
from support.kernels import ADDRESS, Fault, Workshop

ALONE = Fault("folds.h", "good = ws_wait_word(tables.met, tables.expected, stop);")
OTHERS = Fault(
    "folds.h",
    "for (u64 first = ws_thread(); first < whole;",
    "for (u64 first = (ws_thread() + ws_lanes()) % threads; first < whole;",
)


def test_every_type_and_reduction(kernels: Workshop) -> None:
    """Protects what is combined from messages and memory, off 16 bytes too; nothing beside it is written.

    By one to three blocks of 1 to 40 threads, in a random order, which wait for each other where they must.
    """
    done = kernels.run("folds", "combine", "meet", "shares", flags=ADDRESS)
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
