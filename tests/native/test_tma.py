"""Copies by the bulk copy engine (TMA), on a model of it that is as late as it may be."""

from __future__ import annotations

import pytest
from support.kernels import ADDRESS, Fault, Workshop

pytestmark = pytest.mark.slow


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
