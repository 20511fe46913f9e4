"""Both directions at once: `wirespeed exchange` over paths of every kind."""

from __future__ import annotations

import pytest
from support.command import Measure, is_checked

from wirespeed.patterns import Shape, find_pattern

SIZES = (0, 7, 4097, 1 << 20)
PATHS = ("host", "staged", "staged-pipelined", "ipc-write", "ipc-read", "gpu")


def test_every_send_has_its_receive() -> None:
    """Protects the pattern itself: one step, both ways, nothing to oneself."""
    pattern = find_pattern("exchange")
    for rank in (0, 1):
        (step,) = pattern.at(Shape(2)).steps(rank, 8)
        assert [(t.peer, t.bytes) for t in step.sends] == [(1 - rank, 8)]
        assert [(t.peer, t.bytes) for t in step.receives] == [(1 - rank, 8)]
    assert pattern.at(Shape(3)).refuse() and not pattern.at(Shape(2)).refuse()


@pytest.mark.slow
def test_every_byte_arrives_both_ways(measure: Measure) -> None:
    """Protects paths from waiting for each other when both send first, and the name of what is measured."""
    sizes = ",".join(map(str, SIZES))
    words = ("--paths", ",".join(PATHS), "--device", "emulated", "--sizes", sizes, "--max-time", "0.02")
    done = measure("exchange", *words).ok()
    assert {(entry["path"], entry["bytes"]) for entry in done.entries} == {
        (path, size) for path in PATHS for size in SIZES
    }
    for entry in done.entries:
        assert entry["definition"].startswith("each way, both at once")
        # Rank 0 checks what it receives: one message a round.
        assert is_checked(entry)
    assert "each way" in done.out and "one way" not in done.out
