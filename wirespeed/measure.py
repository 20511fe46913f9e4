"""One path, measured by all ranks together: sizes, batches, samples, until each figure is good enough.

Rank 0 alone decides when to stop, between batches; nothing but ws_program_run is ever timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from wirespeed.messages import Message
from wirespeed.native import Core, NativeError
from wirespeed.orders import stuck_after
from wirespeed.paths import Path, find_path
from wirespeed.patterns import Shape, Step, find_pattern
from wirespeed.payload import Payload, Wrong
from wirespeed.plan import Plan
from wirespeed.results import record
from wirespeed.stats import Samples, StoppingRule

if TYPE_CHECKING:
    from wirespeed.rank import Watched
    from wirespeed.world import World

Tell = Callable[[Message], None]

CHECK_SHARE = 0.2
"""Untimed checked rounds between batches may take this share of the time spent on a size."""
WARM_UP_ROUNDS, WARM_UP_SECONDS = 5, 0.2
LONG_ROUND_SECONDS = 0.2
"""Sizes whose rounds take longer are checked before the samples only, others after them too."""
SMALL_BUFFERS = (1 << 20, 1 << 26)
"""Buffers are allocated in these steps, then for the largest size, so that small sizes do not wait long."""


class Unusable(Exception):
    """Some rank cannot go on with this path; every rank knows."""


class Mismatch(Exception):
    """Some rank received wrong bytes; every rank knows."""

    def __init__(self, wrong: Wrong) -> None:
        super().__init__(str(wrong))
        self.rank = wrong.rank


class Measurement:
    """What one rank does; all ranks call the same methods in the same order."""

    def __init__(
        self, core: Core, world: World, device: Any, watched: Watched, plan: Plan, tell: Tell
    ) -> None:
        self._core, self._world, self._device = core, world, device
        self._watched, self._plan, self._tell = watched, plan, tell
        self._pattern = find_pattern(plan.pattern)
        self._shape = Shape(world.size)
        self._control = world.control(core)
        self._clock = (core.lib.ws_clock_cost(), core.lib.ws_clock_resolution())
        self._test = dict(plan.test)
        self._offset = int(self._test.get("offset", "0"))

    def run(self, name: str, step: int, sizes: Sequence[int], probe: bool) -> None:
        """Measures (or only tries) the path at every size; failures are told, not raised."""
        path = find_path(name)
        self._watched.stage(name, 0, stuck_after(self._plan, 0))
        options = path.option_text()
        if "largest-count" in self._test:
            options = ";".join(filter(None, (options, f"largest-count={self._test['largest-count']}")))
        try:
            transport = self._together(
                lambda: self._core.check(
                    self._core.lib.ws_transport_open(
                        path.transport.encode(),
                        options.encode(),
                        self._control,
                        self._device,
                        self._watched.page,
                    )
                )
            )
        except Unusable as error:
            self._failure("error", str(error), None, fatal=True)
            return
        try:
            self._all_sizes(path, transport, step, sizes, probe)
        finally:
            self._core.lib.ws_transport_close(transport)

    def _all_sizes(self, path: Path, transport: Any, step: int, sizes: Sequence[int], probe: bool) -> None:
        buffers, capacity = None, -1
        for index, size in enumerate(sizes):
            timeout = stuck_after(self._plan, size)
            self._watched.stage(path.name, size, timeout)
            self._tell(
                {"kind": "progress", "path": path.name, "bytes": size, "index": index, "of": len(sizes)}
            )
            try:
                if size + self._offset > capacity:
                    if buffers is not None:
                        self._core.lib.ws_buffers_close(buffers)
                    buffers, capacity = None, -1
                    buffers, capacity = self._new_buffers(transport, path, self._capacities(size, sizes))
                one = OneSize(self, path, transport, buffers, size, step, (index, len(sizes)))
                one.try_only() if probe else one.measure()
            except Unusable as error:
                self._failure("error", str(error), size)
            except Mismatch as error:
                self._failure("mismatch", str(error), size, rank=error.rank)
        if buffers is not None:
            self._core.lib.ws_buffers_close(buffers)

    def _capacities(self, size: int, sizes: Sequence[int]) -> list[int]:
        """What to try to allocate: room for what follows, else for this size alone."""
        needed, most = size + self._offset, max(sizes) + self._offset
        room = next((step for step in SMALL_BUFFERS if needed <= step), most)
        return sorted({min(room, most), needed}, reverse=True)

    def _new_buffers(self, transport: Any, path: Path, capacities: Sequence[int]) -> tuple[Any, int]:
        """Buffers of the first size that every rank could allocate. Raises Unusable."""
        *larger, least = capacities
        for capacity in larger:
            with suppress(Unusable):
                return self._together(partial(self._open_buffers, transport, path, capacity)), capacity
        return self._together(partial(self._open_buffers, transport, path, least)), least

    def _open_buffers(self, transport: Any, path: Path, capacity: int) -> Any:
        return self._core.check(
            self._core.lib.ws_buffers_open(transport, path.memory.encode(), max(capacity, 1))
        )

    def _together(self, call: Callable[[], Any]) -> Any:
        """Runs something that may fail on some ranks only; raises Unusable on all if it failed on one."""
        result, error = None, None
        try:
            result = call()
        except NativeError as caught:
            error = str(caught)
        errors = self._world.everyone(error)
        for rank, text in enumerate(errors):
            if text is not None:
                raise Unusable(f"rank {rank}: {text}")
        return result

    def _failure(
        self, what: str, text: str, size: int | None, rank: int | None = None, fatal: bool = False
    ) -> None:
        self._tell(
            {"kind": "failure", "what": what, "text": text, "bytes": size, "rank": rank, "fatal": fatal}
        )


class OneSize:
    """One message size: checked, warmed up, sampled."""

    def __init__(
        self,
        owner: Measurement,
        path: Path,
        transport: Any,
        buffers: Any,
        size: int,
        step: int,
        place: tuple[int, int],
    ) -> None:
        self._o, self._path, self._size, self._step, self._place = owner, path, size, step, place
        self._core, self._world, self._plan = owner._core, owner._world, owner._plan
        self._transport, self._buffers = transport, buffers
        self._payload = Payload(owner._core, owner._world, owner._device, path.memory)
        self._steps = owner._pattern.steps(owner._world.rank, owner._shape, size)
        self._figure = owner._pattern.figure(owner._shape, size)
        self._leads = owner._world.rank == 0
        self._checking = 0.0
        self._began = time.monotonic()

    def try_only(self) -> None:
        """Two checked rounds: does this path move these bytes at all?"""
        program = self._open(in_place=False)
        try:
            self._check(program)
            self._check(program)
        finally:
            self._core.lib.ws_program_close(program)

    def measure(self) -> None:
        """Checks, samples until the figure is good enough, checks again, tells the entry."""
        fixed = self._plan.stopping.loops is not None
        program = self._open(in_place=False)
        timed = self._open(in_place=True) if fixed else program
        samples = Samples()
        try:
            first = self._world.share(self._check(program))
            rounds, stopped = self._fixed(timed, samples) if fixed else self._sampled(program, samples, first)
            if first < LONG_ROUND_SECONDS:
                self._check(program)
        finally:
            if timed is not program:
                self._core.lib.ws_program_close(timed)
            self._core.lib.ws_program_close(program)
        if self._leads:
            self._o._tell(self._entry(samples, rounds, stopped))

    def _open(self, in_place: bool) -> Any:
        flat = [
            (number, receives, part.peer, 0, part.offset + self._o._offset, part.bytes)
            for number, step in enumerate(self._steps)
            for receives, parts in ((0, step.sends), (1, step.receives))
            for part in parts
        ]
        lib = self._core.lib
        transfers = self._core.ffi.new("ws_transfer[]", flat)

        def compile_it() -> Any:
            program = self._core.check(
                lib.ws_program_open(self._transport, self._buffers, transfers, len(flat), int(in_place))
            )
            if lie := self._o._test.get("lie"):
                self._core.check(lib.ws_program_lie(program, lie.encode()))
            return program

        return self._o._together(compile_it)

    def _run(self, program: Any, lead_in: int, rounds_per_sample: int, samples: int) -> list[float]:
        seconds = self._core.ffi.new("double[]", max(samples, 1))
        self._core.check(self._core.lib.ws_program_run(program, lead_in, rounds_per_sample, samples, seconds))
        return list(self._core.ffi.unpack(seconds, samples)) if samples else []

    def _check(self, program: Any) -> float:
        """One round with fresh content, every byte checked; its seconds. Raises Mismatch on every rank."""
        began = time.monotonic()
        steps = self._shifted()
        self._payload.prepare(steps, self._buffers, self._size)
        self._world.barrier()
        seconds = self._run(program, 0, 1, 1)[0]
        wrong = self._payload.verify(steps, self._buffers, self._size)
        for found in self._world.everyone(wrong):
            if found is not None:
                raise Mismatch(found)
        self._checking += time.monotonic() - began
        return seconds

    def _shifted(self) -> list[Step]:
        """The steps as they lie in the buffers: tests move them off their alignment."""
        shift = self._o._offset
        if not shift:
            return self._steps
        from dataclasses import replace

        return [
            Step(
                *(tuple(replace(t, offset=t.offset + shift) for t in part) for part in (s.sends, s.receives))
            )
            for s in self._steps
        ]

    def _warm_up(self, program: Any, first: float) -> float:
        """Five rounds or 0.2 s, whichever comes first; the seconds of one. The checked round is the first."""
        rest = min(WARM_UP_ROUNDS - 1, math.ceil((WARM_UP_SECONDS - first) / max(first, 1e-9)))
        if rest > 0:
            first = self._world.share(min(self._run(program, 0, 1, rest)))
        return first

    def _fixed(self, program: Any, samples: Samples) -> tuple[int, str]:
        """As the ping-pong tutorial: one elapsed time over all loops."""
        stopping = self._plan.stopping
        loops = stopping.loops or 1
        warm_up = WARM_UP_ROUNDS if stopping.warmup is None else stopping.warmup
        samples.add([self._run(program, warm_up, loops, 1)[0] / self._figure.divisor])
        return loops, "fixed"

    def _sampled(self, program: Any, samples: Samples, first: float) -> tuple[int, str]:
        """Batch after batch, until rank 0 says that it is enough: rounds per sample, and why it stopped."""
        estimate = self._warm_up(program, first)
        rule = StoppingRule(self._plan.stopping, *self._o._clock, divisor=self._figure.divisor)
        if more := self._world.share(rule.calibration_rounds(estimate)):
            estimate = self._run(program, 0, more, 1)[0]
        began = time.monotonic()
        last_told = began
        reason: str | None = None
        while True:
            batch = (0, 0, 0, False)
            if self._leads:
                elapsed = time.monotonic() - began
                reason = rule.decide(samples, elapsed)
                if reason is None:
                    rounds, count = rule.next_batch(estimate, samples, elapsed)
                    lead_in = rounds if estimate * rounds < 1e-3 else 0
                    batch = (lead_in, rounds, count, samples.count > 0 and self._may_check(elapsed))
            lead_in, rounds, count, check = self._world.share(batch)
            if count == 0:
                break
            if check:
                self._check(program)
            seconds = self._run(program, lead_in, rounds, count)
            if not self._leads:
                continue
            samples.add([value / self._figure.divisor for value in seconds])
            if time.monotonic() - last_told > 0.5:
                last_told = time.monotonic()
                self._progress(samples, last_told - began)
        return rule.rounds_per_sample, str(reason)

    def _may_check(self, elapsed: float) -> bool:
        return self._checking <= CHECK_SHARE * (elapsed + self._checking)

    def _progress(self, samples: Samples, elapsed: float) -> None:
        index, total = self._place
        self._o._tell(
            {
                "kind": "progress",
                "path": self._path.name,
                "bytes": self._size,
                "index": index,
                "of": total,
                "samples": samples.count,
                "precision": samples.precision(),
                "elapsed_s": elapsed,
            }
        )

    def _entry(self, samples: Samples, rounds_per_sample: int, stopped: str) -> Message:
        return record.entry(
            run="",  # whoever writes the file knows it
            step=self._step,
            pattern=self._o._pattern.name,
            path=self._path,
            size=self._size,
            definition=self._figure.definition,
            moved=self._figure.bytes,
            samples=samples,
            rounds_per_sample=rounds_per_sample,
            stopped=stopped,
            checked={"rounds": self._payload.rounds, "bytes": self._payload.bytes},
            elapsed_s=time.monotonic() - self._began,
        )
