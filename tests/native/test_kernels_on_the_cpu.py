"""Kernels' text run by threads of the CPU, as it is and with faults planted in it."""

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


RELAXED = Fault(
    "persistent.h",
    "ws_release_flag(ws_at<u32>(peers[i].theirs), peers[i].start",
    "ws_store_flag(ws_at<u32>(peers[i].theirs), peers[i].start",
)


def test_a_sender_reads_credit_only_when_it_must(kernels: Workshop) -> None:
    """Protects the short messages of any program but a pair: the word stays off the critical path."""
    done = kernels.run("persistent", "credit", flags=ADDRESS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("sanitizer", [(), ADDRESS, THREAD], ids=["plain", "address", "thread"])
def test_ranks_start_together_whatever_their_order_of_peers(
    sanitizer: tuple[str, ...], kernels: Workshop
) -> None:
    """Protects the start of a launch from a circle of ranks, each of which waits for the next one.

    And the order of what a rank did before and its peers do afterwards, which the thread sanitizer sees.
    """
    done = kernels.run("persistent", "rendezvous", flags=sanitizer)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_start_that_releases_nothing_is_found(kernels: Workshop) -> None:
    """Protects the test before: a start word by a relaxed store orders no access."""
    done = kernels.run("persistent", "rendezvous", flags=THREAD, fault=RELAXED)
    assert "ThreadSanitizer: data race" in done.stderr, done.stdout + done.stderr


ONE_COUNT = Fault(
    "persistent.h", "ws_at<u32>(program.moved) + (step & program.work_lags)", "ws_at<u32>(program.moved)"
)


def test_a_step_ends_when_all_its_blocks_have_moved_their_share(kernels: Workshop) -> None:
    """Protects soaks from work that begins before a message is whole, or never, where a block is ahead."""
    done = kernels.run("persistent", "moved", flags=ADDRESS)
    assert done.returncode == 0, done.stdout + done.stderr
    done = kernels.run("persistent", "moved", fault=ONE_COUNT)
    assert done.returncode == 1 and "a block that is ahead" in done.stdout, done.stdout + done.stderr


# Here the kernels follow payload that came in packets: the thread sanitizer sees that order too.
@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", [ADDRESS, THREAD], ids=["address", "thread"])
def test_every_length_at_every_alignment(sanitizer: tuple[str, ...], kernels: Workshop) -> None:
    """Protects short messages of `gpu`: no byte beside the message is written, no packet read half."""
    done = kernels.run("ll", flags=sanitizer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{41 * 17} messages\n"


def test_every_copy_is_whole(kernels: Workshop) -> None:
    """Protects pieces and what is left over, several copies in a launch, by up to 32 threads and 3 blocks."""
    done = kernels.run("tma", flags=ADDRESS)
    assert (done.returncode, done.stdout) == (0, "336 launches\n"), done.stdout + done.stderr


WAIT_READ = "ws_tma_wait_read<WS_TMA_STAGES - WS_TMA_AHEAD - 1>();"


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        # A stage is loaded into while what was there is still to be stored.
        (WAIT_READ, "", "wrong bytes"),
        (WAIT_READ, "ws_tma_wait_read<WS_TMA_STAGES - WS_TMA_AHEAD + 1>();", "wrong bytes"),
        # A stage is stored from before what is loaded into it is there.
        ("WS_TMA_STAGES & 1;", "WS_TMA_STAGES & 1 ^ 1;", "its bulk copies were in flight when it ended"),
        ("ws_tma_wait(tma.barriers + 8 * stage, phase);", "", "its bulk copies were in flight when it ended"),
        ("piece / WS_TMA_STAGES & 1;", "0;", "two bulk copies load in one phase of a barrier"),
        ("tma.pieces = base + mine;", "", "two bulk copies load in one phase of a barrier"),
        # The receiver is told before all is stored.
        ("ws_tma_wait_written();", "ws_tma_wait_read<0>();", "its bulk copies were in flight when it ended"),
        # What other threads wrote is not seen.
        ("ws_tma_fence();\n        for", "for", "a bulk copy loads without a fence after plain stores"),
    ],
)
def test_what_is_waited_for_too_little_is_found(right: str, wrong: str, said: str, kernels: Workshop) -> None:
    """Protects the model: each fault planted in the copy's text ends in wrong bytes or an error."""
    done = kernels.run("tma", fault=Fault("tma.h", right, wrong))
    assert done.returncode == 1 and said in done.stdout, done.stdout + done.stderr
