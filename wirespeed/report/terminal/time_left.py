"""Time that a run still takes, from what its sizes and its job steps have taken so far."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from wirespeed.job.messages import FILLING, Progress
from wirespeed.report.console.status_line import Clock, rest
from wirespeed.results.events import StepStart
from wirespeed.units import duration

HEAVY = 64 << 20
"""Bytes of buffers with which a size is expected to take as long again as an empty one, until sizes of so
many bytes have shown how long they take. Small ones take the time to be precise."""
LIGHT = HEAVY // 4
LONG = 1 << 20
"""Bytes of buffers from which on a message takes as long as its bandwidth says."""
UNKEPT = 1 / 3
"""Share of what figures are expected to take that they take however coarse they are, budget or not, where no
long message has shown it."""
FEWEST, MOST, LIKELY = 10, 16, 40
"""Times that a message is sent at least, counting warming up, checks and the fewest samples; so many where a
message is half of an iteration; and so many where a budget ends what is coarse."""
SUREST = 0.03
"""No estimate is surer than this share of the time so far: so much is left at least while a step goes on."""
LATE = 2.0
"""Times as long as it was expected to take: nobody can tell when it will be over."""
PAUSE = 3.0
"""Seconds between two sizes after which nobody can tell how long it will last."""
TAIL, COUNTED = 0.3, 0.3
"""Counting bytes and ending the ranks, as a share of the last size, before a job step has shown it; and as a
share of the least that the longest messages take."""


@dataclass(frozen=True)
class _Measured:
    """Sizes that were measured together."""

    count: int
    bytes: int
    """Bytes of their buffers."""
    seconds: float


@dataclass(frozen=True)
class _Cost:
    """Seconds of a size, and of a byte of its buffers."""

    size: float
    byte: float

    def of(self, needs: Collection[int]) -> float:
        """Seconds of sizes with buffers of so many bytes."""
        return self.size * len(needs) + self.byte * sum(needs)


@dataclass
class _Step:
    """A job step, as far as it has come."""

    began: float
    since: float
    """When what is under way began: the start of the ranks, setting up, sizes, or the end."""
    started: bool = False
    """Do the ranks set up, or measure?"""
    left: list[int] | None = None
    """Bytes of the buffers of the sizes that have not begun; None before the first one."""
    running: dict[int, int] = field(default_factory=dict)
    """The same of those that take turns now, by size."""
    undone: set[int] = field(default_factory=set)
    """Their sizes without a figure or a failure."""
    latest: float = 0.0
    """When the latest one of them was done."""
    failed: bool = False
    """Has one of these failed?"""
    share: float = 0.0
    """Share of a size with several phases that is over; 0 where these take turns."""
    told: tuple[int, int] = (0, 0)
    """The size told last, and its phase."""
    phases_turn: bool = False
    """Has a size gone back to a phase before?"""
    measured: list[_Measured] = field(default_factory=list)
    last: int = 0
    """Bytes of the buffers of the last size."""
    needs: list[int] = field(default_factory=list)
    """The same of all sizes."""
    byte: float = 0.0
    """Seconds of the longest message so far, for a byte of its buffers."""
    longest: int = 0
    """Bytes of the buffers of that message."""
    passes: float = FEWEST
    """Times that it was sent, as far as can be told."""

    @property
    def done(self) -> int:
        """Number of those that take turns with a figure or a failure."""
        return len(self.running) - len(self.undone)

    def begin(self, size: int, need: int) -> None:
        """Takes note that a size takes turns with those that run."""
        self.running[size] = need
        self.undone.add(size)

    def fewest(self, needs: Collection[int]) -> float:
        """Seconds that sizes with buffers of so many bytes take, however coarse their figures are."""
        return self.passes * self.byte * sum(needs)


class TimeLeft:
    """Takes what a run tells of its progress.

    A job step starts its ranks, measures sizes, some of them by turns, and counts bytes. Each is expected to
    take as long as it did before, and what is late to take half as long again as it is late.
    """

    def __init__(self, clock: Clock = time.monotonic, further: int | None = 0) -> None:
        """`further`: runs that follow, each of which is expected to take as long as this one; None: runs
        follow of which this one shows nothing.
        """
        self._clock, self._further = clock, further
        self.budget = 0.0
        """Budget of the run: what lasts because figures are coarse does not last beyond it."""
        self.soaks = False
        """Does each size last as long as it was asked to?"""
        self._start: float | None = None
        self._begun, self._steps, self._failing = 0, 1, 0.0
        self._launch, self._launches = 1, 1
        self._step: _Step | None = None
        self._measured: list[_Measured] = []
        """In the steps before this one."""
        self._tails: list[float] = []
        """Seconds from the last size to the end, of the steps before this one."""
        self._whole: list[float] = []
        """Seconds of the steps before this one that gave figures."""
        self._fewest: list[float] = []
        """Seconds that each of them would have taken, had its figures been as coarse as can be."""
        self._failed = 0
        """Number of steps before this one that gave none."""
        self._start_s = 0.0
        """Seconds from the longest start of a step to its first size."""
        self._figures = self._coarse = 0
        """Number of sizes with a figure, and of those among them that are coarse."""

    def begin(self) -> None:
        """The first event is here; further calls do nothing."""
        if self._start is None:
            self._start = self._clock()

    def step(self, event: StepStart) -> None:
        """A job step begins."""
        self.step_ended()
        self._begun, self._steps, self._failing = event.done + 1, event.total, event.failing
        self._launch, self._launches = event.launch, event.launches
        now = self._clock()
        self._step = _Step(now, now)

    def size(self, event: Progress) -> None:
        """A size begins or goes on."""
        if (step := self._step) is None:
            return
        size, count = event.bytes, event.of
        # Where another MPI takes over, the path begins anew.
        if not step.started:
            step.started, self._start_s = True, max(self._start_s, self._clock() - step.began)
        if event.doing == FILLING:
            return
        if step.left is None or not (step.left or step.running or event.place):
            step.left = list(event.needs or [size] * count)
            step.last, step.needs = step.left[-1], list(step.left)
        # Sizes begin in order, and most that take turns before the first of them is done.
        behind = count - event.place - 1
        if 0 <= behind < len(step.left):
            if not step.running:
                step.since = self._clock()
            step.begin(size, step.left[-behind - 1])
            step.left = step.left[len(step.left) - behind :]
        step.phases_turn |= size == step.told[0] and event.phase < step.told[1]
        step.told = size, event.phase
        step.share = 0.0 if step.phases_turn else event.phase / max(1, event.phases)

    def size_done(
        self,
        size: int,
        failed: bool = False,
        coarse: bool = False,
        seconds: float = 0.0,
        elapsed: float = 0.0,
    ) -> None:
        """A size of so many bytes has its figure, or has failed: a hang says nothing of others.

        `coarse`: the figure would have been measured on, had there been time; `seconds`: of a message;
        `elapsed`: of the figure.
        """
        self._figures, self._coarse = self._figures + (not failed), self._coarse + coarse
        if (step := self._step) is None or step.left is None:
            return
        if not step.running and step.left:
            step.begin(size, step.left.pop(0))
        if seconds and (need := step.running.get(size, 0)) > max(step.longest, LONG):
            step.byte, step.longest = seconds / need, need
            step.passes = min(max(elapsed / seconds, FEWEST), MOST)
        if step.undone:
            step.undone.remove(size if size in step.undone else min(step.undone))
        step.failed |= failed
        now = step.latest = self._clock()
        if not step.undone:
            if step.running and not step.failed:
                needs = step.running.values()
                step.measured.append(_Measured(len(needs), sum(needs), now - step.since))
            step.running, step.share, step.since, step.failed = {}, 0.0, now, False

    def step_failed(self) -> None:
        """Takes note that the current step will not measure what it has not measured."""
        if self._step:
            self._step.left, self._step.running, self._step.since = [], {}, self._clock()
            self._step.undone.clear()

    def step_ended(self) -> None:
        """The current step is over."""
        if self._step:
            now = self._clock()
            if self._step.measured:
                self._whole.append(now - self._step.began)
                self._tails.append(now - self._step.since)
                beside = now - self._step.began - _total(self._step.measured)
                self._fewest.append(beside + self._step.fewest(self._step.needs))
            else:
                self._failed += 1
            self._measured += self._step.measured
            self._step = None

    @property
    def elapsed(self) -> float:
        """Seconds since the first event."""
        return 0.0 if self._start is None else self._clock() - self._start

    @property
    def remaining(self) -> float | None:
        """Seconds; None before the first figure, and where nobody can tell."""
        here = self._left_in_run()
        if here is None or self._further is None:
            return None
        if self.budget:
            more = self.budget - self.elapsed
            here = min(here, max(more, self._fewest_left() or (UNKEPT if more > 0.0 else 1.0) * here))
        if self._step:
            here = max(here, SUREST * self.elapsed)
        return here + self._further * (self.elapsed + here)

    def _left_in_run(self) -> float | None:
        to_come = self._to_come
        if (step := self._step) is None:
            return self._of_steps(to_come, _mean(self._whole), 0.0) if self._whole else None
        if not (self._measured or step.measured or step.done):
            return None
        if (here := self._left_here(step)) is None:
            return None
        return here + self._of_steps(to_come, _mean([*self._whole, self._clock() - step.began + here]), here)

    def _fewest_left(self) -> float:
        """Seconds that what is left takes, however coarse its figures; 0: no long message has shown it."""
        here = self._step.fewest(self._step.left or ()) if self._step else 0.0
        if not self._fewest:
            return here
        return here + self._to_come * self._share * _mean(self._fewest)

    @property
    def _to_come(self) -> float:
        """Number of steps to come, without those that are expected to fail."""
        return max(0.0, self._steps - self._begun - self._failing)

    def _of_steps(self, count: float, each: float, here: float) -> float:
        """Seconds of steps to come, `here` from now. Coarse figures take some of what the budget has."""
        coming = count * self._share
        most = self.budget - self.elapsed - here
        coarse = self._coarse / self._figures if self._figures else 0.0
        more = coarse / 2 * max(0.0, most - coming * each) if coming else 0.0
        # One that fails has to start for it.
        return coming * each + more + self._failing * self._start_s

    @property
    def _share(self) -> float:
        """Of the steps to come, those that are expected to give figures: a path may fail at once."""
        return (len(self._whole) + 9) / (len(self._whole) + self._failed + 10)

    def _left_here(self, step: _Step) -> float | None:
        """Seconds of the current step; None: it takes far longer than others did."""
        spent = self._clock() - step.since
        if step.left is None:
            return rest(self._share * _mean(self._whole), spent)
        before = _cost(self._measured) if self._measured else None
        known = _cost(step.measured, before) if step.measured else before
        if known and self.budget and step.byte:
            # A budget's figures are as coarse as it makes them, and long messages have shown what they take.
            known = _Cost(known.size, min(known.byte, LIKELY * step.byte))
        left, count = 0.0, len(step.running)
        if count:
            needs = step.running.values()
            expected = max(known.of(needs) if known else 0.0, step.fewest(needs))
            if step.share:
                expected = spent / step.share
            if not step.done and spent > LATE * expected:
                return None
            if step.done or spent > expected:
                lasts = _Measured(count, sum(needs), spent)
                known = _cost([*step.measured, lasts], before)
            left = max(expected - spent, 0.0) if self.soaks else rest(expected, spent)
            if step.done:
                # Those that take turns are done at about the same time, but for the longest messages.
                long = step.fewest([step.running[size] for size in step.undone])
                left = max(spent * (1 - step.done / count) / 2, rest(long, self._clock() - step.latest))
        elif step.left:
            if spent > PAUSE:
                return None
            left = spent
        assert known
        tail = max(TAIL * known.of([step.last]), COUNTED * step.fewest([step.longest]))
        if self._tails or self.soaks:
            tail = _mean(self._tails) if self._tails else 0.0
        if not (count or step.left):
            # How many sizes will be counted nobody knows.
            return max(tail - spent, spent / 3)
        return left + max(known.of(step.left), step.fewest(step.left)) + tail

    def __str__(self) -> str:
        """'path 3 of 9, 0:12 so far, about 0:40 left'."""
        several = self._launches > 1
        step = f"{self._begun} of {self._steps}"
        place = f"launch {self._launch} of {self._launches}, step {step}" if several else f"path {step}"
        parts = [place if self._begun else "", f"{duration(self.elapsed)} so far"]
        if (left := self.remaining) is not None:
            parts.append(f"about {duration(left)} left")
        return ", ".join(filter(None, parts))


def _cost(measured: Sequence[_Measured], before: _Cost | None = None) -> _Cost:
    """The costs that these show. `before`: what other steps have shown, which counts as one size."""
    light = [item for item in measured if item.bytes < LIGHT * item.count]
    heavy = [item for item in measured if item.bytes >= LIGHT * item.count]
    if before is None and not light:
        size = _total(heavy) / sum(item.count + item.bytes / HEAVY for item in heavy)
        return _Cost(size, size / HEAVY)
    weight = 0 if before is None else 1
    size = (before.size if before else 0.0) + _total(light)
    size /= weight + sum(item.count for item in light)
    byte = before.byte if before else size / HEAVY
    more = sum(max(0.0, item.seconds - size * item.count) for item in heavy)
    return _Cost(size, (byte * HEAVY + more) / (HEAVY + sum(item.bytes for item in heavy)))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _total(measured: Sequence[_Measured]) -> float:
    return sum(item.seconds for item in measured)
