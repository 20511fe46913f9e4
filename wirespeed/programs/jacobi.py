"""Jacobi's iteration for Poisson's equation in a plane: halos of one row, and a norm over all ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wirespeed.patterns.base import Option, Place, Shape, Step, Transfer, Work
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
    fill_work,
    sides_of,
    step_work,
)
from wirespeed.programs.plane import EAST, NORTH, OPPOSITE, SOUTH, WEST

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
        *options(*ProgramPattern.default_steps),
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

    def refuse(self, shape: Shape) -> str | None:
        if shape.ranks > MAX_RANKS_OF_A_NORM and self._every(shape):
            return (
                f"{shape.ranks} ranks: the norm is summed over up to {MAX_RANKS_OF_A_NORM}; "
                "add --norm-every 0 to measure without it"
            )
        if shape.options.get("until") and not self._every(shape):
            return f"--until {shape.options['until']}: it needs a norm; leave out --norm-every 0"
        return super().refuse(shape)

    def facts(self, shape: Shape) -> ProgramFacts:
        plane, every = self.divided(shape), self._every(shape)
        return ProgramFacts(
            grid=(plane.width, plane.height),
            block=(plane.nx, plane.ny),
            ranks=(plane.columns, plane.rows),
            steps_per_iteration=self._period(shape),
            bytes_per_site=2 * _real(shape),
            # Five of the step; three of the norm: difference, square, sum.
            flops_per_site=5 + 3 * (every == 1),
        )

    @staticmethod
    def _every(shape: Shape) -> int:
        return int(shape.options.get("norm_every", 1))

    def _period(self, shape: Shape) -> int:
        """Steps of an iteration: fields take turns, and so do the norm's slots, after four steps or more."""
        every = self._every(shape)
        return next(n for n in range(4, 4 + 2 * every + 1) if n % 2 == 0 and n % max(every, 1) == 0)

    def _layout(self, shape: Shape) -> BufferLayout:
        plane = self.divided(shape)
        return BufferLayout(JacobiBlock(plane.nx, plane.ny, _real(shape)), shape.ranks)

    def room(self, shape: Shape) -> int:
        return self._layout(shape).end

    def steps(self, rank: int, shape: Shape, size: int, phase: int = 0) -> list[Step]:
        found = []
        for number in range(self._period(shape)):
            sends, receives = self._halos(rank, shape, number % 2)
            norm_sends, norm_receives = self._norm_transfers(rank, shape, number)
            work = {part: (self._step(rank, shape, number, part),) for part in (ALL, INNER, EDGES, ALL_WAIT)}
            overlap = shape.options.get("overlap", "yes") == "yes"
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

    def _halos(self, rank: int, shape: Shape, twin: int) -> tuple[list[Transfer], list[Transfer]]:
        """What is sent and received of a field."""
        block = self._layout(shape).block
        column, row = block.ny * block.real, block.nx * block.real
        own = {
            WEST: (column, block.column_out(twin, WEST), block.column_in(twin, WEST)),
            EAST: (column, block.column_out(twin, EAST), block.column_in(twin, EAST)),
            SOUTH: (row, block.row(twin, 0), block.row(twin, -1)),
            NORTH: (row, block.row(twin, block.ny - 1), block.row(twin, block.ny)),
        }
        around = self.divided(shape).neighbours(rank)
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

    def _slot_of(self, shape: Shape, number: int) -> int | None:
        """The slot of the norm that is taken in a step; None: none is."""
        every = self._every(shape)
        number %= self._period(shape)
        return number // every if every and number % every == 0 else None

    def _norm_transfers(self, rank: int, shape: Shape, number: int) -> tuple[list[Transfer], list[Transfer]]:
        slot = self._slot_of(shape, number - NORM_STEPS_LATER[1])
        if slot is None:
            return [], []
        at, others = self._layout(shape).slot, [peer for peer in range(shape.ranks) if peer != rank]
        mine = at(slot, rank)
        sends = [Transfer(peer, 8, mine, mine) for peer in others]
        return sends, [Transfer(peer, 8, at(slot, peer), at(slot, peer)) for peer in others]

    def _step(self, rank: int, shape: Shape, number: int, part: int) -> Work:
        """The launch that computes a part of the step from field number % 2 to the other one."""
        layout, plane = self._layout(shape), self.divided(shape)
        twin = number % 2
        cut = sides_of(plane.neighbours(rank))
        norm: list[int | float | Place] = [0, 0, 0, 0, 0, 0]
        if self._slot_of(shape, number) is not None:
            norm[0] = Place(layout.parts(twin))
        if (taken := self._slot_of(shape, number - NORM_STEPS_LATER[0])) is not None:
            norm[1:3] = Place(layout.parts(1 - twin)), Place(layout.slot(taken, rank))
        if (sent := self._slot_of(shape, number - NORM_STEPS_LATER[2])) is not None:
            norm[3:] = Place(layout.slot(sent, 0)), shape.ranks, Place(layout.total(sent))
        return step_work(layout.block, twin, part, cut, plane.periodic, tuple(norm), Place)

    def start(self, rank: int, shape: Shape, seed: int) -> list[Work]:
        plane, block = self.divided(shape), self._layout(shape).block
        cut = sides_of(plane.neighbours(rank))
        return [fill_work(block, twin, cut, plane, plane.origin(rank), seed, Place) for twin in (0, 1)]

    def checked_iterations(self, shape: Shape) -> int:
        # A norm is known four steps later.
        return 2

    def _checked_steps(self, shape: Shape) -> int:
        return self.checked_iterations(shape) * self._period(shape)

    def _around(self, rank: int, shape: Shape) -> tuple[JacobiBlock, int, int]:
        """The reference's block, and where it begins in the plane: what can reach this rank's points."""
        plane, layers = self.divided(shape), self._checked_steps(shape)
        x, y = plane.origin(rank)
        if plane.periodic:
            block = JacobiBlock(plane.nx + 2 * layers, plane.ny + 2 * layers, _real(shape))
            return block, x - layers, y - layers
        west, south = max(x - layers, 0), max(y - layers, 0)
        east, north = min(x + plane.nx + layers, plane.width), min(y + plane.ny + layers, plane.height)
        return JacobiBlock(east - west, north - south, _real(shape)), west, south

    def _within(self, rank: int, shape: Shape, twin: int) -> int:
        """Where this rank's first point lies in the reference's field."""
        block, west, south = self._around(rank, shape)
        x, y = self.divided(shape).origin(rank)
        return block.row(twin, y - south) + (x - west) * block.real

    def scratch_room(self, rank: int, shape: Shape) -> int:
        norms = 8 * CHANGE_BLOCKS * self._period(shape)
        return max(self._around(rank, shape)[0].end + norms, self.copied(rank, shape).bytes)

    def reference(self, rank: int, shape: Shape, seed: int) -> list[Work]:
        plane = self.divided(shape)
        block, west, south = self._around(rank, shape)
        begin = (west % plane.width, south % plane.height) if plane.periodic else (west, south)
        work = [fill_work(block, twin, 0, plane, begin, seed, Scratch) for twin in (0, 1)]
        compared = {step: place for place, step in self._compared_norms(shape).items()}
        kernel = f"ws_jacobi_change_f{8 * block.real}"
        for number in range(self._checked_steps(shape)):
            work.append(step_work(block, number % 2, ALL, 0, False, (0,) * 6, Scratch))
            if number in compared:
                fields = [Scratch(self._within(rank, shape, (number + k) % 2)) for k in (0, 1)]
                to = _change(block, compared[number])
                layout = plane.nx, plane.ny, block.pitch // block.real
                work.append(Work(kernel, (*fields, *layout, to, CHANGE_BLOCKS), CHANGE_BLOCKS, THREADS))
        return work

    def _compared_norms(self, shape: Shape) -> dict[int, int]:
        """The step whose norm each slot has after the checked iterations."""
        steps = range(self._checked_steps(shape) - NORM_STEPS_LATER[2])
        slots = ((self._slot_of(shape, number), number) for number in steps)
        return {slot: number for slot, number in slots if slot is not None}

    def norms(self, rank: int, shape: Shape) -> list[NormCheck]:
        layout, block = self._layout(shape), self._around(rank, shape)[0]
        return [
            NormCheck(Place(layout.total(0) + 8 * place), _change(block, place), CHANGE_BLOCKS)
            for place in self._compared_norms(shape)
        ]

    def conserved(self, rank: int, shape: Shape) -> Conservation | None:
        if not self.periodic(shape):
            return None
        block, real = self._layout(shape).block, _real(shape)
        # A point is rounded by three additions; a quarter of it is exact.
        rounding = 3 * self._checked_steps(shape) * (ROUNDING if real == 8 else 2.0**-24)
        place, pitch = Place(block.row(0, 0)), block.pitch // real
        return Conservation(
            (ConservedSum("the sum of u", (1,)),), place, real, block.nx, block.ny, pitch, rounding
        )

    def convergence(self, rank: int, shape: Shape) -> Convergence | None:
        if not (until := shape.options.get("until")):
            return None
        plane, block = self.divided(shape), self._layout(shape).block
        where = sides_of(plane.neighbours(rank)), plane, plane.origin(rank)
        start = [fill_work(block, twin, *where, 0, Place, coarse=True) for twin in (0, 1)]
        # The latest whose total is there at the end of an iteration; else that of the iteration before.
        taken = range(0, self._period(shape), self._every(shape))
        there = [number for number in taken if number + NORM_STEPS_LATER[2] < self._period(shape)]
        slot = self._slot_of(shape, max(there or taken))
        assert slot is not None
        return Convergence(
            until=float(until),
            start=start,
            total=Place(self._layout(shape).total(slot)),
            points=plane.width * plane.height,
            first=self.checked_iterations(shape),
            most=self.least_iterations(shape),
        )

    def comparisons(self, rank: int, shape: Shape) -> list[FieldComparison]:
        own, other = self._layout(shape).block, self._around(rank, shape)[0]
        place = Scratch(self._within(rank, shape, 0))
        row = own.nx * own.real
        return [FieldComparison(Place(own.row(0, 0)), own.pitch, place, other.pitch, row, own.ny)]

    def place(self, rank: int, shape: Shape, comparison: int, row: int, byte: int) -> str:
        plane = self.divided(shape)
        x, y = plane.origin(rank)
        return f"point ({x + byte // _real(shape)}, {y + row}) of {plane.width} x {plane.height}"

    def values(self, rank: int, shape: Shape) -> Values:
        block = self._layout(shape).block
        return Values(Place(block.row(0, 0)), block.real, block.pitch)

    def drawn(self, shape: Shape) -> str:
        return "u"

    def cells(self, shape: Shape, rows: Sequence[bytes], edges: Sequence[int]) -> bytes:
        import numpy as np

        return means(np.frombuffer(rows[0], f"f{_real(shape)}").reshape(-1, edges[-1]), edges)

    def copied(self, rank: int, shape: Shape) -> Transfer:
        block = self._layout(shape).block
        return Transfer(rank, block.ny * block.pitch, block.row(0, 0), 0)


def _change(block: JacobiBlock, place: int) -> Scratch:
    """Where the parts of a reference's norm lie, behind its field."""
    return Scratch(block.end + 8 * CHANGE_BLOCKS * place)


def _real(shape: Shape) -> int:
    """Bytes of a number."""
    return int(shape.options.get("fp", "32")) // 8


PATTERN = Jacobi()
