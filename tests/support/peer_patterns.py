"""A rank of a world whose patterns no command has: peer_patterns.py LIBRARY RANKS TRANSPORT [OPTIONS ...].

Every pattern runs over every set of options of the transport, in rounds with fresh content; every byte that
arrives is checked. "nobody" as the only options: rank 1 never comes, and rank 0 must not wait for ever.
"progress": one long sample, and how often the page was told of it. DEVICE_KIND in the environment: another
device than the emulated one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wirespeed.host.core import NativeError, core
from wirespeed.host.die_with_parent import die_with_parent
from wirespeed.job.status_page import read_page
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.launchers import global_rank
from wirespeed.rank.join.mpi_world import MpiWorld

LENGTHS = (0, 1, 12, 4097, 70_001, 13, 4, 333_333)
ROOM = 24 << 20
LARGE, INSIDE = 8 << 20, 100_003


@dataclass(frozen=True)
class Message:
    """From `sender` to `receiver`; it lies at `out` in the send and at `into` in the receive buffer."""

    step: int
    sender: int
    receiver: int
    out: int
    into: int
    size: int


@dataclass(frozen=True)
class Pattern:
    """Messages, and by their numbers which of them must be found at the end, whole."""

    messages: list[Message]
    rounds: tuple[tuple[int, int, int], ...] = ((0, 1, 1), (2, 3, 2), (1, 10, 1))
    in_place: bool = False
    last: tuple[tuple[int, int], ...] = ()
    """Instead of all: (rank, number of the message that lies where the rank receives) of such as overlap."""


def spread(pairs: list[tuple[int, int, int]], largest: int = 1 << 30) -> list[Message]:
    """(step, sender, receiver): lengths go round; no two messages share a byte, and ends lie apart."""
    messages: list[Message] = []
    place = 1
    for number, (step, sender, receiver) in enumerate(pairs):
        size = min(LENGTHS[number % len(LENGTHS)], largest)
        messages.append(Message(step, sender, receiver, place, place + number % 5, size))
        place += size + 7
    return messages


def all_to_all(ranks: int) -> Pattern:
    """Itself included; then back to back in a second step."""
    everybody = [(sender, receiver) for sender in range(ranks) for receiver in range(ranks)]
    return Pattern(spread([(step, *pair) for step in (0, 1) for pair in everybody]))


def window(ranks: int) -> Pattern:
    """Seven short messages to a neighbour in each of two steps, and one that answers."""
    pairs = [(step, rank, (rank + 1) % ranks) for step in (0, 1) for rank in range(ranks) for _ in range(7)]
    answers = [(2, (rank + 1) % ranks, rank) for rank in range(ranks)]
    return Pattern(spread(pairs + answers, 5000))


def both_ways(ranks: int) -> Pattern:
    """Two ranks, one message each way at the same time; the others have nothing to do."""
    return Pattern([Message(0, 0, 1, 4, 8, LARGE // 8), Message(0, 1, 0, 12, 0, LARGE // 8)])


def short_ring(ranks: int) -> Pattern:
    """Each sends to the next one and receives from the one before, one packet, again and again."""
    messages = [Message(0, rank, (rank + 1) % ranks, 16, 32, 8) for rank in range(ranks)]
    return Pattern(messages, rounds=((0, 1, 1), (3, 100, 2)))


def uneven(ranks: int) -> Pattern:
    """All to rank 0, one after the other; then rank 0 to the last one, more often than packets have slots."""
    gather = [(rank, rank, 0) for rank in range(1, ranks)]
    return Pattern(spread(gather + [(ranks, 0, ranks - 1)] * 3), rounds=((0, 1, 1), (1, 35, 2)))


def one_after_the_other(ranks: int) -> Pattern:
    """What the last rank sends is to lie on top of what rank 1 sent before, wherever who is faster."""
    below = Message(0, 1, 0, 0, 0, LARGE)
    above = Message(1, ranks - 1, 0, 0, INSIDE, 5000)
    return Pattern([below, above], rounds=((0, 1, 1), (0, 3, 1)), last=((0, 1),))


def one_on_top(ranks: int) -> Pattern:
    """The same from one sender, whose blocks may not overtake each other either."""
    below = Message(0, 1, 0, 0, 0, LARGE // 4)
    above = Message(1, 1, 0, LARGE // 4, LARGE // 4 - 6003, 5000)
    return Pattern([below, above], rounds=((0, 1, 1),) * 20, last=((0, 1),))


def relay(ranks: int) -> Pattern:
    """One buffer for both ways: a message goes round and is the same everywhere at the end."""
    messages = [Message(rank, rank, (rank + 1) % ranks, 3, 3, 200_001) for rank in range(ranks)]
    last = tuple((rank, 0) for rank in range(1, ranks))
    return Pattern(messages, rounds=((0, 1, 1), (1, 5, 2)), in_place=True, last=last)


def not_yet(ranks: int) -> Pattern:
    """One buffer for both ways: what comes to rank 0 may not come before rank 0 has sent what lies there."""
    first = Message(0, 0, 1, 0, 0, LARGE)
    second = Message(1, ranks - 1, 0, LARGE - 5000, LARGE - 5000, 5000)
    return Pattern([first, second], rounds=((0, 1, 1),), in_place=True, last=((1, 0), (0, 1)))


PATTERNS: tuple[Callable[[int], Pattern], ...] = (
    *(all_to_all, window, both_ways, short_ring, uneven, one_after_the_other, one_on_top, relay, not_yet),
)


class Rank:
    """One rank with one transport and its buffers."""

    def __init__(self, world: MpiWorld, transport: str, options: str, timeout: float = 0) -> None:
        self.core, self.world = core(), world
        self.lib, self.check = self.core.lib, self.core.check
        kind = os.environ.get("DEVICE_KIND", "emulated")
        self.device = self.core.open_device(kind, world.rank % self.core.device_count(kind))
        self._folder = TemporaryDirectory()
        self._file = Path(self._folder.name, "page")
        self.page = self.check(self.lib.ws_page_open(str(self._file).encode(), world.rank))
        self.lib.ws_page_stage(self.page, b"test", 0, timeout)
        control = world.control(self.core)
        self.transport = self.check(
            self.lib.ws_transport_open(transport.encode(), options.encode(), control, self.device, self.page)
        )
        self.buffers = self.check(self.lib.ws_buffers_open(self.transport, b"device", ROOM))
        self.send = self.core.ffi.cast("char *", self.lib.ws_buffers_send(self.buffers))
        self.receive = self.core.ffi.cast("char *", self.lib.ws_buffers_receive(self.buffers))

    def begun(self) -> int:
        """Rounds that the page has been told of."""
        state = read_page(self._file)
        assert state
        return state.iteration

    def close(self) -> None:
        self._folder.cleanup()
        self.lib.ws_buffers_close(self.buffers)
        self.lib.ws_transport_close(self.transport)

    def program(self, pattern: Pattern) -> Any:
        me = self.world.rank
        flat = [
            (each.step, receives, each.receiver if not receives else each.sender, 0, offset, each.size)
            for each in pattern.messages
            for mine, receives, offset in ((each.sender, 0, each.out), (each.receiver, 1, each.into))
            if mine == me
        ]
        flat.sort(key=lambda transfer: transfer[0])
        transfers = self.core.ffi.new("ws_transfer[]", flat)
        return self.check(
            self.lib.ws_program_open(
                self.transport, self.buffers, transfers, len(flat), self.core.ffi.NULL, 0, pattern.in_place
            )
        )

    def rounds(self, pattern: Pattern, program: Any, tag: int, schedule: tuple[int, int, int]) -> None:
        """Fresh content, the rounds, and every byte that must have come."""
        me = self.world.rank
        receive = self.send if pattern.in_place else self.receive
        for each in pattern.messages:
            if each.receiver == me:
                self._fill(receive + each.into, each.size, 0, tag ^ 0x80)
        for number, each in enumerate(pattern.messages):
            if each.sender == me:
                self._fill(self.send + each.out, each.size, number + 1, tag)
        self.world.barrier()
        untimed, iterations, samples = schedule
        seconds = self.core.ffi.new("double[]", samples)
        if untimed:
            clocks = self.core.ffi.new("ws_batch_clocks *")
            self.check(self.lib.ws_program_sample(program, *schedule, seconds, clocks))
        else:
            # Just these: one untimed iteration more would find other bytes in one buffer.
            self.check(self.lib.ws_program_run(program, iterations * samples, seconds))
        assert all(value >= 0 for value in self.core.ffi.unpack(seconds, samples))
        found = [number for number, each in enumerate(pattern.messages) if each.receiver == me]
        if pattern.last:
            found = [number for rank, number in pattern.last if rank == me]
        for number in found:
            each = pattern.messages[number]
            self._verify(receive + each.into, each.size, number + 1, tag, f"message {number} {each}")

    def _fill(self, address: Any, size: int, seed: int, tag: int) -> None:
        self.check(self.lib.ws_device_fill(self.device, b"device", address, size, seed, tag))

    def _verify(self, address: Any, size: int, seed: int, tag: int, what: str) -> None:
        first = self.core.ffi.new("uint64_t *")
        self.check(self.lib.ws_device_check(self.device, b"device", address, size, seed, tag, first))
        assert first[0] == size, f"{what}: byte {first[0]} of {size} is wrong"


def every_pattern(world: MpiWorld, transport: str, options: str) -> dict[str, Any]:
    """Runs all, and the first one again at the end; what was chosen for each."""
    rank = Rank(world, transport, options)
    chosen: dict[str, Any] = {}
    tag = 1
    # Where nothing is fixed, compiling a program measures every way there is: that takes its time.
    for make in (*PATTERNS, PATTERNS[0]) if options else PATTERNS[:1]:
        if make is not_yet and world.size < 3:
            continue  # rank 1 would send what it has just received
        pattern = make(world.size)
        try:
            program = rank.program(pattern)
            for schedule in pattern.rounds:
                rank.rounds(pattern, program, tag, schedule)
                tag += 1
        except AssertionError as error:
            raise AssertionError(f"{transport} '{options}', {make.__name__}: {error}") from None
        chosen[make.__name__] = rank.core.described(rank.lib.ws_program_describe(program))
        rank.lib.ws_program_close(program)
    rank.close()
    return chosen


def nobody_comes(world: MpiWorld, transport: str) -> str:
    """What rank 0 says of a peer that never starts its rounds."""
    rank = Rank(world, transport, "protocol=stores;blocks=2", timeout=0.05)
    program = rank.program(both_ways(world.size))
    said = ""
    if world.rank == 0:
        try:
            rank.check(rank.lib.ws_program_run(program, 1, rank.core.ffi.new("double *")))
        except NativeError as error:
            said = str(error)
    world.barrier()
    rank.lib.ws_program_close(program)
    rank.close()
    return said


def progress(world: MpiWorld, transport: str) -> int:
    """How often rank 0's page was told, in one sample of more than 4 GiB, that the rank goes on."""
    rank = Rank(world, transport, "protocol=stores;blocks=2")
    there, back = Message(0, 0, 1, 0, 0, LARGE), Message(1, 1, 0, 0, 0, LARGE)
    program = rank.program(Pattern([there, back]))
    before = rank.begun()
    world.barrier()
    rank.check(rank.lib.ws_program_run(program, 259, rank.core.ffi.new("double *")))
    told = rank.begun() - before
    rank.lib.ws_program_close(program)
    rank.close()
    return told


def main() -> None:
    library, ranks, transport, *options = sys.argv[1:]
    die_with_parent()
    world = MpiWorld(ExpectedJob(size=int(ranks), library=library))
    world.open_mpi(core())
    found: object
    if options == ["nobody"]:
        found = nobody_comes(world, transport)
    elif options == ["progress"]:
        found = progress(world, transport)
    else:
        found = {words: every_pattern(world, transport, words) for words in options}
    if global_rank() == 0:
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()
    world.leave()


if __name__ == "__main__":
    main()
