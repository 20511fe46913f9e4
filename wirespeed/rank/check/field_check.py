"""The check of a program: its field against one that each rank computes alone, and against a rerun."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from wirespeed.job.records import Checked
from wirespeed.patterns import Place, Step, Work
from wirespeed.programs import FieldComparison, ProgramPattern, Scratch
from wirespeed.programs.conserved import total
from wirespeed.rank.check.field_memory import FieldMemory
from wirespeed.rank.check.payload_check import Alive, Check, PayloadMismatch, WrongData, after_batch
from wirespeed.rank.context import RankContext
from wirespeed.rank.program import Program
from wirespeed.rank.world import World

NORM_TOLERANCE = 1e-6
"""Relative: sums depend on their order, points of the field do not."""
SEEDS = 64
"""Initial fields that take turns."""
_NONE = (1 << 64) - 1


class FieldCheck(Check):
    """Lets a program run from a known field, and compares every bit of the result.

    Of untimed iterations with what one rank alone computes; of batches with a rerun of as many steps.
    """

    def __init__(
        self, context: RankContext, pattern: ProgramPattern, memory: FieldMemory, alive: Alive
    ) -> None:
        self._alive = alive
        self._context, self._comm, self._pattern, self._memory = context, context.comm, pattern, memory
        self._conservation = pattern.conserved(context.comm.rank)
        quantities = self._conservation.quantities if self._conservation else ()
        self.conserved = [quantity.name for quantity in quantities]
        self._seed = 0
        """Seed of the latest initial field."""
        self.rerun_steps = 0

    def checked_iteration(self, program: Program) -> float:
        pattern, rank = self._pattern, self._comm.rank
        self.restart()
        before = self._plane_sums()
        self._comm.barrier()
        seconds = program.run(pattern.checked_iterations)
        after = self._plane_sums()
        self._memory.launch(pattern.reference(rank, self._seed))
        alone = "one rank alone computes", f"after checked iteration {self.iterations}"
        # Every rank takes part in sums over all ranks, whatever it has found before.
        wrong = [
            self._wrong_field(pattern.comparisons(rank), *alone),
            self._wrong_norm(),
            self._wrong_sums(before, after),
            self._stray(alone[1]),
        ]
        self.iterations += pattern.checked_iterations
        self._raise_first(wrong)
        return seconds

    def begin_batch(self, program: Program) -> None:
        self.restart()
        self._comm.barrier()

    def end_batch(self, program: Program, iterations: int) -> None:
        pattern, rank = self._pattern, self._comm.rank
        field = pattern.copied(rank)
        self._memory.copy(Scratch(0), Place(field.offset), field.bytes)
        norms = self._own_norms()
        self._fill()
        steps = pattern.steps(rank, program.size)
        FieldRerun(self._comm, self._memory, steps, self._alive).run(iterations)
        saved = [
            replace(each, reference=Scratch(each.own.offset - field.offset), reference_pitch=each.own_pitch)
            for each in pattern.comparisons(rank)
        ]
        when = after_batch(iterations)
        wrong = self._wrong_field(saved, "a rerun over set-up traffic makes", when)
        # The rerun's launches may add in another order.
        other = self._differing(norms, self._own_norms(), f"a rerun over set-up traffic, {when}")
        self._raise_first([wrong, other, self._stray(when)])
        self.batches += 1
        self.rerun_steps += iterations * pattern.facts.steps_per_iteration

    def restart(self) -> None:
        """Fills the field anew, on this rank alone."""
        self._seed = 1 + self._seed % SEEDS
        self._memory.guard(self._pattern.extent(self._comm.rank, 0))
        self._fill()

    def told(self) -> Checked:
        return {"rerun_steps": self.rerun_steps, "conserved": self.conserved}

    def _fill(self) -> None:
        self._memory.launch(self._pattern.start(self._comm.rank, self._seed))

    def _raise_first(self, wrong: Sequence[WrongData | None]) -> None:
        if found := self._comm.first(next(filter(None, wrong), None)):
            raise PayloadMismatch(found[1])

    def _stray(self, when: str) -> WrongData | None:
        rank, beside = self._comm.rank, self._memory.stray()
        return WrongData(rank, f"wrong data on rank {rank}: {beside}, {when}") if beside else None

    def _own_norms(self) -> list[float]:
        norms = self._pattern.norms(self._comm.rank)
        return [self._memory.number(norm.own) for norm in norms]

    def _differing(self, norms: Sequence[float], others: Iterable[float], by: str) -> WrongData | None:
        """The first norm that is not the other one; `by`: who has that, and when."""
        rank = self._comm.rank
        for found, other in zip(norms, others, strict=True):
            # A number that is none compares unequal, too.
            if not abs(found - other) <= NORM_TOLERANCE * other:
                text = f"wrong data: the norm's sum over all ranks is {found:.9g} on rank {rank}, and "
                return WrongData(rank, f"{text}{other:.9g} by {by}")
        return None

    def _wrong_field(self, comparisons: Sequence[FieldComparison], than: str, when: str) -> WrongData | None:
        """`than`: what it should be, in words."""
        rank = self._comm.rank
        for number, comparison in enumerate(comparisons):
            self.bytes += comparison.rows * comparison.row_bytes
            first = self._first_difference(comparison)
            if first != _NONE:
                row, byte = divmod(4 * first, comparison.row_bytes)
                place = self._pattern.place(rank, number, row, byte)
                return WrongData(rank, f"wrong data: {place}, on rank {rank}, is not what {than}, {when}")
        return None

    def _first_difference(self, comparison: FieldComparison) -> int:
        """The number of the first word that differs."""
        verdict = self._pattern.verdict(self._comm.rank)
        self._memory.write(verdict, _NONE.to_bytes(8, "little"))
        pitches = comparison.own_pitch // 4, comparison.reference_pitch // 4
        fields = (comparison.own, pitches[0], comparison.reference, pitches[1])
        arguments = (*fields, comparison.row_bytes // 4, comparison.rows, verdict)
        self._memory.launch([Work("ws_fields_compare", arguments, 1024, 256)])
        return int.from_bytes(self._memory.read(verdict, 8), "little")

    def _wrong_norm(self) -> WrongData | None:
        """Collective. Compares sums over all ranks with the sum of what the references have."""
        norms = self._pattern.norms(self._comm.rank)
        mine = [math.fsum(self._memory.numbers(norm.reference, norm.parts)) for norm in norms]
        expected = map(math.fsum, zip(*self._comm.everyone(mine), strict=True))
        when = f"after checked iteration {self.iterations}"
        return self._differing(self._own_norms(), expected, f"the reference, {when}")

    def _plane_sums(self) -> list[float]:
        """The sum of each plane of this rank's block. The reference's field is overwritten."""
        if not self._conservation:
            return []
        self._memory.launch([self._conservation.work(Scratch(0))])
        count = self._conservation.planes * self._conservation.blocks
        return self._conservation.plane_sums(self._memory.numbers(Scratch(0), count))

    def _wrong_sums(self, before: list[float], after: list[float]) -> WrongData | None:
        """Collective. What the iterations must conserve, whatever kernels the reference shares with them."""
        if not self._conservation:
            return None
        whole = [
            [total(of_ranks) for of_ranks in zip(*self._comm.everyone(sums), strict=True)]
            for sums in (before, after)
        ]
        violation = self._conservation.violation(*whole)
        if not violation:
            return None
        text = f"wrong data: {violation}, after checked iteration {self.iterations}"
        return WrongData(self._comm.rank, text)


class FieldRerun:
    """The same kernels, with messages that ranks hand each other between launches that are waited for."""

    def __init__(self, comm: World, memory: FieldMemory, steps: Sequence[Step], alive: Alive) -> None:
        """`steps`: of an iteration, as the pattern has them."""
        self._comm, self._memory, self._steps, self._alive = comm, memory, steps, alive

    def run(self, iterations: int) -> None:
        """Collective. Raises ValueError where another rank sends other messages than are expected."""
        for _ in range(iterations):
            for step in self._steps:
                self._exchange(step)
                self._memory.launch(step.meanwhile)
                self._memory.launch(step.after)
            self._alive()

    def _exchange(self, step: Step) -> None:
        outgoing: dict[int, list[bytes]] = {}
        for send in step.sends:
            outgoing.setdefault(send.peer, []).append(self._memory.read(Place(send.offset), send.bytes))
        # The n-th message from one rank to another is the n-th one that it receives.
        incoming = {peer: iter(messages) for peer, messages in self._comm.exchange(outgoing).items()}
        for receive in step.receives:
            message = next(incoming.get(receive.peer, iter(())), b"")
            if len(message) != receive.bytes:
                raise ValueError(f"{receive.bytes} bytes of rank {receive.peer} are {len(message)}")
            self._memory.write(Place(receive.offset), message)
