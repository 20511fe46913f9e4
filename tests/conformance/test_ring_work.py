"""Sums that the path gpu does in its own kernel: every protocol, place and number of ranks."""

from __future__ import annotations

import pytest
from support.command import Measure
from support.selection import slow_case

pytestmark = pytest.mark.slow(after=1)

SIZES = "8,24,4096,40000"
"""One packet, part of a block's share, and messages that are shared by blocks, or would be."""


@pytest.mark.parametrize("ranks", [slow_case(2), 3])
@pytest.mark.parametrize(("protocol", "offset"), [("LL", 3), ("stores", 0), ("stores", 8), ("pull", 0)])
def test_every_sum_is_right(protocol: str, offset: int, ranks: int, measure: Measure) -> None:
    """Protects what is put off until a message is sent on, early invitations, and shares of blocks.

    Two ranks need no invitations; three do. Places off 16 bytes leave no shares: one block does it all.
    """
    done = measure(
        f"ring --ranks {ranks} --device emulated --paths gpu --sizes {SIZES} --max-time 0.01 --test",
        f"protocol={protocol} --test offset={offset} --test blocks=3 --test threads=16",
        environment={"WIRESPEED_EMULATED": f"count={ranks},blocks=3,threads=16"},
    ).ok()
    assert [entry["bytes"] for entry in done.entries] == [8, 24, 4096, 40000]
    for entry in done.entries:
        assert entry["details"]["work"] == "by the same kernel"
        assert entry["checked"]["bytes"] > 0
    in_shares = offset % 16 == 0
    chosen = done.entries[-1]["details"]
    if protocol != "LL" and in_shares:
        assert (chosen["protocol"], chosen["blocks"]) == (protocol, 3)
    if protocol == "stores" and not in_shares:
        assert chosen["blocks"] == 1


@pytest.mark.slow
def test_a_long_sum_off_16_bytes_is_done_by_a_single_block(measure: Measure) -> None:
    """Protects sums of more than a block moves at most where others could help it: here none can."""
    done = measure(
        *("ring --ranks 2 --device emulated --paths gpu --sizes", str((16 << 20) + 8)),
        "--loops 1 --warmup 0",
        environment={"WIRESPEED_EMULATED": "count=2,blocks=4,threads=64,seed=1"},
    ).ok()
    (entry,) = done.entries
    assert entry["details"]["blocks"] == 1 and entry["checked"]["bytes"] > 0
