"""Guard bytes: which bytes around messages are looked at, on memory that a test has written."""

from __future__ import annotations

import ctypes

import pytest

from wirespeed.host.core import core
from wirespeed.rank.check.guards import GUARD, GuardedBuffer, Guards, Span, guards_of


@pytest.mark.parametrize(
    ("spans", "guards"),
    [
        ([], []),
        ([(0, 8)], [(-GUARD, GUARD), (8, GUARD)]),
        ([(8, 16), (0, 8)], [(-GUARD, GUARD), (16, GUARD)]),
        ([(0, 100), (20, 40), (60, 80)], [(-GUARD, GUARD), (100, GUARD)]),
        ([(0, 8), (256, 264)], [(-GUARD, GUARD), (8, 248), (264, GUARD)]),
        ([(0, 8), (8 + 3 * GUARD, 9 + 3 * GUARD)],
         [(-GUARD, GUARD), (8, GUARD), (8 + 2 * GUARD, GUARD), (9 + 3 * GUARD, GUARD)]),
    ],
)  # fmt: skip
def test_all_but_messages_is_guarded(spans: list[tuple[int, int]], guards: list[tuple[int, int]]) -> None:
    """Protects messages from being poisoned, and what lies beside them from being left out."""
    assert guards_of([Span(*each, "a message") for each in spans]) == guards


@pytest.mark.parametrize("bytes_", [1, 5, 16])
@pytest.mark.parametrize(("begin", "end"), [(0, 8), (3, 16), (64, 64 + (64 << 10))])
def test_what_is_written_beyond_is_found(begin: int, end: int, bytes_: int) -> None:
    """Protects every byte of 4 KiB before and behind a message, whatever its place and its length."""
    opened = core()
    device = opened.open_device("host", 0)
    memory = ctypes.create_string_buffer(end + 2 * GUARD)
    start = opened.ffi.cast("char *", ctypes.addressof(memory) + GUARD)
    buffer = GuardedBuffer(b"pageable", start, [Span(begin, end, "the message")])
    guards = Guards(opened, device)
    for at, said in [
        (begin - GUARD, f"{GUARD} bytes before"),
        (begin - bytes_, f"{bytes_} byte{'s' * (bytes_ > 1)} before"),
        (end, "1 byte behind"),
        (end + GUARD - bytes_, f"{GUARD - bytes_ + 1} bytes behind"),
        (begin, ""),
        (end - 1, ""),
    ]:
        guards.poison([buffer])
        assert not guards.stray()
        for place in range(at, min(at + bytes_, end) if begin <= at < end else at + bytes_):
            memory[GUARD + place] = bytes([memory[GUARD + place][0] ^ 1])
        assert guards.stray() == (f"something was written {said} the message" if said else "")
    opened.lib.ws_device_close(device)
