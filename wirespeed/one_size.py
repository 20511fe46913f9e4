"""One message size on one path: checked, warmed up, sampled until the figure is good enough.

Rank 0 alone decides when to stop, between batches; nothing but ws_program_run is ever timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wirespeed.messages import Message
from wirespeed.native import Core, NativeError
from wirespeed.paths import Path
from wirespeed.patterns import Pattern, Shape, Step
from wirespeed.payload import Payload, Wrong
from wirespeed.plan import Plan
from wirespeed.results import record
from wirespeed.stats import Samples, StoppingRule

if TYPE_CHECKING:
    from wirespeed.world import World

CHECK_SHARE = 0.2
"""Untimed checked rounds between batches may take this share of the time spent on a size."""
WARM_UP_ROUNDS, WARM_UP_SECONDS = 5, 0.2
LONG_ROUND_SECONDS = 0.05
"""Sizes whose rounds take longer are checked before the samples only, others after them too."""


class Unusable(Exception):
    """Some rank cannot go on with this path; every rank knows."""

    def __init__(self, text: str, lack: bool = False) -> None:
        super().__init__(text)
        self.what = "unavailable" if lack else "error"


class Mismatch(Exception):
    """Some rank received wrong bytes; every rank knows."""

    def __init__(self, wrong: Wrong) -> None:
        super().__init__(str(wrong))
        self.rank = wrong.rank


@dataclass(frozen=True)
class Setting:
    """What stays the same for all sizes and paths of a rank."""

    core: Core
    world: World
    device: Any
    plan: Plan
    pattern: Pattern
    shape: Shape
    tell: Callable[[Message], None]
    offset: int = 0
    """For tests: every transfer starts so many bytes into its buffer."""
    lie: str | None = None
    """For tests: what each program lies about."""

    def together(self, call: Callable[[], Any], undo: Callable[[Any], None]) -> Any:
        """Runs something that may fail on some ranks only; raises Unusable on all if it failed on one."""
        result, error = None, None
        try:
            result = call()
        except NativeError as caught:
            error = (str(caught), caught.lack)
        everyone = self.world.everyone(error)
        for rank, found in enumerate(everyone):
            if found is not None:
                if result is not None:
                    undo(result)
                text, lack = found
                # Where all ranks failed together, the core has already said whose fault it was; what all of
                # them lack is nobody's.
                nobody = lack and all(other == found for other in everyone)
                raise Unusable(text if nobody or text.startswith("rank ") else f"rank {rank}: {text}", lack)
        return result


class OneSize:
    """One message size: checked, warmed up, sampled."""

    def __init__(
        self,
        setting: Setting,
        path: Path,
        transport: Any,
        buffers: Any,
        size: int,
        step: int,
        place: tuple[int, int],
    ) -> None:
        """`place`: (index, number) of this size among all."""
        self._set, self._path, self._size, self._step, self._place = setting, path, size, step, place
        self._core, self._world, self._plan = setting.core, setting.world, setting.plan
        self._transport, self._buffers = transport, buffers
        self._payload = Payload(setting.core, setting.world, setting.device, path.memory)
        self._steps = setting.pattern.steps(setting.world.rank, setting.shape, size)
        self._figure = setting.pattern.figure(setting.shape, size)
        self._leads = setting.world.rank == 0
        self._checking = 0.0
        self._details: dict[str, Any] = {}
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
            self._details = self._core.described(self._core.lib.ws_program_describe(timed))
        finally:
            if timed is not program:
                self._core.lib.ws_program_close(timed)
            self._core.lib.ws_program_close(program)
        if self._leads:
            self._set.tell(self._entry(samples, rounds, stopped))

    def _open(self, in_place: bool) -> Any:
        flat = [
            (number, receives, part.peer, 0, part.offset + self._set.offset, part.bytes)
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
            if lie := self._set.lie:
                self._core.check(lib.ws_program_lie(program, lie.encode()))
            return program

        return self._set.together(compile_it, lib.ws_program_close)

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
        shift = self._set.offset
        if not shift:
            return self._steps
        return [
            Step(
                *(tuple(replace(t, offset=t.offset + shift) for t in part) for part in (s.sends, s.receives))
            )
            for s in self._steps
        ]

    def _warm_up(self, program: Any, first: float) -> float:
        """Five rounds or 0.2 s, whichever comes first, or --warmup's; the seconds of one.

        The checked round is the first of the five.
        """
        rest = min(WARM_UP_ROUNDS - 1, math.ceil((WARM_UP_SECONDS - first) / max(first, 1e-9)))
        if self._plan.stopping.warmup is not None:
            rest = self._plan.stopping.warmup
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
        rule = StoppingRule(self._plan.stopping, *self._clock(), divisor=self._figure.divisor)
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
                    samples.step_s = rule.step_s
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

    def _clock(self) -> tuple[float, float]:
        """Cost and resolution of the clock that stamps the samples, in seconds."""
        cost, resolution = self._core.ffi.new("double *"), self._core.ffi.new("double *")
        self._core.check(self._core.lib.ws_transport_clock(self._transport, cost, resolution))
        return cost[0], resolution[0]

    def _may_check(self, elapsed: float) -> bool:
        return self._checking <= CHECK_SHARE * (elapsed + self._checking)

    def _progress(self, samples: Samples, elapsed: float) -> None:
        index, total = self._place
        self._set.tell(
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
            pattern=self._set.pattern.name,
            path=self._path,
            size=self._size,
            definition=self._figure.definition,
            moved=self._figure.bytes,
            samples=samples,
            rounds_per_sample=rounds_per_sample,
            stopped=stopped,
            checked={"rounds": self._payload.rounds, "bytes": self._payload.bytes},
            details=self._details,
            elapsed_s=time.monotonic() - self._began,
        )
