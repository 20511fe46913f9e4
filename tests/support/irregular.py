"""Run by mpiexec: one transport, patterns that no command has, every byte of every rank compared.

    irregular.py TRANSPORT OPTIONS MEMORY DEVICE

Rank 0 prints a line for each case: "right", or which bytes are wrong.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict, deque
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from wirespeed.host.core import core
from wirespeed.job.step_spec import ExpectedJob
from wirespeed.rank.join.mpi_world import MpiWorld

ROOM = 1 << 16
Transfer = tuple[int, bool, int, int, int]
"""(step, receives, peer, offset, bytes)"""


@dataclass
class Case:
    """What each rank does in a round."""

    steps: list[list[Transfer]]
    in_place: bool = False
    rounds: int = 1


def noise(rank: int) -> bytes:
    """What a rank's send buffer holds at first; receive buffers are zero."""
    return random.Random(rank).randbytes(ROOM)


def expected(case: Case) -> list[bytes]:
    """Each rank's receive buffer when all steps were done in order, everywhere at once."""
    send = [bytearray(noise(rank)) for rank in range(len(case.steps))]
    receive = send if case.in_place else [bytearray(ROOM) for _ in send]
    sent: dict[tuple[int, int], deque[int]] = defaultdict(deque)
    for rank, transfers in enumerate(case.steps):
        for _, receives, peer, offset, _ in transfers:
            if not receives:
                sent[rank, peer].append(offset)
    moves = [
        (step, peer, sent[peer, rank].popleft(), rank, offset, size)
        for rank, transfers in enumerate(case.steps)
        for step, receives, peer, offset, size in transfers
        if receives
    ]
    moves.sort(key=lambda move: move[0])
    for _ in range(case.rounds):
        for _, together in groupby(moves, key=lambda move: move[0]):
            flying = [(b, to, bytes(send[a][at : at + size])) for _, a, at, b, to, size in together]
            for b, to, content in flying:
                receive[b][to : to + len(content)] = content
    return [bytes(each) for each in receive]


def many_to_many(ranks: int) -> Case:
    """Everyone sends to everyone, to itself too, in several steps, with gaps, and nothing at times."""
    chance = random.Random(17)
    steps: list[list[Transfer]] = [[] for _ in range(ranks)]
    place = [3] * ranks
    for step in range(4):
        pairs = [(a, b) for a in range(ranks) for b in range(ranks) for _ in range(3)]
        chance.shuffle(pairs)
        for a, b in pairs:
            size = chance.choice([0, 1, 8, 13, 500, 1001])
            steps[a].append((step, False, b, chance.randrange(ROOM - size), size))
            steps[b].append((step, True, a, place[b], size))
            place[b] += size + chance.choice([0, 1, 5])
    assert max(place) < ROOM
    return Case(steps)


def other_steps(ranks: int) -> Case:
    """What rank 0 sends in one step, the others receive in three."""
    steps: list[list[Transfer]] = [[] for _ in range(ranks)]
    at = 0
    for peer in range(1, ranks):
        for step, size in enumerate((8, 0, 3000)):
            steps[0].append((0, False, peer, at, size))
            steps[peer].append((step, True, 0, at + 7, size))
            at += size + 1
    return Case(steps)


def in_place_ring(ranks: int) -> Case:
    """Two halves of one buffer go round: a message that comes early destroys what was not sent yet."""
    half = ROOM // 2
    steps: list[list[Transfer]] = []
    for rank in range(ranks):
        to, origin = (rank + 1) % ranks, (rank - 1) % ranks
        there = [(0, False, to, 0, half), (0, True, origin, half, half)]
        steps.append([*there, (1, False, to, half, half), (1, True, origin, 0, half)])
    return Case(steps, in_place=True, rounds=101)


def in_place_gather(ranks: int) -> Case:
    """All send to rank 0 at once, which answers each with another one's bytes, in memory used for both."""
    part = 512
    steps: list[list[Transfer]] = [[] for _ in range(ranks)]
    for rank in range(1, ranks):
        at, other = rank * part, (rank % (ranks - 1) + 1) * part
        steps[rank] = [(0, False, 0, 0, part), (1, True, 0, part, part)]
        steps[rank] += [(2, False, 0, part, part), (3, True, 0, 0, part)]
        steps[0] += [(0, True, rank, at, part), (1, False, rank, other, part)]
        steps[0] += [(2, True, rank, other, part), (3, False, rank, at, part)]
    return Case(steps, in_place=True, rounds=101)


def same_place(ranks: int) -> Case:
    """Two senders write to one place of rank 0, one step after the other; the second one's bytes stay."""
    steps: list[list[Transfer]] = [[] for _ in range(ranks)]
    for step, rank in enumerate((ranks - 1, 1)):
        steps[0].append((step, True, rank, 100, 4096))
        steps[rank].append((0, False, 0, 5, 4096))
    return Case(steps, rounds=101)


class Rank:
    """One rank with its device and one transport."""

    def __init__(self, transport: str, options: str, memory: str, kind: str) -> None:
        self.world = MpiWorld(ExpectedJob())
        self.core = core()
        self.memory = memory.encode()
        check, lib = self.core.check, self.core.lib
        self.world.open_mpi(self.core)
        count = self.core.device_count(kind)
        self.device = self.core.open_device(kind, self.world.rank % count)
        page = check(lib.ws_page_open(b"", self.world.rank))
        self.control = self.world.control(self.core)
        self.transport = check(
            lib.ws_transport_open(transport.encode(), options.encode(), self.control, self.device, page)
        )

    def copy(self, to: Any, origin: Any) -> None:
        self.core.check(self.core.lib.ws_device_copy(self.device, to, origin, ROOM))

    def run(self, case: Case) -> bytes:
        """This rank's receive buffer afterwards."""
        check, lib, ffi = self.core.check, self.core.lib, self.core.ffi
        buffers = check(lib.ws_buffers_open(self.transport, self.memory, ROOM))
        send, receive = lib.ws_buffers_send(buffers), lib.ws_buffers_receive(buffers)
        self.copy(send, ffi.from_buffer(noise(self.world.rank)))
        self.copy(receive, ffi.from_buffer(bytes(ROOM)))
        flat = [(step, into, peer, 0, at, size) for step, into, peer, at, size in case.steps[self.world.rank]]
        flat.sort(key=lambda transfer: transfer[0])
        self.world.barrier()
        program = check(
            lib.ws_program_open(
                self.transport,
                buffers,
                ffi.new("ws_transfer[]", flat),
                len(flat),
                ffi.NULL,
                0,
                int(case.in_place),
            )
        )
        check(lib.ws_program_run(program, case.rounds, ffi.new("double *")))
        self.world.barrier()
        found = bytearray(ROOM)
        self.copy(ffi.from_buffer(found), send if case.in_place else receive)
        lib.ws_program_close(program)
        lib.ws_buffers_close(buffers)
        return bytes(found)

    def judge(self, case: Case) -> str:
        """Says "right", or where it is not; on every rank."""
        found, right = self.run(case), expected(case)[self.world.rank]
        wrong = [at for at in range(ROOM) if found[at] != right[at]]
        places = enumerate(self.world.everyone(wrong))
        return "; ".join(f"rank {rank}: {len(w)} bytes, first {w[0]}" for rank, w in places if w) or "right"

    def leave(self) -> None:
        self.core.lib.ws_transport_close(self.transport)
        self.world.leave()


def main(*words: str) -> None:
    rank = Rank(*words)
    for case in (many_to_many, other_steps, in_place_ring, in_place_gather, same_place):
        verdict = rank.judge(case(rank.world.size))
        if rank.world.rank == 0:
            print(f"{case.__name__}: {verdict}", flush=True)
    rank.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
