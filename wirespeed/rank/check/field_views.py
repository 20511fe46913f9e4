"""A program's field for people, advanced from its initial state: constants of physics, a picture."""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable

from wirespeed.job.messages import Picture
from wirespeed.job.records import Constant, Converged, Interval
from wirespeed.programs import ProgramPattern
from wirespeed.rank.check.field_memory import FieldMemory
from wirespeed.rank.context import RankContext
from wirespeed.rank.program import Program
from wirespeed.statistics.samples import median

MAX_CELLS = 1000
"""Cells of a picture, in x and in y; a rank whose block ends in mid cell adds one."""
BATCH_SECONDS = 0.3
"""Duration of time steps between two signs of life."""
RUNS, RUNS_SECONDS = 20, 1.0
"""A field is iterated until it converges so often, unless that has taken so long before."""
READ_BYTES = 4 << 20
"""At a time, of each plane of values."""

Doing = Callable[[str], None]
"""Is told what is done at the moment, for the progress display."""


class FieldViews:
    """Runs the program on, with the transfers of its path. All public methods are collective."""

    def __init__(
        self,
        context: RankContext,
        pattern: ProgramPattern,
        memory: FieldMemory,
        program: Program,
        doing: Doing,
    ) -> None:
        self._context, self._pattern, self._memory = context, pattern, memory
        self._comm = context.comm
        self._program, self._doing = program, doing
        self._plane = pattern.divided
        self._values = pattern.values(self._comm.rank)
        self._seconds: float | None = None
        """Time of one iteration."""

    def constant(self) -> Constant | None:
        """A constant of physics beside theory, on every rank; None where the case has none, or shows none."""
        pattern, rank = self._pattern, self._comm.rank
        if (sampling := pattern.sampling(rank)) is None:
            return None
        self._start()
        rows = max(1, READ_BYTES // self._values.pitch)
        edges = [*range(0, self._plane.ny, rows), self._plane.ny]
        samples = []
        for number in range(sampling.samples):
            with self._context.ranges("constant", "steps"):
                self._advance(sampling.iterations, f"constant: sample {number + 1} of {sampling.samples}")
            with self._context.ranges("constant", "sample"):
                self._memory.launch(self._values.work)
                parts = [
                    sampling.part(first, planes)
                    for first, planes in self._memory.rows(self._values, self._plane.nx, edges)
                ]
                samples.append(sum(self._comm.everyone(sum(parts))))
        try:
            found = sampling.constant(samples)
        except (ValueError, ArithmeticError):
            return None
        return Constant(name=found.name, unit=found.unit, measured=found.measured, theory=found.theory)

    def converged(self) -> Converged | None:
        """Steps until the norm is small enough, and their time, on every rank; None: nobody asked for them.

        All ranks have the same norm, bit by bit, so that each decides for itself.
        """
        pattern = self._pattern
        if (found := pattern.convergence(self._comm.rank)) is None:
            return None
        times: list[float] = []
        while not times or (len(times) < RUNS and sum(times) < RUNS_SECONDS):
            self._doing(f"until the norm is {found.until:g}: run {len(times) + 1}")
            self._memory.launch(found.start)
            self._comm.barrier()
            began, done, norm = time.monotonic(), 0, math.inf
            while norm > found.until and done < found.most:
                batch = 1 if done else found.first
                self._program.run(batch)
                done += batch
                norm = math.sqrt(self._memory.number(found.total) / found.points)
            times.append(self._comm.maximum(time.monotonic() - began))
        low = min(times)
        return Converged(
            until=found.until,
            norm=norm,
            steps=done * pattern.facts.steps_per_iteration,
            reached=norm <= found.until,
            runs=len(times),
            seconds=Interval(median=median(times), low=low, high=max(times), min=low),
        )

    def picture(self, path: str) -> None:
        """Rank 0 tells the field after so many steps, a message for each row of cells, from below."""
        pattern, plane = self._pattern, self._plane
        iterations = pattern.timing.least_iterations
        self._start()
        self._advance(iterations, "picture")
        self._memory.launch(self._values.work)
        share = math.ceil(max(plane.width, plane.height) / MAX_CELLS)
        across, up = _edges(plane.nx, share), _edges(plane.ny, share)
        rows = [pattern.cells(planes, across) for _, planes in self._memory.rows(self._values, plane.nx, up)]
        self._doing("picture: gathering")
        of_ranks = self._comm.gather(rows)
        if of_ranks is None:
            return
        beside = (of_ranks[first:][: plane.columns] for first in range(0, pattern.ranks, plane.columns))
        lines = [b"".join(parts) for row in beside for parts in zip(*row, strict=True)]
        steps = iterations * pattern.facts.steps_per_iteration
        grid, what = (plane.width, plane.height), pattern.drawn
        for number, line in enumerate(lines):
            cells = base64.b64encode(line).decode()
            self._context.tell(Picture(path, what, steps, grid, share, len(lines), number, cells))

    def _start(self) -> None:
        self._memory.launch(self._pattern.start(self._comm.rank, 0))
        self._comm.barrier()

    def _advance(self, iterations: int, what: str) -> None:
        """In batches, so that each rank shows that it is alive."""
        done = 0
        while done < iterations:
            batch = min(iterations - done, max(1, int(BATCH_SECONDS / self._seconds)) if self._seconds else 1)
            began = time.monotonic()
            self._program.run(batch)
            # All ranks choose the same batches.
            self._seconds = max(self._comm.maximum(time.monotonic() - began) / batch, 1e-9)
            done += batch
            left = math.ceil((iterations - done) * self._seconds)
            self._doing(f"{what}, {done * 100 // iterations} %, {left} s left")


def _edges(points: int, share: int) -> list[int]:
    """Where cells of `share` points or fewer begin and end, as equal as can be."""
    count = math.ceil(points / share)
    return [number * points // count for number in range(count + 1)]
