"""Run by mpiexec: one transport, patterns that no command has, every byte of every rank compared.

    irregular.py CASE TRANSPORT OPTIONS MEMORY DEVICE

Prints "right" on rank 0, or ends with an assertion that says which byte is wrong.
"""

from __future__ import annotations

import random
import sys
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from wirespeed.libraries import known_libraries
from wirespeed.native import core
from wirespeed.world import Promise, World

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
    return Case(steps, in_place=True, rounds=301)


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


CASES: dict[str, Callable[[int], Case]] = {
    case.__name__: case for case in (many_to_many, other_steps, in_place_ring, in_place_gather, same_place)
}


def run(
    case: Case, world: World, transport: tuple[str, str], memory: str, device: Any, control: Any
) -> bytes:
    """This rank's receive buffer afterwards."""
    it, name = core(), memory.encode()
    lib = it.lib
    page = it.check(lib.ws_page_open(b"", world.rank))
    opened = it.check(
        lib.ws_transport_open(transport[0].encode(), transport[1].encode(), control, device, page)
    )
    buffers = it.check(lib.ws_buffers_open(opened, name, ROOM))
    send, receive = lib.ws_buffers_send(buffers), lib.ws_buffers_receive(buffers)
    it.check(lib.ws_device_copy(device, send, it.ffi.from_buffer(noise(world.rank)), ROOM))
    it.check(lib.ws_device_copy(device, receive, it.ffi.from_buffer(bytes(ROOM)), ROOM))
    flat = [(step, receives, peer, 0, at, size) for step, receives, peer, at, size in case.steps[world.rank]]
    world.barrier()
    transfers = it.ffi.new("ws_transfer[]", flat)
    program = it.check(lib.ws_program_open(opened, buffers, transfers, len(flat), int(case.in_place)))
    seconds = it.ffi.new("double *")
    it.check(lib.ws_program_run(program, 0, case.rounds, 1, seconds))
    world.barrier()
    found = bytearray(ROOM)
    at = send if case.in_place else receive
    it.check(lib.ws_device_copy(device, it.ffi.from_buffer(found), at, ROOM))
    lib.ws_program_close(program)
    lib.ws_buffers_close(buffers)
    lib.ws_transport_close(opened)
    return bytes(found)


def main(name: str, transport: str, options: str, memory: str, kind: str) -> None:
    world = World(Promise())
    it = core()
    for library, path in known_libraries().items():
        it.lib.ws_library_path(library.encode(), str(path).encode())
    it.check(it.lib.ws_mpi_open(world.library.encode(), world.handle()))
    device = it.open_device(kind, world.rank % it.device_count(kind))
    case = CASES[name](world.size)
    found = run(case, world, (transport, options), memory, device, world.control(it))
    right = expected(case)[world.rank]
    wrong = [at for at in range(ROOM) if found[at] != right[at]]
    places = world.everyone(wrong)
    if world.rank == 0:
        told = [f"rank {rank}: {len(w)} bytes, first {w[0]}" for rank, w in enumerate(places) if w]
        print("; ".join(told) or "right", flush=True)
    world.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
