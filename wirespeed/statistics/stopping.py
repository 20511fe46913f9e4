"""When a figure is good enough: what the user asks for, and the rule that decides between batches."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from wirespeed.errors import WirespeedError
from wirespeed.statistics.histogram import SHORTEST_S
from wirespeed.statistics.samples import COARSE, FEWEST_BATCHES

BATCH_S = 0.005
"""Seconds of a batch, at most, in the first 5 s; where many sizes take turns, each has less."""
MOMENT_S = 0.025
"""Mean of the seconds from the start of one batch shorter than BATCH_S to the start of the next of the same
size, at least: a figure that is precise was so at several separate moments."""
SHORTEST_BATCH_S = 0.001
"""Seconds of a batch where many sizes take turns, at least."""
FILLED = 0.6
"""Share of the time between two moments that the samples of all sizes fill which take turns: what is around
their batches takes the rest."""
BATCH_SHARE = 1e-3
"""After 5 s, a batch lasts this share of the time spent: there are never too many."""
MAX_SAMPLES_A_BATCH = 100_000
MAX_ITERATIONS_A_SAMPLE = 100_000_000
CLOCK_COSTS_A_SAMPLE = 500
"""A clock reading then adds 0.2 % to a sample."""
RESOLUTIONS_A_SAMPLE = 50
FEWEST_FOR_PRECISION = 24
"""No stop for precision before so many batches: fewer agree by chance too often."""
FEWEST_TO_END = 27
"""Nor an end at --max-time, as long as the path's time lasts: 24 batches make eight blocks, whose interval
reaches from the fastest to the slowest of them, and 27 make nine."""
FEWEST_TO_GIVE_UP = 56
"""The interval of fewer batches is often far wider than the root of the time says."""
SEEN_ENOUGH = 54
"""Fewer batches must have a narrower interval to stop, by the root of their part: slow noise and a second
speed show late (the boundary of O'Brien and Fleming 1979, doi:10.2307/2530245)."""
LOOK_AGAIN = 1.5
"""The next look at the precision comes with so many times the batches: each look is a chance to be fooled."""
LONG_RUN, SHORT_RUN = 4, 2
"""So many samples follow an untimed iteration, where they are too long for more to fit a batch; and so many
where sizes take turns, each as long as that iteration. Of many iterations, one sample alone follows it there:
neighbours tell little of slow noise, and all sizes wait for them."""
INTERRUPTED = "interrupted"
"""Why a figure stopped that is measured again once the run goes on."""
EXTENSION = 3
"""So many times --max-time for a figure which that makes precise enough, or which has few batches."""
LONG_ITERATION_S = 5.0
"""Iterations longer than this need not be repeated to have an interval."""


@dataclass(frozen=True)
class Stopping:
    """When a figure is good enough.

    `precision`: half width of the 95 % interval of the median, as a share of the median.
    `max_time`: seconds per size after which to stop all the same; three times that where it helps.
    `loops`, `warmup`: fixed counts of iterations instead, as the ping-pong tutorial has them.
    """

    precision: float = 0.01
    max_time: float = 0.05
    loops: int | None = None
    warmup: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.precision < 1:
            raise WirespeedError(
                f"--precision is a share between 0 and 1 (0.01 or 1%), not {self.precision:g}"
            )
        if not 0 < self.max_time < 86400:
            raise WirespeedError(f"--max-time is seconds per size, more than 0, not {self.max_time:g}")
        for name, count, least in (("loops", self.loops, 1), ("warmup", self.warmup, 0)):
            if count is not None and not least <= count <= 10_000_000:
                raise WirespeedError(f"--{name} is a count from {least} to 10000000, not {count}")


class Sampled(Protocol):
    """Facts that a stopping rule needs about the samples so far; of all teams, it is the one that needs
    most.
    """

    count: int
    batches: int
    latest: float

    def precision(self) -> float | None: ...


def until_next_moment(dice: random.Random) -> float:
    """Seconds, always others: what comes at a fixed rate disturbs some batches, not all of them or none."""
    return MOMENT_S * dice.uniform(0.5, 1.5)


class StoppingRule:
    """When a size is measured well enough, and what the next batch is. Rank 0 asks, between batches."""

    def __init__(
        self,
        stopping: Stopping,
        clock_cost_s: float,
        clock_resolution_s: float,
        divisor: float = 1.0,
        more_s: Callable[[], float] | None = None,
        ending: Callable[[], bool] = lambda: False,
        late: Callable[[], bool] = lambda: False,
    ) -> None:
        """`divisor`: an iteration's seconds over a sample's (2 where samples are half round trips). `more_s`:
        seconds that are left for more than --max-time, where the run has a bound. `ending`: is the run to
        end? `late`: has it come so near to its bound that nothing is measured on?
        """
        self._stopping, self._divisor, self._resolution_s = stopping, divisor, clock_resolution_s
        self._more_s, self._ending, self._late = more_s, ending, late
        self._most_s = EXTENSION * stopping.max_time
        # A precision beyond what the clock can tell must not make one sample last for ever.
        fine = min(2 * clock_resolution_s / stopping.precision, self._most_s / FEWEST_FOR_PRECISION)
        self._shortest = max(
            CLOCK_COSTS_A_SAMPLE * clock_cost_s, RESOLUTIONS_A_SAMPLE * clock_resolution_s, fine
        )
        self._next_look = FEWEST_FOR_PRECISION
        self._reachable_checked = False
        self._iteration_s = 0.0
        self.iterations_per_sample = 0
        """0 until the first batch is planned, then fixed."""
        self.long_samples = False
        """Does each sample of the batch planned last as long as a batch, and count as one?"""
        self.left_behind = False
        """Are all others done with which it took turns? It would wait five times as long as it measures."""

    @property
    def step_s(self) -> float:
        """Seconds of one step of the clock in a sample; once the first batch is planned."""
        return self._resolution_s / max(self.iterations_per_sample, 1) / self._divisor

    def calibration_iterations(self, iteration_s: float) -> int:
        """Iterations of one more untimed run, 1 ms in all, that calibrate short ones; 0: none needed."""
        if self._stopping.loops is not None or iteration_s >= 10 * self._shortest:
            return 0
        # What a coarse clock shows as nothing may take as long as a step of it.
        longest_s = max(iteration_s, self._resolution_s, SHORTEST_S)
        return min(max(1, round(1e-3 / longest_s)), MAX_ITERATIONS_A_SAMPLE)

    def over(self, samples: Sampled, elapsed_s: float) -> bool:
        """Is all the time spent that there is, however wide the interval?"""
        needed = 1 if self._iteration_s > LONG_ITERATION_S else FEWEST_BATCHES
        return elapsed_s >= self._limit(samples) and samples.batches >= needed

    def _limit(self, samples: Sampled) -> float:
        """Seconds for the figure: no more than --max-time once its path's time is over, or it is left."""
        if self._ending() or self._late():
            return 0.0
        left_behind = self.left_behind and self._more_s is None and samples.batches >= FEWEST_TO_END
        spent = self._more_s is not None and self._more_s() <= 0
        return self._stopping.max_time if spent or left_behind else self._most_s

    def _checks_reachable(self, samples: Sampled, elapsed_s: float) -> bool:
        over = elapsed_s >= self._stopping.max_time and samples.batches >= FEWEST_TO_END
        return over and not self._reachable_checked

    def _unreachable(self, precision: float, elapsed_s: float) -> bool:
        """Would more time not do either? An interval narrows with the root of the time."""
        return elapsed_s * (precision / self._stopping.precision) ** 2 > self._most_s

    def _goes_on(self, samples: Sampled, precision: float | None, elapsed_s: float) -> bool:
        """Lets a coarse figure go on, if the time that is left would make it precise enough."""
        if precision is None or precision <= COARSE or self._more_s is None or self._ending() or self._late():
            return False
        times = (precision / COARSE) ** 2
        more_s = self._more_s()
        far = elapsed_s * (times - 1) > more_s
        if more_s <= 0 or (far and samples.batches >= FEWEST_TO_GIVE_UP):
            return False
        self._most_s = max(self._most_s, min(elapsed_s * min(times, LOOK_AGAIN), elapsed_s + more_s))
        return True

    def due(self, samples: Sampled, elapsed_s: float) -> bool:
        """Will decide() look at the precision? Others may have to work it out together."""
        if self._stopping.loops is not None:
            return False
        late = self.over(samples, elapsed_s) or self._checks_reachable(samples, elapsed_s)
        return late or samples.batches >= self._next_look

    def decide(self, samples: Sampled, elapsed_s: float) -> str | None:
        """Why to stop ("precision", "max-time", "fixed" or INTERRUPTED), or None to go on."""
        if self._stopping.loops is not None:
            return "fixed" if samples.count else None
        over, late = self.over(samples, elapsed_s), self._checks_reachable(samples, elapsed_s)
        if not (over or late or samples.batches >= self._next_look):
            return None
        precision = samples.precision()
        if late:
            self._reachable_checked = True
            over = over or (precision is not None and self._unreachable(precision, elapsed_s))
        # This look is no further chance to be fooled.
        if over or samples.batches >= self._next_look:
            self._next_look = math.ceil(samples.batches * LOOK_AGAIN)
            if precision is not None and precision <= self._enough(samples.batches):
                return "precision"
        if over and self._ending():
            return INTERRUPTED
        return "max-time" if over and not self._goes_on(samples, precision, elapsed_s) else None

    def _enough(self, batches: int) -> float:
        """Precision with which so many batches may stop; few long iterations are as sure as they say."""
        early = FEWEST_FOR_PRECISION <= batches < SEEN_ENOUGH
        return self._stopping.precision * (math.sqrt(batches / SEEN_ENOUGH) if early else 1.0)

    def next_batch(
        self, iteration_s: float, samples: Sampled, elapsed_s: float, taking_turns: int = 1
    ) -> tuple[int, int]:
        """(iterations per sample, samples) of the next batch; `iteration_s` is used while there are none.

        `taking_turns`: how many sizes are being measured, this one among them.
        """
        if self._stopping.loops is not None:
            self.iterations_per_sample = self._stopping.loops
            return self._stopping.loops, 1
        if samples.count:
            iteration_s = samples.latest * self._divisor
        self._iteration_s = iteration_s = max(iteration_s, SHORTEST_S)
        if not self.iterations_per_sample:
            wanted = math.ceil(min(self._shortest / iteration_s, MAX_ITERATIONS_A_SAMPLE))
            self.iterations_per_sample = max(1, wanted)
        sample_s = iteration_s * self.iterations_per_sample
        limit = self._most_s
        part_s = max(FILLED * MOMENT_S / taking_turns, SHORTEST_BATCH_S)
        batch_s = max(min(part_s, BATCH_S, limit / FEWEST_TO_END), BATCH_SHARE * elapsed_s)
        left_s = max(self._limit(samples) - elapsed_s, 0.0)
        self.long_samples = sample_s >= max(BATCH_S, batch_s)
        if self.long_samples:
            needed = 1 if iteration_s > LONG_ITERATION_S else FEWEST_BATCHES - samples.batches
            return self.iterations_per_sample, max(needed, min(math.ceil(left_s / sample_s), LONG_RUN), 1)
        least = LONG_RUN if part_s >= BATCH_S else SHORT_RUN if self.iterations_per_sample == 1 else 1
        whole_s = max(batch_s, min(least * sample_s, BATCH_S))
        # Half at least: a batch of a sample or two, after new content at that, is no batch like the others.
        count = max(min(whole_s, left_s), whole_s / 2) / sample_s
        return self.iterations_per_sample, max(1, min(round(count), MAX_SAMPLES_A_BATCH))
