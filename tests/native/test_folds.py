"""Elements that a kernel combines as they arrive: every type and reduction, by several blocks."""

from __future__ import annotations

import pytest
from support.kernels import ADDRESS, THREAD, Fault, Workshop

pytestmark = pytest.mark.slow

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
    [("meet", ALONE, "folded too early"), ("shares", OTHERS, "sent before it was folded")],
    ids=["blocks do not wait", "shares of others"],
)
def test_a_block_that_is_early_is_found(check: str, fault: Fault, said: str, kernels: Workshop) -> None:
    """Protects barriers of the grid, and that a thread sends what it has folded itself."""
    done = kernels.run("folds", check, fault=fault)
    assert done.returncode == 1 and done.stdout.startswith(said), done.stdout + done.stderr


@pytest.mark.parametrize("sanitizer", [ADDRESS, THREAD], ids=["address", "thread"])
def test_several_blocks_share_an_exchange(sanitizer: tuple[str, ...], kernels: Workshop) -> None:
    """Protects all-reduces of two to eight ranks, in one step or two, whose packets a whole grid shares.

    Two slots are enough. Messages are numbered across the words' wrap-around; odd ends; some blocks have no
    packet, some threads have three.
    """
    done = kernels.run("exchange", flags=sanitizer)
    assert done.stdout == "all right\n", done.stdout + done.stderr


@pytest.mark.parametrize(
    "fault",
    [
        ALONE,
        Fault("exchange.h", "packet.flag == number", "packet.flag >= 40"),
        Fault("exchange.h", "step.from[lane.peer]", "step.from[0]"),
        Fault("exchange.h", "if (i < step.fold.sources) sum", "if (i + 1 < step.fold.sources) sum"),
        Fault("exchange.h", "good = ws_meet_grid(barrier, common.stop) && good;", "ws_pause();"),
        Fault("exchange.h", "turn++ & 1", "turn & 1"),
    ],
    ids=["early", "old packets", "one place to all", "a source less", "blocks go on", "one place for two"],
)
def test_an_exchange_that_is_wrong_is_found(fault: Fault, kernels: Workshop) -> None:
    """Protects that an operation ends when all of its result is there, and what it is made of."""
    done = kernels.run("exchange", fault=fault)
    assert done.returncode == 1 and " ranks, " in done.stdout, done.stdout + done.stderr
