"""Parts of the persistent kernel, by its own text on the CPU."""

from __future__ import annotations

import pytest
from support.kernels import ADDRESS, THREAD, Fault, Workshop

pytestmark = pytest.mark.slow

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
