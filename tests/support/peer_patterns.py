"""A rank of a world whose patterns no command has: peer_patterns.py TRANSPORT MEMORY DEVICE OPTIONS ...

Every pattern runs over every set of options of the transport, with fresh content each time; every byte of
each rank's buffer is compared with what the steps make if done in order, everywhere at once. "nobody" as the
only options: rank 1 never comes, and rank 0 must not wait for ever. "progress": one long sample, and how
often the page was told of it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wirespeed.host.core import NativeError
from wirespeed.job.status_page import read_page

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.rank import Rank

LENGTHS = (0, 1, 12, 4097, 70_001, 13, 4, 333_333)
LARGE, INSIDE, SMALL = 8 << 20, 100_003, 1 << 16


@dataclass(frozen=True)
class Message:
    """From `sender` to `receiver`; it lies at `out` in the send and at `into` in the receive buffer."""

    step: int
    sender: int
    receiver: int
    out: int
    into: int
    size: int
    arrives: int | None = None
    """The receiver's step, where it is another one."""

    @property
    def received(self) -> int:
        return self.step if self.arrives is None else self.arrives


@dataclass(frozen=True)
class Pattern:
    """Messages, and (untimed rounds, rounds in a sample, samples) one after the other."""

    messages: list[Message]
    rounds: tuple[tuple[int, int, int], ...] = ((0, 1, 1), (2, 3, 2), (1, 10, 1))
    in_place: bool = False

    @property
    def room(self) -> int:
        return max(max(each.out, each.into) + each.size for each in self.messages)

    def expected(self, sent: list[bytes], rounds: int) -> list[bytearray]:
        """Each rank's receive buffer after so many rounds."""
        send = [bytearray(each) for each in sent]
        receive = send if self.in_place else [bytearray(len(each)) for each in sent]
        order = sorted(self.messages, key=lambda each: each.received)
        for _ in range(rounds if self.in_place else 1):
            for _, together in groupby(order, key=lambda each: each.received):
                flying = [(each, send[each.sender][each.out : each.out + each.size]) for each in together]
                for each, content in flying:
                    receive[each.receiver][each.into : each.into + each.size] = content
        return receive


def noise(seed: int, size: int) -> bytes:
    """Its bytes come again after 65,537: no message lies so far from where it belongs."""
    return (random.Random(seed).randbytes(65_537) * (size // 65_537 + 1))[:size]


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


def many_to_many(ranks: int) -> Pattern:
    """Everyone sends to everyone, to itself too, in any order in several steps, with gaps."""
    chance, place = random.Random(17), [3] * ranks
    messages = []
    for step in range(4):
        pairs = [(a, b) for a in range(ranks) for b in range(ranks) for _ in range(3)]
        chance.shuffle(pairs)
        for a, b in pairs:
            size = chance.choice([0, 1, 8, 13, 500, 1001])
            messages.append(Message(step, a, b, chance.randrange(SMALL - size), place[b], size))
            place[b] += size + chance.choice([0, 1, 5])
    return Pattern(messages)


def window(ranks: int) -> Pattern:
    """Seven short messages to a neighbour in each of two steps, and one that answers."""
    pairs = [(step, rank, (rank + 1) % ranks) for step in (0, 1) for rank in range(ranks) for _ in range(7)]
    answers = [(2, (rank + 1) % ranks, rank) for rank in range(ranks)]
    return Pattern(spread(pairs + answers, 5000))


def both_ways(ranks: int) -> Pattern:
    """Two ranks, one message each way at the same time; the others have nothing to do."""
    return Pattern([Message(0, 0, 1, 4, 8, LARGE // 8), Message(0, 1, 0, 12, 0, LARGE // 8)])


def neighbours(ranks: int) -> Pattern:
    """Both ways at once between all pairs of neighbours, of many times a ring's length."""
    size = (9 << 20) + 5
    pairs = [(rank, rank ^ 1) for rank in range(ranks) if rank ^ 1 < ranks]
    return Pattern([Message(0, a, b, a % 2 * size + 1, a % 2 * size + 1, size) for a, b in pairs])


def pause(ranks: int) -> Pattern:
    """A step of messages without a byte, and one in which two ranks alone have something to do."""
    empty = [Message(0, rank, (rank + 1) % ranks, 0, 0, 0) for rank in range(ranks)]
    return Pattern([*empty, Message(1, 0, 1, 7, 7, 1000)])


def short_ring(ranks: int) -> Pattern:
    """Each sends to the next one and receives from the one before, one packet, again and again."""
    messages = [Message(0, rank, (rank + 1) % ranks, 16, 32, 8) for rank in range(ranks)]
    return Pattern(messages, rounds=((0, 1, 1), (3, 100, 2)))


def uneven(ranks: int) -> Pattern:
    """All to rank 0, one after the other; then rank 0 to the last one, more often than packets have slots."""
    gather = [(rank, rank, 0) for rank in range(1, ranks)]
    return Pattern(spread(gather + [(ranks, 0, ranks - 1)] * 3), rounds=((0, 1, 1), (1, 35, 2)))


def other_steps(ranks: int) -> Pattern:
    """What rank 0 sends in one step, the others receive in three."""
    messages, at = [], 0
    for peer in range(1, ranks):
        for arrives, size in enumerate((8, 0, 3000)):
            messages.append(Message(0, 0, peer, at, at + 7, size, arrives))
            at += size + 1
    return Pattern(messages)


def same_place(ranks: int) -> Pattern:
    """Two senders write to one place of rank 0, one step after the other; the second one's bytes stay."""
    return Pattern(
        [Message(0, rank, 0, 5, 100, 4096, step) for step, rank in enumerate((ranks - 1, 1))],
        rounds=((0, 101, 1),),
    )


def one_after_the_other(ranks: int) -> Pattern:
    """What the last rank sends is to lie on top of what rank 1 sent before, wherever who is faster."""
    below = Message(0, 1, 0, 0, 0, LARGE)
    above = Message(1, ranks - 1, 0, 0, INSIDE, 5000)
    return Pattern([below, above], rounds=((0, 1, 1), (0, 3, 1)))


def one_on_top(ranks: int) -> Pattern:
    """The same from one sender, whose blocks may not overtake each other either."""
    below = Message(0, 1, 0, 0, 0, LARGE // 4)
    above = Message(1, 1, 0, LARGE // 4, LARGE // 4 - 6003, 5000)
    return Pattern([below, above], rounds=((0, 1, 1),) * 20)


def relay(ranks: int) -> Pattern:
    """One buffer for both ways: a message goes round and is the same everywhere at the end."""
    messages = [Message(rank, rank, (rank + 1) % ranks, 3, 3, 200_001) for rank in range(ranks)]
    return Pattern(messages, rounds=((0, 1, 1), (1, 5, 2)), in_place=True)


def not_yet(ranks: int) -> Pattern:
    """One buffer for both ways: what comes to rank 0 may not come before rank 0 has sent what lies there."""
    first = Message(0, 0, 1, 0, 0, LARGE)
    second = Message(1, ranks - 1, 0, LARGE - 5000, LARGE - 5000, 5000)
    return Pattern([first, second], rounds=((0, 1, 1),), in_place=True)


def in_place_ring(ranks: int) -> Pattern:
    """Two halves of one buffer go round: a message that comes early destroys what was not sent yet."""
    half, around = SMALL // 2, [(rank, (rank + 1) % ranks) for rank in range(ranks)]
    messages = [Message(0, rank, to, 0, half, half) for rank, to in around]
    messages += [Message(1, rank, to, half, 0, half) for rank, to in around]
    return Pattern(messages, rounds=((0, 101, 1),), in_place=True)


def in_place_gather(ranks: int) -> Pattern:
    """All send to rank 0 at once, which answers each with another one's bytes, in memory used for both."""
    part, messages = 512, []
    for rank in range(1, ranks):
        own, other = rank * part, (rank % (ranks - 1) + 1) * part
        messages += [Message(0, rank, 0, 0, own, part), Message(1, 0, rank, other, part, part)]
        messages += [Message(2, rank, 0, part, other, part), Message(3, 0, rank, own, 0, part)]
    return Pattern(messages, rounds=((0, 101, 1),), in_place=True)


PATTERNS: tuple[Callable[[int], Pattern], ...] = (
    *(all_to_all, many_to_many, window, both_ways, pause, short_ring, uneven, other_steps, same_place),
    *(one_after_the_other, one_on_top, relay, not_yet, in_place_ring, in_place_gather),
)
# Kernels that stand in for a GPU's hand over by time slices: a hundred rounds of several ranks take long.
HUNDRED_ROUNDS = (same_place, in_place_ring, in_place_gather)
OF_BLOCKS = (one_after_the_other, one_on_top, not_yet)
"""That a kernel's blocks could break, over and over; their messages are long."""


class Runner:
    """Runs patterns over one transport, one buffer after the other."""

    def __init__(self, rank: Rank, transport: str, memory: str, options: str, room: int) -> None:
        self.rank, self.transport = rank, rank.transport(transport, options)
        self.buffers = rank.buffers(self.transport, room, memory)
        self.tag = 0

    def program(self, pattern: Pattern) -> Any:
        me = self.rank.world.rank
        sends = [
            (one.step, False, one.receiver, one.out, one.size) for one in pattern.messages if one.sender == me
        ]
        receives = [
            (one.received, True, one.sender, one.into, one.size)
            for one in pattern.messages
            if one.receiver == me
        ]
        ordered = sorted(sends + receives, key=lambda transfer: transfer[0])
        return self.rank.program(self.transport, self.buffers, ordered, pattern.in_place)

    def rounds(self, name: str, pattern: Pattern, program: Any, schedule: tuple[int, int, int]) -> None:
        """Collective: fresh content, the rounds, and every byte of every rank."""
        rank, lib = self.rank, self.rank.lib
        untimed, iterations, samples = schedule
        self.tag += 1
        ranks = range(rank.world.size)
        sent = [noise(self.tag * 100 + number, pattern.room) for number in ranks]
        send, receive = lib.ws_buffers_send(self.buffers), lib.ws_buffers_receive(self.buffers)
        rank.write(receive, bytes(pattern.room))
        rank.write(send, sent[rank.world.rank])
        rank.world.barrier()
        seconds = rank.ffi.new("double[]", samples)
        if untimed:
            clocks = rank.ffi.new("ws_batch_clocks *")
            rank.check(lib.ws_program_sample(program, *schedule, seconds, clocks))
        else:
            # Just these: one untimed iteration more would find other bytes in one buffer.
            rank.check(lib.ws_program_run(program, iterations * samples, seconds))
        rank.world.barrier()
        assert all(value >= 0 for value in rank.ffi.unpack(seconds, samples))
        right = pattern.expected(sent, untimed + iterations * samples)[rank.world.rank]
        found = rank.read(send if pattern.in_place else receive, pattern.room)
        wrong = [] if found == right else [at for at in range(pattern.room) if found[at] != right[at]]
        places = enumerate(rank.world.everyone([len(wrong), *wrong[:1]]))
        told = [f"rank {number}: {count} bytes, first {at}" for number, (count, *at) in places if count]
        assert not told, f"{name} {schedule}: {'; '.join(told)}"


def every_pattern(rank: Rank, transport: str, memory: str, options: str) -> dict[str, Any]:
    """Runs all, and the first one in between, whose program stays; what was chosen for each."""
    kernels = transport in ("gpu", "ipc")
    makes = [make for make in PATTERNS if make not in (HUNDRED_ROUNDS if kernels else OF_BLOCKS)]
    if transport == "pipelined":
        makes.append(neighbours)
    if kernels and not options:
        # Where nothing is fixed, compiling a program measures every way there is: that takes its time.
        makes = makes[:1]
    if rank.world.size < 3 and not_yet in makes:
        makes.remove(not_yet)  # rank 1 would send what it has just received
    patterns = {make.__name__: make(rank.world.size) for make in makes}
    room = max(pattern.room for pattern in patterns.values())
    runner = Runner(rank, transport, memory, options, room)
    chosen: dict[str, Any] = {}
    (name, first), *others = patterns.items()
    stays = runner.program(first)
    for schedule in first.rounds:
        runner.rounds(f"{transport} '{options}', {name}", first, stays, schedule)
    chosen[name] = rank.core.described(rank.lib.ws_program_describe(stays))
    for number, (name, pattern) in enumerate(others):
        program = runner.program(pattern)
        for schedule in pattern.rounds:
            runner.rounds(f"{transport} '{options}', {name}", pattern, program, schedule)
        if number % 4 == 0:
            runner.rounds(f"{transport} '{options}', the first one after {name}", first, stays, (0, 2, 1))
        chosen[name] = rank.core.described(rank.lib.ws_program_describe(program))
        rank.lib.ws_program_close(program)
    chosen["transport"] = rank.core.described(rank.lib.ws_transport_describe(runner.transport))
    rank.close(runner.transport, runner.buffers, stays)
    return chosen


def nobody_comes(rank: Rank, transport: str) -> str:
    """What rank 0 says of a peer that never starts its rounds."""
    runner = Runner(rank, transport, "device", "protocol=stores;blocks=2", LARGE)
    program = runner.program(both_ways(2))
    said = ""
    if rank.world.rank == 0:
        try:
            rank.run(program, 1)
        except NativeError as error:
            said = str(error)
    rank.world.barrier()
    rank.close(runner.transport, runner.buffers, program)
    return said


def progress(rank: Rank, transport: str, page: Path) -> int:
    """How often rank 0's page was told, in one sample of more than 4 GiB, that the rank goes on."""

    def begun() -> int:
        state = read_page(page)
        assert state
        return state.iteration

    runner = Runner(rank, transport, "device", "protocol=stores;blocks=2", LARGE)
    program = runner.program(Pattern([Message(0, 0, 1, 0, 0, LARGE), Message(1, 1, 0, 0, 0, LARGE)]))
    before = begun()
    rank.world.barrier()
    rank.run(program, 259)
    told = begun() - before
    rank.close(runner.transport, runner.buffers, program)
    return told


def main() -> None:
    transport, memory, kind, *options = sys.argv[1:]
    with TemporaryDirectory() as folder:
        page = Path(folder, "page")
        rank = Rank(kind, str(page), timeout=0.05 if options == ["nobody"] else 0)
        found: object
        if options == ["nobody"]:
            found = nobody_comes(rank, transport)
        elif options == ["progress"]:
            found = progress(rank, transport, page)
        else:
            found = {words: every_pattern(rank, transport, memory, words) for words in options}
        rank.leave(found)


if __name__ == "__main__":
    main()
