"""Jacobi's iteration for Poisson's equation in a plane: halos of one row, and a norm over all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.patterns.halo import EAST, NORTH, OPPOSITE, SOUTH, WEST
from wirespeed.patterns.rules import Option
from wirespeed.patterns.steps import Place, Step, Transfer, Work
from wirespeed.programs.base import (
    MAX_RANKS_OF_A_NORM,
    NORM_STEPS_LATER,
    Convergence,
    FieldComparison,
    NormCheck,
    ProgramFacts,
    ProgramPattern,
    Scratch,
    Values,
    options,
    to_lines,
)
from wirespeed.programs.cells import means
from wirespeed.programs.conserved import ROUNDING, Conservation, ConservedSum
from wirespeed.programs.jacobi_blocks import (
    ALL,
    ALL_WAIT,
    EDGES,
    INNER,
    MAX_BLOCKS,
    THREADS,
    JacobiBlock,
    Launches,
)

PARTS = to_lines(16 + 16 * MAX_BLOCKS)
"""Bytes of what blocks of threads leave of one norm."""
UNTIL = (
    "Also iterate until the norm, the root mean square of what a step changes, is at most this, as in 1e-4; "
    "--steps at most."
)
CHANGE_BLOCKS = 1024
"""Blocks of threads, each of which leaves a part of a reference's norm."""


@dataclass(frozen=True)
class BufferLayout:
    """The program's whole buffer."""

    block: JacobiBlock
    ranks: int

    def parts(self, twin: int) -> int:
        """Parts of a step's norm that blocks of threads leave."""
        return self.block.end + twin * PARTS

    def slot(self, slot: int, rank: int) -> int:
        """A rank's part of the norm of a step."""
        return self.parts(2) + slot * to_lines(8 * self.ranks) + 8 * rank

    def total(self, slot: int) -> int:
        return self.slot(4, 0) + 8 * slot

    @property
    def end(self) -> int:
        return self.total(4)


class Jacobi(ProgramPattern):
    """The time of a step: every point becomes the mean of its four neighbours and the source."""

    name = "jacobi"
    summary = "Measure a Jacobi solver: 5 points, halos, and a global norm."
    help = """
    Poisson's equation in a plane, 5 points, on a block of the plane for each rank. A step computes the next
    field from the present one and exchanges halos: rows as they lie, columns packed by the kernel that
    computes them. The norm of the change is summed over all ranks on the path measured, every step or
    --norm-every N.

    Before and after the samples the field is compared bit by bit with that of a rank which computes its part
    of the plane alone, and the norm to 1e-6.

    --until 1e-4 also iterates while the norm is larger, with a look at it after every fourth step, or each
    one that has a norm, and prints the rate beside that of the fixed steps.

    --ranks 1 measures the computation alone, without communication, which efficiency refers to.

    \b
    Examples:
      wirespeed jacobi --ranks 1,2
      wirespeed jacobi --scaling strong --size 20480x20480 --ranks 1,2,4
      wirespeed jacobi --overlap yes,no --paths gpu,aware,staged
      wirespeed jacobi --until 1e-4
    """
    options = (
        *options(),
        Option("fp", "Bits of a number: 32 or 64.", "32", choices=("32", "64")),
        Option(
            "edges",
            "periodic: opposite sides meet; fixed: values beyond the sides stay.",
            "periodic",
            choices=("periodic", "fixed"),
        ),
        Option("norm-every", "Steps from one norm to the next; 0: no norm.", 1, least=0, most=100),
        Option("until", UNTIL, None, metavar="NORM"),
    )

    def refuse(self) -> str | None:
        if self.ranks > MAX_RANKS_OF_A_NORM and self._every:
            return (
                f"{self.ranks} ranks: the norm is summed over up to {MAX_RANKS_OF_A_NORM}; "
                "add --norm-every 0 to measure without it"
            )
        if self["until"] and not self._every:
            return f"--until {self['until']}: it needs a norm; leave out --norm-every 0"
        return super().refuse()

    @property
    def facts(self) -> ProgramFacts:
        # Five operations of the step; three of the norm: difference, square, sum.
        flops = 5 + 3 * (self._every == 1)
        return ProgramFacts.of(self.divided, steps=self._period, bytes_=2 * self.real, flops=flops)

    @property
    def real(self) -> int:
        """Bytes of a number."""
        return int(self["fp"]) // 8

    @property
    def _every(self) -> int:
        return int(self["norm_every"])

    @property
    def _period(self) -> int:
        """Steps of an iteration: fields take turns, and so do the norm's slots, after four steps or more."""
        every = self._every
        return next(n for n in range(4, 4 + 2 * every + 1) if n % 2 == 0 and n % max(every, 1) == 0)

    @property
    def _layout(self) -> BufferLayout:
        plane = self.divided
        return BufferLayout(JacobiBlock(plane.nx, plane.ny, self.real), self.ranks)

    @property
    def room(self) -> int:
        return self._layout.end

    def steps(self, rank: int, size: int, phase: int = 0) -> list[Step]:
        found = []
        for number in range(self._period):
            sends, receives = self._halos(rank, number % 2)
            norm_sends, norm_receives = self._norm_transfers(rank, number)
            work = {part: (self._step(rank, number, part),) for part in (ALL, INNER, EDGES, ALL_WAIT)}
            overlap = self["overlap"] == "yes"
            found.append(
                Step(
                    (*sends, *norm_sends),
                    (*receives, *norm_receives),
                    after=work[EDGES if overlap else ALL],
                    meanwhile=work[INNER] if overlap else (),
                    gated=work[ALL if overlap else ALL_WAIT],
                )
            )
        return found

    def _halos(self, rank: int, twin: int) -> tuple[list[Transfer], list[Transfer]]:
        """What is sent and received of a field."""
        block = self._layout.block
        column, row = block.ny * block.real, block.nx * block.real
        own = {
            WEST: (column, block.column_out(twin, WEST), block.column_in(twin, WEST)),
            EAST: (column, block.column_out(twin, EAST), block.column_in(twin, EAST)),
            SOUTH: (row, block.row(twin, 0), block.row(twin, -1)),
            NORTH: (row, block.row(twin, block.ny - 1), block.row(twin, block.ny)),
        }
        around = self.divided.neighbours(rank)
        sends = [
            Transfer(peer, own[side][0], own[side][1], own[OPPOSITE[side]][2])
            for side, peer in around.items()
        ]
        # Two neighbours may be one rank, between which messages match in order.
        by_sender = sorted(around.items(), key=lambda pair: OPPOSITE[pair[0]])
        receives = [
            Transfer(peer, own[side][0], own[side][2], own[OPPOSITE[side]][1]) for side, peer in by_sender
        ]
        return sends, receives

    def _slot_of(self, number: int) -> int | None:
        """The slot of the norm that is taken in a step; None: none is."""
        every = self._every
        number %= self._period
        return number // every if every and number % every == 0 else None

    def _norm_transfers(self, rank: int, number: int) -> tuple[list[Transfer], list[Transfer]]:
        slot = self._slot_of(number - NORM_STEPS_LATER[1])
        if slot is None:
            return [], []
        at, others = self._layout.slot, [peer for peer in range(self.ranks) if peer != rank]
        mine = at(slot, rank)
        sends = [Transfer(peer, 8, mine, mine) for peer in others]
        return sends, [Transfer(peer, 8, at(slot, peer), at(slot, peer)) for peer in others]

    def _launches(self, rank: int) -> Launches:
        plane = self.divided
        return Launches(self._layout.block, plane.periodic, plane.neighbours(rank))

    def _step(self, rank: int, number: int, part: int) -> Work:
        """The launch that computes a part of the step from field number % 2 to the other one."""
        layout, twin = self._layout, number % 2
        norm: list[int | float | Place] = [0, 0, 0, 0, 0, 0]
        if self._slot_of(number) is not None:
            norm[0] = Place(layout.parts(twin))
        if (taken := self._slot_of(number - NORM_STEPS_LATER[0])) is not None:
            norm[1:3] = Place(layout.parts(1 - twin)), Place(layout.slot(taken, rank))
        if (sent := self._slot_of(number - NORM_STEPS_LATER[2])) is not None:
            norm[3:] = Place(layout.slot(sent, 0)), self.ranks, Place(layout.total(sent))
        return self._launches(rank).step(twin, part, tuple(norm))

    def start(self, rank: int, seed: int) -> list[Work]:
        plane = self.divided
        return self._launches(rank).fill(plane, plane.origin(rank), seed)

    @property
    def checked_iterations(self) -> int:
        # A norm is known four steps later.
        return 2

    @property
    def _checked_steps(self) -> int:
        return self.checked_iterations * self._period

    def _around(self, rank: int) -> tuple[JacobiBlock, int, int]:
        """The reference's block, and where it begins in the plane: what can reach this rank's points."""
        plane, layers = self.divided, self._checked_steps
        x, y = plane.origin(rank)
        if plane.periodic:
            block = JacobiBlock(plane.nx + 2 * layers, plane.ny + 2 * layers, self.real)
            return block, x - layers, y - layers
        west, south = max(x - layers, 0), max(y - layers, 0)
        east, north = min(x + plane.nx + layers, plane.width), min(y + plane.ny + layers, plane.height)
        return JacobiBlock(east - west, north - south, self.real), west, south

    def _within(self, rank: int, twin: int) -> int:
        """Where this rank's first point lies in the reference's field."""
        block, west, south = self._around(rank)
        x, y = self.divided.origin(rank)
        return block.row(twin, y - south) + (x - west) * block.real

    def scratch_room(self, rank: int) -> int:
        norms = 8 * CHANGE_BLOCKS * self._period
        return max(self._around(rank)[0].end + norms, self.copied(rank).bytes)

    def reference(self, rank: int, seed: int) -> list[Work]:
        plane = self.divided
        block, west, south = self._around(rank)
        begin = (west % plane.width, south % plane.height) if plane.periodic else (west, south)
        launches = Launches(block, periodic=False, at=Scratch)
        work = launches.fill(plane, begin, seed)
        compared = {step: place for place, step in self._compared_norms.items()}
        kernel = f"ws_jacobi_change_f{8 * block.real}"
        for number in range(self._checked_steps):
            work.append(launches.step(number % 2, ALL))
            if number in compared:
                fields = [Scratch(self._within(rank, (number + k) % 2)) for k in (0, 1)]
                to = _change(block, compared[number])
                layout = plane.nx, plane.ny, block.pitch // block.real
                work.append(Work(kernel, (*fields, *layout, to, CHANGE_BLOCKS), CHANGE_BLOCKS, THREADS))
        return work

    @property
    def _compared_norms(self) -> dict[int, int]:
        """The step whose norm each slot has after the checked iterations."""
        steps = range(self._checked_steps - NORM_STEPS_LATER[2])
        slots = ((self._slot_of(number), number) for number in steps)
        return {slot: number for slot, number in slots if slot is not None}

    def norms(self, rank: int) -> list[NormCheck]:
        layout, block = self._layout, self._around(rank)[0]
        return [
            NormCheck(Place(layout.total(0) + 8 * place), _change(block, place), CHANGE_BLOCKS)
            for place in self._compared_norms
        ]

    def conserved(self, rank: int) -> Conservation | None:
        if not self.periodic:
            return None
        block, real = self._layout.block, self.real
        # A point is rounded by three additions; a quarter of it is exact.
        rounding = 3 * self._checked_steps * (ROUNDING if real == 8 else 2.0**-24)
        place, pitch = Place(block.row(0, 0)), block.pitch // real
        return Conservation(
            (ConservedSum("the sum of u", (1,)),), place, real, block.nx, block.ny, pitch, rounding
        )

    def convergence(self, rank: int) -> Convergence | None:
        if not (until := self["until"]):
            return None
        plane = self.divided
        # The latest whose total is there at the end of an iteration; else that of the iteration before.
        taken = range(0, self._period, self._every)
        there = [number for number in taken if number + NORM_STEPS_LATER[2] < self._period]
        slot = self._slot_of(max(there or taken))
        assert slot is not None
        return Convergence(
            until=float(until),
            start=self._launches(rank).fill(plane, plane.origin(rank), 0, coarse=True),
            total=Place(self._layout.total(slot)),
            points=plane.width * plane.height,
            first=self.checked_iterations,
            most=self.timing.least_iterations,
        )

    def comparisons(self, rank: int) -> list[FieldComparison]:
        own, other = self._layout.block, self._around(rank)[0]
        place = Scratch(self._within(rank, 0))
        row = own.nx * own.real
        return [FieldComparison(Place(own.row(0, 0)), own.pitch, place, other.pitch, row, own.ny)]

    def place(self, rank: int, comparison: int, row: int, byte: int) -> str:
        plane = self.divided
        x, y = plane.origin(rank)
        return f"point ({x + byte // self.real}, {y + row}) of {plane.width} x {plane.height}"

    def values(self, rank: int) -> Values:
        block = self._layout.block
        return Values(Place(block.row(0, 0)), block.real, block.pitch)

    @property
    def drawn(self) -> str:
        return "u"

    def cells(self, rows: Sequence[bytes], edges: Sequence[int]) -> bytes:
        import numpy as np

        return means(np.frombuffer(rows[0], f"f{self.real}").reshape(-1, edges[-1]), edges)

    def copied(self, rank: int) -> Transfer:
        block = self._layout.block
        return Transfer(rank, block.ny * block.pitch, block.row(0, 0), 0)


def _change(block: JacobiBlock, place: int) -> Scratch:
    """Where the parts of a reference's norm lie, behind its field."""
    return Scratch(block.end + 8 * CHANGE_BLOCKS * place)


PATTERN = Jacobi()
