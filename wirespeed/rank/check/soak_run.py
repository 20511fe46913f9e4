"""A soak of one size: free-running iterations whose every message is checked by its receiver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from wirespeed.host.handles import BuffersHandle, SoakHandle, TransportHandle
from wirespeed.job.messages import Progress
from wirespeed.job.records import Facts, Soak
from wirespeed.job.soaking import WRONG_KINDS
from wirespeed.paths import TransferPath
from wirespeed.rank.check.guards import GUARD
from wirespeed.rank.check.payload_check import PayloadCheck, PayloadMismatch
from wirespeed.rank.context import RankContext, Unusable, Wanted
from wirespeed.rank.faults.words import open_program
from wirespeed.rank.program import Program, native_transfers, shifted

CHUNK_SECONDS = 1.0
"""Uninterrupted iterations; between two chunks the counters are read."""
TELL_SECONDS = 5.0
"""Rank 0 tells them as often."""
FIRST_SECONDS, GROWTH = 0.02, 10
"""Length of the first chunk, about, while an iteration's time is unknown; each next one is longer."""
TIMED_SECONDS, TIMED_SHARE, TIMED_BATCHES = 0.3, 0.02, 5
LARGEST_RUN = 1 << 29
PLACES = 5
"""Places that messages of as many iterations take by turns (ws_soak_places, native/kernels/soak_types.h)."""
ALIGNMENT = 256
OWN_CHOICES = {"work", "samples"}
"""Details of a program that say nothing of how its messages move."""


def apart(needed: int) -> int:
    """Bytes between two places that take turns, where an iteration needs so many: guard bytes follow."""
    return -(-max(needed, 1) // ALIGNMENT) * ALIGNMENT + GUARD


SoakMemory = Callable[[int], AbstractContextManager[tuple[RankContext, "BuffersHandle", int]]]
"""By number: memory in which a part of a soak runs, with the context of its programs and its bytes."""


def not_covered(timed: Facts, soaked: Facts) -> dict[str, str]:
    """Choices of a timed program's transport, in words, that are others in its soak."""
    found = {}
    for name in (timed | soaked).keys() - OWN_CHOICES:
        was, now = timed.get(name, False), soaked.get(name, False)
        if was != now and isinstance(was, bool) and isinstance(now, bool):
            found[name] = f"{'' if was else 'no '}{name.replace('_', ' ')}"
        elif was != now and isinstance(was, str):
            found[name] = was
    return found


@dataclass
class _Total:
    """What all ranks have counted."""

    iterations: int = 0
    messages: int = 0
    planted: int = 0
    wrong: dict[str, int] = field(default_factory=lambda: dict.fromkeys(WRONG_KINDS, 0))
    first: Facts | None = None

    def add(self, ranks: list[Facts]) -> None:
        self.iterations += ranks[0]["iterations"]
        for rank in ranks:
            self.messages += rank["messages"]
            self.planted += rank["planted"]
            for kind, count in rank["wrong"].items():
                self.wrong[kind] += count
            first = rank["first"]
            if first and (self.first is None or first["iteration"] < self.first["iteration"]):
                self.first = first


class SoakRun:
    """One message size. All public methods are collective."""

    def __init__(
        self,
        context: RankContext,
        path: TransferPath,
        transport: TransportHandle,
        size: int,
        position: Progress,
    ) -> None:
        self._context, self._core, self._path = context, context.core, path
        self._transport, self._size, self._position = transport, size, position
        self._payload = PayloadCheck(context.core, context.comm, context.device, path.memory, path.into)
        self._phases = range(context.pattern.timing.phases)
        self._seconds = 0.0
        """Of a phase in one memory."""
        self._before = _Total()
        """Total of the phases and memories that are over."""
        self._elapsed = 0.0
        self._timed = 0.0
        """Seconds in which as many iterations as were checked would run unchecked."""
        self._received = 0
        """Messages that this rank receives in an iteration, of those that have bytes."""
        self._plants = False
        """For tests: have messages been planted that are wrong?"""
        self._details: dict[str, str] = {}
        self._uncovered: dict[str, str] = {}
        """Choices of timed programs that this soak does not have."""

    def run(self, memory: SoakMemory, times: int) -> None:
        """Runs in so many memories, one after the other; rank 0 tells the counters after each chunk.

        Raises Unusable and PayloadMismatch.
        """
        self._seconds = (self._context.plan.soak or 0.0) / len(self._phases) / times
        for number in range(times):
            with memory(number) as (context, buffers, need):
                for phase in self._phases:
                    wanted = Wanted(self._transport, buffers, self._size, phase)
                    timed = open_program(context, wanted)
                    with closing(timed), self._opened(timed, need // PLACES) as soak:
                        self._chunks(soak, self._timed_iteration(timed))
                        self._core.check(self._core.lib.ws_soak_settle(soak))
                        counted = self._counted(soak)
                        if counted is not None:
                            self._before.add(counted)
                        self._refuse_unseen(counted)
        sent = self._size and self._context.pattern.figure(self._size).bytes
        if sent and not self._context.comm.maximum(float(self._before.messages)):
            raise Unusable("no message was checked: this path's messages do not come past the checks")
        self._tell(self._before, complete=True)

    def _chunks(self, soak: SoakHandle, timed: float) -> None:
        comm, done, length, told = self._context.comm, 0.0, FIRST_SECONDS, 0.0
        iteration, count = max(timed, 1e-9), 0
        wrong = sum(self._before.wrong.values())
        while done < self._seconds:
            wanted = min(length, CHUNK_SECONDS, self._seconds - done)
            rounds = comm.share(min(max(1, round(wanted / (PLACES * iteration))), LARGEST_RUN))
            took = comm.maximum(self._run(soak, rounds))
            done, count = done + PLACES * rounds * took, count + PLACES * rounds
            # Where other processes use the CPUs, too, the next chunk may be slower again.
            iteration = max(took, done / count)
            self._elapsed += PLACES * rounds * took
            self._timed += PLACES * rounds * timed
            length = max(GROWTH * length, GROWTH * done)
            counted = self._counted(soak)
            # Nobody repairs what was written beyond a message.
            stray = self._context.comm.first(self._payload.stray(f"in {count:,} iterations of a soak"))
            if stray:
                raise PayloadMismatch(stray[1])
            if counted is None:
                continue
            total = replace(self._before, wrong=dict(self._before.wrong))
            total.add(counted)
            # What is wrong is told at once: whoever ends the soak in the next moment has it.
            found = sum(total.wrong.values())
            if (done - told >= TELL_SECONDS or found > wrong) and done < self._seconds:
                told, wrong = done, found
                self._tell(total)

    def _run(self, soak: SoakHandle, rounds: int) -> float:
        """Seconds of an iteration."""
        seconds = self._core.ffi.new("double *")
        self._core.check(self._core.lib.ws_soak_run(soak, rounds, seconds))
        return max(float(seconds[0]), 1e-9)

    def _timed_iteration(self, program: Program) -> float:
        """Seconds of an iteration that nobody checks, in the fastest batch."""
        comm = self._context.comm
        budget = min(TIMED_SECONDS, TIMED_SHARE * self._seconds)
        first = comm.maximum(min(program.run(), program.run(2)))
        count = comm.share(min(max(1, round(budget / max(first, 1e-9))), LARGEST_RUN))
        return float(comm.maximum(min(program.run(count) for _ in range(TIMED_BATCHES))))

    @contextmanager
    def _opened(self, timed: Program, apart: int) -> Iterator[SoakHandle]:
        """Messages go as those of `timed` do, where that can be checked.

        `apart`: bytes of each of the PLACES in a buffer, which hold the messages of an iteration.
        """
        core, steps = self._core, timed.steps
        apart = timed.apart or apart
        flat = native_transfers(steps)
        self._received = sum(1 for _, receives, *_, size, _, _ in flat if receives and size)
        self._plants = timed.plants
        open_it = partial(timed.open_soak, flat, apart)
        soak = self._context.collectively(open_it, core.lib.ws_soak_close)
        try:
            found = core.described(core.lib.ws_soak_describe(soak))
            self._details = {name: word for name, word in found.items() if isinstance(word, str)}
            self._uncovered |= not_covered(timed.described(), found)
            places = range(0, PLACES * apart, apart)
            self._payload.guard([shifted(step, place) for place in places for step in steps], timed.buffers)
            yield soak
        finally:
            core.lib.ws_soak_close(soak)

    def _refuse_unseen(self, ranks: list[Facts] | None) -> None:
        """Collective. Raises Unusable where a rank has not checked just what its transfers have brought."""
        of = [
            f"rank {at} has checked {rank['messages']:,} of the {rank['moved']:,} messages that it received"
            for at, rank in enumerate(ranks or ())
            if rank["messages"] != rank["moved"]
        ]
        if why := self._context.comm.share(of[0] if of else ""):
            raise Unusable(why)

    def _counted(self, soak: SoakHandle) -> list[Facts] | None:
        """Each rank's counters, on rank 0."""
        counts, rank = self._core.ffi.new("ws_soak_counts *"), self._context.comm.rank
        self._core.check(self._core.lib.ws_soak_count(soak, counts))
        wrong = dict(zip(WRONG_KINDS, list(counts.kinds), strict=True))
        first = None
        if any(wrong.values()):
            # A word, or a byte where a message ends or lies off 8 bytes.
            digits = 16 if max(counts.expected, counts.found) > 0xFF else 2
            first = {
                "rank": rank,
                "sender": counts.sender,
                "kind": WRONG_KINDS[counts.kind],
                "iteration": counts.iteration,
                "offset": counts.offset,
                "lag": counts.lag,
                "expected": f"0x{counts.expected:0{digits}x}",
                "found": f"0x{counts.found:0{digits}x}",
            }
        mine = {
            "iterations": counts.iterations,
            "messages": counts.checked,
            "moved": counts.iterations * self._received,
            "planted": counts.planted,
            "wrong": wrong,
            "first": first,
        }
        found: list[Facts] | None = self._context.comm.gather(mine)
        return found or None

    def _tell(self, total: _Total, complete: bool = False) -> None:
        """Rank 0 alone."""
        context = self._context
        if context.comm.rank:
            return
        wrong = sum(total.wrong.values())
        rate = total.messages / self._elapsed if self._elapsed and total.messages else None
        timed = total.messages / self._timed if self._timed and total.messages else None
        doing = f"{total.messages:,} messages checked, {wrong:,} wrong"
        context.tell(self._position._replace(doing=doing))
        record = Soak(
            kind="soak",
            pattern=context.pattern.name,
            path=self._path.name,
            memory=self._path.data,
            bytes=self._size,
            complete=complete,
            fresh=context.plan.fresh or None,
            asked_s=context.plan.soak or 0.0,
            elapsed_s=self._elapsed,
            iterations=total.iterations,
            messages=total.messages,
            wrong=total.wrong,
            first=total.first,
            messages_per_s=rate,
            timed_messages_per_s=timed,
            planted=total.planted if self._plants else None,
            details=self._details,
            uncovered=self._uncovered,
        )
        context.tell(record)
