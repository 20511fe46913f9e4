"""A soak's check: what kind of wrong message is which, on memory that a test has written."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from wirespeed.host.core import Core, core
from wirespeed.job.soaking import WRONG_KINDS
from wirespeed.rank.check.soak_run import PLACES

pytestmark = pytest.mark.slow

MASK = (1 << 64) - 1
BASE = 0x1234_5678_9ABC_DEF1
U64, U32 = ctypes.c_uint64, ctypes.c_uint32


class Place(ctypes.Structure):
    """WsSoakPlace."""

    _fields_ = [
        *((name, U64) for name in ("at", "bytes", "base", "iteration", "before", "aside", "pending")),
        *((name, U64) for name in ("first", "wrong", "unlike", "found")),
    ]


class Look(ctypes.Structure):
    """WsSoakLook."""

    _fields_ = [("first", U64), ("unlike", U64), ("wrong", U64), ("reserved", U64 * 13)]


class State(ctypes.Structure):
    """WsSoak."""

    _fields_ = [
        *((name, U64) for name in ("places", "looks", "checked")),
        ("kinds", U64 * 4),
        *((name, U64) for name in ("place", "iteration", "offset", "kind", "lag", "expected", "found")),
        *((name, U64) for name in ("fault", "every", "seed", "end", "planted")),
        *((name, U32) for name in ("left", "pending")),
    ]


def content(iteration: int, size: int) -> bytes:
    """A message as docs/checking.md has it: words in arithmetic progression, by bytes from the least on."""
    head = BASE ^ (iteration + 1) * 0x9E37_79B9_7F4A_7C15 & MASK
    words = ((head + i * 0xD134_2543_DE82_EF95) & MASK for i in range(-(-size // 8)))
    return b"".join(word.to_bytes(8, "little") for word in words)[:size]


class Receiver:
    """Places that take turns; each message is written here as a transport would, then checked."""

    def __init__(self, opened: Core, device: Any, size: int, shift: int = 0) -> None:
        self.size, self._core, self._device = size, opened, device
        self._memory = [ctypes.create_string_buffer(size + 16) for _ in range(PLACES)]
        self._at = [(ctypes.addressof(memory) + 15) // 8 * 8 + shift for memory in self._memory]
        self._places = (Place * PLACES)(
            *(Place(self._at[i], size, BASE, i, before=(i - 1) % PLACES, first=0) for i in range(PLACES))
        )
        self._looks = (Look * (2 * PLACES))(*(Look(first=MASK) for _ in range(2 * PLACES)))
        self.state = State(ctypes.addressof(self._places), ctypes.addressof(self._looks))
        self.iteration = 0
        for place in range(PLACES):
            self._launch("ws_soak_start", ctypes.addressof(self.state), place, 0)

    def before(self) -> bytes:
        """What lies where the next message arrives."""
        return ctypes.string_at(self._at[self.iteration % PLACES], self.size)

    def takes(self, message: bytes | None = None) -> None:
        """The next message arrives; None: as it was sent."""
        self.writes(content(self.iteration, self.size) if message is None else message)
        self._launch("ws_soak_turn", 0, ctypes.addressof(self.state), self.iteration % PLACES, 1, 0)
        self.iteration += 1

    def writes(self, message: bytes, back: int = 0) -> None:
        """`back`: into the place of so many messages ago."""
        ctypes.memmove(self._at[(self.iteration - back) % PLACES], message, len(message))

    def ends(self) -> None:
        """After the last message."""
        self._launch("ws_soak_end", ctypes.addressof(self.state), PLACES)

    def already_wrong(self, elements: int) -> None:
        """As if the look at the next message had found so many."""
        self._looks[2 * (self.iteration % PLACES)].wrong = elements

    def found(self) -> dict[str, int]:
        """Wrong messages by kind."""
        return {kind: n for kind, n in zip(WRONG_KINDS, self.state.kinds, strict=True) if n}

    def _launch(self, kernel: str, *arguments: int) -> None:
        words = self._core.ffi.new("uint64_t[]", arguments)
        lib = self._core.lib
        done = lib.ws_device_launch(self._device, b"pageable", kernel.encode(), 1, 1, words, len(words))
        self._core.check(done)


@pytest.fixture
def receiver() -> Iterator[Callable[..., Receiver]]:
    opened = core()
    device = opened.check(opened.lib.ws_device_open(b"host", 0, b"driver", 0))
    yield lambda size, shift=0: Receiver(opened, device, size, shift)
    opened.lib.ws_device_close(device)


SIZES = pytest.mark.parametrize(("size", "shift"), [(8, 0), (13, 0), (4096, 0), (4096, 3), (3, 1)])
Make = Callable[..., Receiver]


@SIZES
def test_right_messages_are_counted(receiver: Make, size: int, shift: int) -> None:
    """Protects every other verdict from a check that calls right messages wrong."""
    here = receiver(size, shift)
    for _ in range(20):
        here.takes()
    assert here.state.checked == 20
    assert not here.found()


@SIZES
def test_each_bit_counts(receiver: Make, size: int, shift: int) -> None:
    """Protects every byte of a message: one bit of it, anywhere, is damage, and its place is told."""
    for at in {0, size // 2, size - 1}:
        here = receiver(size, shift)
        here.takes()
        damaged = bytearray(content(1, size))
        damaged[at] ^= 0x10
        here.takes(bytes(damaged))
        here.takes()
        assert here.found() == {"damaged": 1}
        assert (here.state.iteration, here.state.checked) == (1, 3)
        assert here.state.offset == (at // 8 * 8 if shift == 0 and at < size // 8 * 8 else at)


@SIZES
def test_late_is_right_at_the_second_look(receiver: Make, size: int, shift: int) -> None:
    """Protects late from damaged: the last bytes come after the flag, or they never come."""
    tail = max(1, size // 2)
    for comes in (True, False):
        here = receiver(size, shift)
        here.takes()
        here.takes()
        whole = content(2, size)
        here.takes(whole[: size - tail])
        if comes:
            here.writes(whole, back=1)
        here.takes()
        assert here.found() == {"late" if comes else "damaged": 1}, (here.found(), comes)
        assert here.state.iteration == 2


@pytest.mark.parametrize(("size", "shift"), [(8, 0), (13, 0), (4096, 0), (4096, 3)])
@pytest.mark.parametrize("lag", [1, 2, 3, PLACES, 15])
def test_stale_says_how_old(receiver: Make, size: int, shift: int, lag: int) -> None:
    """Protects stale, also where the place held the same old message before (PLACES)."""
    here = receiver(size, shift)
    for _ in range(16):
        here.takes()
    here.takes(content(16 - lag, size))
    here.takes()
    assert here.found() == {"stale": 1}
    assert here.state.lag == lag


def test_an_older_message_is_damage(receiver: Make) -> None:
    """Protects the limit that the documentation states: 15 iterations."""
    here = receiver(64)
    for _ in range(20):
        here.takes()
    here.takes(content(4, 64))
    here.takes()
    assert here.found() == {"damaged": 1}


@SIZES
def test_lost_is_what_lay_here(receiver: Make, size: int, shift: int) -> None:
    """Protects lost from stale, at the first message and at later ones; the next ones are right again."""
    here = receiver(size, shift)
    for iteration in range(12):
        here.takes(here.before() if iteration in (0, 6, 7) else None)
    assert here.found() == {"lost": 3}
    assert here.state.checked == 12
    assert here.state.iteration == 0


@pytest.mark.parametrize("late", [False, True])
def test_the_last_message_has_a_verdict(receiver: Make, late: bool) -> None:
    """Protects the end of a soak: a wrong message that none follows is counted, as what it is."""
    here = receiver(64)
    for _ in range(3):
        here.takes()
    here.takes(bytes(64))
    assert not here.found()
    if late:
        here.writes(content(3, 64), back=1)
    here.ends()
    assert here.found() == {"late" if late else "damaged": 1}
    assert here.state.checked == 4


def test_a_count_of_wrong_elements_has_no_end(receiver: Make) -> None:
    """Protects long messages: 2^32 wrong elements are none for a count of 32 bits."""
    here = receiver(64)
    here.takes()
    here.already_wrong(2**32 - 1)
    here.takes(content(1, 56) + bytes(8))
    here.takes()
    assert here.found() == {"damaged": 1}


def test_another_senders_message_is_damage(receiver: Make) -> None:
    """Protects what names sender and place: the right iteration of another transfer is wrong here."""
    here = receiver(64)
    here.takes()
    here.takes(bytes(byte ^ 1 for byte in content(1, 64)))
    here.takes()
    assert here.found() == {"damaged": 1}
