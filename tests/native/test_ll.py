"""LL, data and flag in the same packet: every length at every alignment, by the kernels' text on the CPU."""

from __future__ import annotations

import pytest
from support.kernels import ADDRESS, THREAD, Workshop


# Here the kernels follow payload that came in packets: the thread sanitizer sees that order too.
@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", [ADDRESS, THREAD], ids=["address", "thread"])
def test_every_length_at_every_alignment(sanitizer: tuple[str, ...], kernels: Workshop) -> None:
    """Protects short messages of `gpu`: no byte beside the message is written, no packet read half."""
    done = kernels.run("ll", flags=sanitizer)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{41 * 17} messages\n"
