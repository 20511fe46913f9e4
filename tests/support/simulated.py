"""A program's ranks in one process: their buffers lie side by side, and each transfer is a copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Barrier
from typing import Any

from wirespeed.host.core import Core
from wirespeed.patterns import Place, Shape, Step, Work
from wirespeed.programs import ProgramPattern, Scratch
from wirespeed.rank.work_list import packed


class Ranks:
    """All ranks of a program on one device; memory: "pageable", "device"."""

    def __init__(self, core: Core, device: Any, memory: str, program: ProgramPattern, shape: Shape) -> None:
        job = program.at(shape)
        self.core, self.device, self.memory = core, device, memory.encode()
        self.program, self.shape = program, shape
        size = (job.size_rule.fixed or (0,))[0]
        self.steps = [job.steps(rank, size) for rank in range(shape.ranks)]
        room = max(job.extent(rank, size) for rank in range(shape.ranks))
        self.own = [self._allocated(room) for _ in self.steps]
        self.scratch = [self._allocated(room) for _ in self.steps]

    def _allocated(self, room: int) -> int:
        address = self.core.check(self.core.lib.ws_device_allocate(self.device, self.memory, room))
        return int(self.core.ffi.cast("uintptr_t", address))

    def close(self) -> None:
        for address in (*self.own, *self.scratch):
            self.core.lib.ws_device_release(self.device, self.memory, self._at(address))

    def _at(self, address: int) -> Any:
        return self.core.ffi.cast("void *", address)

    def launch(self, rank: int, work: Iterable[Work]) -> None:
        """Does it, and waits."""
        for one in work:
            arguments = [
                (self.scratch if isinstance(a, Scratch) else self.own)[rank] + a.offset
                if isinstance(a, Place)
                else a
                for a in one.arguments
            ]
            self._run(one.kernel, one.blocks, one.threads, arguments)

    def _run(self, kernel: str, blocks: int, threads: int, arguments: list[int | float]) -> None:
        words = packed(self.core, arguments)
        launch = self.core.lib.ws_device_launch
        self.core.check(
            launch(self.device, self.memory, kernel.encode(), blocks, threads, words, len(arguments))
        )

    def start(self, seed: int = 1) -> None:
        for rank in range(self.shape.ranks):
            self.launch(rank, self.program.at(self.shape).start(rank, seed))

    def iterate(self, iterations: int, gated: bool = False) -> None:
        """`gated`: the launch that stands in place of both others, without a gate."""
        for _ in range(iterations):
            for step in zip(*self.steps, strict=True):
                self._step(step, gated)

    def _step(self, of_ranks: tuple[Step, ...], gated: bool) -> None:
        for rank, step in enumerate(of_ranks):
            self.launch(rank, () if gated else step.meanwhile)
        for rank, step in enumerate(of_ranks):
            waiting = {
                peer: [one for one in of_ranks[peer].receives if one.peer == rank]
                for peer in self._peers(step)
            }
            for one in step.sends:
                to = waiting[one.peer].pop(0)
                assert (to.bytes, to.offset, to.remote_offset) == (one.bytes, one.remote_offset, one.offset)
                self._copy(self.own[one.peer] + to.offset, self.own[rank] + one.offset, one.bytes)
            assert not any(waiting.values()), "a rank receives what nobody sends"
        for rank, step in enumerate(of_ranks):
            self.launch(rank, step.gated if gated else step.after)

    @staticmethod
    def _peers(step: Step) -> set[int]:
        return {one.peer for one in (*step.sends, *step.receives)}

    def _copy(self, to: int, origin: int, size: int) -> None:
        self.core.check(self.core.lib.ws_device_copy(self.device, self._at(to), self._at(origin), size))

    def read(self, rank: int, place: Place, size: int) -> bytes:
        room = self.core.ffi.new("char[]", size)
        origin = (self.scratch if isinstance(place, Scratch) else self.own)[rank] + place.offset
        self.core.check(self.core.lib.ws_device_copy(self.device, room, self._at(origin), size))
        return bytes(self.core.ffi.buffer(room))

    def write(self, rank: int, place: int | Place, data: bytes) -> None:
        """A number is an offset in the program's own buffer."""
        place = Place(place) if isinstance(place, int) else place
        room = self.core.ffi.from_buffer(data)
        to = self._at((self.scratch if isinstance(place, Scratch) else self.own)[rank] + place.offset)
        self.core.check(self.core.lib.ws_device_copy(self.device, to, room, len(data)))


class Meeting:
    """What ranks, each a thread, tell each other."""

    def __init__(self, ranks: int) -> None:
        self._barrier, self._told = Barrier(ranks, timeout=60), [None] * ranks

    def everyone(self, rank: int, value: Any) -> list[Any]:
        self._told[rank] = value
        self._barrier.wait()
        found = list(self._told)
        self._barrier.wait()
        return found


class ThreadRank:
    """A rank's communicator, memory and program, as FieldCheck uses them."""

    def __init__(self, job: Ranks, rank: int, meeting: Meeting) -> None:
        self._job, self.rank, self._meeting = job, rank, meeting
        self.size = 0

    def everyone(self, value: Any) -> list[Any]:
        return self._meeting.everyone(self.rank, value)

    def barrier(self) -> None:
        self.everyone(None)

    def first(self, value: Any) -> Any:
        told = self.everyone(value)
        return next(((rank, one) for rank, one in enumerate(told) if one is not None), None)

    def exchange(self, outgoing: dict[int, list[bytes]]) -> dict[int, list[bytes]]:
        told = self.everyone(outgoing)
        return {sender: sent[self.rank] for sender, sent in enumerate(told) if self.rank in sent}

    def guard(self, used: int) -> None:
        """Nothing around its memory is looked at."""

    def stray(self) -> str:
        return ""

    def run(self, iterations: int) -> float:
        self._job.iterate(iterations)
        return 1.0

    def launch(self, work: Any) -> None:
        self._job.launch(self.rank, work)

    def read(self, place: Any, size: int) -> bytes:
        return self._job.read(self.rank, place, size)

    def number(self, place: Any) -> float:
        return self.numbers(place, 1)[0]

    def numbers(self, place: Any, count: int) -> list[float]:
        return list(memoryview(self.read(place, 8 * count)).cast("d"))

    def write(self, place: Any, data: bytes) -> None:
        self._job.write(self.rank, place, data)

    def copy(self, to: Any, origin: Any, size: int) -> None:
        self.write(to, self.read(origin, size))


@contextmanager
def ranks_of(
    core: Core, device: Any, memory: str, program: ProgramPattern, ranks: int, **options: object
) -> Iterator[Ranks]:
    """Frees them at the end."""
    found = Ranks(core, device, memory, program, Shape(ranks, options))
    try:
        yield found
    finally:
        found.close()
