"""One part of a pattern at one size: checked, warmed up, sampled until the figure is good enough.

Rank 0 alone decides when to stop, between batches; nothing but ws_program_run is ever timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from wirespeed.counted import CountedRuns
from wirespeed.messages import Message
from wirespeed.patterns import Step, Transfer
from wirespeed.payload import Payload
from wirespeed.setting import Mismatch, Setting
from wirespeed.stats import Samples, StoppingRule
from wirespeed.teams import Squad

CHECK_SHARE = 0.2
"""Untimed checked rounds between batches may take this share of the time spent on a size."""
WARM_UP_ROUNDS, WARM_UP_SECONDS = 5, 0.2
LONG_ROUND_SECONDS = 0.05
"""Sizes whose rounds take longer are checked before the samples only, others after them too."""
IN_PLACE, TOGETHER = 1, 2
"""Flags of ws_program_open (native/wirespeed.h)."""


@dataclass
class _Seen:
    """All teams' samples as rank 0 knows them, for the stopping rule."""

    count: int = 0
    batches: int = 0
    latest: float = 0.0
    worst: float | None = None

    def precision(self) -> float | None:
        return self.worst


@dataclass(frozen=True)
class Sampled:
    """What came of it, on this rank."""

    samples: Samples
    rounds_per_sample: int
    stopped: str
    details: dict[str, Any]


class OnePart:
    """The transfers of one part, compiled, checked and sampled by all ranks together."""

    def __init__(
        self,
        setting: Setting,
        transport: Any,
        buffers: Any,
        size: int,
        part: int,
        payload: Payload,
        progress: Callable[[int, float | None, float], None],
    ) -> None:
        self._set, self._size, self._payload, self._progress = setting, size, payload, progress
        self._core, self._world, self._plan = setting.core, setting.world, setting.plan
        self._transport, self._buffers = transport, buffers
        self._steps = setting.pattern.steps(setting.world.rank, setting.shape, size, part)
        self._adds = any(step.adds for step in self._steps)
        self._sums = setting.pattern.sums(setting.world.rank, setting.shape, size)
        self._programs: list[Any] = []
        """All that are open, in the order made: a chain comes after its links."""
        self._divisor = setting.pattern.figure(setting.shape, size).divisor
        self._checking = 0.0

    def try_only(self) -> None:
        """Two checked rounds: does this path move these bytes at all?"""
        try:
            program = self._open(in_place=False)
            self._check(program)
            self._check(program)
        finally:
            self._close()

    def counted(self, runs: CountedRuns) -> Message | None:
        """Rounds between two readings of the wires' counters: what was counted, on rank 0."""
        try:
            program = self._open(in_place=False)
            pace = runs.foreseen(self._size)
            if pace < LONG_ROUND_SECONDS:
                # A program is new to a library at first; what it sets up then crosses wires, too.
                seconds = [self._run(program, 0, 1, 1)[0] for _ in range(2)]
                pace = self._world.maximum(min(seconds))

            def run(rounds: int) -> None:
                self._run(program, 0, rounds, 1)

            return runs.evidence(self._size, self._steps, pace, run)
        finally:
            self._close()

    def _close(self) -> None:
        while self._programs:
            self._core.lib.ws_program_close(self._programs.pop())

    def measure(self, squad: Squad) -> Sampled:
        """Checks, samples until the figure is good enough, checks again."""
        fixed = self._plan.stopping.loops is not None
        samples = Samples()
        try:
            program = self._open(in_place=False)
            timed = self._open(in_place=True) if fixed and self._set.pattern.one_buffer else program
            first = self._world.maximum(self._check(program))
            if fixed:
                rounds, stopped = self._fixed(timed, samples, squad)
            else:
                rounds, stopped = self._sampled(program, samples, squad, first)
            # By their usual pace: a first round may be long on a busy machine.
            if squad.pace(samples) * self._divisor < LONG_ROUND_SECONDS:
                self._check(program)
            details = self._core.described(self._core.lib.ws_program_describe(timed))
        finally:
            self._close()
        return Sampled(samples, rounds, stopped, details)

    def _open(self, in_place: bool) -> Any:
        """The part's program; a chain of several where the device works between steps."""
        in_place = in_place or self._set.pattern.in_place
        if not self._adds:
            return self._compile(self._steps, in_place)
        links: dict[tuple[Step, ...], Any] = {}
        order: list[Any] = []
        adds: list[tuple[int, int, int, int, float]] = []
        segment: list[Step] = []
        for step in self._steps:
            segment.append(Step(step.sends, step.receives))
            if step.adds or step is self._steps[-1]:
                key = tuple(segment)
                if key not in links:
                    links[key] = self._compile(segment, in_place)
                shift = self._set.offset
                adds += [(len(order), 0, add.offset + shift, add.bytes, add.value) for add in step.adds]
                order.append(links[key])
                segment = []
        ffi, lib = self._core.ffi, self._core.lib
        chain = lib.ws_chain_open(
            ffi.new("ws_program *[]", order), len(order), ffi.new("ws_add[]", adds), len(adds)
        )
        self._programs.append(self._core.check(chain))
        return self._lying(chain)

    def _lying(self, program: Any) -> Any:
        if lie := self._set.lie:
            self._core.check(self._core.test_lib.ws_program_inject_fault(program, lie.encode()))
        return program

    def _compile(self, steps: list[Step], in_place: bool) -> Any:
        shift = self._set.offset
        flat = [
            (number, receives, part.peer, 0, part.offset + shift, part.bytes, part.there + shift)
            for number, step in enumerate(steps)
            for receives, parts in ((0, step.sends), (1, step.receives))
            for part in parts
        ]
        lib = self._core.lib
        transfers = self._core.ffi.new("ws_transfer[]", flat)
        flags = IN_PLACE * in_place | TOGETHER * self._set.pattern.together

        def compile_it() -> Any:
            program = self._core.check(
                lib.ws_program_open(self._transport, self._buffers, transfers, len(flat), flags)
            )
            return program if self._adds else self._lying(program)

        program = self._set.together(compile_it, lib.ws_program_close)
        self._programs.append(program)
        return program

    def _run(self, program: Any, lead_in: int, rounds_per_sample: int, samples: int) -> list[float]:
        seconds = self._core.ffi.new("double[]", max(samples, 1))
        self._core.check(self._core.lib.ws_program_run(program, lead_in, rounds_per_sample, samples, seconds))
        return list(self._core.ffi.unpack(seconds, samples)) if samples else []

    def _check(self, program: Any) -> float:
        """One round with fresh content, every byte checked; its seconds. Raises Mismatch on every rank."""
        began = time.monotonic()
        steps, shift = self._shifted(), self._set.offset
        if self._sums:
            self._payload.prepare_sums(self._sums, self._buffers, shift)
        else:
            self._payload.prepare(steps, self._buffers, self._size)
        self._world.barrier()
        seconds = self._run(program, 0, 1, 1)[0]
        if self._sums:
            wrong = self._payload.verify_sums(self._sums, self._buffers, shift)
        else:
            wrong = self._payload.verify(steps, self._buffers, self._size)
        if found := self._world.first(wrong):
            raise Mismatch(found[1])
        self._checking += time.monotonic() - began
        return seconds

    def _shifted(self) -> list[Step]:
        """The steps as they lie in the buffers: tests move them off their alignment."""
        shift = self._set.offset
        if not shift:
            return self._steps
        return [
            Step(_moved(step.sends, shift), _moved(step.receives, shift), step.adds) for step in self._steps
        ]

    def _warm_up(self, program: Any, first: float) -> float:
        """Five rounds or 0.2 s, whichever comes first, or --warmup's; the seconds of one.

        The checked round is the first of the five.
        """
        rest = min(WARM_UP_ROUNDS - 1, math.ceil((WARM_UP_SECONDS - first) / max(first, 1e-9)))
        if self._plan.stopping.warmup is not None:
            rest = self._plan.stopping.warmup
        if rest > 0:
            first = self._world.maximum(min(self._run(program, 0, 1, rest)))
        return first

    def _fixed(self, program: Any, samples: Samples, squad: Squad) -> tuple[int, str]:
        """As the ping-pong tutorial: one elapsed time over all loops."""
        stopping = self._plan.stopping
        loops = stopping.loops or 1
        warm_up = WARM_UP_ROUNDS if stopping.warmup is None else stopping.warmup
        self._keep(samples, squad, self._run(program, warm_up, loops, 1))
        return loops, "fixed"

    def _sampled(self, program: Any, samples: Samples, squad: Squad, first: float) -> tuple[int, str]:
        """Batch after batch, until rank 0 says that it is enough: rounds per sample, and why it stopped."""
        estimate = self._warm_up(program, first)
        rule = StoppingRule(self._plan.stopping, *self._clock(program), divisor=self._divisor)
        if more := self._world.share(rule.calibration_rounds(estimate)):
            estimate = self._world.maximum(self._run(program, 0, more, 1)[0])
        began = last_told = time.monotonic()
        seen = _Seen()
        reason: str | None = None
        while True:
            batch = (0, 0, 0, False)
            elapsed = time.monotonic() - began
            if self._world.share(rule.due(seen, elapsed)):
                seen.worst = squad.precision(samples)
            if self._world.rank == 0:
                reason = rule.decide(seen, elapsed)
                if reason is None:
                    rounds, count = rule.next_batch(estimate, seen, elapsed)
                    lead_in = rounds if estimate * rounds < 1e-3 else 0
                    batch = (lead_in, rounds, count, seen.count > 0 and self._may_check(elapsed))
            lead_in, rounds, count, check = self._world.share(batch)
            if count == 0:
                break
            rule.rounds_per_sample = rounds
            samples.step_s = rule.step_s
            if check:
                self._check(program)
            self._keep(samples, squad, self._run(program, lead_in, rounds, count))
            seen.count, seen.batches, seen.latest = seen.count + count, seen.batches + 1, squad.pace(samples)
            if self._world.rank == 0 and time.monotonic() - last_told > 0.5:
                last_told = time.monotonic()
                self._progress(seen.count, samples.precision() if samples.count else None, last_told - began)
        return rule.rounds_per_sample, self._world.share(str(reason))

    def _keep(self, samples: Samples, squad: Squad, seconds: list[float]) -> None:
        samples.add([value / self._divisor for value in squad.gathered(seconds)])

    def _clock(self, program: Any) -> tuple[float, float]:
        """Cost and resolution of the clock that stamps the program's samples, in seconds."""
        cost, resolution = self._core.ffi.new("double *"), self._core.ffi.new("double *")
        self._core.check(self._core.lib.ws_program_clock(program, cost, resolution))
        return cost[0], resolution[0]

    def _may_check(self, elapsed: float) -> bool:
        return self._checking <= CHECK_SHARE * (elapsed + self._checking)


def _moved(transfers: tuple[Transfer, ...], shift: int) -> tuple[Transfer, ...]:
    return tuple(replace(t, offset=t.offset + shift, there=t.there + shift) for t in transfers)
