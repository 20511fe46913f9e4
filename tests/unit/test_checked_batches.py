"""Which timed batches are checked: the last one always, others while a tenth of the time is enough."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from wirespeed.patterns import find_pattern
from wirespeed.rank.path import sampler
from wirespeed.rank.path.sampler import Sampler
from wirespeed.rank.path.teams import TeamSamples
from wirespeed.rank.program import Batch
from wirespeed.statistics.stopping import Stopping


class Simulated:
    """Rank 0 of two, its program, and its check, all of which take declared times."""

    rank, size = 0, 2

    def __init__(self, iteration_s: float, check_s: float, noise: float, takes_batches: bool = True) -> None:
        self.iteration_s, self.check_s, self.noise = iteration_s, check_s, noise
        self.takes_batches = takes_batches
        self.barrier_s = 0.0
        """Before each sample."""
        self.checked_longer = 1.0
        """A batch that is checked takes so many times as long."""
        self.now = self.checking = 0.0
        self.begun: int | None = None
        self.log: list[bool] = []
        """Of each batch: was it checked?"""
        self.iterations = 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def share(self, value: Any, root: int = 0) -> Any:
        return value

    maximum = minimum = share

    def first(self, value: Any) -> Any:
        return None if value is None else (0, value)

    def everyone(self, value: Any) -> list[Any]:
        return [value] * self.size

    def run(self, iterations: int = 1) -> float:
        self.now += iterations * self.iteration_s
        return self.iteration_s

    def sample(self, iterations: int, samples: int, untimed: int = 1) -> Batch:
        ran = untimed + iterations * samples
        self.now += ran * self.iteration_s + samples * self.barrier_s
        self.log.append(self.begun is not None)
        self.begun = ran if self.begun is not None else None
        # Batches differ by turns, so that a figure is as precise as the noise allows.
        seconds = self.iteration_s * (1 + self.noise * (len(self.log) % 5))
        if self.log[-1]:
            seconds *= self.checked_longer
        return Batch([seconds] * samples, 0.0, 0.0, 0, ran)

    def clock(self) -> tuple[float, float]:
        return 1e-9, 1e-9

    def start(self) -> None: ...

    def described(self) -> dict[str, Any]:
        return {}

    def checked_iteration(self, program: Any) -> float:
        self.iterations += 1
        self.now += self.check_s + self.iteration_s
        return self.iteration_s

    def begin_batch(self, program: Any) -> None:
        self.begun = 0
        self._takes(self.check_s / 2)

    def end_batch(self, program: Any, iterations: int) -> None:
        assert self.begun == iterations, "what is compared is what all iterations of the batch leave"
        self.begun = None
        self._takes(self.check_s / 2)

    def _takes(self, seconds: float) -> None:
        self.now += seconds
        self.checking += seconds


def sampled(
    simulated: Simulated,
    monkeypatch: pytest.MonkeyPatch,
    turns: int | Callable[[], int] = 1,
    loops: int | None = None,
    progress: Callable[..., None] = lambda *_: None,
    max_time: float = 0.05,
    more_until: float | None = 0.0,
) -> tuple[Any, float]:
    """What came of a size, and the seconds of its batches, of their checks, and between them."""
    monkeypatch.setattr(sampler, "time", simulated)
    pattern = find_pattern("pingpong")
    stopping = Stopping(loops=loops, max_time=max_time)
    context: Any = SimpleNamespace(
        comm=simulated,
        plan=SimpleNamespace(stopping=stopping),
        more_until=more_until,
        ending=lambda: False,
        late=False,
        put_threads_aside=lambda: False,
        pattern=pattern,
        ranges=lambda *_, **__: pytest.MonkeyPatch.context(),
    )
    world: Any = simulated
    world.size = 2
    team = TeamSamples(world, pattern, 0)
    measuring = Sampler(context, world, world, team, progress).measure()
    found, began = None, 0.0
    try:
        next(measuring)
        began = simulated.now
        simulated.log.clear()  # of the warm-up
        while True:
            measuring.send(turns() if callable(turns) else turns)
    except StopIteration as end:
        found = end.value
    return found, simulated.now - began


@pytest.mark.parametrize("turns", [1, 5])
@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize("check_s", [1e-6, 1e-4, 2e-3, 0.05])
@pytest.mark.parametrize("iteration_s", [1e-6, 1e-3, 0.02, 0.5])
def test_the_last_batch_is_checked_and_others_within_a_tenth(
    iteration_s: float, check_s: float, noise: float, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects figures from an unchecked end, and their time from checks: a tenth, or one at the least."""
    simulated = Simulated(iteration_s, check_s, noise)
    found, seconds = sampled(simulated, monkeypatch, turns)
    assert simulated.log[-1] and len(simulated.log) == found.batches
    first_s = check_s + iteration_s
    assert simulated.checking <= 0.1 * (seconds + first_s) + check_s
    if check_s < 1e-4 * max(iteration_s, 1e-3):
        # The first check, which is expected of each, must have become cheap.
        assert sum(simulated.log) > len(simulated.log) / 2
    # The check before the samples is the only iteration that is checked alone.
    assert simulated.iterations == 1


def test_a_figure_that_its_last_batch_widens_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from ±3.7 % without a mark: the batch that had still to be checked was a slow one."""
    even, late = Simulated(5e-4, 1e-3, 0.0), Simulated(5e-4, 1e-3, 0.0)
    late.checked_longer = 1.5
    found = [sampled(simulated, monkeypatch, turns=5, max_time=0.1)[0] for simulated in (even, late)]
    assert [samples.stopped for samples in found] == ["precision", "max-time"]
    assert [samples.samples.precision() <= 0.01 for samples in found] == [True, False]


def test_progress_tells_the_median_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from "4.99 us so far, 1,021 samples" above 0.60 us of the same: it was the latest batch's."""
    for often in ("PROGRESS_SECONDS", "FIRST_PROGRESS_SECONDS"):
        monkeypatch.setattr(sampler, often, 0.0)
    told: list[tuple[int, float, float | None]] = []
    uneven = Simulated(1e-3, 1e-6, 0.5)
    found, _ = sampled(uneven, monkeypatch, progress=lambda *so_far: told.append(so_far))
    median = found.samples.median()
    assert len(told) > 12 and all(seconds == pytest.approx(median, rel=0.3) for _, seconds, _ in told[10:])


def test_a_fixed_count_is_one_checked_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = Simulated(1e-3, 1e-3, 0.0)
    found, _ = sampled(simulated, monkeypatch, loops=10)
    assert (simulated.log, found.batches, simulated.iterations) == ([True], 1, 1)


@pytest.mark.parametrize(("iteration_s", "alone"), [(1e-3, 2), (0.5, 1)])
def test_what_no_batch_tells_is_checked_alone(
    iteration_s: float, alone: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Protects sums in place, which grow from iteration to iteration: an iteration after the samples, too."""
    simulated = Simulated(iteration_s, 1e-6, 0.0, takes_batches=False)
    sampled(simulated, monkeypatch)
    assert not any(simulated.log) and simulated.iterations == alone


@pytest.mark.parametrize(("together", "batches"), [(30, 30), (60, 54)])
def test_who_is_left_behind_ends(together: int, batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects a survey's seconds: the last size waited 0.35 s for moments of 2 ms that told nothing.

    `together`: batches in which others take turns with it; it is precise after 54.
    """
    left = [9] * together
    turns = lambda: left.pop() if left else 1  # noqa: E731
    found, _ = sampled(Simulated(2e-5, 1e-6, 0.009), monkeypatch, turns, more_until=None)
    assert found.batches == batches


def test_barriers_of_ranks_that_share_cpus_end_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protects from six minutes for one copy by 32 ranks on two CPUs: 5,077 samples, each behind 73 ms."""
    simulated = Simulated(1e-6, 1e-6, 0.03)
    simulated.barrier_s = 0.073
    found, seconds = sampled(simulated, monkeypatch, max_time=0.5)
    assert found.batches >= 3 and seconds < 3
